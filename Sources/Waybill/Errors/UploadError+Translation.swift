import WaybillCore
import WaybillJPEG
import WaybillMultipart

// Translates the errors of all modules into an UploadError. Codes keep their names. The innermost error with an
// explanation determines code and message: a JPEG that ends early is `truncated`, not "the part failed".

extension UploadError {
    /// Creates the error of a body that could not be prepared.
    package init(preparing error: any Error) {
        let translation = Self.translate(error)
        self.init(
            translation.code, Redaction.escaped(translation.message), phase: .preparing,
            part: Self.part(of: error), cause: error)
    }

    /// Returns the code of a failed transfer. If the body failed during the transfer, the code of its cause is more
    /// specific than `bodyFailed`.
    static func code(of error: TransferError) -> Code {
        guard error.code == .bodyFailed, let cause = error.cause else { return Code(error.code.description) }
        let inner = translate(cause).code
        return inner == .preparationFailed ? .bodyFailed : inner
    }

    /// Returns the message that goes with the code.
    static func message(of error: TransferError) -> String {
        guard error.code == .bodyFailed, let cause = error.cause else { return error.message }
        return translate(cause).message
    }

    /// Returns the part that an error or its cause names, if any.
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
        case is CancellationError: return (.cancelled, "The upload was cancelled during preparation.")
        case let error as UploadError: return (error.code, error.message)
        default: return (.preparationFailed, "Preparing the body failed: \(error)".sentence)
        }
    }
}
