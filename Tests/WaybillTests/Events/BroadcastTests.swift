import TestSupport
import Testing
import WaybillCore

@testable import Waybill

@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct BroadcastTests {
    @Test func `values arrive in order, and a full buffer keeps the newest`() async {
        let broadcast = Broadcast<Int, Int>()
        var narrow = broadcast.listen(to: 1, bufferSize: 2, first: 0).makeAsyncIterator()
        var wide = broadcast.listen(to: 2, bufferSize: 9).makeAsyncIterator()
        for value in 1...5 { broadcast.send(value).resume() }
        broadcast.send(6, to: 2).resume()
        broadcast.finishAll().resume()
        for expected in [4, 5, nil, nil] { #expect(await narrow.next() == expected) }
        for expected in [1, 2, 3, 4, 5, 6, nil] { #expect(await wide.next() == expected) }
    }

    @Test func `a released listener is removed, and a finished one receives buffered values`() async {
        let broadcast = Broadcast<Int, Int>()
        do {
            let listening = broadcast.listen(to: 1)
            #expect(broadcast.hasListeners(for: 1) && !broadcast.hasListeners(for: 2) && !broadcast.isEmpty)
            withExtendedLifetime(listening) {}
        }
        #expect(broadcast.isEmpty)
        var late = broadcast.listen(to: 1, first: 7, isLast: true).makeAsyncIterator()
        #expect(broadcast.isEmpty)
        #expect(await late.next() == 7)
        #expect(await late.next() == nil)
        broadcast.close()
        var closed = broadcast.listen(to: 1).makeAsyncIterator()
        #expect(await closed.next() == nil)
    }

    @Test func `a cancelled task ends its listener`() async {
        let broadcast = Broadcast<Int, Int>()
        let listening = broadcast.listen(to: 1)
        let task = Task { await listening.first { _ in true } }
        task.cancel()
        #expect(await task.value == nil)
        broadcast.send(1).resume()
        #expect(await listening.first { _ in true } == nil)
    }

    /// The sending thread and the cancelling thread each hold one of two locks and wait for the other one: if a
    /// listener were resumed while the lock of the state is held, this would deadlock.
    @Test func `cancelling a listener while a snapshot is published does not deadlock`() async throws {
        for _ in 0..<300 {
            let broadcast = ProgressBroadcast(clock: ContinuousClock())
            let listening = broadcast.listen(for: 0)
            let (seen, isOver) = (Watched(0), Watched(false))
            let listener = Task {
                await withTaskCancellationHandler {
                    for await _ in listening { seen.update { $0 += 1 } }
                } onCancel: {
                    broadcast.publish(UploadSnapshot())
                }
            }
            // A thread of its own: a busy task would take one of two threads from all other tests.
            async let sender: Void = BlockingThread.run {
                var snapshot = UploadSnapshot()
                while !isOver.value {
                    snapshot.acknowledged += 1
                    broadcast.publish(snapshot)
                }
            }
            try await seen.waitUntil { $0 > 2 }
            listener.cancel()
            await listener.value
            isOver.update { $0 = true }
            await sender
        }
    }
}
