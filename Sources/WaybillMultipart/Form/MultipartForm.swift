import WaybillCore

/// A form as the user says it: fields and files in order, repeated names kept.
///
/// ```swift
/// var form: MultipartForm = [.text("DOCTYPE", "ID"), .text("TOKEN", .secret(token))]
/// form.append(.file("FILE", path: "front.jpg"))
/// let body = try await form.prepared()
/// print(body.length ?? 0, body.boundary)
/// ```
///
/// A dictionary literal makes fields of plain values, see ``FormFieldValue``; a closure makes a form with `if` and `for` in
/// it, see ``MultipartFormBuilder``.
///
/// Names are bytes to the wire: two names that Swift's `String` calls equal may be two fields, so nothing here is ever
/// looked up or merged by name.
public struct MultipartForm: Sendable, ExpressibleByArrayLiteral {
    /// The parts, in the order in which they are sent, unless ``order`` says otherwise.
    public var parts: [MultipartPart]
    /// In which order the parts are sent.
    public var order = PartOrder.asGiven
    /// How names that are not plain are written.
    public var compatibility = MultipartCompatibility.standard
    /// What becomes of streams whose number of bytes nobody knows.
    public var unknownLength = UnknownLength.spill
    /// Where streams are kept until they are sent, and copies of them; `nil` is the folder that the environment variable
    /// `TMPDIR` names, else `/tmp`. Often that is memory: choose a disk for large ones.
    public var temporaryDirectory: String?
    /// Which type belongs to which ending.
    public var contentTypes = ContentTypeTable.standard
    /// What the server takes. A form beyond it is refused before anything is sent.
    public var limits: FormLimits?

    /// The order of parts.
    public enum PartOrder: Sendable, Hashable {
        /// As they stand in ``MultipartForm/parts``.
        case asGiven
        /// Those with a file name behind all others, each group in its own order; a name that a part gets when it is made
        /// counts, too. Amazon S3 and Aliyun OSS ignore
        /// fields that follow the file; servers that stream want to know the fields first.
        case filesLast
    }

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

    /// Adds parts at the end.
    public mutating func append(contentsOf parts: some Sequence<MultipartPart>) {
        self.parts.append(contentsOf: parts)
    }

    /// Makes what can be sent: checks the grammar, makes the contents that have to be made, reads streams of unknown length,
    /// opens every file once to know its size.
    ///
    /// Files are closed again and opened when they are sent. A file that is by then another one, or was changed in any
    /// way that its size, its times or its number show, fails the sending with ``BodyError/Code/sourceChanged``, and the
    /// closing boundary never leaves. What can't be seen: a change within one tick of the file system's clock (4 ms on
    /// older kernels), and one by a tool that sets the times back, on a file system without change times.
    ///
    /// Leave the boundary out, except where a test wants known bytes: a new one is made that nobody can guess. One of yours
    /// is looked for in texts, data and headers, not in files and streams.
    ///
    /// - Throws: ``BodyError`` naming the part to blame; ``BodyError/Code/cancelled`` when the task was cancelled.
    /// - Complexity: linear in the number of parts. Memory for the texts and data of the form, none for files.
    public func prepared(boundary: MultipartBoundary? = nil) async throws(BodyError) -> MultipartBody {
        try limits?.check(partCount: parts.count)
        try checkGrammar(boundary)
        let resolver = PartResolver(form: self)
        var made: [Int: (part: MultipartPart, content: ReadyContent)] = [:]
        if order == .filesLast {
            // Whether these are files shows only when they are made.
            for index in parts.indices where parts[index].mayBecomeFile {
                made[index] = try await resolver.resolve(index)
            }
        }
        var builder = BodyBuilder(boundary: boundary, compatibility: compatibility)
        for index in order.indices(of: parts, isFile: { (made[$0]?.part ?? parts[$0]).fileName != nil }) {
            guard !Task.isCancelled else { throw BodyError.taskCancelled }
            if made[index] == nil, try builder.appendAtOnce(index, of: self) { continue }
            let (ready, content) =
                if let early = made.removeValue(forKey: index) { early } else { try await resolver.resolve(index) }
            try builder.append(
                ready, contentType: ready.contentType, content: content,
                at: PartPlace(index: index, name: parts[index].name))
            try limits?.check(totalBytes: builder.knownLength)
        }
        let body = try builder.finish()
        try limits?.check(totalBytes: body.segments.knownLength)
        return body
    }

    // All grammar before any work: no image is made for a form whose last name is empty.
    private func checkGrammar(_ boundary: MultipartBoundary?) throws(BodyError) {
        guard parts.contains(where: \.takesWork) else { return }
        let header = PartHeader(
            delimiter: PartDelimiter(boundary ?? .random(), mayOccur: boundary != nil), compatibility: compatibility)
        var block: [UInt8] = []
        for (index, part) in parts.enumerated() {
            block.removeAll(keepingCapacity: true)
            try header.append(
                part, contentType: part.contentType, to: &block, at: PartPlace(index: index, name: part.name))
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
    /// Holds the form against limits, before anything is made, read or sent.
    ///
    /// Texts, data and JSON are counted, files are looked at: their size and, if types are limited, their first bytes.
    /// A stream counts with the length it states. What still has to be made, such as an image that will be made small,
    /// counts nothing: set ``limits``, too, and ``prepared(boundary:)`` holds everything against them.
    ///
    /// - Throws: ``BodyError``, naming the part: ``BodyError/Code/partTooLarge``, ``BodyError/Code/formTooLarge``,
    ///   ``BodyError/Code/tooManyParts``, ``BodyError/Code/typeNotAllowed``, or what is wrong with a file.
    public func check(against limits: FormLimits) async throws(BodyError) {
        try limits.check(partCount: parts.count)
        var form = self
        form.limits = limits
        // The resolver needs what the form says of its parts, not the parts.
        form.parts = []
        let delimiter = PartDelimiter(.random(), mayOccur: false)
        let header = PartHeader(delimiter: delimiter, compatibility: compatibility)
        let resolver = PartResolver(form: form)
        var total = Int64(delimiter.closing.count)
        for (index, part) in parts.enumerated() {
            guard !Task.isCancelled else { throw BodyError.taskCancelled }
            let place = PartPlace(index: index, name: part.name)
            switch part.content {
            case .preparing: break
            case .stream(let stream):
                try stream.checkLength(at: place)
                let length = stream.length ?? 0
                try limits.check(partBytes: length, at: place)
                try Self.add(length, to: &total)
            default:
                let (ready, content) = try await resolver.resolve(part, at: place)
                var block: [UInt8] = []
                try header.append(ready, contentType: ready.contentType, to: &block, at: place)
                try Self.add(Int64(block.count + FormText.lineBreak.count), to: &total)
                try Self.add(content.count ?? 0, to: &total)
            }
            try limits.check(totalBytes: total)
        }
    }

    private static func add(_ count: Int64, to total: inout Int64) throws(BodyError) {
        let (sum, isTooLarge) = total.addingReportingOverflow(count)
        guard !isTooLarge else { throw FormLimits.beyondNumbers }
        total = sum
    }
}

extension MultipartForm: CustomStringConvertible {
    /// One line a part; never a content.
    public var description: String {
        parts.isEmpty ? "empty form" : parts.map(\.description).joined(separator: "\n")
    }
}
