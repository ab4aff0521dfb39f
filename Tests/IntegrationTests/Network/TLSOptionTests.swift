import FoundationEssentials
import TestSupport
import Testing
import Waybill

/// Authorities in memory, client certificates and pinned keys, tested with stunnel. None of these options affect a
/// later upload.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct TLSOptionTests {
    private let rig = NetworkRig()

    private func authority(_ certificates: Certificates) throws -> String {
        try String(contentsOfFile: certificates.authority, encoding: .utf8)
    }

    @Test func `authorities in memory are trusted for one upload and not for the next`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server)
        let text = try authority(front.certificates)
        #expect(await rig.upload(to: front.url()) { $0.tls.certificateAuthoritiesPEM = text }.status == 200)
        #expect(await rig.upload(to: front.url()).code == .certificateNotTrusted)
        #expect(await rig.upload(to: front.url()) { $0.tls.certificateAuthorities = front.authority }.status == 200)
        #expect(await rig.upload(to: front.url()).code == .certificateNotTrusted)
        #expect(server.requests.count == 2)
    }

    @Test func `invalid authorities fail with a typed error that is not retried`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server)
        let text = "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n"
        let error = try #require(await rig.upload(to: front.url()) { $0.tls.certificateAuthoritiesPEM = text }.error)
        #expect(error.code == .tlsSettingsUnusable && error.outcome == .notSent, "\(error)")
        #expect(!error.isRetryable)
        let missing = try #require(
            await rig.upload(to: front.url()) { $0.tls.certificateAuthorities = "/nowhere/ca.pem" }.error)
        #expect(missing.code == .invalidRequest && missing.message.contains("/nowhere/ca.pem"), "\(missing)")
        #expect(server.state.connections.isEmpty || server.requests.isEmpty)
    }

    @Test func `a pinned key is accepted and another refused, also on kept connections`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server)
        let right = try await front.certificates.pin(of: .valid)
        let wrong = try await front.certificates.pin(of: .wrongName)
        func upload(_ pins: [String]) async -> Result<UploadResponse, UploadError> {
            await rig.upload(to: front.url()) {
                $0.tls.certificateAuthorities = front.authority
                $0.tls.pinnedKeys = pins
            }
        }
        #expect(await upload([wrong, right]).status == 200)
        #expect(await upload([]).status == 200)
        let error = try #require(await upload([wrong]).error)
        #expect(error.code == .certificateNotTrusted && error.outcome == .notSent, "\(error)")
        #expect(error.message.contains("pinnedKeys"))
        #expect(await upload([right]).status == 200)
        #expect(await upload([]).status == 200)
        #expect(server.requests.count == 4)
    }

    @Test func `a pin is enforced when verification is skipped`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server, showing: .unknownAuthority)
        let right = try await front.certificates.pin(of: .unknownAuthority)
        let wrong = try await front.certificates.pin(of: .valid)
        for (pin, status) in [(right, 200), (wrong, nil)] {
            let result = await rig.upload(to: front.url()) {
                $0.tls.insecureSkipVerification = true
                $0.tls.pinnedKeys = [pin]
            }
            #expect(result.status == status, "\(result)")
        }
    }

    @Test func `a client certificate is accepted in each format and not sent by the next upload`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server, wantsClient: true)
        let made = front.certificates
        func read(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(filePath: path))) }
        let passphrase = Secret.secret(Certificates.passphrase)
        let shown = [
            ClientCertificate(.file(made.clientCertificate), key: .file(made.clientKey)),
            ClientCertificate(.file(made.clientCertificate), key: .file(made.lockedClientKey), passphrase: passphrase),
            ClientCertificate(.bytes(try read(made.clientCertificate)), key: .bytes(try read(made.clientKey))),
            ClientCertificate(.bytes(try read(made.clientKey) + read(made.clientCertificate))),
            ClientCertificate(.file(made.clientStore), format: .pkcs12, passphrase: passphrase),
            ClientCertificate(.bytes(try read(made.clientStore)), format: .pkcs12, passphrase: passphrase),
        ]
        for certificate in shown {
            let result = await rig.upload(to: front.url()) {
                $0.tls.certificateAuthorities = front.authority
                $0.tls.clientCertificate = certificate
            }
            #expect(result.status == 200, "\(result) \(certificate)")
            let without = await rig.upload(to: front.url()) { $0.tls.certificateAuthorities = front.authority }
            #expect(without.error != nil, "\(certificate)")
        }
        #expect(server.requests.count == shown.count)
    }

    @Test func `a client certificate is not sent to another origin unless keepsCredentials is set`() async throws {
        let server = try LoopbackServer()
        let other = try await TLSFront(to: server, wantsClient: true)
        let home = try LoopbackServer(otherwise: .respond(307, headers: [("Location", other.url())]))
        var options = UploadOptions(retry: .none)
        options.transfer.tls.certificateAuthorities = other.authority
        let made = other.certificates
        options.transfer.tls.clientCertificate = ClientCertificate(
            .file(made.clientCertificate), key: .file(made.clientKey))
        for isTrusted in [false, true] {
            options.redirects.keepsCredentials = isTrusted
            let task = UploadSession().start(.data([1]), to: home.url(), method: .post, options: options)
            let response = try? await task.response
            #expect(response?.status.code == (isTrusted ? 200 : nil))
        }
        #expect(server.requests.count == 1)
    }

    @Test func `a wrong passphrase or key fails before anything is sent`() async throws {
        let server = try LoopbackServer()
        let front = try await TLSFront(to: server, wantsClient: true)
        let made = front.certificates
        let wrong = [
            ClientCertificate(
                .file(made.clientCertificate), key: .file(made.lockedClientKey), passphrase: .secret("wr0ng!")),
            ClientCertificate(.file(made.clientCertificate), key: .file(made.lockedClientKey)),
            ClientCertificate(.file(made.clientCertificate), key: .file(made.key(.valid))),
            ClientCertificate(.file(made.clientStore), format: .pkcs12, passphrase: .secret("wr0ng!")),
            ClientCertificate(.file(made.clientKey)),
        ]
        for certificate in wrong {
            let result = await rig.upload(to: front.url()) {
                $0.tls.certificateAuthorities = front.authority
                $0.tls.clientCertificate = certificate
            }
            let error = try #require(result.error)
            #expect(error.code == .tlsSettingsUnusable && error.outcome == .notSent, "\(error)")
            #expect(!"\(error) \(error.debugDescription)".contains("wr0ng!"))
        }
        #expect(server.requests.isEmpty)
    }

    @Test func `a success over TLS followed by a close is a success`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, headers: [("Connection", "close")]))
        let front = try await TLSFront(to: server)
        for _ in 0..<20 {
            let result = await rig.upload(to: front.url()) {
                $0.tls.certificateAuthorities = front.authority
            }
            #expect(result.status == 200, "\(result)")
        }
        #expect(server.requests.count == 20 && server.state.connections.count == 20)
    }

    @Test func `HTTP 2 applies to one upload and not to the next`() async throws {
        let server = try LoopbackServer()
        let front = try await HTTP2Front(to: server)
        var versions: [String?] = []
        for version in [.http2, .http1, .http2] as [TransferOptions.HTTPVersion] {
            let result = await rig.upload(to: front.url()) {
                $0.tls.certificateAuthorities = front.authority
                $0.httpVersion = version
            }
            versions.append(try result.get().metrics.httpVersion)
        }
        #expect(versions == ["HTTP/2", "HTTP/1.1", "HTTP/2"])
    }
}
