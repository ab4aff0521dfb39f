import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillOutbox
@testable import WaybillStores

/// A program that delivers from an outbox and is killed repeatedly: parts that a store lists are never sent again,
/// and each item becomes one object.
@Suite(.timeLimit(.minutes(5 * Slowness.factor)), .serialized) struct DurableKillTests {
    private static let size = 96 << 20
    private static let partSize = 4 << 20

    @Test(arguments: [false, true])
    func `a killed delivery to OSS or S3 resumes from the parts of the store`(_ isS3: Bool) async throws {
        var random = SeededGenerator()
        let fixture = try DurableFixture()
        let disk = try TemporaryDirectory.forSparseFiles()
        let path = try Self.file(in: disk, &random)
        let store = isS3 ? fixture.s3 : fixture.oss
        if isS3 {
            var configuration = fixture.s3Configuration
            configuration.partSize = .bytes(Int64(Self.partSize))
            configuration.maximumConcurrentParts = 3
            let upload = try await DurableS3Upload(
                file: path, to: "films/7.mov", configuration: configuration, credential: "test")
            try await Self.enqueue(upload, fixture)
        } else {
            var configuration = try fixture.ossConfiguration
            configuration.partSize = .bytes(Int64(Self.partSize))
            configuration.maximumConcurrentParts = 3
            let upload = try await DurableOSSUpload(
                file: path, to: "films/7.mov", configuration: configuration, credential: "test")
            try await Self.enqueue(upload, fixture)
        }
        let kills = Int.random(in: 4...6, using: &random)
        for kill in 0..<kills {
            // The last kill is long before the end, which a slow machine could otherwise reach first.
            let mark = store.state.bodyBytes + Int.random(in: 0..<Self.size / (kills + 2), using: &random)
            let child = try Self.program(fixture)
            store.onBytesReceived(bytes: mark) { child.signal(9) }
            let end = try await child.finish()
            #expect(end.exit == .signal(9), "seed \(random.seed), kill \(kill): \(end.errorText)")
            try await store.settled()
        }
        let last = try await Self.program(fixture).finish()
        let comment: Comment = "seed \(random.seed), \(kills) kills"
        #expect(last.exit == .status(0) && last.text == "1\n", "\(last.text) \(last.errorText), seed \(random.seed)")

        let state = try await store.settled()
        let count = Self.size / Self.partSize
        #expect(state.counts.values.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight <= 1 }, comment)
        // An upload ID that was created, but not recorded before the program died, has no parts.
        #expect(Set(state.counts.keys.map(\.uploadID)).count == 1, comment)
        let begun = state.counts.values.reduce(0) { $0 + $1.begun }
        #expect(begun <= count + kills * 3, comment)
        let object = try #require(store.object("films/7.mov"), comment)
        #expect(object.timesStored == 1 && object.content.size == Self.size && object.parts.count == count, comment)
        for number in 1...count {
            let wanted = try StoredBytes(ofFile: path, from: (number - 1) * Self.partSize, count: Self.partSize)
            #expect(object.parts[number]?.md5 == wanted.md5, "part \(number), \(comment)")
        }
        #expect(store.complaints == [], comment)
        try await Self.checkDone(fixture)
        print("\(isS3 ? "S3" : "OSS") from an outbox: \(kills) kills, \(begun) parts begun for \(count)")
    }

    @Test func `a killed Qiniu delivery resumes from the parts of the store`() async throws {
        var random = SeededGenerator()
        let fixture = try DurableFixture()
        let disk = try TemporaryDirectory.forSparseFiles()
        let path = try Self.file(in: disk, &random)
        var configuration = fixture.qiniuConfiguration
        configuration.partSize = .bytes(Int64(Self.partSize))
        configuration.maximumConcurrentParts = 3
        let upload = try await DurableQiniuUpload(
            file: path, to: "film", in: "photos", credential: "test", configuration: configuration)
        try await Self.enqueue(upload, fixture)
        let kills = Int.random(in: 3...5, using: &random)
        for kill in 0..<kills {
            let mark = fixture.qiniu.state.bodyBytes + Int.random(in: 0..<Self.size / (kills + 2), using: &random)
            let child = try Self.program(fixture)
            fixture.qiniu.onBytesReceived(bytes: mark) { child.signal(9) }
            let end = try await child.finish()
            #expect(end.exit == .signal(9), "seed \(random.seed), kill \(kill): \(end.errorText)")
            try await fixture.qiniu.settled()
        }
        let last = try await Self.program(fixture).finish()
        let comment: Comment = "seed \(random.seed), \(kills) kills"
        #expect(last.exit == .status(0) && last.text == "1\n", "\(last.text) \(last.errorText), seed \(random.seed)")
        let state = try await fixture.qiniu.settled()
        let count = Self.size / Self.partSize
        #expect(state.counts.values.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight <= 1 }, comment)
        let object = try #require(fixture.qiniu.object("film"), comment)
        #expect(object.content.size == Self.size, comment)
        #expect(object.timesStored == 1, comment)
        #expect(Set(state.counts.keys.map(\.uploadID)).count == 1, comment)
        #expect(fixture.qiniu.complaints == [], comment)
        try await Self.checkDone(fixture)
        let begun = state.counts.values.reduce(0) { $0 + $1.begun }
        print("Qiniu from an outbox: \(kills) kills, \(begun) parts begun for \(count)")
    }

    private static func enqueue(_ upload: some DurableUpload, _ fixture: DurableFixture) async throws {
        let outbox = try await fixture.open()
        // If the program is killed before a part is complete, there is no progress; that may happen each time.
        var options = EnqueueOptions()
        options.maxAttempts = 100
        try await outbox.enqueue(upload, options: options)
        await outbox.close()
    }

    private static func checkDone(_ fixture: DurableFixture) async throws {
        let outbox = try await fixture.open()
        let results = try await outbox.results()
        #expect(results.count == 1 && results.allSatisfy { $0.isDelivered && $0.status == 200 })
        await outbox.close()
    }

    private static func program(_ fixture: DurableFixture) throws -> ChildProcess {
        try ChildProcess("\(ProjectRoot.products)/StoreTestHelper", ["outbox", fixture.folder.path("outbox")])
    }

    /// A file of zeros with random bytes in each part.
    private static func file(in folder: TemporaryDirectory, _ random: inout SeededGenerator) throws -> String {
        let path = try folder.writeSparse("film.mov", size: size)
        for start in stride(from: 0, to: size, by: partSize) {
            try folder.overwrite(
                "film.mov", at: start + Int.random(in: 0..<partSize - 64, using: &random), random.bytes(64))
        }
        return path
    }
}
