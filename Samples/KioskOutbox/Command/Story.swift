import KioskKit
import LittleBackend
import ReceiverKit
import Waybill
import WaybillOutbox

/// What happens, act by act. Nothing is taken on trust: each act ends with a look at the books.
struct Story {
    let backend: LittleBackend
    let folder: String
    let token: String

    func tell(_ photographs: [Kiosk.Photograph]) async throws {
        try await handOver(photographs)
        try await crashInTheMiddle()
        try await crashBeforeTheAnswer()
        try await deliverTheRest(photographs.count)
        try await learn(photographs.count)
        try await compare(photographs)
    }

    private func handOver(_ photographs: [Kiosk.Photograph]) async throws {
        say("\n1. The kiosk hands over, and nobody delivers yet")
        let outbox = try await Outbox(at: folder)
        let kiosk = Kiosk(outbox: outbox, url: backend.url)
        for photograph in photographs {
            let receipt = try await kiosk.handOver(photograph)
            let size = try await outbox.item(receipt.id)?.size ?? 0
            say("   #\(receipt.id) \(photograph.business) \(photograph.side), \(ByteCount(bytes: size)) on the disk")
            try Mismatch.unless(receipt.isNew, "#\(receipt.id) was there before: name an outbox that is empty")
        }
        let again = try await kiosk.handOver(photographs[0])
        say("   the button once more: #\(again.id) is there already")
        try Mismatch.unless(!again.isNew, "the same side is in the queue twice")
        await outbox.close()
        say("   the kiosk ends")
    }

    private func crashInTheMiddle() async throws {
        let worker = try WorkerProcess(outbox: folder, token: token)
        say("\n2. A worker delivers (process \(worker.number))")
        let books = await backend.wait { books in
            books.effects.count == 1 && books.arriving.contains { $0.bytes * 2 > $0.total }
        }
        worker.kill()
        for arrival in books.arriving {
            say("   kill -9, when \(arrival.bytes) of \(arrival.total) bytes of the next side had arrived")
        }
    }

    private func crashBeforeTheAnswer() async throws {
        await backend.holdAnswer(toBooking: 3)
        let worker = try WorkerProcess(outbox: folder, token: token)
        say("\n3. A second one goes on (process \(worker.number))")
        let books = await backend.wait { $0.effects.count == 3 }
        worker.kill()
        let last = books.effects[2]
        say("   kill -9, when \(last.business) \(last.document) was booked and nobody had been told")
        await backend.descriptorClosed()
    }

    private func deliverTheRest(_ count: Int) async throws {
        let worker = try WorkerProcess(outbox: folder, token: token)
        say("\n4. A third one finishes (process \(worker.number)), and the kiosk watches from outside")
        let outbox = try await Outbox(at: folder)
        var shown = -1
        for try await progress in outbox.progress(batch: Kiosk.batch, every: .milliseconds(200)) {
            guard progress.tally[.done] != shown else { continue }
            shown = progress.tally[.done]
            say("   \(shown) of \(progress.tally.total) delivered")
        }
        try Mismatch.unless(shown == count, "\(count - shown) were not delivered")
        await outbox.close()
        // What the worker has to tell comes after what it wrote down: it ends when that is told, too.
        let status = worker.terminate()
        say("   SIGTERM: the worker ends by itself, status \(status.map { "\($0)" } ?? "none")")
        try Mismatch.unless(status == 0, "the worker did not end well")
    }

    private func learn(_ count: Int) async throws {
        say("\n5. The kiosk is started anew and asks what it missed")
        for round in ["it crashes before it has booked that", "this time it books them and says so"] {
            let outbox = try await Outbox(at: folder)
            let missed = try await outbox.results()
            say("   \(missed.count) results: \(round)")
            try Mismatch.unless(missed.count == count, "\(missed.count) of \(count) results are told")
            try Mismatch.unless(missed.allSatisfy(\.isDelivered), "not all were delivered")
            if round.hasPrefix("this"), let last = missed.last {
                for result in missed {
                    say("      #\(result.item.id) \(result.item.deduplicationKey ?? ""): \(result.words)")
                }
                try await outbox.acknowledge(through: last.sequence)
            }
            await outbox.close()
        }
        let outbox = try await Outbox(at: folder)
        let left = try await outbox.results()
        await outbox.close()
        say("   and then: \(left.count)")
        try Mismatch.unless(left.isEmpty, "results that were acknowledged are told again")
    }

    private func compare(_ photographs: [Kiosk.Photograph]) async throws {
        let books = await backend.books
        say("\n6. The books of the backend")
        say("   \(books.requests) requests: \(books.broken) broke off, \(books.whole) came whole")
        say("   \(books.replays) of these had come before and got the same answer")
        say("   \(books.effects.count) sides were stored")
        var expected: [String: String] = [:]
        for photograph in photographs where expected[photograph.path] == nil {
            // The same picture under the same limit is the same file, so it can be made once more to compare.
            let image = try await JPEGRecompressor(.maxBytes(Kiosk.limit)).recompress(file: photograph.path)
            try Mismatch.unless(image.bytes.count <= Kiosk.limit.bytes, "a picture is larger than \(Kiosk.limit)")
            expected[photograph.path] = Self.digest(image.bytes)
        }
        for photograph in photographs {
            let name = "\(photograph.business) ID-\(photograph.side.uppercased())"
            let stored = books.effects.filter { "\($0.business) \($0.document)" == name }
            try Mismatch.unless(stored.count == 1, "\(name) was stored \(stored.count) times")
            try Mismatch.unless(stored[0].fileDigest == expected[photograph.path], "\(name) has other bytes")
        }
        try Mismatch.unless(books.effects.count == photographs.count, "something else was stored")
        try Mismatch.unless(books.replays == 1, "the answer that got lost was asked for \(books.replays) times")
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        var sum = SHA256()
        sum.update(bytes.span)
        return sum.finish().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
