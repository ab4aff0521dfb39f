package import WaybillCore

/// TLS in front of a ``LoopbackServer``: stunnel, with a chosen certificate and version.
///
/// ```swift
/// let server = try LoopbackServer(.reset(afterBodyBytes: 1_000_000))
/// let front = try await TLSFront(to: server)
/// options.transfer.tls.certificateAuthorities = front.authority
/// let outcome = await upload(to: front.url("/form"))
/// ```
///
/// Faults pass through: a RST or a FIN on one side causes the same on the other. The buffers of its sockets are
/// small, so that the client soon notices a server that stops reading, as without a front.
package final class TLSFront: Sendable {
    /// The supported versions of TLS.
    package enum Version: Sendable, Hashable {
        /// 1.2 and 1.3.
        case modern
        /// Only the obsolete version 1.0.
        case onlyTLS10
    }

    /// The certificates of the front.
    package let certificates: Certificates
    private let process: HelperProcess

    /// Starts the front.
    ///
    /// - Parameters:
    ///   - server: The destination of the decrypted data.
    ///   - leaf: The certificate it presents.
    ///   - version: The supported TLS versions.
    ///   - wantsClient: Whether clients must present a certificate of the authority.
    ///   - buffer: The requested size of its socket buffers, which the kernel doubles for its bookkeeping.
    /// - Throws: ``HelperFailure`` if it does not start.
    package convenience init(
        to server: LoopbackServer, showing leaf: Certificates.Leaf = .valid, speaking version: Version = .modern,
        wantsClient: Bool = false, buffer: ByteCount = .kibibytes(16)
    ) async throws {
        try await self.init(
            toPort: server.port, showing: leaf, speaking: version, wantsClient: wantsClient, buffer: buffer)
    }

    /// Starts it in front of any server or proxy on 127.0.0.1.
    package init(
        toPort target: Int, showing leaf: Certificates.Leaf = .valid, speaking version: Version = .modern,
        wantsClient: Bool = false, buffer: ByteCount = .kibibytes(16)
    ) async throws {
        let certificates = try await Certificates.shared
        self.certificates = certificates
        let client = wantsClient ? "verifyChain = yes\nCAfile = \(certificates.authority)" : ""
        let versions =
            switch version {
            case .modern: "sslVersionMin = TLSv1.2"
            case .onlyTLS10: "sslVersionMin = TLSv1\nsslVersionMax = TLSv1\nciphers = ALL:@SECLEVEL=0"
            }
        process = try await HelperProcess.start("stunnel4") { port, folder in
            let settings = """
                foreground = yes
                pid =
                debug = warning
                socket = a:SO_RCVBUF=\(buffer.bytes)
                socket = l:SO_RCVBUF=\(buffer.bytes)
                socket = r:SO_SNDBUF=\(buffer.bytes)
                socket = l:TCP_NODELAY=1
                socket = r:TCP_NODELAY=1

                [front]
                accept = 127.0.0.1:\(port)
                connect = 127.0.0.1:\(target)
                cert = \(certificates.certificate(leaf))
                key = \(certificates.key(leaf))
                reset = yes
                TIMEOUTclose = 1
                \(versions)
                \(client)

                """
            return [try folder.write("stunnel.conf", settings)]
        }
    }

    /// The PEM file of the authority to trust.
    package var authority: String { certificates.authority }

    /// Its port, on 127.0.0.1.
    package var port: Int { process.port }

    /// Returns the URL of a path.
    package func url(_ path: String = "/", host: String = "127.0.0.1") -> String {
        "https://\(host):\(process.port)\(path)"
    }

    /// Kills the front; open connections are reset.
    package func kill() { process.kill() }
}
