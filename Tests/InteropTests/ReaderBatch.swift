import Foundation
import TestSupport
import WaybillMultipart

/// All bodies in a directory, created once for all readers: each reader is started once and reads all of them.
final class ReaderBatch: Sendable {
    struct Form: Sendable {
        let id: String
        /// The expected contents, part by part.
        let parts: [TablePart.Read]
        let contentType: String
        let body: [UInt8]
    }

    let forms: [Form]
    private let directory: TestSupport.TemporaryDirectory

    /// The directory in the format that readers expect: `batch.json` and a file for each body.
    var path: String { directory.path }

    static func shared() async throws -> ReaderBatch { try await task.value }

    private static let task = Task { try await ReaderBatch() }

    private init() async throws {
        directory = try TestSupport.TemporaryDirectory()
        let fixed = try MultipartBoundary(TableForm.boundary)
        var forms: [Form] = []
        for table in TableForm.all { forms.append(try await Self.make(table, table.id, fixed, directory)) }
        // The random boundary used by default: another length and other characters.
        for table in TableForm.all where table.id.hasPrefix("form: ") {
            forms.append(try await Self.make(table, "\(table.id), own boundary", .random(), directory))
        }
        self.forms = forms
        try write()
    }

    private static func make(
        _ table: TableForm, _ id: String, _ boundary: MultipartBoundary, _ directory: TestSupport.TemporaryDirectory
    ) async throws -> Form {
        let body = try await MultipartForm(table, files: directory).prepared(boundary: boundary)
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
            try directory.write(file, form.body)
            entries.append(Entry(id: form.id, file: file, contentType: form.contentType))
        }
        try directory.write("batch.json", Array(try JSONEncoder().encode(entries)))
    }
}
