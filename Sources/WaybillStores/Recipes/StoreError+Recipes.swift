import Waybill

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
