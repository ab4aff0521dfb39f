public import WaybillCore

/// What a server takes, so that a form that it would refuse is refused here, before anything is sent.
///
/// ```swift
/// form.limits = FormLimits(
///     maxPartBytes: .mebibytes(5), maxTotalBytes: .mebibytes(20), allowedTypes: ["image/jpeg", "image/png"])
/// ```
///
/// ``MultipartForm/limits`` are held against what is going to be sent, after images were made small and streams were
/// read. ``MultipartForm/check(against:)`` looks at what is there already.
public struct FormLimits: Sendable, Hashable {
    /// The most parts.
    public var maxParts: Int?
    /// The most bytes that the content of a part may have.
    public var maxPartBytes: ByteCount?
    /// The most bytes of the whole body, headers and boundaries included.
    public var maxTotalBytes: ByteCount?
    /// The types that files may have, such as `image/jpeg`.
    ///
    /// It is the first bytes that tell, not the name: a program called `card.jpg` is no `image/jpeg`. The container of
    /// `docx` and the like is a ZIP file and passes as any of them. A type whose bytes have no sure beginning, such as
    /// `text/csv`, is believed if the part says so and the bytes begin like nothing else. Only parts with a file name are
    /// looked at.
    public var allowedTypes: Set<String>?

    /// Describes limits; `nil` is none.
    public init(
        maxParts: Int? = nil, maxPartBytes: ByteCount? = nil, maxTotalBytes: ByteCount? = nil,
        allowedTypes: Set<String>? = nil
    ) {
        self.maxParts = maxParts
        self.maxPartBytes = maxPartBytes
        self.maxTotalBytes = maxTotalBytes
        self.allowedTypes = allowedTypes
    }

    /// The error for a form whose length no `Content-Length` of 63 bits can say.
    static var beyondNumbers: BodyError {
        BodyError(
            .formTooLarge,
            "The form has more than \(Int64.max) bytes, which no length can say. Check the lengths of its streams.")
    }

    func check(partCount: Int) throws(BodyError) {
        guard let maxParts, partCount > maxParts else { return }
        throw BodyError(.tooManyParts, "The form has \(partCount) parts; \(maxParts) are allowed.")
    }

    func check(partBytes: Int64, at place: PartPlace) throws(BodyError) {
        guard let limit = maxPartBytes?.bytes, partBytes > limit else { return }
        throw BodyError(.partTooLarge, "it has \(partBytes) bytes; \(limit) are allowed.", at: place)
    }

    func check(totalBytes: Int64) throws(BodyError) {
        guard let limit = maxTotalBytes?.bytes, totalBytes > limit else { return }
        throw BodyError(.formTooLarge, "The form has at least \(totalBytes) bytes; \(limit) are allowed.")
    }

    /// Holds the first bytes of a part against the types; `nil` are bytes that nobody has seen yet.
    func check(beginning: [UInt8]?, contentType: String?, at place: PartPlace) throws(BodyError) {
        guard let allowedTypes else { return }
        let list = allowedTypes.sorted().joined(separator: ", ")
        guard let beginning else {
            throw BodyError(
                .typeNotAllowed,
                "its type can't be told before it is sent, and only \(list) are allowed. \(Remedy.spillStream)",
                at: place)
        }
        let said = contentType.map(MagicBytes.essence)
        let isAllowed = allowedTypes.map(MagicBytes.essence).contains { type in
            MagicBytes.canBe(type, beginning) && (MagicBytes.type(of: beginning) != nil || type == said)
        }
        guard !isAllowed else { return }
        let found = MagicBytes.type(of: beginning).map { "holds \($0)" } ?? "begins like no file of a known type"
        throw BodyError(.typeNotAllowed, "it \(found); allowed are \(list).", at: place)
    }
}
