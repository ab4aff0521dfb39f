import Foundation
import TestSupport
import WaybillMultipart

/// All bodies in one folder, made once for all readers: each reader is started once and reads them all.
final class ReaderBatch: Sendable {
    struct Form: Sendable {
        let id: String
        /// What was meant, part by part.
        let parts: [TablePart.Read]
        let contentType: String
        let body: [UInt8]
    }

    let forms: [Form]
    private let folder: TestSupport.TemporaryDirectory

    /// The folder, in the form in which readers expect it: `batch.json` and a file for each body.
    var path: String { folder.path }

    static func shared() async throws -> ReaderBatch { try await task.value }

    private static let task = Task { try await ReaderBatch() }

    private init() async throws {
        folder = try TestSupport.TemporaryDirectory()
        let fixed = try MultipartBoundary(TableForm.boundary)
        var forms: [Form] = []
        for table in TableForm.all { forms.append(try await Self.make(table, table.id, fixed, folder)) }
        // The boundary that is made when nobody asks for one: of another length, with other characters.
        for table in TableForm.all where table.id.hasPrefix("form: ") {
            forms.append(try await Self.make(table, "\(table.id), own boundary", .random(), folder))
        }
        self.forms = forms
        try write()
    }

    private static func make(
        _ table: TableForm, _ id: String, _ boundary: MultipartBoundary, _ folder: TestSupport.TemporaryDirectory
    ) async throws -> Form {
        let body = try await MultipartForm(table, files: folder).prepared(boundary: boundary)
        var bytes: [UInt8] = []
        for try await chunk in body.chunks { bytes += chunk }
        return Form(
            id: id, parts: table.parts.map(\.read), contentType: body.contentType ?? "", body: bytes)
    }

    private func write() throws {
        struct Entry: Encodable {
            let id: String
            let file: String
            let contentType: String
        }
        var entries: [Entry] = []
        for (index, form) in forms.enumerated() {
            let file = "body-\(index)"
            try folder.write(file, form.body)
            entries.append(Entry(id: form.id, file: file, contentType: form.contentType))
        }
        try folder.write("batch.json", Array(try JSONEncoder().encode(entries)))
    }
}
