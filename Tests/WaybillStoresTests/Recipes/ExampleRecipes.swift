import WaybillJPEG
import WaybillStores

/// Typical recipes; the sample DirectToOSS has the same ones for users to copy.
extension UploadRecipe {
    static var idCardFront: UploadRecipe {
        UploadRecipe(
            "ID card, front", key: "idcards/{businessNo}/front-{uuid}{.ext}", image: .maxBytes(.kibibytes(100)))
    }

    static var idCardBack: UploadRecipe {
        UploadRecipe("ID card, back", key: "idcards/{businessNo}/back-{uuid}{.ext}", image: .maxBytes(.kibibytes(100)))
    }

    static var goods: UploadRecipe {
        UploadRecipe(
            "goods", key: "goods/{+category}/{sha256:2}/{sha256}{.ext}",
            image: JPEGOptions(maxBytes: .kibibytes(200), maxSide: 1_600))
    }

    /// Its key has a directory per day.
    static var dated: UploadRecipe {
        UploadRecipe(
            "dated", key: "images/{year}/{month}/{day}/{uuid}{.ext}",
            image: JPEGOptions(quality: 80, maxPixels: 2_000_000, mode: .fast))
    }
}
