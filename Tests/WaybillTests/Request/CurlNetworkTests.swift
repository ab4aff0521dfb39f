import HTTPTypes
import Testing
import Waybill
import WaybillCore

/// Network options of a request in its curl command.
@Suite struct CurlNetworkTests {
    private func command(_ change: (inout TransferOptions) -> Void) -> String {
        var request = UploadRequest(.post, "https://h.example/", content: .form([.text("a", "1")]))
        var options = UploadOptions()
        change(&options.transfer)
        request.options = options
        return request.curlCommand
    }

    @Test func `proxy, TLS and addresses are in the curl command, without secrets`() {
        let command = command {
            $0.proxy = "https://jo:s3cret@proxy.example:3128"
            $0.proxyExceptions = ["localhost", "10.0.0.0/8"]
            $0.proxyTLS.certificateAuthorities = "/proxy.pem"
            $0.proxyTLS.insecureSkipVerification = true
            $0.resolve = ["h.example:443:127.0.0.1"]
            $0.addressFamily = .ipv6
            $0.tls.certificateAuthorities = "/ca.pem"
            $0.tls.pinnedKeys = ["sha256//a", "sha256//b"]
            $0.tls.clientCertificate = ClientCertificate(
                .file("/me.pem"), key: .file("/me.key"), passphrase: .secret("s3cret"))
            $0.httpVersion = .http2
            $0.rateLimit = .kibibytes(1)
        }
        let expected = """
            curl 'https://h.example/' \\
              -x 'https://<redacted>@proxy.example:3128' \\
              --noproxy 'localhost,10.0.0.0/8' \\
              --resolve 'h.example:443:127.0.0.1' \\
              -6 \\
              --cacert '/ca.pem' \\
              --cert '/me.pem' \\
              --key '/me.key' \\
              --pass '<redacted>' \\
              --pinnedpubkey 'sha256//a;sha256//b' \\
              --proxy-cacert '/proxy.pem' \\
              --proxy-insecure \\
              --http2 \\
              --limit-rate 1024 \\
              --form-string 'a=1'
            """
        #expect(command == expected)
    }

    @Test func `comments above the command list values that exist only in memory`() {
        let command = command {
            $0.proxy = "http://proxy.example"
            $0.proxyCredential = ProxyCredential(user: "jo", password: .secret("s3cret"))
            $0.addressFamily = .ipv4
            $0.tls.certificateAuthoritiesPEM = "-----BEGIN CERTIFICATE-----"
            $0.tls.clientCertificate = ClientCertificate(
                .bytes(Array("s3cret".utf8)), key: .bytes(Array("s3cret".utf8)), passphrase: .secret("s3cret"))
            $0.tls.insecureSkipVerification = true
            $0.curlOptions = [CurlOption("INTERFACE", .secret(.secret("s3cret")))]
        }
        #expect(command.split(separator: "\n").filter { $0.hasPrefix("# ") }.count == 4)
        #expect(command.contains("--proxy-user '<redacted>'") && command.contains("--cacert '<authorities>'"))
        #expect(command.contains("  -4 \\\n") && command.contains("  --insecure \\\n"))
        #expect(!command.contains("s3cret") && !command.contains("jo"))
    }

    @Test func `a Unix socket and a PKCS 12 store use the matching curl options`() {
        let command = command {
            $0.unixSocket = "/run/it's"
            $0.tls.clientCertificate = ClientCertificate(.file("/me.p12"), format: .pkcs12)
        }
        #expect(command.contains("--unix-socket '/run/it'\\''s'"))
        #expect(command.contains("--cert '/me.p12' \\\n  --cert-type P12"))
    }

    @Test func `the command of a session includes its defaults`() {
        var configuration = UploadSession.Configuration()
        configuration.baseURL = "https://h.example/api/"
        configuration.headers[.authorization] = "Bearer s3cret"
        configuration.commonFields = [.text("app", "1")]
        configuration.options.transfer.proxy = "http://proxy.example"
        configuration.interceptors = [JSONEnvelope(), .adapting("sign") { _ in }]
        configuration.cookies = CookieJar()
        let session = UploadSession(configuration: configuration)
        var request = UploadRequest(.post, "up load", content: .form([.text("a", "1")]))
        #expect(
            session.curlCommand(for: request) == """
                # This command does not include interceptors (JSONEnvelope, sign) and cookies.
                curl 'https://h.example/api/up%20load' \\
                  -H 'Authorization: <redacted>' \\
                  -H 'User-Agent: Waybill' \\
                  -x 'http://proxy.example' \\
                  --form-string 'app=1' \\
                  --form-string 'a=1'
                """)
        request.options = UploadOptions()
        request.options?.excludedDefaults = .all
        #expect(session.curlCommand(for: request) == "curl 'https://h.example/api/up%20load' \\\n  --form-string 'a=1'")
    }
}
