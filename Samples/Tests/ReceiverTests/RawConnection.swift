import FlyingSocks
import Foundation
import Testing

@testable import ReceiverKit

/// A response as received.
struct RawResponse {
    let status: Int
    let fields: [String: String]
    let body: String

    /// Reads a field by its name in lower case.
    subscript(name: String) -> String? { fields[name] }
    var location: String { self["location"] ?? "" }
    var code: String? { try? JSONDecoder().decode(Envelope.self, from: Data(body.utf8)).RETCODE }
}

/// A connection that sends requests byte by byte as they are written.
struct RawConnection {
    private let socket: AsyncSocket

    init(_ backend: some Backend) async throws {
        let port = try #require(URL(string: backend.url)?.port)
        socket = try await .connected(to: .inet(ip4: "127.0.0.1", port: UInt16(port)))
    }

    func send(_ text: String) async throws { try await socket.write(Data(text.utf8)) }

    func close() throws { try socket.close() }

    /// Returns the response; throws if the connection is closed before its end.
    func response() async throws -> RawResponse {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") { head.unicodeScalars.append(Unicode.Scalar(try await socket.read())) }
        var fields: [String: String] = [:]
        for line in head.split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let length = fields["content-length"].flatMap { Int($0) } ?? 0
        let body = String(decoding: try await socket.read(bytes: length), as: UTF8.self)
        return RawResponse(status: Int(head.split(separator: " ")[1]) ?? 0, fields: fields, body: body)
    }

    static func head(_ line: String, _ fields: [String], length: Int) -> String {
        let version = ["Host: 127.0.0.1", "Upload-Draft-Interop-Version: 8", "Content-Length: \(length)"]
        return (["\(line) HTTP/1.1"] + version + fields).joined(separator: "\r\n") + "\r\n\r\n"
    }
}

extension Backend {
    /// Sends a request of version 8 of the draft on a new connection.
    func send(_ line: String, _ fields: [String] = [], body: String = "") async throws -> RawResponse {
        let connection = try await RawConnection(self)
        defer { try? connection.close() }
        try await connection.send(RawConnection.head(line, fields, length: body.utf8.count) + body)
        return try await connection.response()
    }

    /// Creates an empty upload of a form with the boundary `b`.
    func create(length: Int) async throws -> String {
        let fields = [
            "Upload-Complete: ?0", "Upload-Length: \(length)", "Content-Type: multipart/form-data; boundary=b",
        ]
        return try await send("POST /upload", fields).location
    }

    func append(_ body: String, at offset: Int, to path: String, completes: Bool = false) async throws -> RawResponse {
        try await send("PATCH \(path)", Self.appendFields(offset, completes: completes), body: body)
    }

    static func appendFields(_ offset: Int, completes: Bool) -> [String] {
        let complete = "Upload-Complete: \(completes ? "?1" : "?0")"
        return ["Content-Type: application/partial-upload", "Upload-Offset: \(offset)", complete]
    }
}
