import KioskKit
import LittleBackend
import ReceiverKit
import Waybill
import WaybillOutbox

/// The steps of the scenario. Each step checks the state of the outbox or of the backend.
struct Scenario {
    let backend: LittleBackend
    let directory: String
    let token: String

    func run(_ photos: [Kiosk.Photo]) async throws {
        try await enqueue(photos)
        try await crashDuringUpload()
        try await crashBeforeResponse()
        try await deliverRest(photos.count)
        try await readResults(photos.count)
        try await compare(photos)
    }

    private func enqueue(_ photos: [Kiosk.Photo]) async throws {
        printLine("\n1. The kiosk enqueues; no worker is running")
        let outbox = try await Outbox(at: directory)
        let kiosk = Kiosk(outbox: outbox, url: backend.url)
        for photo in photos {
            let receipt = try await kiosk.enqueue(photo)
            let size = try await outbox.item(receipt.id)?.size ?? 0
            printLine("   #\(receipt.id) \(photo.business) \(photo.side), \(ByteCount(bytes: size)) on the disk")
            try Mismatch.unless(receipt.isNew, "#\(receipt.id) was already queued. Name an empty outbox with --outbox.")
        }
        let again = try await kiosk.enqueue(photos[0])
        printLine("   second press of the button: #\(again.id) is already queued")
        try Mismatch.unless(!again.isNew, "A side is queued twice.")
        await outbox.close()
        printLine("   the kiosk exits")
    }

    private func crashDuringUpload() async throws {
        let worker = try WorkerProcess(outbox: directory, token: token)
        printLine("\n2. The first worker delivers (process \(worker.number))")
        let snapshot = await backend.wait { snapshot in
            snapshot.effects.count == 1 && snapshot.arriving.contains { $0.bytes * 2 > $0.total }
        }
        worker.kill()
        for arrival in snapshot.arriving {
            printLine("   kill -9 after \(arrival.bytes) of \(arrival.total) bytes of the next side were received")
        }
    }

    private func crashBeforeResponse() async throws {
        await backend.delayResponse(toEffect: 3)
        let worker = try WorkerProcess(outbox: directory, token: token)
        printLine("\n3. The second worker continues (process \(worker.number))")
        let snapshot = await backend.wait { $0.effects.count == 3 }
        worker.kill()
        let last = snapshot.effects[2]
        printLine("   kill -9 after \(last.business) \(last.document) was stored, before the response")
        await backend.sendDelayedResponse()
    }

    private func deliverRest(_ count: Int) async throws {
        let worker = try WorkerProcess(outbox: directory, token: token)
        printLine("\n4. The third worker finishes (process \(worker.number)); the kiosk watches from its own process")
        let outbox = try await Outbox(at: directory)
        var shown = -1
        for try await progress in outbox.progress(batch: Kiosk.batch, every: .milliseconds(200)) {
            guard progress.tally[.done] != shown else { continue }
            shown = progress.tally[.done]
            printLine("   \(shown) of \(progress.tally.total) delivered")
        }
        try Mismatch.unless(shown == count, "\(count - shown) items were not delivered.")
        await outbox.close()
        // The worker calls `onResult` after it has recorded the result; after SIGTERM it exits when the call has returned.
        let status = worker.terminate()
        printLine("   SIGTERM: the worker exits with status \(status.map { "\($0)" } ?? "none")")
        try Mismatch.unless(status == 0, "The worker did not exit with status 0.")
    }

    private func readResults(_ count: Int) async throws {
        printLine("\n5. The kiosk restarts and reads the results")
        for round in ["it crashes before it acknowledges them", "this time it acknowledges them"] {
            let outbox = try await Outbox(at: directory)
            let missed = try await outbox.results()
            printLine("   \(missed.count) results: \(round)")
            try Mismatch.unless(missed.count == count, "\(missed.count) of \(count) results were returned.")
            try Mismatch.unless(missed.allSatisfy(\.isDelivered), "Not all items were delivered.")
            if round.hasPrefix("this"), let last = missed.last {
                for result in missed {
                    printLine("      #\(result.item.id) \(result.item.deduplicationKey ?? ""): \(result.summary)")
                }
                try await outbox.acknowledge(through: last.sequence)
            }
            await outbox.close()
        }
        let outbox = try await Outbox(at: directory)
        let left = try await outbox.results()
        await outbox.close()
        printLine("   results left: \(left.count)")
        try Mismatch.unless(left.isEmpty, "Acknowledged results were returned again.")
    }

    private func compare(_ photos: [Kiosk.Photo]) async throws {
        let snapshot = await backend.snapshot
        printLine("\n6. The state of the backend")
        printLine("   \(snapshot.requests) requests: \(snapshot.truncated) truncated, \(snapshot.complete) complete")
        printLine("   \(snapshot.replays) repeated: the response was sent again")
        printLine("   \(snapshot.effects.count) sides were stored")
        var expected: [String: String] = [:]
        for photo in photos where expected[photo.path] == nil {
            // Compression is deterministic: the same image and limit give the same bytes.
            let image = try await JPEGRecompressor(.maxBytes(Kiosk.limit)).recompress(file: photo.path)
            try Mismatch.unless(image.bytes.count <= Kiosk.limit.bytes, "An image is larger than \(Kiosk.limit).")
            expected[photo.path] = Self.digest(image.bytes)
        }
        for photo in photos {
            let name = "\(photo.business) ID-\(photo.side.uppercased())"
            let stored = snapshot.effects.filter { "\($0.business) \($0.document)" == name }
            try Mismatch.unless(stored.count == 1, "\(name) was stored \(stored.count) times.")
            try Mismatch.unless(stored[0].fileDigest == expected[photo.path], "\(name) has different bytes.")
        }
        try Mismatch.unless(snapshot.effects.count == photos.count, "An unexpected form was stored.")
        try Mismatch.unless(snapshot.replays == 1, "The lost response was repeated \(snapshot.replays) times.")
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        var sum = SHA256()
        sum.update(bytes.span)
        return sum.finish().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
