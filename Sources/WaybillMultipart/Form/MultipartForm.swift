import WaybillCore

/// A form as the user says it: fields and files in order, repeated names kept.
///
/// ```swift
/// var form: MultipartForm = [.text("DOCTYPE", "ID"), .text("TOKEN", .secret(token))]
/// form.append(.file("FILE", path: "front.jpg"))
/// let body = try await form.prepared()
/// print(body.contentLength, body.contentType)
/// ```
///
/// Names are bytes to the wire: two names that Swift's `String` calls equal may be two fields, so nothing here is ever
/// looked up or merged by name.
public struct MultipartForm: Sendable, ExpressibleByArrayLiteral {
    /// The parts, in the order in which they are sent.
    public var parts: [MultipartPart]

    /// Makes a form of parts. A form without parts is sent as its closing line.
    public init(_ parts: [MultipartPart] = []) {
        self.parts = parts
    }

    /// Makes a form of parts.
    public init(arrayLiteral elements: MultipartPart...) {
        self.init(elements)
    }

    /// Adds a part at the end.
    public mutating func append(_ part: MultipartPart) {
        parts.append(part)
    }

    /// Makes what can be sent: checks the grammar, makes the contents that have to be made, opens every file once to
    /// know its size.
    ///
    /// Files are closed again and opened when they are sent. A file that is by then another one, or was changed in any
    /// way that its size, its times or its number show, fails the sending with ``BodyError/Code/sourceChanged``, and the
    /// closing boundary never leaves. What can't be seen: a change within one tick of the file system's clock (4 ms on
    /// older kernels), and one by a tool that sets the times back, on a file system without change times.
    ///
    /// Leave the boundary out, except where a test wants known bytes. It is looked for in texts, data and headers, not in
    /// files.
    ///
    /// - Throws: ``BodyError`` naming the part to blame; ``BodyError/Code/cancelled`` when the task was cancelled.
    /// - Complexity: memory for the texts and data of the form, none for files.
    public func prepared(boundary: MultipartBoundary = .random()) async throws(BodyError) -> MultipartBody {
        // All grammar first: no image is made for a form whose last name is empty.
        for (index, part) in parts.enumerated() {
            _ = try PartHeader(
                part, contentType: part.contentType, boundary: boundary,
                at: PartPlace(index: index, name: part.name))
        }
        var builder = BodyBuilder(boundary: boundary)
        for (index, part) in parts.enumerated() {
            guard !Task.isCancelled else { throw BodyError.taskCancelled }
            let place = PartPlace(index: index, name: part.name)
            let (ready, content) = try await part.resolved(at: place)
            try builder.append(ready, content: content, at: place)
        }
        return builder.finish()
    }
}

extension MultipartForm: CustomStringConvertible {
    /// One line a part; never a content.
    public var description: String {
        parts.isEmpty ? "empty form" : parts.map(\.description).joined(separator: "\n")
    }
}
