// The samples of the guides to interceptors and to networks, compiled.
import FoundationEssentials
import Waybill

private struct Crypto {
    struct Key: Sendable {}
    static func open(_ sealed: [UInt8], with key: Key) throws -> [UInt8] { sealed }
    static func hmacSHA256(_ bytes: [UInt8], key: Key) -> [UInt8] { bytes }
}

private struct Receipt: Decodable { var id: Int }

private func general(_ appVersion: String, _ token: Secret) {
    // snippet: general configuration
    var configuration = UploadSession.Configuration()
    configuration.baseURL = "https://backend.example/api/"
    configuration.userAgent = UploadSession.Configuration.userAgent(for: "Clerk", version: appVersion)
    configuration.headers[.acceptLanguage] = "zh-CN"
    configuration.commonFields = CommonFields {
        [.text("timestamp", "\(Int(Date().timeIntervalSince1970))"), .text("TOKEN", token)]
    }
    configuration.interceptors = [JSONEnvelope()]
    let session = UploadSession(configuration: configuration)
    // end
    _ = session
}

private func optOut(_ session: UploadSession, _ form: MultipartForm) async throws {
    // snippet: without the session's own
    var options = session.options
    options.excludedDefaults = [.commonFields, .interceptors]
    let response = try await session.upload(form, to: "public/feedback", options: options)
    // end
    _ = response
}

// snippet: adapt
struct RequestDate: UploadInterceptor {
    func adapt(_ request: inout OutgoingRequest) async throws {
        request.headers[HTTPField.Name("X-Date")!] = Date().formatted(.iso8601)
        request.appendQuery("attempt", "\(request.attempt)")
    }
}
// end

private func envelope(_ configuration: inout UploadSession.Configuration) {
    // snippet: envelope
    var envelope = JSONEnvelope(code: "head.retCode", message: "head.retMsg", successCodes: ["000000"])
    envelope.credentialExpiredCodes = ["TOKEN_EXPIRED"]
    envelope.retryCodes = ["BUSY"]
    configuration.interceptors.append(envelope)
    // end
}

private func refused(_ session: UploadSession, _ form: MultipartForm) async throws {
    // snippet: envelope refused
    do {
        let receipt = try await session.upload(form, to: "upload", as: Receipt.self)
        print(receipt.id)
    } catch let error where error.code == .envelopeRejected {
        print(error.envelope?.code ?? "", error.envelope?.message ?? "")
    } catch let error where error.code == .decodingFailed {
        print("unexpected at", error.codingPath ?? "?", error.response?.text ?? "")
    } catch {
        print(error)
    }
    // end
}

private func sealed(_ configuration: inout UploadSession.Configuration, _ key: Crypto.Key) {
    // snippet: sealed answers
    configuration.interceptors = [
        JSONEnvelope(),
        .transforming("decrypt") { try Crypto.open($0, with: key) },
    ]
    // end
}

private func signed(_ configuration: inout UploadSession.Configuration, _ key: Crypto.Key) {
    // snippet: signed parameters
    var signer = ParameterSigner { Crypto.hmacSHA256($0, key: key) }
    signer.output = .base64
    configuration.interceptors.append(.signingForms(with: signer, field: "sign"))
    // end
}

private func watched(_ session: UploadSession) {
    // snippet: events
    Task {
        for await event in session.events {
            switch event.kind {
            case .retrying(let delay, let reason): print(event.id, "again in", delay, "because", reason)
            case .ended(let end): print(event.id, end.attempts.count, "attempts", end.code ?? "")
            default: break
            }
        }
    }
    // end
}

private func proxied(_ options: inout UploadOptions, _ password: String) {
    // snippet: proxy
    options.transfer.proxy = "http://proxy.example:3128"
    options.transfer.proxyCredential = ProxyCredential(user: "clerk", password: .secret(password))
    options.transfer.proxyExceptions = ["localhost", "10.0.0.0/8", "intern.example"]
    // end
}

private func trusted(_ options: inout UploadOptions, _ passphrase: String) {
    // snippet: TLS
    options.transfer.tls.certificateAuthorities = "/etc/clerk/ca.pem"
    options.transfer.tls.clientCertificate = ClientCertificate(
        .file("/etc/clerk/client.pem"), key: .file("/etc/clerk/client.key"), passphrase: .secret(passphrase))
    options.transfer.tls.pinnedKeys = ["sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="]
    // end
}

private func ways(_ options: inout UploadOptions) {
    // snippet: ways
    options.transfer.resolve = ["backend.example:443:10.0.0.7"]  // in place of a look-up
    options.transfer.addressFamily = .ipv4
    options.transfer.unixSocket = "/run/backend.sock"
    options.transfer.httpVersion = .http2
    options.transfer.curlOptions = [CurlOption("INTERFACE", .text("eth1")), CurlOption("TCP_FASTOPEN", .number(1))]
    // end
}

private func figures(_ session: UploadSession, _ request: UploadRequest) async throws {
    // snippet: figures
    let response = try await session.send(request)
    for attempt in response.attempts {
        let metrics = attempt.metrics
        print(metrics.nameLookup, metrics.connect, metrics.tls, metrics.firstByte, metrics.total)
        print(metrics.requestBytes, metrics.responseBytes, metrics.connection?.isReused ?? false)
    }
    print(session.curlCommand(for: request))
    // end
}
