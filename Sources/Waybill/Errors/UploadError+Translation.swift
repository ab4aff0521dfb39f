import WaybillCore
import WaybillJPEG
import WaybillMultipart

// The one place where the errors of the rooms become an UploadError. Codes keep their names; the innermost error that
// explains something gives code and message: a JPEG that is cut short is `truncated`, not "the part failed".

extension UploadError {
    /// The error of a body that could not be made.
    package init(preparing error: any Error) {
        let translation = Self.translate(error)
        self.init(
            translation.code, Redaction.escaped(translation.message), phase: .preparing,
            part: Self.part(of: error), cause: error)
    }

    /// The code of a failed transfer. A body that failed on the way says more than `bodyFailed` does.
    static func code(of error: TransferError) -> Code {
        guard error.code == .bodyFailed, let cause = error.cause else { return Code(error.code.description) }
        let inner = translate(cause).code
        return inner == .preparationFailed ? .bodyFailed : inner
    }

    /// The message that goes with it.
    static func message(of error: TransferError) -> String {
        guard error.code == .bodyFailed, let cause = error.cause else { return error.message }
        return translate(cause).message
    }

    /// The part that an error names, if it or its cause is one of the body.
    static func part(of error: any Error) -> String? {
        switch error {
        case let error as BodyError: error.part
        case let error as TransferError: error.cause.flatMap(part)
        default: nil
        }
    }

    private static func translate(_ error: any Error) -> (code: Code, message: String) {
        switch error {
        case let error as BodyError:
            guard error.code == .preparationFailed, let cause = error.cause else {
                return (Code(error.code.description), error.message)
            }
            let inner = translate(cause)
            return inner.code == .preparationFailed ? (.preparationFailed, error.message) : inner
        case let error as JPEGError: return (Code(error.code.description), error.message)
        case is CancellationError: return (.cancelled, "cancelled while it was prepared")
        case let error as UploadError: return (error.code, error.message)
        default: return (.preparationFailed, "the body could not be made: \(error)")
        }
    }
}
