import Glibc
import WaybillJPEG

/// Recompresses one image. `make bench-jpeg` measures the time and memory of this process.
///
///     JPEGErrand best|fast|draft BYTES IN OUT
///     JPEGErrand library                          prints the version of libjpeg
///     JPEGErrand draw DIRECTORY                   draws images, for benchmarks without photos
@main
struct JPEGErrand {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do throws(JPEGError) {
            if words == ["library"] {
                print(JPEGLibrary.version)
            } else if words.count == 2, words[0] == "draw" {
                try await Scene.drawAll(in: words[1])
            } else if words.count == 4, let mode = modes[words[0]], let limit = Int64(words[1]) {
                let recompressor = JPEGRecompressor(.maxBytes(.bytes(limit), mode: mode))
                _ = try await recompressor.recompress(.file(words[2]), to: words[3], replacing: true)
            } else {
                fail("The arguments are invalid. JPEGErrand.swift lists them.")
            }
        } catch {
            fail("\(error)")
        }
    }

    private static let modes: [String: JPEGOptions.Mode] = ["best": .best, "fast": .fast, "draft": .draft]

    private static func fail(_ message: String) -> Never {
        let text = Array("JPEGErrand: \(message)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        exit(1)
    }
}
