import WaybillCore

/// A multipart form: fields and files in order. Repeated names are kept.
///
/// ```swift
/// var form: MultipartForm = [.text("DOCTYPE", "ID"), .text("TOKEN", .secret(token))]
/// form.append(.file("FILE", path: "front.jpg"))
/// let body = try await form.prepared()
/// print(body.length ?? 0, body.boundary)
/// ```
///
/// A dictionary literal creates fields from plain values; see ``FormFieldValue``. A closure creates a form with `if`
/// and `for` in it; see ``MultipartFormBuilder``.
///
/// Names are compared as bytes on the wire: two names that are equal as Swift `String` values may be two different
/// fields. Therefore no part is ever looked up or merged by name.
public struct MultipartForm: Sendable, ExpressibleByArrayLiteral {
    /// The parts, in the order in which they are sent, unless ``order`` says otherwise.
    public var parts: [MultipartPart]
    /// The order in which the parts are sent.
    public var order = PartOrder.asGiven
    /// The escaping of names that contain special characters.
    public var compatibility = MultipartCompatibility.standard
    /// The handling of streams whose length is unknown.
    public var unknownLength = UnknownLength.spill
    /// The directory for temporary files: streams that are read before they are sent, and copies of streams. If `nil`,
    /// the directory named by the environment variable `TMPDIR`, or else `/tmp`. This is often backed by memory; choose
    /// a directory on a disk for large streams.
    public var temporaryDirectory: String?
    /// The table of content types by file name extension.
    public var contentTypes = ContentTypeTable.standard
    /// The limits that the server imposes. A form that exceeds them fails before anything is sent.
    public var limits: FormLimits?

    /// The order of parts.
    public enum PartOrder: Sendable, Hashable {
        /// The order of ``MultipartForm/parts``.
        case asGiven
        /// Parts with a file name follow all other parts; each group keeps its order. A file name that a part receives
        /// while it is prepared counts, too. Amazon S3 and Aliyun OSS ignore fields that follow the file, and streaming
        /// servers need the fields first.
        case filesLast
    }

    /// Creates a form from parts. A form without parts is sent as its closing delimiter only.
    public init(_ parts: [MultipartPart] = []) {
        self.parts = parts
    }

    /// Creates a form from parts.
    public init(arrayLiteral elements: MultipartPart...) {
        self.init(elements)
    }

    /// Appends a part.
    public mutating func append(_ part: MultipartPart) {
        parts.append(part)
    }

    /// Appends parts.
    public mutating func append(contentsOf parts: some Sequence<MultipartPart>) {
        self.parts.append(contentsOf: parts)
    }

    /// Prepares the form for sending: validates names and headers, produces the contents that have to be prepared,
    /// reads streams of unknown length, and opens every file once to determine its size.
    ///
    /// Files are closed again and reopened when they are sent. If a file has been replaced by then, or its size,
    /// timestamps or inode number have changed, the upload fails with ``BodyError/Code/sourceChanged`` and the closing
    /// boundary is never sent. Two changes cannot be detected: one within a single tick of the file system's clock (4
    /// ms on older kernels), and one by a tool that restores the timestamps on a file system without change times.
    ///
    /// Omit the boundary except in tests that need fixed bytes: by default an unpredictable boundary is generated. A
    /// custom boundary is searched for in text fields, data and headers, but not in files and streams.
    ///
    /// - Throws: ``BodyError`` naming the part that failed; ``BodyError/Code/cancelled`` if the task was cancelled.
    /// - Complexity: Linear in the number of parts. Memory for the text fields and data of the form, none for files.
    public func prepared(boundary: MultipartBoundary? = nil) async throws(BodyError) -> MultipartBody {
        try limits?.check(partCount: parts.count)
        try checkGrammar(boundary)
        let resolver = PartResolver(form: self)
        var made: [Int: (part: MultipartPart, content: ReadyContent)] = [:]
        if order == .filesLast {
            // Whether these parts are files is known only after they have been prepared.
            for index in parts.indices where parts[index].mayBecomeFile {
                made[index] = try await resolver.resolve(index)
            }
        }
        var builder = BodyBuilder(boundary: boundary, compatibility: compatibility)
        for index in order.indices(of: parts, isFile: { (made[$0]?.part ?? parts[$0]).fileName != nil }) {
            guard !Task.isCancelled else { throw BodyError.taskCancelled }
            if made[index] == nil, try builder.appendSynchronously(index, of: self) { continue }
            let (ready, content) =
                if let early = made.removeValue(forKey: index) { early } else { try await resolver.resolve(index) }
            try builder.append(
                ready, contentType: ready.contentType, content: content,
                at: PartLocation(index: index, name: parts[index].name))
            try limits?.check(totalBytes: builder.knownLength)
        }
        let body = try builder.finish()
        try limits?.check(totalBytes: body.segments.knownLength)
        return body
    }

