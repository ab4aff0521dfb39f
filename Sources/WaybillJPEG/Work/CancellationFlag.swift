import CWaybillJPEG
import Glibc

/// A cancellation flag that the work polls: between rows in Swift, between MCU rows in libjpeg.
@safe final class CancellationFlag: @unchecked Sendable {
    /// The pointer for calls into C; valid as long as this object lives.
    let raw: OpaquePointer

    init() {
        guard let flag = unsafe wb_jpeg_flag_create() else { fatalError("Out of memory while allocating 4 bytes.") }
        unsafe raw = flag
    }

    deinit { unsafe wb_jpeg_flag_destroy(raw) }

    func set() { unsafe wb_jpeg_flag_raise(raw) }

    var isSet: Bool { unsafe wb_jpeg_flag_is_raised(raw) != 0 }

    func check() throws(JPEGError) {
        if isSet { throw .stopped }
    }
}

extension JPEGError {
    static var stopped: JPEGError { JPEGError(.cancelled, "The work was cancelled. No image was produced.") }
}

/// The CPU time of the calling thread.
enum ThreadClock {
    static var now: Duration {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
