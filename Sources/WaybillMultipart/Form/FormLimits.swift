public import WaybillCore

/// The limits that a server imposes on a form. A form that exceeds them fails before anything is sent.
///
/// ```swift
/// form.limits = FormLimits(
///     maxPartBytes: .mebibytes(5), maxTotalBytes: .mebibytes(20), allowedTypes: ["image/jpeg", "image/png"])
/// ```
///
/// ``MultipartForm/limits`` are checked against the final contents, after images were compressed and streams were read.
/// ``MultipartForm/check(against:)`` checks what is available beforehand.
public struct FormLimits: Sendable, Hashable {
    /// The maximum number of parts.
    public var maxParts: Int?
    /// The maximum number of bytes in the content of a part.
    public var maxPartBytes: ByteCount?
    /// The maximum number of bytes in the whole body, including headers and boundaries.
    public var maxTotalBytes: ByteCount?
    /// The allowed content types of files, such as `image/jpeg`.
    ///
    /// The type is detected from the first bytes, not from the name: a program named `card.jpg` is not `image/jpeg`.
    /// The container of `docx` and similar formats is a ZIP file and is accepted as any of them. A type without
    /// characteristic first bytes, such as `text/csv`, is accepted if the part declares it and the bytes match no other
    /// known type. Only parts with a file name are checked.
    public var allowedTypes: Set<String>?

    /// Creates limits; `nil` means unlimited.
    public init(
        maxParts: Int? = nil, maxPartBytes: ByteCount? = nil, maxTotalBytes: ByteCount? = nil,
        allowedTypes: Set<String>? = nil
    ) {
        self.maxParts = maxParts
        self.maxPartBytes = maxPartBytes
        self.maxTotalBytes = maxTotalBytes
        self.allowedTypes = allowedTypes
    }

    /// The error for a form whose length exceeds an `Int64`.
    static var lengthOverflow: BodyError {
        BodyError(
            .formTooLarge,
            "The form exceeds \(Int64.max) bytes, the maximum length. Check the lengths of its streams.")
    }

    func check(partCount: Int) throws(BodyError) {
        guard let maxParts, partCount > maxParts else { return }
        throw BodyError(.tooManyParts, "The form has \(partCount) parts; the limit is \(maxParts).")
    }

    func check(partBytes: Int64, at location: PartLocation) throws(BodyError) {
        guard let limit = maxPartBytes?.bytes, partBytes > limit else { return }
        throw BodyError(.partTooLarge, "The content has \(partBytes) bytes; the limit is \(limit).", at: location)
    }

    func check(totalBytes: Int64) throws(BodyError) {
        guard let limit = maxTotalBytes?.bytes, totalBytes > limit else { return }
        throw BodyError(.formTooLarge, "The form has at least \(totalBytes) bytes; the limit is \(limit).")
    }

    /// Checks the first bytes of a part against the allowed types; `nil` means that the bytes have not been read yet.
    func check(beginning: [UInt8]?, contentType: String?, at location: PartLocation) throws(BodyError) {
        guard let allowedTypes else { return }
        let list = allowedTypes.sorted().joined(separator: ", ")
        guard let beginning else {
            throw BodyError(
                .typeNotAllowed,
                "The type of a stream is unknown before it is sent, but only \(list) are allowed. "
                    + "\(Remedy.spillStream)",
                at: location)
        }
        let declaredType = contentType.map(MagicBytes.essence)
        let isAllowed = allowedTypes.map(MagicBytes.essence).contains { type in
            MagicBytes.canBe(type, beginning) && (MagicBytes.type(of: beginning) != nil || type == declaredType)
        }
        guard !isAllowed else { return }
        let found = MagicBytes.type(of: beginning).map { "is \($0)" } ?? "has no known type"
        throw BodyError(.typeNotAllowed, "The content \(found); the allowed types are \(list).", at: location)
    }
}
