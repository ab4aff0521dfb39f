import Testing
import TestSupport

/// A large file whose program is killed repeatedly: no stored part is sent twice, and the object equals the file.
@Suite(.timeLimit(.minutes(5 * Slowness.factor))) struct KillTests {
    private static let size = 200 << 20
    private static let partSize = 4 << 20

    /// The program to kill.
    enum Program {
        /// The client in the helper program.
        case client
        /// `waybill put`.
        case command
        /// The client of S3 in the helper program.
        case s3
    }

    @Test(arguments: zip([Program.client, .client, .command, .s3], [1, 5, 5, 5]))
    func `a killed upload resumes from the parts of the store`(
        _ program: Program, _ maximumConcurrentParts: Int
    ) async throws {
        var random = SeededGenerator()
        let folder = try TemporaryDirectory.forSparseFiles()
        let path = try Self.file(in: folder, &random)
        let wanted = try Self.parts(of: path)
        var settings = OSSStoreSettings()
        if program == .s3 { settings.dialect = .s3 }
        let store = try OSSStore(settings)
        let start = {
            try Self.start(
                program, path, store, records: folder.path("records"), maximumConcurrentParts: maximumConcurrentParts)
        }

        let kills = Int.random(in: 4...6, using: &random)
        for kill in 0..<kills {
            let mark = store.state.bodyBytes + Int.random(in: 0..<Self.size / (kills + 2), using: &random)
            let child = try start()
            store.onBytesReceived(bytes: mark) { child.signal(9) }
            let end = try await child.finish()
            #expect(end.exit == .signal(9), "seed \(random.seed), kill \(kill): \(end.errorText)")
            // Requests of the killed program have ended before the next program asks the store.
            try await store.settled()
            // Killed after the object was stored, but before the program ended: starting it again would be another
            // upload.
            if store.object("films/7.mov") != nil { break }
        }
        if store.object("films/7.mov") == nil {
            let last = try await start().finish()
            #expect(last.exit == .status(0), "seed \(random.seed): \(last.errorText)")
        }

        let state = try await store.settled()
        let comment: Comment = "seed \(random.seed), \(kills) kills"
        #expect(state.counts.values.allSatisfy { $0.resentAfterStored == 0 }, comment)
        #expect(state.counts.values.allSatisfy { $0.peakInFlight <= 1 }, comment)
        #expect(state.peakInFlight <= maximumConcurrentParts, comment)
        // An upload ID that was created, but not recorded before the program died, has no parts.
        #expect(Set(state.counts.keys.map(\.uploadID)).count == 1, comment)
        let begun = state.counts.values.map(\.begun).reduce(0, +)
        #expect(begun <= wanted.count + kills * maximumConcurrentParts, comment)

        let object = try #require(store.object("films/7.mov"), comment)
        #expect(object.timesStored == 1, comment)
        #expect(object.content.size == Self.size, comment)
        #expect(object.parts.count == wanted.count, comment)
        for (index, part) in wanted.enumerated() {
            #expect(object.parts[index + 1]?.md5 == part.md5, "part \(index + 1), \(comment)")
        }
        #expect(store.complaints == [], comment)
    }

    private static func start(
        _ program: Program, _ path: String, _ store: OSSStore, records: String, maximumConcurrentParts: Int
    ) throws -> ChildProcess {
        switch program {
        case .client, .s3:
            let words = [
                program == .s3 ? "s3" : "oss", store.endpoint, "films/7.mov", path, records, "\(partSize)",
                "\(maximumConcurrentParts)",
            ]
            return try ChildProcess("\(ProjectRoot.products)/StoreTestHelper", words)
        case .command:
            let words = [
                "put", path, "oss://examplebucket/films/7.mov", "--endpoint", store.endpoint, "--region", "cn-hangzhou",
                "--allow-http", "--records", records, "--part-size", "\(partSize)", "--parts-at-once",
                "\(maximumConcurrentParts)",
            ]
            return try ChildProcess(
                "\(ProjectRoot.products)/waybill", words,
                environment: ["OSS_ACCESS_KEY_ID": "ak", "OSS_ACCESS_KEY_SECRET": "sk", "PATH": "/usr/bin:/bin"])
        }
    }

    /// A file of zeros with scattered random bytes, so that parts differ and misplaced bytes are detected.
    private static func file(in folder: TemporaryDirectory, _ random: inout SeededGenerator) throws -> String {
        let path = try folder.writeSparse("film.mov", size: size)
        for start in stride(from: 0, to: size, by: partSize) {
            for _ in 0..<4 {
                let offset = start + Int.random(in: 0..<partSize - 64, using: &random)
                try folder.overwrite("film.mov", at: offset, random.bytes(64))
            }
        }
        return path
    }

    private static func parts(of path: String) throws -> [StoredBytes] {
        try stride(from: 0, to: size, by: partSize).map { start in
            try StoredBytes(ofFile: path, from: start, count: min(partSize, size - start))
        }
    }
}
