import Waybill
public import WaybillJPEG

/// Describes how objects of one kind are made: their key, the compression of images, their metadata.
///
/// ```swift
/// extension UploadRecipe {
///     static var idCardFront: UploadRecipe {
///         UploadRecipe(
///             "ID card, front", key: "idcards/{businessNo}/front-{uuid}{.ext}", image: .maxBytes(.kibibytes(100)))
///     }
/// }
///
/// let object = try await UploadRecipe.idCardFront.prepare(file: "IMG_0042.jpg", parameters: ["businessNo": number])
/// print(object.key, object.length)
/// ```
///
/// The sample `DirectToOSS` has recipes for ID cards, tickets and photos of goods to copy.
public struct UploadRecipe: Sendable, Hashable {
    /// What it is called, in errors and logs.
    public var name: String
    /// Where the object goes.
    public var key: ObjectKeyTemplate
    /// What a picture becomes before it is sent, or `nil` to send the bytes as they are.
    public var image: JPEGOptions?
    /// The content type; `nil` for that of the bytes: `image/jpeg` of a picture that was made, else by the ending of the file's
    /// name.
    public var contentType: String?
    /// Metadata of the object, by name without the store's prefix. ASCII.
    public var metadata: [String: String] = [:]
    /// How far dates in the key are ahead of UTC.
    public var utcOffset: Duration = .zero

    /// Describes a kind.
    public init(_ name: String, key: ObjectKeyTemplate, image: JPEGOptions? = nil, contentType: String? = nil) {
        self.name = name
        self.key = key
        self.image = image
        self.contentType = contentType
    }
}

extension StoreError.Code {
    /// A key template can't be read; the message says what is wrong with it.
    public static let invalidKeyTemplate = Self("invalidKeyTemplate")
    /// A key template wants a parameter that was not given.
    public static let missingParameter = Self("missingParameter")
    /// A value can't stand in a key.
    public static let invalidParameter = Self("invalidParameter")
}

extension StoreError {
    /// The error of an object that could not be made: the code of the file's or the picture's own.
    init(preparing error: any Error, of recipe: String) {
        self.init(UploadError(preparing: error))
        message = "\(recipe): \(message)"
    }
}
