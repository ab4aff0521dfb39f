import FoundationEssentials
import WaybillCore

/// The completed steps of an upload with tickets, as persisted by a queue.
enum TicketProgress: Codable, Sendable, Equatable {
    /// The file may have been put as this ``UploadTicket/object``.
    case putting(String, isRepeatable: Bool)
    /// The object is stored. Has the values for the final request.
    case stored([String: String])
    /// The object is stored, and the final request may have been sent.
    case confirming([String: String])

    init?(_ state: [UInt8]?) {
        guard let state, !state.isEmpty, let found = try? JSONDecoder().decode(Self.self, from: Data(state)) else {
            return nil
        }
        self = found
    }

    var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map(Array.init) ?? [] }

    /// The values for the final request, once the object is stored.
    var values: [String: String]? {
        switch self {
        case .putting: nil
        case .stored(let values), .confirming(let values): values
        }
    }
}

/// The progress of one delivery, which its queue stores before each step that may act.
final class TicketState: Sendable {
    let delivery: Delivery
    private let current: Locked<TicketProgress?>

    init(_ delivery: Delivery) {
        self.delivery = delivery
        current = Locked(TicketProgress(delivery.resume))
    }

    var progress: TicketProgress? { current.withLock { $0 } }

    /// Performs a step that may act. If the queue can't store that, the step is not performed: another process would
    /// repeat it.
    ///
    /// - Parameters:
    ///   - state: The progress from the first byte of the step.
    ///   - before: The progress if the step has not acted.
    ///   - isProgress: Whether an earlier step was completed, so that the attempt does not count.
    ///   - step: The step.
    /// - Returns: The response of the step.
    /// - Throws: The error of the step, or ``UploadError/Code/recordUnusable``.
    func perform(
        _ state: TicketProgress, otherwise before: TicketProgress?, isProgress: Bool = false,
        _ step: () async throws(UploadError) -> UploadResponse
    ) async throws(UploadError) -> UploadResponse {
        // An earlier attempt of the same step may have acted: that is not undone if this one does not act.
        guard state != progress else { return try await step() }
        guard await store(state, isProgress) else {
            throw UploadError(
                .recordUnusable,
                "The queue could not store the state of the upload, and the request was not sent. Check the disk of "
                    + "the queue.", phase: .queued, outcome: isProgress ? .unknown : .notSent)
        }
        do throws(UploadError) {
            return try await step()
        } catch {
            guard !error.outcome.mayHaveActed, await !store(before, isProgress) else { throw error }
            // The stored state says that the step may have acted: only a verification may decide about another attempt.
            var error = error
            error.outcome = .unknown
            throw error
        }
    }

    /// Stores that the put must not be repeated.
    func forbidRepetition() async {
        guard case .putting(let object, _)? = progress else { return }
        _ = await store(.putting(object, isRepeatable: false), false)
    }

    private func store(_ progress: TicketProgress?, _ isProgress: Bool) async -> Bool {
        guard await delivery.store(progress?.encoded ?? [], isProgress: isProgress) else { return false }
        current.withLock { $0 = progress }
        return true
    }
}
