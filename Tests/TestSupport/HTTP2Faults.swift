/// An HTTP/2 server that ends or ignores a request at a chosen point.
///
/// Written in Python, whose standard library supports TLS with ALPN. No installed server can be made to misbehave
/// like this.
package final class HTTP2Faults: Sendable {
    /// The handling of a request.
    package enum Fault: String, Sendable, CaseIterable {
        /// A complete response, and RST_STREAM(NO_ERROR) after the client has read it.
        case responseThenReset
        /// A complete response and RST_STREAM(NO_ERROR) in a single record.
        case responseWithReset
        /// RST_STREAM(CANCEL) without a response.
        case reset
        /// No response. The window keeps its initial size.
        case silence
    }

    private let certificates: Certificates
    private let process: HelperProcess

    /// Starts the server.
    package init(_ fault: Fault, status: Int = 200) async throws {
        let certificates = try await Certificates.shared
        self.certificates = certificates
        process = try await HelperProcess.start("python3") { port, folder in
            [
                try folder.write("faults.py", Self.program), certificates.certificate(.valid), certificates.key(.valid),
                String(port), fault.rawValue, String(status),
            ]
        }
    }

    /// The PEM file of the authority to trust.
    package var authority: String { certificates.authority }

    /// Returns the URL of a path.
    package func url(_ path: String = "/") -> String { "https://127.0.0.1:\(process.port)\(path)" }

    /// The number of requests received.
    package var requests: Int { process.output.split(separator: "\n").count { $0 == "request" } }

    private static let program = #"""
        import socket, ssl, struct, sys, threading

        certificate, key, port, fault, status = sys.argv[1:]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["h2"])
        HEADERS, RST_STREAM, SETTINGS, PING = 1, 3, 4, 6
        END_STREAM, END_HEADERS, ACK = 1, 4, 1

        def frame(kind, flags, stream, payload=b""):
            return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

        def read(connection, count):
            data = b""
            while len(data) < count:
                more = connection.recv(count - len(data))
                if not more:
                    raise EOFError
                data += more
            return data

        def speak(connection):
            read(connection, 24)
            connection.sendall(frame(SETTINGS, 0, 0))
            answered = 0
            while True:
                head = read(connection, 9)
                kind, flags = head[3], head[4]
                stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
                read(connection, int.from_bytes(head[:3], "big"))
                if kind == SETTINGS and not flags & ACK:
                    connection.sendall(frame(SETTINGS, ACK, 0))
                elif kind == PING and flags & ACK:
                    connection.sendall(frame(RST_STREAM, 0, answered, struct.pack(">I", 0)))
                elif kind == HEADERS:
                    print("request", flush=True)
                    answered = stream
                    # :status as a literal with the name of entry 8 of the static table.
                    fields = bytes([8, 3]) + status.encode()
                    response = frame(HEADERS, END_HEADERS, stream, fields) + frame(0, END_STREAM, stream, b"hello")
                    if fault == "responseThenReset":
                        connection.sendall(response + frame(PING, 0, 0, bytes(8)))
                    elif fault == "responseWithReset":
                        connection.sendall(response + frame(RST_STREAM, 0, stream, struct.pack(">I", 0)))
                    elif fault == "reset":
                        connection.sendall(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))

        def serve(plain):
            try:
                connection = context.wrap_socket(plain, server_side=True)
                speak(connection)
                connection.close()
            except (OSError, EOFError):
                pass
            finally:
                plain.close()

        listener = socket.create_server(("127.0.0.1", int(port)))
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """#
}
