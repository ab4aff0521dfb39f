import Waybill

/// Builds forms of many small parts and reads their bytes.
enum FormBuild {
    /// Builds forms of `parts` parts each and reads their bytes.
    ///
    /// - Returns: The number of bytes.
    static func build(_ parts: Int, forms: Int) async throws -> Int {
        var bytes = 0
        for _ in 0..<forms {
            for try await chunk in try await form(parts).prepared().chunks { bytes += chunk.count }
        }
        return bytes
    }

    private static func form(_ count: Int) -> MultipartForm {
        var form = MultipartForm()
        for index in 0..<count {
            if index.isMultiple(of: 2) {
                form.append(.text("field\(index)", "value \(index)"))
            } else {
                form.append(.data("file\(index)", [1, 2, 3], fileName: "\(index).jpg"))
            }
        }
        return form
    }
}
