import HTTPTypes
import WaybillCore
public import WaybillMultipart

/// A sent form as a server would read it, parsed for comparison in a test.
///
/// ```swift
/// let form = try transport.transfers[0].form()
/// #expect(form.names == ["TOKEN", "BUSINESSNO", "FILE"])
/// #expect(try form.text("BUSINESSNO") == "20260117-0042")
/// let file = try form.part("FILE")
/// #expect(file.fileName == "IDFrontImage.jpg")
/// #expect(file.bytes.count <= 102_400)
/// ```
///
/// A missing part throws a ``TestingError`` whose description lists the existing parts by name, type and size, but
/// without their content, which may be secret. The type depends on no test framework: a throwing test fails in Swift
/// Testing and in XCTest.
public struct RecordedForm: Sendable {
    /// The parts, in order.
    public let parts: [RecordedPart]

    /// Parses a body from any source.
    ///
    /// - Throws: ``TestingError/Code/notAForm`` with the parser's error as the cause.
    public init(
        body: [UInt8], contentType: String, limits: MultipartLimits = MultipartLimits()
    ) throws(TestingError) {
        do {
            var parser = try MultipartParser(contentType: contentType, limits: limits)
            var collector = Collector()
            try parser.feed(body.span, to: &collector)
            try parser.finish()
            parts = collector.parts
        } catch {
            throw TestingError(.notAForm, "The \(body.count) bytes are not a complete form: \(error)", cause: error)
        }
    }

    /// The names of the parts, in order; repeated names are included.
    public var names: [String] { parts.map(\.name) }

    /// Returns the only part with a name.
    ///
    /// - Throws: ``TestingError/Code/noSuchPart`` or ``TestingError/Code/severalParts``.
    public func part(_ name: String) throws(TestingError) -> RecordedPart {
        let found = parts(named: name)
        guard let part = found.first else {
            throw TestingError(.noSuchPart, "The form has no part \"\(name)\". \(self)")
        }
        guard found.count == 1 else {
            throw TestingError(.severalParts, "\(found.count) parts are named \"\(name)\". Use parts(named:). \(self)")
        }
        return part
    }

    /// Returns all parts with a name, in order; may be empty.
    public func parts(named name: String) -> [RecordedPart] {
        // Compare bytes, as servers do: Swift treats two encodings of the same character as equal.
        parts.filter { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// Returns the text of the only part with a name.
    ///
    /// - Throws: ``TestingError/Code/noSuchPart``, ``TestingError/Code/severalParts`` or ``TestingError/Code/notText``.
    public func text(_ name: String) throws(TestingError) -> String {
        try part(name).text
    }

    private struct Collector: MultipartHandler {
        var parts: [RecordedPart] = []

        mutating func partBegan(_ head: MultipartPartHead) {
            parts.append(RecordedPart(head))
        }

        mutating func partData(_ bytes: Span<UInt8>) {
            unsafe bytes.withUnsafeBufferPointer { unsafe parts[parts.count - 1].bytes.append(contentsOf: $0) }
        }

        mutating func partEnded() {}
    }
}

extension RecordedForm: CustomStringConvertible {
    /// Names, types and sizes, without any content.
    public var description: String {
        parts.isEmpty ? "The form has no parts." : "The form has: \(parts.map(\.description).joined(separator: "; "))."
    }
}

extension RecordedForm: CustomReflectable {
    /// The parts without their content.
    public var customMirror: Mirror { Mirror(self, children: ["parts": parts.map(\.description)]) }
}

extension RecordedTransfer {
    /// Parses the body as a form.
    ///
    /// - Throws: ``TestingError/Code/notAForm`` if it is not a form, or if the script received only part of it;
    ///   ``TestingError/Code/bodyNotKept``.
    public func form(limits: MultipartLimits = MultipartLimits()) throws(TestingError) -> RecordedForm {
        guard let sent = request.body else { throw TestingError(.notAForm, "The request has no body.") }
        guard bytesReceived == Int64(body.count) else {
            throw TestingError(.bodyNotKept, "The body was not kept. Create the transport with keepsBodies: true.")
        }
        if let length = sent.length, bytesReceived < length {
            throw TestingError(
                .notAForm,
                "The script received only \(bytesReceived) of \(length) bytes. "
                    + "Use an attempt that received the whole form.")
        }
        guard let type = request.headers[.contentType] ?? sent.contentType else {
            throw TestingError(.notAForm, "The request has no Content-Type.")
        }
        return try RecordedForm(body: body, contentType: type, limits: limits)
    }
}
