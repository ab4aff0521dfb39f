import Foundation
import Glibc
import TestSupport
import Testing

/// An upload whose program is killed at random until one run completes.
@Suite(.timeLimit(.minutes(5 * Slowness.factor)), .serialized) struct QiniuKillTests {
    private static let part = 4 << 20
    private static let size = 100 << 20

    @Test(arguments: [1, 3]) func `100 MiB in parts are stored once each despite random kills`(
        atOnce: Int
    ) async throws {
        var random = SeededGenerator()
        let store = try QiniuStore()
        let folder = try TemporaryDirectory.forSparseFiles()
        let path = try folder.writeSparse("film.bin", size: Self.size)
        let intake = try fill(folder, &random)
        var kills = 0
        var caught = 0
        var isThere = false
        while kills < 6, !isThere {
            let child = try startUpload(store, path, folder, atOnce)
            let before = store.state.log.reduce(0) { $0 + $1.bodyBytes }
            let more = Int.random(in: 1...(24 << 20), using: &random)
            try await store.waitUntil { state in
                state.object("film") != nil || state.log.reduce(0) { $0 + $1.bodyBytes } >= before + more
            }
            guard store.object("film") == nil else {
                #expect(try await child.finish().exit == .status(0))
                isThere = true
                continue
            }
            child.signal(SIGKILL)
            let exit = try await child.finish().exit
            kills += 1
            let state = try await store.settled()
            #expect(exit == .signal(Int(SIGKILL)) || state.object("film") != nil)
            caught = state.counts.values.reduce(0) { $0 + $1.begun - $1.stored }
            // The program may have been killed after its last request: then the store has made the object anyway.
            isThere = state.object("film") != nil
        }
        if !isThere {
            let last = try await startUpload(store, path, folder, atOnce).finish()
            #expect(last.exit == .status(0) && last.text.hasPrefix("\(intake) "), "\(last.errorText)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("records")).isEmpty)
        }
        let state = try await store.settled()
        let object = try #require(state.object("film"))
        #expect(object.content.size == Self.size && object.hash == intake)
        // No stored part was sent again, each was in flight only once at a time, and parts sent twice had been in
        // flight when the program was killed.
        #expect(state.counts.values.allSatisfy { $0.resentAfterStored == 0 && $0.peakInFlight == 1 })
        #expect(state.counts.count == Self.size / Self.part)
        #expect(state.counts.values.allSatisfy { $0.stored == 1 && $0.begun <= 1 + kills })
        #expect(caught <= kills * atOnce)
        // An upload that was killed before its start was recorded starts again.
        #expect((1...(1 + kills)).contains(state.log(.begin).count))
        let sent = state.counts.values.reduce(0) { $0 + $1.begun }
        print(
            "Qiniu, \(atOnce) at once: \(kills) kills, \(sent) parts begun for \(state.counts.count), \(caught) in flight"
        )
    }

    /// Makes the parts differ, and returns the hash of the whole.
    private func fill(_ folder: TemporaryDirectory, _ random: inout SeededGenerator) throws -> String {
        var blocks = QiniuBytes()
        for number in 0..<(Self.size / Self.part) {
            let mark = random.bytes(16)
            try folder.overwrite("film.bin", at: number * Self.part, mark)
            let block = QiniuBytes(of: mark + [UInt8](repeating: 0, count: Self.part - mark.count))
            blocks.blocks += block.blocks
        }
        return blocks.etag
    }

    private func startUpload(
        _ store: QiniuStore, _ path: String, _ folder: TemporaryDirectory, _ atOnce: Int
    ) throws -> ChildProcess {
        let program = "\(ProjectRoot.products)/StoreTestHelper"
        return try ChildProcess(
            program,
            [
                "qiniu", store.url(), "film", path, folder.path("records"), "\(Self.part)", "\(atOnce)",
            ])
    }
}
