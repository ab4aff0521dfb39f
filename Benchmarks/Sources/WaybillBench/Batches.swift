import Glibc
import Waybill

/// Many uploads in one process.
enum Batches {
    /// A lazy source: no item exists before its turn, and none after its end.
    static func lazily(url: String, path: String, count: Int) async throws -> Int {
        let batch = UploadSession.shared.startBatch(of: 0..<count) { number in
            UploadRequest(.post, url, content: .form([.text("NUMBER", "\(number)"), .file("FILE", path: path)]))
        }
        var answers = 0
        for await result in batch.results where try result.response.status == .ok { answers += 1 }
        return answers
    }

    /// As many slots as uploads.
    static func atOnce(url: String, path: String, count: Int) async throws -> Int {
        var configuration = UploadSession.Configuration()
        configuration.slots = max(1, count)
        configuration.slotsPerHost = max(1, count)
        let session = UploadSession(configuration: configuration)
        let results = await session.uploadAll(0..<count) { _ in
            UploadRequest(.post, url, content: .form(Form.make(path)))
        }
        return try results.count { try $0.response.status == .ok }
    }

    /// Pictures under 100 KiB: as a batch, which makes one while others are sent, or one after the other.
    static func photos(url: String, folder: String, count: Int, isBatch: Bool) async throws -> Int {
        let paths = names(in: folder).map { folder + "/" + $0 }
        guard !paths.isEmpty else { return 0 }
        @Sendable func request(_ number: Int) -> UploadRequest {
            let part = MultipartPart.image("FILE", path: paths[number % paths.count], .maxBytes(.kibibytes(100)))
            return UploadRequest(.post, url, content: .form([part]))
        }
        guard !isBatch else {
            return try await UploadSession.shared.uploadAll(0..<count) { request($0) }
                .count { try $0.response.status == .ok }
        }
        var answers = 0
        for number in 0..<count where try await UploadSession.shared.send(request(number)).status == .ok {
            answers += 1
        }
        return answers
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) }
            if name.hasSuffix(".jpg") { names.append(name) }
        }
        return names.sorted()
    }
}

extension Workloads {
    /// Memory of many uploads: of those at once, and of a batch whatever its length.
    func batches() throws(BenchError) -> String {
        let tiny = try TemporaryFile(byteCount: 1_024, isWarm: true)
        let large = try TemporaryFile(byteCount: 16 << 20, isWarm: true)
        func peak(_ kind: Errand.Kind, _ path: String, _ count: Int) throws(BenchError) -> Double {
            let run = try Child.run(Child.ownPath, [kind.rawValue, url, path, "\(count)"])
            guard Int(run.output.filter(\.isNumber)) == count else {
                throw BenchError("\(run.output) answers came where \(count) were expected.")
            }
            return Double(run.peakMemory) / 1e6
        }
        var (idle, busy, short, long): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for _ in 0..<rounds {
            idle.append(try peak(.atOnce, tiny.path, 1))
            busy.append(try peak(.atOnce, large.path, 32))
            short.append(try peak(.batch, tiny.path, 1_000))
            long.append(try peak(.batch, tiny.path, 100_000))
        }
        var table = Table(["Peak memory of many, \(rounds) rounds", "few", "many", "growth", "target"])
        func add(_ title: String, _ few: [Double], _ many: [Double], _ limit: Double, _ target: String) {
            let growth = many.median - few.median
            table.add([
                title, few.median.fixed(1) + " MB", many.median.fixed(1) + " MB", growth.fixed(1) + " MB",
                target + (growth > limit ? " missed" : ""),
            ])
        }
        add("32 forms of 16 MiB at once, over one of 1 KiB", idle, busy, 24, "<= 24.0")
        add("lazy batch of 1,000 and of 100,000", short, long, 2, "flat (2.0)")
        return table.text
    }

    /// Pictures recompressed and sent to a slow receiver: while one is sent, the next is made.
    func photos() throws(BenchError) -> String {
        let count = 100
        let pictures = try TemporaryFile(byteCount: 0, isWarm: false)
        let folder = pictures.path + ".d"
        guard mkdir(folder, 0o700) == 0 else { throw BenchError("\(folder) can't be made (errno \(errno)).") }
        defer {
            for name in ["blur.jpg", "card.jpg", "landscape.jpg", "page.jpg"] { unlink(folder + "/" + name) }
            rmdir(folder)
        }
        let program = String(Child.ownPath.prefix(upTo: Child.ownPath.lastIndex(of: "/")!)) + "/JPEGErrand"
        _ = try Child.run(program, ["draw", folder])
        let slow = try Sink(bytesPerSecond: 500 * 1_024)
        func run(_ way: String) throws(BenchError) -> Double {
            let run = try Child.run(
                Child.ownPath,
                [Errand.Kind.photos.rawValue, "http://127.0.0.1:\(slow.port)/", folder, "\(count)", way])
            guard Int(run.output.filter(\.isNumber)) == count else {
                throw BenchError("\(run.output) answers came where \(count) were expected.")
            }
            return run.wall.seconds
        }
        var (together, inTurn): ([Double], [Double]) = ([], [])
        for _ in 0..<max(1, rounds / 2) {
            together.append(try run("batch"))
            inTurn.append(try run("in-turn"))
        }
        let ratio = together.median / inTurn.median
        var table = Table([
            "\(count) pictures of 12 megapixels to 500 KiB/s", "batch", "one after the other", "ratio", "target",
        ])
        table.add([
            "wall", together.median.fixed(1) + " s", inTurn.median.fixed(1) + " s", ratio.fixed(2),
            "<= 0.60" + (ratio > 0.6 ? " missed" : ""),
        ])
        return table.text
    }
}
