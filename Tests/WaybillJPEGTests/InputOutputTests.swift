import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite(.timeLimit(.minutes(Slowness.factor))) struct InputOutputTests {
    static let (width, height) = (61, 43)
    static var scene: (Int, Int) -> RGBColor { Scene.quarters(width, height) }

    @Test(arguments: JPEGPixels.Format.allCases, [0, 7])
    func `pixels are encoded without change`(format: JPEGPixels.Format, gap: Int) throws {
        let pixels = Self.pixels(format, gap: gap)
        let result = try made(pixels, JPEGOptions(quality: 97))
        let report = result.report
        #expect(report.width == Self.width && report.height == Self.height && !report.isPassedThrough)
        #expect(report.originalBytes == pixels.bytes.count && report.stripped.isEmpty && report.orientation == 1)
        let seen = try DecodedPixels(result.bytes)
        #expect(seen.header.components.count == (format == .grey ? 1 : 3))
        for (x, y) in [(10, 10), (50, 10), (10, 30), (50, 30)] {
            #expect(abs(seen.yCbCr(x, y)[0] - Double(Self.scene(x, y).yCbCr[0])) < 4)
            guard format != .grey else { continue }
            for (value, wanted) in zip(seen.yCbCr(x, y), Self.scene(x, y).yCbCr) {
                #expect(abs(value - Double(wanted)) < 5)
            }
        }
    }

    @Test func `transparent pixels are blended with white`() throws {
        let bytes = (0..<32 * 32).flatMap { index -> [UInt8] in index % 32 < 16 ? [10, 20, 30, 0] : [0, 0, 0, 128] }
        let pixels = JPEGPixels(width: 32, height: 32, format: .rgba, bytes: bytes)
        let seen = try DecodedPixels(try made(pixels, JPEGOptions(quality: 95)).bytes)
        #expect(seen.picture.luma[4, 8] > 252)
        #expect(abs(seen.picture.luma[28, 8] - 127) < 4)
    }

    @Test(arguments: JPEGOptions.Mode.allCases)
    func `pixels are encoded below a limit`(mode: JPEGOptions.Mode) throws {
        let scene = Scene.photo(160, 120)
        let bytes = (0..<160 * 120).flatMap { index -> [UInt8] in
            let colour = scene(index % 160, index / 160)
            return [UInt8(colour.red), UInt8(colour.green), UInt8(colour.blue)]
        }
        let pixels = JPEGPixels(width: 160, height: 120, format: .rgb, bytes: bytes)
        let result = try made(pixels, .maxBytes(.bytes(3_000), mode: mode))
        #expect(result.bytes.count <= 3_000 && result.bytes.count > 2_800)
    }

    @Test(
        arguments: [
            (0, 5, 3, 0, .noPixels), (-3, 5, 3, 0, .noPixels), (5, 0, 3, 0, .noPixels), (4, 4, 12, 47, .invalidPixels),
            (4, 4, 11, 48, .invalidPixels), (4, 4, -12, 48, .invalidPixels), (4, 4, .max, 48, .invalidPixels),
            (65_501, 1, 196_503, 196_503, .tooManyPixels), (65_500, 65_500, 196_500, 9, .tooManyPixels),
            (.max, .max, 3, 9, .tooManyPixels),
        ] as [(Int, Int, Int, Int, JPEGError.Code)])
    func `inconsistent pixel buffers are refused`(width: Int, height: Int, row: Int, count: Int, code: JPEGError.Code) {
        let bytes = [UInt8](repeating: 7, count: count)
        let pixels = JPEGPixels(width: width, height: height, format: .rgb, bytes: bytes, bytesPerRow: row)
        let error = #expect(throws: JPEGError.self) { try made(pixels, JPEGOptions(quality: 50)) }
        #expect(error?.code == code)
    }

    @Test func `a new file has the permissions of its original, or the usual ones, without those of the umask`()
        async throws
    {
        let folder = try TemporaryDirectory()
        let input = try folder.write("in.jpg", Scene.photoFile)
        let usual = unsafe open(folder.path("usual"), O_CREAT | O_WRONLY, 0o666)
        close(usual)
        let recompressor = JPEGRecompressor(.quality(50, mode: .draft))
        for (index, mode) in ([0o600, 0o640, 0o666, 0o400] as [mode_t]).enumerated() {
            #expect(unsafe chmod(input, mode) == 0)
            _ = try await recompressor.recompress(.file(input), to: folder.path("out-\(index)"))
            #expect(Self.mode(folder.path("out-\(index)")) == (mode | 0o600) & Self.mode(folder.path("usual")))
        }
        _ = try await recompressor.recompress(.bytes(Scene.photoFile), to: folder.path("out"))
        #expect(Self.mode(folder.path("out")) == Self.mode(folder.path("usual")))
    }

    @Test func `a replaced file keeps its permissions, a replaced link does not`() async throws {
        let folder = try TemporaryDirectory()
        let (output, link) = (try folder.write("out.jpg", "old"), folder.path("link"))
        #expect(unsafe symlink("out.jpg", link) == 0)
        let recompressor = JPEGRecompressor(.quality(50, mode: .draft))
        for mode in [0o600, 0o664, 0o444] as [mode_t] {
            #expect(unsafe chmod(output, mode) == 0)
            _ = try await recompressor.recompress(.bytes(Scene.photoFile), to: output, replacing: true)
            #expect(Self.mode(output) == mode)
        }
        _ = try await recompressor.recompress(.bytes(Scene.photoFile), to: link, replacing: true)
        #expect(Self.mode(link) & 0o200 != 0)
    }

    private static func mode(_ path: String) -> mode_t {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `a file is recompressed to a complete file`() async throws {
        let folder = try TemporaryDirectory()
        let input = try folder.write("in.jpg", Scene.photoFile)
        let output = folder.path("out.jpg")
        let recompressor = JPEGRecompressor(.maxBytes(.bytes(4_000), mode: .fast))
        let report = try await recompressor.recompress(.file(input), to: output)
        let bytes = try readFile(output)
        #expect(bytes.count == report.bytes && bytes.count <= 4_000)
        _ = try DecodedPixels(bytes)
        #expect(try folder.names() == ["in.jpg", "out.jpg"])

        let again = await #expect(throws: JPEGError.self) {
            try await recompressor.recompress(.file(input), to: output)
        }
        #expect(again?.code == .fileExists)
        let finer = JPEGRecompressor(.maxBytes(.bytes(6_000), mode: .fast))
        let replaced = try await finer.recompress(.bytes(Scene.photoFile), to: output, replacing: true)
        #expect(try readFile(output).count == replaced.bytes && replaced.bytes > report.bytes)
        #expect(try folder.names() == ["in.jpg", "out.jpg"])
    }

    @Test func `only a file or a link is replaced`() async throws {
        let folder = try TemporaryDirectory()
        let (pipe, file, link) = (folder.path("pipe"), try folder.write("file", "old"), folder.path("link"))
        #expect(unsafe mkfifo(pipe, 0o600) == 0 && symlink(file, link) == 0)
        let recompressor = JPEGRecompressor(.quality(50, mode: .draft))
        for path in [folder.path, pipe] {
            let error = await #expect(throws: JPEGError.self) {
                try await recompressor.recompress(.bytes(Scene.photoFile), to: path, replacing: true)
            }
            #expect(error?.code == .notARegularFile)
        }
        var status = stat()
        #expect(unsafe lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        let report = try await recompressor.recompress(.bytes(Scene.photoFile), to: link, replacing: true)
        #expect(try readFile(link).count == report.bytes && folder.read("file") == Array("old".utf8))
        #expect(try folder.names() == ["file", "link", "pipe"])
    }

    @Test func `a failed write leaves no file`() async throws {
        let folder = try TemporaryDirectory()
        let recompressor = JPEGRecompressor(.quality(50, mode: .draft))
        for path in [folder.path("missing/out.jpg"), "/proc/out.jpg"] {
            let error = await #expect(throws: JPEGError.self) {
                try await recompressor.recompress(.bytes(Scene.photoFile), to: path)
            }
            #expect(error?.code == .fileNotWritable)
        }
        let failed = await #expect(throws: JPEGError.self) {
            try await recompressor.recompress(.bytes([1, 2, 3]), to: folder.path("out.jpg"))
        }
        #expect(failed?.code == .notAJPEG)
        #expect(try folder.names() == [])
    }

    @Test func `maxSide is never exceeded, and the aspect ratio is kept`() throws {
        for side in [240, 200, 33, 1] {
            let report = try recompress(Scene.photoFile, JPEGOptions(quality: 60, maxSide: side, mode: .draft)).report
            #expect(max(report.width, report.height) == side)
            #expect(abs(Double(report.height) - max(1, Double(report.width) * 0.75)) <= 1)
        }
        #expect(failure(Scene.photoFile, JPEGOptions(maxSide: 0)) == .invalidOptions)
    }

    @Test func `a curve has a point for each reachable limit, and larger ones deviate less`() async throws {
        let limits = [100, 2_000, 5_000, 9_000].map { ByteCount.bytes(Int64($0)) }
        let recompressor = JPEGRecompressor(JPEGOptions(mode: .fast))
        let points = try await recompressor.curve(of: .bytes(Scene.photoFile), limits: limits)
        #expect(points.map(\.limit) == Array(limits.dropFirst()))
        #expect(points.allSatisfy { $0.report.bytes <= $0.limit.bytes && $0.deviation > 0 })
        #expect(zip(points, points.dropFirst()).allSatisfy { $0.deviation > $1.deviation })
        let kept = try await recompressor.curve(of: .bytes(Scene.photoFile), limits: [.kibibytes(100)])
        #expect(kept.map(\.deviation) == [0])
        await #expect(throws: JPEGError.self) { try await recompressor.curve(of: .bytes([]), limits: limits) }
    }

    static func pixels(_ format: JPEGPixels.Format, gap: Int) -> JPEGPixels {
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let colour = scene(x, y)
                switch format {
                case .grey: bytes.append(UInt8(colour.yCbCr[0]))
                case .rgb: bytes += [colour.red, colour.green, colour.blue].map { UInt8($0) }
                case .rgba: bytes += [colour.red, colour.green, colour.blue, 255].map { UInt8($0) }
                }
            }
            bytes += Array(repeating: 0xAA, count: gap)
        }
        return JPEGPixels(
            width: width, height: height, format: format, bytes: bytes,
            bytesPerRow: width * format.bytesPerPixel + gap)
    }

    private func made(_ pixels: JPEGPixels, _ options: JPEGOptions) throws(JPEGError) -> JPEGResult {
        try Recompression(input: .pixels(pixels), options: options, flag: CancellationFlag()).run()
    }
}
