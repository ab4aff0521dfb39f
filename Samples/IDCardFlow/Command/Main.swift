import Foundation
import Glibc

/// Posts the front of a card and, when that is stored, the back.
@main
struct Command {
    static func main() async {
        var demo = Demo()
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            switch (option, arguments.popFirst()) {
            case ("--cards", let directory?): demo.directory = directory
            case ("--width", let text?) where Int(text).map { $0 >= 64 } ?? false: demo.width = Int(text)!
            default:
                print("usage: IDCardFlow [--cards DIR] [--width PIXELS]")
                exit(64)
            }
        }
        do {
            try await demo.run()
        } catch {
            print("\nIt did not work: \(error)")
            exit(1)
        }
    }
}
