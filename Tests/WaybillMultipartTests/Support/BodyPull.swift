import WaybillCore

@testable import WaybillMultipart

/// Reads a body as a transport does, with a buffer of the given size for each read.
final class BodyPull {
    let reader: any BodyReader
    private let signal: WakeSignal
    /// How often the reader returned `later`.
    private(set) var waits = 0
    /// All bytes read so far.
    private(set) var received: [UInt8] = []

    init(_ body: some UploadBody) throws {
        let signal = WakeSignal()
        self.signal = signal
        reader = try body.makeReader { signal.wake() }
    }

    deinit {
        reader.close()
    }

    /// Returns the next bytes, or `nil` at the end.
    func next(room: Int) async throws -> [UInt8]? {
        while true {
            let (answer, bytes) = try read(room: room)
            switch answer {
            case .bytes(let count):
                guard count == bytes.count, count > 0 else { throw WrongCount(said: count, appended: bytes.count) }
                received += bytes
                return bytes
            case .end:
                guard bytes.isEmpty else { throw WrongCount(said: 0, appended: bytes.count) }
                return nil
            case .later:
                guard bytes.isEmpty else { throw WrongCount(said: 0, appended: bytes.count) }
                waits += 1
                await signal.wait()
            }
        }
    }

    func rest(room: Int) async throws -> [UInt8] {
        while try await next(room: room) != nil {}
        return received
    }

    struct WrongCount: Error {
        let said: Int
        let appended: Int
    }

    func read(room: Int) throws -> (BodyRead, [UInt8]) {
        var answer = Result<BodyRead, any Error>.success(.end)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            let raw = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<room])
            var output = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
            answer = Result { try reader.read(into: &output) }
            unsafe count = output.finalize(for: raw)
        }
        return (try answer.get(), bytes)
    }
}

func allBytes(of body: some UploadBody, room: Int = 65_536) async throws -> [UInt8] {
    try await BodyPull(body).rest(room: room)
}

extension BodyError.Code {
    /// Returns the code of the error thrown by a closure, or `nil` for no error or another one.
    static func thrown(by work: () async throws -> Void) async -> BodyError.Code? {
        do {
            try await work()
            return nil
        } catch {
            return (error as? BodyError)?.code
        }
    }
}
