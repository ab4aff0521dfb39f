import CWaybillCurl
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCurl

/// Options for proxies, TLS and libcurl that are refused before a socket is opened.
@Suite struct NetworkCheckTests {
    private func rejection(_ url: String = "https://h.example/", _ change: (inout TransferOptions) -> Void)
        -> TransferError?
    {
        var request = TransferRequest(method: .post, url: url)
        change(&request.options)
        do throws(TransferError) {
            _ = try RequestCheck.check(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "http://p.example", "p.example:3128", "https://p.example:8443", "socks5h://u:p@p.example", "socks4://1.2.3.4",
        "http://[::1]:3128", "",
    ])
    func `valid proxies are accepted`(proxy: String) {
        #expect(rejection { $0.proxy = proxy } == nil)
    }

    @Test(arguments: [
        "ftp://p.example", "http://", "http://p.example:99999", "h ttp://p", "http://p example", "socks6://p",
        "http://p\0",
        "http://h.example:443", "//",
    ])
    func `an invalid proxy, or the server as its own proxy, is rejected`(proxy: String) {
        let error = rejection { $0.proxy = proxy }
        #expect(error?.code == .invalidRequest && error?.outcome == .notSent, "\(String(describing: error))")
    }

    @Test func `proxy credentials and exceptions are validated and never quoted`() {
        func credential(_ user: String, _ password: String = "s3cret", proxy: String? = "http://p") -> TransferError? {
            rejection {
                $0.proxy = proxy
                $0.proxyCredential = ProxyCredential(user: user, password: .secret(password))
            }
        }
        #expect(credential("jo") == nil)
        #expect(credential("j:o", proxy: "socks5://p") == nil)
        for error in [
            credential("j:o"), credential(""), credential("jo", "s3cret\n"), credential("jo", proxy: nil),
            credential("jo", proxy: "http://s3cret@p"),
        ] {
            #expect(error?.code == .invalidRequest)
            #expect(error?.description.contains("s3cret") == false)
        }
        for entry in ["", "a,b", "a b", "a\n"] {
            #expect(
                rejection {
                    $0.proxy = "http://p"
                    $0.proxyExceptions = [entry]
                } != nil)
        }
    }

    @Test func `TLS files, PEM and pins are validated for server and proxy`() async throws {
        let certificates = try await Certificates.shared
        let good = "sha256//" + String(repeating: "A", count: 43) + "="
        let accepted: [(inout TransferOptions.TLSOptions) -> Void] = [
            { $0.certificateAuthorities = certificates.authority },
            { $0.certificateAuthoritiesPEM = "x\n-----BEGIN CERTIFICATE-----\n" }, { $0.pinnedKeys = [good, good] },
            { $0.clientCertificate = ClientCertificate(.file(certificates.clientCertificate)) },
            { $0.clientCertificate = ClientCertificate(.bytes([1]), format: .pkcs12, passphrase: .secret("")) },
        ]
        let refused: [(inout TransferOptions.TLSOptions) -> Void] = [
            { $0.certificateAuthorities = "/nowhere.pem" }, { $0.certificateAuthorities = "/" },
            { $0.certificateAuthorities = "" }, { $0.certificateAuthoritiesPEM = "no" },
            {
                $0.certificateAuthorities = certificates.authority
                $0.certificateAuthoritiesPEM = "-----BEGIN CERTIFICATE-----"
            },
            { $0.pinnedKeys = [good, "sha256/" + good] }, { $0.pinnedKeys = [String(good.dropLast())] },
            { $0.pinnedKeys = ["/key.pem"] }, { $0.pinnedKeys = [good.replacing("A", with: ";")] },
            { $0.clientCertificate = ClientCertificate(.file("/nowhere.pem")) },
            { $0.clientCertificate = ClientCertificate(.bytes([])) },
            { $0.clientCertificate = ClientCertificate(.bytes([1, 2])) },
            { $0.clientCertificate = ClientCertificate(.file(certificates.clientCertificate), key: .bytes([1])) },
            {
                $0.clientCertificate = ClientCertificate(
                    .file(certificates.clientStore), key: .file(certificates.clientKey), format: .pkcs12)
            },
            {
                $0.clientCertificate = ClientCertificate(
                    .file(certificates.clientCertificate), passphrase: .secret("a\0b"))
            },
        ]
        for change in accepted {
            #expect(rejection { change(&$0.tls) } == nil)
            #expect(rejection { change(&$0.proxyTLS) } == nil)
        }
        for (index, change) in refused.enumerated() {
            #expect(rejection { change(&$0.tls) }?.code == .invalidRequest, "\(index)")
            #expect(rejection { change(&$0.proxyTLS) }?.message.contains("for the proxy") == true, "\(index)")
        }
    }

    @Test(arguments: ["", String(repeating: "x", count: 108), "/run/a\0b"])
    func `an invalid Unix socket path is rejected`(path: String) {
        #expect(rejection { $0.unixSocket = path }?.code == .invalidRequest)
    }

    @Test func `a Unix socket and a proxy exclude each other`() {
        #expect(rejection { ($0.unixSocket, $0.proxy) = ("/run/a", "http://p") } != nil)
        #expect(rejection { $0.unixSocket = "/run/a" } == nil)
    }

