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
            case "--cut-at":
                guard let percent = arguments.popFirst().flatMap(percent) else { usage() }
                demo.cutPercent = percent
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

    /// Parses a percentage from `1%` to `99%`, with or without the sign.
    private static func percent(_ text: String) -> Int? {
        guard let percent = Int(text.hasSuffix("%") ? String(text.dropLast()) : text) else { return nil }
        return 1...99 ~= percent ? percent : nil
    }

    private static func usage() -> Never {
        print("usage: IDCardFlow [--watch | --photos DIR] [--cut-at PERCENT] [--cards DIR] [--width PIXELS]")
        exit(64)
    }
}
