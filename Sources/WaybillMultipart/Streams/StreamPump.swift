import WaybillCore

/// Accepts chunks from a pump one at a time; returns `false` if no more are wanted.
typealias ChunkReceiver = @Sendable ([UInt8]) async -> Bool

/// Pulls a stream and passes on its chunks until the stream or the taker ends. Throws the error of the stream.
typealias StreamPump = @Sendable (ChunkReceiver) async throws -> Void

/// The origin of a stream's pump.
enum StreamOrigin: Sendable {
    /// A sequence that can be iterated only once.
    case single(OneShot)
    /// A closure that creates a new sequence each time.
    case replayable(StreamPump)

    init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element: Sequence<UInt8> {
        self = .single(
            OneShot { receive in
                for try await chunk in chunks {
                    guard await receive(Array(chunk)) else { return }
                }
            })
    }

    init<Chunks: AsyncSequence & Sendable>(making make: @escaping @Sendable () async throws -> Chunks)
    where Chunks.Element: Sequence<UInt8> {
        self = .replayable { receive in
            for try await chunk in try await make() {
                guard await receive(Array(chunk)) else { return }
            }
        }
    }

    var isReplayable: Bool {
        switch self {
        case .single: false
        case .replayable: true
        }
    }

    /// Returns the pump for one more iteration.
    ///
    /// - Throws: ``BodyError/Code/bodyNotReplayable`` if the stream was already read and cannot be created again.
    func pump(at location: PartLocation?) throws(BodyError) -> StreamPump {
        switch self {
        case .replayable(let pump): return pump
        case .single(let oneShot):
            guard let pump = oneShot.take() else {
                throw BodyError(
                    .bodyNotReplayable,
                    "The stream was already read. Pass a closure that creates it again, keep a copy, or send data or "
                        + "a file.",
                    at: location)
            }
            return pump
        }
    }

    /// A pump that can be taken once.
    final class OneShot: Sendable {
        private let pump: Locked<StreamPump?>

        init(_ pump: @escaping StreamPump) {
            self.pump = Locked(pump)
        }

        func take() -> StreamPump? {
            pump.withLock { pump in
                defer { pump = nil }
                return pump
            }
        }
    }
}

extension BodyError {
    /// The error for a stream that threw.
    static func stream(_ cause: any Error, after count: Int64, at location: PartLocation?) -> BodyError {
        if let error = cause as? BodyError, error.code == .diskFull || error.code == .writeFailed { return error }
        return BodyError(
            .streamFailed, "The stream failed after \(count) bytes: \(cause). The body is incomplete.", at: location,
            cause: cause)
    }
}