    // Validates all names and headers before any work: no image is compressed for a form whose last name is empty.
    private func checkGrammar(_ boundary: MultipartBoundary?) throws(BodyError) {
        guard parts.contains(where: \.needsPreparation) else { return }
        let header = PartHeader(
            delimiter: PartDelimiter(boundary ?? .random(), mayOccur: boundary != nil), compatibility: compatibility)
        var block: [UInt8] = []
        for (index, part) in parts.enumerated() {
            block.removeAll(keepingCapacity: true)
            try header.append(
                part, contentType: part.contentType, to: &block, at: PartLocation(index: index, name: part.name))
        }
    }
}

extension MultipartForm.PartOrder {
    func indices(of parts: [MultipartPart]) -> [Int] { indices(of: parts) { parts[$0].fileName != nil } }

    func indices(of parts: [MultipartPart], isFile: (Int) -> Bool) -> [Int] {
        let all = Array(parts.indices)
        switch self {
        case .asGiven: return all
        case .filesLast:
            let areFiles = all.map(isFile)
            return all.filter { !areFiles[$0] } + all.filter { areFiles[$0] }
        }
    }
}

extension MultipartForm {
    /// Checks the form against limits before anything is prepared, read or sent.
    ///
    /// Text fields, data and JSON count with their length. Files count with their size; if content types are limited,
    /// their first bytes are read, too. A stream counts with its declared length. Content that has yet to be prepared,
    /// such as an image to be compressed, counts as zero bytes. Set ``limits`` as well, so that ``prepared(boundary:)``
    /// checks everything.
    ///
    /// - Throws: ``BodyError`` naming the part: ``BodyError/Code/partTooLarge``, ``BodyError/Code/formTooLarge``,
    ///   ``BodyError/Code/tooManyParts``, ``BodyError/Code/typeNotAllowed``, or the error of a file that cannot be
    ///   read.
    public func check(against limits: FormLimits) async throws(BodyError) {
        try limits.check(partCount: parts.count)
        var form = self
        form.limits = limits
        // The resolver needs the settings of the form, not its parts.
        form.parts = []
        let delimiter = PartDelimiter(.random(), mayOccur: false)
        let header = PartHeader(delimiter: delimiter, compatibility: compatibility)
        let resolver = PartResolver(form: form)
        var total = Int64(delimiter.closing.count)
        for (index, part) in parts.enumerated() {
            guard !Task.isCancelled else { throw BodyError.taskCancelled }
            let location = PartLocation(index: index, name: part.name)
            switch part.content {
            case .preparing: break
            case .stream(let stream):
                try stream.checkLength(at: location)
                let length = stream.length ?? 0
                try limits.check(partBytes: length, at: location)
                try Self.add(length, to: &total)
            default:
                let (ready, content) = try await resolver.resolve(part, at: location)
                var block: [UInt8] = []
                try header.append(ready, contentType: ready.contentType, to: &block, at: location)
                try Self.add(Int64(block.count + FormText.lineBreak.count), to: &total)
                try Self.add(content.count ?? 0, to: &total)
            }
            try limits.check(totalBytes: total)
        }
    }

    private static func add(_ count: Int64, to total: inout Int64) throws(BodyError) {
        let (sum, isTooLarge) = total.addingReportingOverflow(count)
        guard !isTooLarge else { throw FormLimits.lengthOverflow }
        total = sum
    }
}

extension MultipartForm: CustomStringConvertible {
    /// One line per part, without any content.
    public var description: String {
        parts.isEmpty ? "empty form" : parts.map(\.description).joined(separator: "\n")
    }
}
