import Foundation
import Glibc

/// Posts the front of a card, then the back.
@main
struct Command {
    static func main() async {
        var demo = Demo()
        var photos: String?
        var arguments = CommandLine.arguments.dropFirst()
        while let option = arguments.popFirst() {
            switch option {
            case "--watch": demo.isWatched = true
            case "--cards":
                guard let directory = arguments.popFirst() else { usage() }
                demo.directory = directory
            case "--photos":
                guard let directory = arguments.popFirst() else { usage() }
                photos = directory
            case "--width":
                guard let width = arguments.popFirst().flatMap({ Int($0) }), width >= 64 else { usage() }
                demo.width = width
            default: usage()
            }
        }
        do {
            if let photos {
                try await demo.writePhotos(to: photos)
            } else {
                try await demo.run()
            }
        } catch {
            print("\nIDCardFlow failed: \(error)")
            exit(1)
        }
    }
    private static func usage() -> Never {
        print("usage: IDCardFlow [--watch | --photos DIR] [--cards DIR] [--width PIXELS]")
        exit(64)
    }
}
