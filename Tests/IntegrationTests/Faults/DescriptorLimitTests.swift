import Glibc
import TestSupport
import Testing
import Waybill

/// A process without free file descriptors.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct DescriptorLimitTests {
    @Test func `an upload without a free descriptor fails, and succeeds once one is free`() async throws {
        // The limit applies to the process, so the test runs in a separate one.
        guard IsolatedProcess.isIsolated else { return try await IsolatedProcess.run("DescriptorLimitTests") }
        var limit = rlimit(rlim_cur: 256, rlim_max: 256)
        try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let servers = try (LoopbackServer(), LoopbackServer())
        var options = UploadOptions()
        options.retry = .none

        var taken = Self.takeAll()
        print("ProcessResources: \(taken.count) descriptors were free")
        // The engine cannot be created.
        let session = UploadSession()
        let first = await #expect(throws: UploadError.self) {
            try await session.upload(.data([1]), to: servers.0.url(), options: options)
        }
        #expect(first?.code == .resourcesExhausted && first?.outcome == .notSent, "\(String(describing: first))")
        Self.close(&taken)
        #expect(try await session.upload(.data([1]), to: servers.0.url(), options: options).status == .ok)

        // The connection cannot be created.
        taken = Self.takeAll()
        let second = await #expect(throws: UploadError.self) {
            try await session.upload(.data([1]), to: servers.1.url(), options: options)
        }
        #expect(second?.code == .resourcesExhausted && second?.outcome == .notSent, "\(String(describing: second))")
        Self.close(&taken)
        #expect(try await session.upload(.data([1]), to: servers.1.url(), options: options).status == .ok)
    }

    private static func takeAll() -> [Int32] {
        var taken: [Int32] = []
        while true {
            let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return taken }
            taken.append(descriptor)
        }
    }

    private static func close(_ descriptors: inout [Int32]) {
        for descriptor in descriptors { Glibc.close(descriptor) }
        descriptors = []
    }
}
