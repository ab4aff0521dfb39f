import FoundationEssentials
import Waybill
import WaybillStores

/// How a file ended, as a line and as JSON.
struct PutReport: Sendable {
    var file: PutFile
    var result: Result<PutStored, StoreError>
    var time: Duration
    /// The signal that asked for the end, if one did.
    var signal: Int32?

    var exit: Exit {
        switch result {
        case .success: .done
        case .failure(let error): Exit(error, signal: signal)
        }
    }

    /// What goes to standard output: the server's answer if there is one, also one that refused, else the URL.
    var output: [UInt8]? {
        switch result {
        case .success(let stored): stored.answer.isEmpty ? Array("\(stored.url)\n".utf8) : stored.answer
        case .failure(let error): error.code == .rejected ? refusal(error) : nil
        }
    }

    /// `photos/a.jpg: https://…, 312.4 KiB in 1.2 s`, or what went wrong.
    var line: String {
        switch result {
        case .success(let stored):
            let note = stored.note.map { "; \($0)" } ?? ""
            return "\(file.path): \(ByteCount(bytes: file.size)) in \(SummaryText.seconds(time))\(note)"
        case .failure(let error):
            let state =
                switch error.outcome {
                case .unknown?:
                    "; everything was handed over: the store may have it. Look before you send it again"
                case .notSent? where error.part == nil: "; the store got nothing"
                default: error.isStored ? "; the object is stored all the same" : ""
                }
            return "\(file.path): \(error)\(state)"
        }
    }

    var members: [JSONMember] {
        let exit = Exit.isGivenUp(result, signal: signal) ? nil : Int64(exit.rawValue)
        var members = [
            JSONMember("result", .string(resultName)), JSONMember("exit", .int(orNull: exit)),
            JSONMember("total", .int(file.size)), JSONMember("seconds", .double(SummaryText.value(time))),
        ]
        switch result {
        case .success(let stored):
            members += [JSONMember("outcome", .string("accepted")), JSONMember("url", .string(stored.url))]
            members += stored.members
        case .failure(let error):
            members += [
                JSONMember("outcome", .string(outcomeName(error))), JSONMember("isStored", .bool(error.isStored)),
                JSONMember("status", .int(orNull: error.status.map(Int64.init))),
                JSONMember(
                    "error",
                    .object([
                        JSONMember("code", .string(error.code.description)),
                        JSONMember("message", .string(error.message)),
                        JSONMember("storeCode", .string(orNull: error.storeCode)),
                        JSONMember("requestID", .string(orNull: error.requestID)),
                    ])),
            ]
        }
        return members
    }

    /// The answer of a server that is worth keeping, as text or in base64.
    var answerMembers: [JSONMember] {
        let answer: [UInt8]? =
            switch result {
            case .success(let stored): stored.answer
            case .failure(let error): error.code == .rejected ? refusal(error) : nil
            }
        guard let answer, !answer.isEmpty else { return [] }
        if let text = String(validating: answer, as: UTF8.self) { return [JSONMember("body", .string(text))] }
        return [JSONMember("bodyBase64", .string(Data(answer).base64EncodedString()))]
    }

    /// A refusal of a presigned URL is told by its answer; a store's own is told by its code, for its answer may quote what
    /// was signed.
    private func refusal(_ error: StoreError) -> [UInt8]? {
        guard file.key.isEmpty, let body = (error.cause as? UploadError)?.response?.body, !body.isEmpty else {
            return nil
        }
        return body
    }

    private var resultName: String {
        switch result {
        case .success: "succeeded"
        case .failure(let error): error.isCancelled ? "cancelled" : "failed"
        }
    }

    private func outcomeName(_ error: StoreError) -> String {
        switch error.outcome {
        case _ where error.isStored: "accepted"
        // Parts before this one may be stored.
        case .notSent? where error.part != nil: "incomplete"
        case nil, .notSent?: "notSent"
        case .incomplete?: "incomplete"
        case .rejected?: "rejected"
        case .unknown?: "unknown"
        }
    }
}

extension Exit {
    /// How a file that could not be put ends the command.
    init(_ error: StoreError, signal: Int32?) {
        if error.isCancelled {
            self = .signal(signal ?? 2)
        } else if error.isStored || error.code == .rejected {
            self = !error.isStored && Self.isLater(error.status) ? .transient : .rejected
        } else if error.outcome == .unknown {
            self = .unknown
        } else if let exit = Self.storeCodes[error.code.description] ?? Self.codes[error.code.description] {
            self = exit
        } else {
            self = error.outcome == .rejected ? .rejected : .transient
        }
    }

    /// Whether a file was cancelled for another's sake, not by a signal.
    static func isGivenUp(_ result: Result<PutStored, StoreError>, signal: Int32?) -> Bool {
        if case .failure(let error) = result { return error.isCancelled && signal == nil }
        return false
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
            "objectTooLarge": .source, "recordRefused": .fatal, "recordFolderUnusable": .fatal,
            "credentialsRejected": .rejected, "unexpectedAnswer": .rejected, "checksumMismatch": .rejected,
            "objectExists": .rejected, "sizeNotAllowed": .rejected, "bodyNotReplayable": .source,
            "credentialsTimedOut": .transient, "uploadGone": .transient, "recordInUse": .transient,
        ]
        for name in usage { table[name] = .usage }
        return table
    }()
}
