internal import CTestSupport

/// Certificates of a test authority, created with the `openssl` command and shared while in use.
///
/// ```swift
/// let certificates = try await Certificates.shared
/// options.transfer.tls.certificateAuthorities = certificates.authority
/// ```
package final class Certificates: Sendable {
    /// A server certificate.
    package enum Leaf: String, Sendable, Hashable, CaseIterable {
        /// For `localhost` and 127.0.0.1, issued by the authority.
        case valid
        /// Like `valid`, but expired.
        case expired
        /// Issued by the authority for another host.
        case wrongName
        /// For the right host, issued by an unknown authority.
        case unknownAuthority
    }

    private let folder: TemporaryDirectory

    /// The PEM file of the authority.
    package var authority: String { folder.path("authority.pem") }
    /// The PEM file of a server certificate.
    package func certificate(_ leaf: Leaf) -> String { folder.path("\(leaf.rawValue).pem") }
    /// The PEM file of its private key.
    package func key(_ leaf: Leaf) -> String { folder.path("\(leaf.rawValue).key") }

    /// The PEM file of a client certificate issued by the authority.
    package var clientCertificate: String { folder.path("client.pem") }
    /// The PEM file of its private key.
    package var clientKey: String { folder.path("client.key") }
    /// The PEM file of its private key, encrypted with ``passphrase``.
    package var lockedClientKey: String { folder.path("client.locked.key") }
    /// A PKCS#12 file with certificate and key, encrypted with ``passphrase``.
    package var clientStore: String { folder.path("client.p12") }
    /// The passphrase of the encrypted files.
    package static let passphrase = "pa55-phrase"

    /// Returns the hash of a certificate's public key as a pin.
    package func pin(of leaf: Leaf) async throws -> String {
        let run = try await ChildProcess.run(
            "sh",
            [
                "-ec",
                """
                openssl x509 -in "$1" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
                    base64
                """, "sh", certificate(leaf),
            ])
        guard run.exit == .status(0) else { throw HelperFailure(message: "openssl failed: \(run.errorText)") }
        return "sha256//" + run.text.filter { !$0.isWhitespace }
    }

    /// The shared certificates of this process, created on demand.
    package static var shared: Certificates {
        get async throws { try await mint.certificates() }
    }

    private static let mint = Mint()

    private actor Mint {
        private weak var latest: Certificates?
        private var making: Task<Certificates, any Error>?

        func certificates() async throws -> Certificates {
            if let latest { return latest }
            if let making { return try await making.value }
            let task = Task { try await Certificates() }
            making = task
            defer { making = nil }
            let made = try await task.value
            latest = made
            return made
        }
    }

    private init() async throws {
        folder = try TemporaryDirectory()
        let run = try await ChildProcess.run("sh", ["-ec", Self.script], directory: folder.path)
        guard run.exit == .status(0) else { throw HelperFailure(message: "openssl failed: \(run.errorText)") }
    }

    /// Newer versions of openssl require explicit dates for an expired certificate.
    private static let script = """
        new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        for name in authority stranger; do
            openssl req -x509 $new -keyout $name.key -out $name.pem -days 2 -subj "/CN=Waybill test $name" \
                -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
        done
        sign() {
            name=$1 authority=$2 subject=$3
            shift 3
            printf 'subjectAltName=%s\\nextendedKeyUsage=serverAuth\\n' "$subject" >"$name.ext"
            openssl req -new $new -keyout "$name.key" -out "$name.csr" -subj "/CN=$name"
            openssl x509 -req -in "$name.csr" -CA $authority.pem -CAkey $authority.key -CAcreateserial \
                -extfile "$name.ext" -out "$name.pem" "$@"
        }
        openssl req -new $new -keyout client.key -out client.csr -subj /CN=client
        printf 'extendedKeyUsage=clientAuth\\n' >client.ext
        openssl x509 -req -in client.csr -CA authority.pem -CAkey authority.key -CAcreateserial -extfile client.ext \
            -out client.pem -days 2
        openssl pkey -in client.key -aes-256-cbc -passout pass:\(passphrase) -out client.locked.key
        openssl pkcs12 -export -in client.pem -inkey client.key -passout pass:\(passphrase) -out client.p12
        here=DNS:localhost,IP:127.0.0.1
        sign valid authority $here -days 2
        sign wrongName authority DNS:elsewhere.invalid -days 2
        sign unknownAuthority stranger $here -days 2
        sign expired authority $here -days -1 ||
            sign expired authority $here -not_before 20200101000000Z -not_after 20200102000000Z
        """
}
