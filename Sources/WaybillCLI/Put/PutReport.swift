import Waybill
import WaybillStores

/// Formats the result of a file as a line and as JSON.
struct PutReport: Sendable {
    var file: PutFile
    var result: Result<PutStored, StoreError>
    var time: Duration
    /// The signal that stopped the command, if any.
    var signal: Int32?

    var exit: Exit {
        switch result {
        case .success: .done
        case .failure(let error): Exit(error, signal: signal)
        }
    }

    /// The category of the result in a summary of several files.
    var ending: FilesSummary.Ending {
        switch result {
        case .success(let stored): stored.wasSkipped ? .skipped : .succeeded
        case .failure(let error): error.isCancelled ? .cancelled : .failed
        }
    }

    /// The output: the response of a presigned URL if there is one, including that of a rejection, otherwise the URL.
    var output: [UInt8]? {
        switch result {
        case .success(let stored): stored.responseBody.isEmpty ? Array("\(stored.url)\n".utf8) : stored.responseBody
        case .failure(let error): error.code == .rejected ? rejectionBody(of: error) : nil
        }
    }

    /// The line of a file: `photos/a.jpg: 312.4 KiB in 1.2 s`, or the error.
    var line: String {
        switch result {
        case .success(let stored) where stored.wasSkipped:
            return "\(file.path): skipped, because the store has the same object"
        case .success(let stored):
            let note = stored.note.map { "; \($0)" } ?? ""
            return "\(file.path): \(ByteCount(bytes: file.size)) in \(Figures.seconds(time))\(note)"
        case .failure(let error):
            let state =
                switch error.outcome {
                case .unknown?:
                    " Everything was sent: the store may have it. Check the store before you send it again."
                case .processed?: " The server has it, but its response was lost. Do not send it again."
                case .notSent? where error.part == nil: " The store received nothing."
                default: error.isStored ? " The object was stored." : ""
                }
            // The description may end with its context in brackets, after the full stop.
            let text = "\(error)"
            return "\(file.path): \(text.hasSuffix("]") ? text : text.sentence)\(state)"
        }
    }

    var members: JSONObject {
        let exit = ending == .cancelled && signal == nil ? nil : exit
        let members: JSONObject = ["result": ending.rawValue, "exit": exit, "total": file.size, "seconds": time]
        switch result {
        case .success(let stored):
            return members + ["outcome": stored.wasSkipped ? "notSent" : "accepted", "url": stored.url] + stored.members
        case .failure(let error):
            let details: JSONObject = [
                "code": error.code.description, "message": error.message, "storeCode": error.storeCode,
                "requestID": error.requestID,
            ]
            return members + [
                "outcome": outcomeName(error), "isStored": error.isStored, "status": error.status, "error": details,
            ]
        }
    }

    /// The body of a response to print, as JSON members.
    var body: JSONObject {
        let body: [UInt8]? =
            switch result {
            case .success(let stored): stored.responseBody
            case .failure(let error): error.code == .rejected ? rejectionBody(of: error) : nil
            }
        guard let body, !body.isEmpty else { return [:] }
        return .body(body)
    }

    /// Returns the response to a rejected presigned URL, which explains the rejection. A rejection by a store has a
    /// code, and its response may quote the signed data.
    private func rejectionBody(of error: StoreError) -> [UInt8]? {
        guard file.key.isEmpty, let body = (error.cause as? UploadError)?.response?.body, !body.isEmpty else {
            return nil
        }
        return body
    }

    private func outcomeName(_ error: StoreError) -> String {
        if error.isStored { return "accepted" }
        // Earlier parts may be stored.
        if error.outcome == .notSent, error.part != nil { return "incomplete" }
        return (error.outcome ?? .notSent).name
    }
}

extension Exit {
    /// Creates the exit status for a file that could not be stored.
    init(_ error: StoreError, signal: Int32?) {
        if error.isCancelled {
            self = .signal(signal ?? 2)
        } else if error.isStored || error.code == .rejected {
            self = !error.isStored && Self.isTemporaryRejection(error.status) ? .transient : .rejected
        } else if error.outcome?.mayHaveActed == true {
            self = .unknown
        } else if let exit = Self.storeCodes[error.code.description] ?? Self.codes[error.code.description] {
            self = exit
        } else {
            self = error.outcome == .rejected ? .rejected : .transient
        }
    }

    private static let storeCodes: [String: Exit] = {
        let usage = [
            "invalidArgument", "invalidEndpoint", "invalidBucket", "invalidKey", "invalidRegion", "invalidExpiration",
            "invalidPolicy", "encryptionRequired", "credentialsUnavailable", "credentialsExpired",
            "credentialsMalformed", "presignedExpired", "presignedMalformed", "invalidKeyTemplate", "invalidParameter",
            "invalidPutPolicy", "invalidUploadToken", "missingParameter", "regionUnknown", "signingFailed",
            "uploadTokenDoesNotCover", "uploadTokenExpired", "uploadTokenUnavailable",
        ]
        var table: [String: Exit] = [
            "objectTooLarge": .source, "recordRefused": .fatal, "recordDirectoryUnusable": .fatal,
            "credentialsRejected": .rejected, "unexpectedResponse": .rejected, "checksumMismatch": .rejected,
            "objectExists": .rejected, "sizeNotAllowed": .rejected, "bodyNotReplayable": .source,
            "credentialsTimedOut": .transient, "uploadGone": .transient, "recordInUse": .transient,
        ]
        for name in usage { table[name] = .usage }
        return table
    }()
}
