extension MultipartPart {
    /// The bytes of a plain field, as they are sent: of a text or a secret without a file name. `nil` for any other part.
    ///
    /// For signatures, which have to be made of what the server will read.
    package var fieldBytes: [UInt8]? {
        guard fileName == nil else { return nil }
        switch content {
        case .text(let text): return FormText.withNormalLineBreaks(text)
        case .secret(let secret): return FormText.withNormalLineBreaks(secret.value)
        case .rawText(let bytes, _): return bytes
        case .bytes, .file, .stream, .encoding, .preparing, .refused: return nil
        }
    }
}
