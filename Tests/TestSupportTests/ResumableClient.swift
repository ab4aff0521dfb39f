import TestSupport

/// A client of a ``ResumableServer`` that sends arbitrary requests.
struct ResumableClient {
    struct Reply {
        /// The heads of the interim responses.
        let interims: [String]
        let status: Int
        let head: String
        let body: String

        init(_ text: String) {
            var pieces = text.pieces(separatedBy: "\r\n\r\n")
            var interims: [String] = []
            while let first = pieces.first, first.hasPrefix("HTTP/1.1 1") { interims.append(pieces.removeFirst()) }
            self.interims = interims
            head = pieces.first ?? ""
            status = Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0
            body = pieces.dropFirst().joined(separator: "\r\n\r\n")
        }

        func value(_ name: String) -> String? { Self.value(name, in: head) }

        static func value(_ name: String, in head: String) -> String? {
            let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name.lowercased()): ") }
            return line.map { String($0.dropFirst(name.utf8.count + 2)) }
        }
    }

    let server: ResumableServer
    var dialect = ResumableServer.Dialect.draft8

    /// Sends a request and reads the response.
    func send(_ method: String, _ path: String = "/files", _ fields: [String] = [], _ body: String = "") throws -> Reply
    {
        let client = try RawClient(port: server.port)
        try client.send(head(method, path, fields, length: body.utf8.count) + body)
        return Reply(try client.receive())
    }

    /// Sends a request with chunked content.
    func sendChunked(
        _ method: String, _ path: String, _ fields: [String], _ chunks: [String], trailers: [String] = []
    ) throws -> Reply {
        let client = try RawClient(port: server.port)
        var text = head(method, path, fields, length: nil)
        for chunk in chunks { text += "\(String(chunk.utf8.count, radix: 16))\r\n\(chunk)\r\n" }
        try client.send(text + "0\r\n" + trailers.map { $0 + "\r\n" }.joined() + "\r\n")
        return Reply(try client.receive())
    }

    /// Returns the head of a request. The content is chunked if its length is `nil`.
    func head(_ method: String, _ path: String, _ fields: [String], length: Int?) -> String {
        var lines = ["\(method) \(path) HTTP/1.1", "Host: a.example"] + fields
        switch dialect {
        case .draft8: lines.append("Upload-Draft-Interop-Version: 8")
        case .draft6: lines.append("Upload-Draft-Interop-Version: 6")
        case .tus where !fields.contains { $0.hasPrefix("Tus-Resumable:") }: lines.append("Tus-Resumable: 1.0.0")
        default: break
        }
        lines.append(length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked")
        return (lines + ["Connection: close"]).joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Sends a request, or only a part of it, and reads until the server closes the connection. An error is ignored.
    func sendPart(_ method: String, _ path: String, _ fields: [String], length: Int, _ part: String) -> String? {
        guard let client = try? RawClient(port: server.port),
            (try? client.send(head(method, path, fields, length: length) + part)) != nil
        else { return nil }
        return try? client.receive()
    }

    // MARK: Draft

    /// Creates an upload without content.
    @discardableResult
    func create(length: Int? = nil, _ fields: [String] = []) throws -> Reply {
        let announced = length.map { ["Upload-Length: \($0)"] } ?? []
        return dialect == .tus
            ? try send("POST", "/files", announced + fields)
            : try send("POST", "/files", ["Upload-Complete: ?0"] + announced + fields)
    }

    /// The fields of an append.
    func fields(at offset: Int, completes: Bool? = nil) -> [String] {
        guard dialect != .tus else {
            return ["Content-Type: application/offset+octet-stream", "Upload-Offset: \(offset)"]
        }
        return ["Content-Type: application/partial-upload", "Upload-Offset: \(offset)"]
            + (completes.map { ["Upload-Complete: \($0 ? "?1" : "?0")"] } ?? [])
    }

    /// Appends to the first upload.
    func append(_ text: String, at offset: Int, completes: Bool = false, _ more: [String] = []) throws -> Reply {
        try send("PATCH", "/uploads/1", fields(at: offset, completes: completes) + more, text)
    }

    /// Retrieves the offset of the first upload.
    func offset() throws -> Int? { try send("HEAD", "/uploads/1").value("Upload-Offset").flatMap { Int($0) } }
}

extension ResumableServer {
    /// The representations handed to the application as text.
    var runTexts: [String] { applicationRuns.map { String(decoding: $0.bytes, as: UTF8.self) } }

    /// The bytes of the first upload as text.
    var text: String { String(decoding: uploads[0].bytes, as: UTF8.self) }
}
