import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ShrinkTests {
    private let photo = NoisePhoto.bytes(width: 640, height: 480, seed: 3)

    @Test func `a photo is recompressed next to the original`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.jpeg", photo)
        let run = try await Tool.run(["shrink", path, "--max-bytes", "20KB", "--mode", "fast"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.output.isEmpty)
        let small = try folder.read("card-waybill.jpg")
        #expect(small.count <= 20_000 && small.count > 10_000)
        #expect(small.starts(with: [0xFF, 0xD8]) && small.suffix(2) == [0xFF, 0xD9])
        #expect(try folder.read("card.jpeg") == photo)
        #expect(try folder.names() == ["card-waybill.jpg", "card.jpeg"])
        for fact in ["480 × 640", "rotated upright", "Exif", "comment", "card-waybill.jpg"] {
            #expect(run.errorText.contains(fact), "\(run.errorText)")
        }
    }

    @Test func `a PNG becomes a JPEG beside it`() async throws {
        let folder = try TemporaryDirectory()
        let png = TinyPNG(64, 48, .rgb) { x, y in [x * 3, y * 4, 90] }.encoded()
        let run = try await Tool.run(["shrink", try folder.write("card.png", png), "--max-bytes", "1K"])
        #expect(run.exit == .status(0), "\(run.errorText)")
        let small = try folder.read("card-waybill.jpg")
        #expect(small.count <= 1_024 && small.starts(with: [0xFF, 0xD8]))
    }

    @Test func `a HEIC photo needs --heic`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.heic", TinyHEIC.turned)
        let refused = try await Tool.run(["shrink", path, "--max-bytes", "1K"])
        #expect(refused.exit == .status(3) && refused.errorText.contains("Pass --heic"), "\(refused.errorText)")
        let page = "\(folder.path)/page.html"
        let run = try await Tool.run(["shrink", path, "--max-bytes", "1K", "--heic", "--report", page])
        #expect(run.exit == .status(0) && run.errorText.contains("48 × 64"), "\(run.errorText)")
        #expect(run.errorText.hasSuffix("writing the report of 1 image to \(page)\n"), "\(run.errorText)")
        let small = try folder.read("card-waybill.jpg")
        #expect(small.count <= 1_024 && small.starts(with: [0xFF, 0xD8]))
        #expect(try String(decoding: folder.read("page.html"), as: UTF8.self).contains("class=\"enlarge\""))
    }

    @Test func `a cut file is an error that names --salvage`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.jpg", Array(photo.prefix(photo.count * 3 / 4)))
        let refused = try await Tool.run(["shrink", path, "--max-bytes", "20K", "--mode", "draft"])
        #expect(refused.exit == .status(3), "\(refused.errorText)")
        #expect(refused.errorText.contains("use waybill shrink --salvage"), "\(refused.errorText)")
        let page = folder.path("page.html")
        let salvaged = try await Tool.run([
            "shrink", path, "--max-bytes", "20K", "--mode", "draft", "--salvage", "--report", page,
        ])
        let damage = #/\d+ % of the image is missing/#
        #expect(salvaged.exit == .status(0) && salvaged.errorText.contains(damage), "\(salvaged.errorText)")
        #expect(String(decoding: try folder.read("page.html"), as: UTF8.self).contains(damage))
    }

    @Test func `only regular files are replaced`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.jpg", photo)
        try #require(unsafe mkfifo(folder.path("pipe"), 0o600) == 0)
        let rows = [
            (folder.path("pipe"), "is not a regular file"), (folder.path, "is a directory"),
            (folder.path("new/"), "has no file name"),
        ]
        for (output, message) in rows {
            let run = try await Tool.run(["shrink", path, "--max-bytes", "20K", "--force", "-o", output])
            #expect(run.exit == .status(2) && run.errorText.contains(message), "\(run.errorText)")
        }
        var status = stat()
        #expect(unsafe lstat(folder.path("pipe"), &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        #expect(try folder.names() == ["card.jpg", "pipe"])
    }

    @Test func `an existing file is replaced only with --force`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.jpg", photo)
        try folder.write("card-waybill.jpg", "mine")
        let refused = try await Tool.run(["shrink", path, "--max-bytes", "20K", "--mode", "draft", "--json"])
        #expect(refused.exit == .status(2))
        #expect(refused.errorText.contains("--force"))
        #expect(try refused.jsonLines().last?["exit"] as? Int == 2)
        #expect(try folder.read("card-waybill.jpg") == Array("mine".utf8))
        let forced = try await Tool.run(["shrink", path, "--max-bytes", "20K", "--mode", "draft", "--force"])
        #expect(forced.exit == .status(0), "\(forced.errorText)")
        #expect(try folder.read("card-waybill.jpg").count <= 20_480)
        #expect(try folder.names() == ["card-waybill.jpg", "card.jpg"])
    }

    @Test func `the result is written to standard output, and the input may be a pipe`() async throws {
        let run = try await Tool.run(["shrink", "-", "--quality", "30", "--mode", "draft"], input: photo)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.output.starts(with: [0xFF, 0xD8]) && run.output.count < photo.count)
    }

    @Test func `the result has the original's permissions, and JSON lists its figures`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.jpg", photo)
        #expect(unsafe chmod(path, 0o640) == 0)
        let output = folder.path("small.jpg")
        let run = try await Tool.run([
            "shrink", path, "-o", output, "--max-pixels", "0.1MP", "--quality", "50", "--mode", "draft", "--document",
            "--json",
        ])
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.errorText.isEmpty)
        var status = stat()
        #expect(unsafe stat(output, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o640)
        let summary = try #require(try run.jsonLines().last)
        let (width, height) = (summary["width"] as? Int ?? 0, summary["height"] as? Int ?? 0)
        #expect(width * height <= 100_000 && width * height > 80_000)
        #expect(summary["originalWidth"] as? Int == 480)
        #expect(summary["bytes"] as? Int == Int(status.st_size))
        #expect(summary["orientation"] as? Int == 6)
    }

    @Test func `a missing end marker is added and reported`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.jpg", Array(photo.dropLast(2)))
        let arguments = ["shrink", path, "--quality", "50", "--force"]
        let run = try await Tool.run(arguments)
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.errorText.contains("added the missing end marker"), "\(run.errorText)")
        let summary = try #require(try await Tool.run(arguments + ["--json"]).jsonLines().last)
        #expect(summary["endMissing"] as? Bool == true)
    }

    @Test func `--max-side bounds the longer side, and an unconvertible profile is reported`() async throws {
        let folder = try TemporaryDirectory()
        let profile = TinyJPEG.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + Array("no profile".utf8))
        let path = try folder.write("card.jpg", Array(photo[..<2]) + profile + Array(photo[2...]))
        let arguments = ["shrink", path, "--max-side", "160", "--mode", "draft", "--force"]
        let told = try await Tool.run(arguments)
        #expect(told.exit == .status(0), "\(told.errorText)")
        #expect(told.errorText.contains("120 × 160"), "\(told.errorText)")
        #expect(told.errorText.contains("profile unnamed dropped without conversion"), "\(told.errorText)")
        let summary = try #require(try await Tool.run(arguments + ["--json"]).jsonLines().last)
        #expect(summary["height"] as? Int == 160)
        #expect(summary["droppedProfile"] as? String == "unnamed")
        #expect(summary["convertedProfile"] is NSNull)
        for side in ["0", "-1", "1600px", "99999999999999999999"] {
            #expect(try await Tool.run(["shrink", path, "--max-side", side]).exit == .status(2), "\(side)")
        }
    }

    @Test func `an unusable input exits with 3 and leaves no file`() async throws {
        let folder = try TemporaryDirectory()
        let good = try folder.write("good.jpg", photo)
        let text = try folder.write("text.jpg", "this is no picture")
        let cut = try folder.write("cut.jpg", Array(photo[..<(photo.count / 2)]))
        let before = try folder.names()
        let cases = [
            (folder.path("missing.jpg"), "10K", "fileNotFound"), (text, "10K", "notAJPEG"), (cut, "10K", "truncated"),
            (good, "30", "cannotReachLimit"), (folder.path, "10K", "notARegularFile"),
        ]
        for (path, limit, code) in cases {
            let run = try await Tool.run([
                "shrink", path, "-o", folder.path("out.jpg"), "--max-bytes", limit, "--mode", "draft",
            ])
            #expect(run.exit == .status(3), "\(run.errorText)")
            #expect(run.errorText.contains(code), "\(run.errorText)")
        }
        #expect(try folder.names() == before)
    }

    @Test func `a directory that cannot be created exits with 7`() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("card.jpg", photo)
        let run = try await Tool.run(["shrink", path, "-o", "\(path)/sub/x.jpg", "--quality", "50"])
        #expect(run.exit == .status(7), "\(run.errorText)")
        #expect(run.errorText.contains("can't be created: Not a directory."), "\(run.errorText)")
    }
}
