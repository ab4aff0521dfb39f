public import WaybillJPEG

/// How one kind of object is made and where it goes: the key, what pictures become, what is said of it.
///
/// ```swift
/// let front = UploadRecipe.idCardFront            // cards/front/{businessNo}/…, at most 100 KiB
/// let object = try await front.prepare(file: "IMG_0042.jpg", parameters: ["businessNo": number])
/// print(object.key, object.length)
/// ```
///
/// The ready kinds are starting points: copy one and change what is different with you.
///
/// ```swift
/// extension UploadRecipe {
///     static var receipt: UploadRecipe {
///         var recipe = UploadRecipe.ticket
///         recipe.key = "receipts/{+shop}/{date}/{uuid}{.ext}"
///         return recipe
///     }
/// }
/// ```
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

extension UploadRecipe {
    /// A picture of any kind: 2 megapixels at most, quality 80, in a folder a day.
    public static var generalImage: UploadRecipe {
        UploadRecipe(
            "general image", key: "images/{year}/{month}/{day}/{uuid}{.ext}",
            image: JPEGOptions(quality: 80, maxPixels: 2_000_000, mode: .fast))
    }

    /// A ticket or an invoice: its text counts. At most 300 KiB, under the parameter `businessNo`.
    public static var ticket: UploadRecipe {
        UploadRecipe(
            "ticket", key: "tickets/{businessNo}/{date}/{uuid}{.ext}",
            image: JPEGOptions(maxBytes: .kibibytes(300), isDocument: true))
    }

    /// A picture of goods: 1,600 pixels on its longer side and 200 KiB at most. The key is the digest of the bytes, so the same
    /// picture is stored once, under the parameter `category`.
    public static var goods: UploadRecipe {
        UploadRecipe(
            "goods", key: "goods/{+category}/{sha256:2}/{sha256}{.ext}",
            image: JPEGOptions(maxBytes: .kibibytes(200), maxSide: 1_600))
    }

    /// The front of an ID card: at most 100 KiB, under the parameter `businessNo`.
    public static var idCardFront: UploadRecipe { idCard("front") }
    /// The back of an ID card: as ``idCardFront``.
    public static var idCardBack: UploadRecipe { idCard("back") }
    /// The person with the card in the hand: at most 200 KiB, for a face has to be seen as well.
    public static var idCardHandHeld: UploadRecipe { idCard("handheld", maxBytes: .kibibytes(200)) }

    // No document hint: the face on the card counts as much as its text.
    private static func idCard(_ side: String, maxBytes: ByteCount = .kibibytes(100)) -> UploadRecipe {
        // A pattern made of a constant side can't be misread.
        let key = ObjectKeyTemplate(stringLiteral: "idcards/{businessNo}/\(side)-{uuid}{.ext}")
        return UploadRecipe("ID card, \(side)", key: key, image: .maxBytes(maxBytes))
    }
}
