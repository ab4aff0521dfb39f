import Waybill
public import WaybillJPEG

/// A recipe for objects of one type: their key, image compression and metadata.
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
/// The sample `DirectToOSS` has recipes for ID cards, tickets and product photos.
public struct UploadRecipe: Sendable, Hashable {
    /// The name of the recipe in errors and logs.
    public var name: String
    /// The template of the object key.
    public var key: ObjectKeyTemplate
    /// The compression of an image before it is sent, or `nil` to send the content unchanged.
    public var image: JPEGOptions?
    /// The content type; `nil` to derive it: by the format of a compressed image, usually `image/jpeg`, otherwise by the
    /// extension of the file name.
    public var contentType: String?
    /// The metadata of the object, by name without the store's prefix. ASCII only.
    public var metadata: [String: String] = [:]
    /// The offset of dates in the key from UTC.
    public var utcOffset: Duration = .zero

    /// Creates a recipe.
    public init(_ name: String, key: ObjectKeyTemplate, image: JPEGOptions? = nil, contentType: String? = nil) {
        self.name = name
        self.key = key
        self.image = image
        self.contentType = contentType
    }
}

extension StoreError.Code {
    /// A key template is invalid; the message has the reason.
    public static let invalidKeyTemplate = Self("invalidKeyTemplate")
    /// A parameter of a key template has no value.
    public static let missingParameter = Self("missingParameter")
    /// A value is not allowed in a key.
    public static let invalidParameter = Self("invalidParameter")
}

extension StoreError {
    /// Creates the error of an object that could not be prepared, with the code of the file or image error.
    init(preparing error: any Error, of recipe: String) {
        if let error = error as? StoreError {
            self = error
        } else {
            self.init(UploadError(preparing: error))
            message = "\(recipe): \(message)"
        }
    }
}
