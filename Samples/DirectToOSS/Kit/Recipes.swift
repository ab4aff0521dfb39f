import Waybill
public import WaybillStores

/// Recipes of a business that archives ID cards, tickets and photos of goods. Copy and adapt this file.
extension UploadRecipe {
    /// The front of an ID card: at most 100 KiB. The key has the parameter `businessNo`.
    public static var idCardFront: UploadRecipe { idCard("front") }
    /// The back of an ID card, with the limit and the parameter of ``idCardFront``.
    public static var idCardBack: UploadRecipe { idCard("back") }
    /// A person holding the card: at most 200 KiB, because the face must also be recognizable.
    public static var idCardHandHeld: UploadRecipe { idCard("handheld", maxBytes: .kibibytes(200)) }

    /// A ticket or an invoice: at most 300 KiB, compressed for text. The key has the parameter `businessNo`.
    public static var ticket: UploadRecipe {
        UploadRecipe(
            "ticket", key: "tickets/{businessNo}/{date}/{uuid}{.ext}",
            image: JPEGOptions(maxBytes: .kibibytes(300), isDocument: true))
    }

    /// A photo of goods: at most 1,600 pixels on its longer side and 200 KiB. The key has the parameter `category` and
    /// the digest of the bytes: identical photos are one object.
    public static var goods: UploadRecipe {
        UploadRecipe(
            "goods", key: "goods/{+category}/{sha256:2}/{sha256}{.ext}",
            image: JPEGOptions(maxBytes: .kibibytes(200), maxSide: 1_600))
    }

    // Not marked as a document: the face on the card counts as much as its text.
    private static func idCard(_ side: String, maxBytes: ByteCount = .kibibytes(100)) -> UploadRecipe {
        // The pattern is valid: `side` is a constant.
        let key = ObjectKeyTemplate(stringLiteral: "idcards/{businessNo}/\(side)-{uuid}{.ext}")
        return UploadRecipe("ID card, \(side)", key: key, image: .maxBytes(maxBytes))
    }
}