    @Test func `libcurl options are found by name and by number`() throws {
        for option in [
            CurlOption("INTERFACE", .text("eth0")), CurlOption("CURLOPT_TCP_FASTOPEN", .number(1)),
            CurlOption(number: Int(CURLOPT_TCP_NODELAY.rawValue), .number(1)),
            CurlOption("REFERER", .secret(.secret("x"))),
            CurlOption("MAX_RECV_SPEED_LARGE", .large(1_000)), CurlOption("PROXYHEADER", .list(["X: y"])),
            CurlOption("ISSUERCERT_BLOB", .bytes([1])), CurlOption("interface", .text("eth0")),
        ] {
            #expect(rejection { $0.curlOptions = [option] } == nil, "\(option)")
        }
    }

    @Test(arguments: [
        CurlOption("NO_SUCH_THING", .number(1)), CurlOption("", .number(1)), CurlOption("#", .number(1)),
        CurlOption(number: 999_999, .number(1)), CurlOption(number: -1, .number(1)),
        CurlOption("INTERFACE", .number(1)), CurlOption("TCP_NODELAY", .text("1")),
        CurlOption("PROXYHEADER", .text("X: y")),
        CurlOption("TCP_NODELAY", .large(1)), CurlOption("SSL_CTX_DATA", .text("x")),
        CurlOption("WRITEFUNCTION", .number(0)),
        CurlOption("ERRORBUFFER", .bytes([1])), CurlOption("FOLLOWLOCATION", .number(1)),
        CurlOption("URL", .text("http://x")),
        CurlOption("SSL_VERIFYPEER", .number(0)), CurlOption("DOH_SSL_VERIFYHOST", .number(0)),
        CurlOption("COOKIEFILE", .text("")), CurlOption("NETRC", .number(1)),
        CurlOption("PROTOCOLS_STR", .text("file")),
        CurlOption(number: Int(CURLOPT_POSTFIELDSIZE.rawValue), .number(1)), CurlOption("followlocation", .number(1)),
        CurlOption("HTTPHEADER", .list(["Host: x"])), CurlOption("VERBOSE", .number(1)),
        CurlOption("SHARE", .bytes([1])),
        CurlOption("REFERER", .text("a\r\nX: y")), CurlOption("PROXYHEADER", .list(["A: b", "C: d\r\nE: f"])),
        CurlOption("REFERER", .secret(.secret("s3cret\n"))),
    ])
    func `an unknown, mistyped or reserved libcurl option is rejected by name`(option: CurlOption) {
        let error = rejection { $0.curlOptions = [option] }
        #expect(error?.code == .invalidRequest, "\(option)")
        #expect(error?.message.contains("\"\(option.name)\"") == true)
        #expect(error?.message.contains("s3cret") == false)
    }

    /// Keeps the list of reserved options complete: a caller can't set what the engine sets.
    @Test func `each option set by the engine is reserved`() throws {
        let folder = "\(ProjectRoot.path)/Sources/WaybillCurl/"
        let files = [
            "EasyHandle+Request.swift", "EasyHandle+Network.swift", "TransferCallbacks.swift", "EasyHandle.swift",
        ]
        var names = Set<String>()
        for file in files {
            let text = try String(contentsOfFile: folder + file, encoding: .utf8)
            for match in text.matches(of: /CURLOPT_([A-Z0-9_]+)/) { names.insert(String(match.1)) }
        }
        // Harmless with the engine's value: libcurl keeps connections alive in either case.
        names.remove("TCP_KEEPALIVE")
        // Set after the caller's value, so the engine's applies.
        names.remove("FORBID_REUSE")
        #expect(names.count > 40)
        for name in names.sorted() {
            let values: [CurlOption.Value] = [.number(1), .large(1), .text("x"), .list(["x"]), .bytes([1])]
            for value in values {
                #expect(rejection { $0.curlOptions = [CurlOption(name, value)] } != nil, "\(name) \(value)")
            }
        }
    }

    @Test func `options print no secret`() {
        var options = TransferOptions()
        options.proxy = "http://s3cret@p"
        options.proxyCredential = ProxyCredential(user: "s3cret", password: .secret("s3cret"))
        options.tls.clientCertificate = ClientCertificate(
            .bytes(Array("s3cret".utf8)), key: .bytes(Array("s3cret".utf8)), passphrase: .secret("s3cret"))
        options.proxyTLS = options.tls
        options.curlOptions = [
            CurlOption("A", .text("s3cret")), CurlOption("B", .secret(.secret("s3cret"))),
            CurlOption("C", .list(["s3cret"])),
            CurlOption("D", .bytes(Array("s3cret".utf8))),
        ]
        var dumped = ""
        dump(options, to: &dumped)
        let secretBytes = Array("s3cret".utf8).description
        for text in ["\(options)", String(reflecting: options), dumped, "\(options.curlOptions)", "\(options.tls)"] {
            #expect(!text.contains("s3cret") && !text.contains(secretBytes), "\(text)")
        }
    }
}
