import Glibc
import WaybillJPEG

/// Recompresses one image. `make bench-jpeg` measures the time and memory of this process.
///
///     JPEGWorkload best|fast|draft BYTES IN OUT
///     JPEGWorkload library                          prints the version of libjpeg
///     JPEGWorkload draw DIRECTORY                   draws images, for benchmarks without photos
@main
struct JPEGWorkload {
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
                fail("The arguments are invalid. JPEGWorkload.swift lists them.")
            }
        } catch {
            fail("\(error)")
        }
    }

    private static let modes: [String: JPEGOptions.Mode] = ["best": .best, "fast": .fast, "draft": .draft]

    private static func fail(_ message: String) -> Never {
        let text = Array("JPEGWorkload: \(message)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        exit(1)
    }
}
