import WaybillCore

@testable import Waybill

/// Tracks pausing: whether the upload is held in the queue, whether its transfer is paused, and which timer runs.
struct PauseTracker {
    private(set) var isPaused = false
    private(set) var isHeld = false
    /// How long it was paused, over all pauses that have ended.
    private(set) var total = Duration.zero
    /// The pause whose slot is due to be returned.
    private(set) var timer: Int?
    var isTransferPaused = false
    /// Whether the current or latest attempt was paused.
    private(set) var wasTransferPaused = false
    /// Whether the time for keeping the slot has just expired.
    var isOverdue = false
    private var since = Duration.zero

    mutating func record(_ event: UploadStateMachine.Event, isCancelled: Bool) {
        switch event {
        case .pause(let elapsed) where !isPaused && !isCancelled:
            isPaused = true
            since = elapsed
        case .resume(let elapsed) where isPaused:
            isPaused = false
            total += elapsed - since
        case .slotReturnDue(let pause) where pause == timer:
            timer = nil
            isOverdue = true
        default: break
        }
    }

    mutating func check(
        _ action: UploadStateMachine.Action, transfer: Int?, place: LifeChecker.Place
    ) -> String? {
        let isInLine = [.waitingLine, .preparationWindow, .readyLine].contains(place)
        switch action {
        case .join(let isHeld), .requeue(let isHeld):
            self.isHeld = isHeld
            return nil
        case .requeueHeld:
            defer { isHeld = true }
            return isPaused ? nil : "an unpaused upload was requeued as held"
        case .startTransfer:
            wasTransferPaused = false
            return nil
        case .hold:
            defer { isHeld = true }
            return isInLine && !isHeld ? nil : "held at \(place)"
        case .release:
            defer { isHeld = false }
            return isInLine && isHeld ? nil : "released at \(place)"
        case .pauseTransfer:
            defer {
                isTransferPaused = true
                wasTransferPaused = true
            }
            return transfer != nil && !isTransferPaused && isPaused ? nil : "no transfer to pause"
        case .resumeTransfer:
            defer { isTransferPaused = false }
            return transfer != nil && isTransferPaused ? nil : "no paused transfer"
        case .scheduleSlotReturn(let delay, let pause):
            defer { timer = pause }
            return timer == nil && isTransferPaused && delay >= .zero
                ? nil : "a second slot timer, or one without a paused transfer"
        case .unscheduleSlotReturn:
            defer { timer = nil }
            return timer == nil ? "no slot timer to stop" : nil
        default: return nil
        }
    }
}
