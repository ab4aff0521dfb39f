import Glibc
import TestSupport
import Testing
import Waybill
import WaybillTesting

/// The executor on the thread that sends a session's uploads.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct ExecutorTests {
    private static var threadName: String {
        let descriptor = unsafe open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var name = [UInt8](repeating: 0, count: 32)
        let count = unsafe read(descriptor, &name, name.count)
        return String(decoding: name.prefix(max(0, count - 1)), as: UTF8.self)
    }

    @Test func `a task that prefers the executor uploads on the thread of the transport`() async throws {
        let server = try LoopbackServer()
        let session = UploadSession()
        let names = try await withTaskExecutorPreference(session.executor) {
            var names = [Self.threadName]
            for number in 0..<20 {
                _ = try await session.upload([.text("NUMBER", "\(number)")], to: server.url())
                names.append(Self.threadName)
            }
            return names
        }
        #expect(names == [String](repeating: "waybill-curl", count: 21))
        #expect(server.requests.count == 20)
        #expect(server.state.connections.count == 1)
    }

    @Test func `tasks continue on the executor after the session has closed its connections`() async throws {
        let server = try LoopbackServer()
        let session = UploadSession()
        let executor = session.executor
        try await withTaskExecutorPreference(executor) {
            _ = try await session.upload([.text("A", "1")], to: server.url())
            await session.close()
            await Task.yield()
            #expect(Self.threadName == "waybill-curl")
        }
    }

    @Test func `many tasks share the executor`() async throws {
        let server = try LoopbackServer(keepsBodies: false)
        let session = UploadSession()
        let sent = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask(executorPreference: session.executor) {
                    var sent = 0
                    for _ in 0..<10 where (try? await session.upload([.text("A", "1")], to: server.url())) != nil {
                        sent += 1
                    }
                    return sent
                }
            }
            return await group.reduce(0, +)
        }
        #expect(sent == 160)
    }

    @Test func `a session without such a thread returns the global executor`() async throws {
        let session = UploadSession(transport: ScriptedTransport(.responding(.ok)))
        let sent = try await withTaskExecutorPreference(session.executor) {
            try await session.upload([.text("A", "1")], to: "http://host/").status
        }
        #expect(sent == .ok)
    }
}
