import Foundation
import WaybillMultipart

/// Receives one form: text fields in memory, files on the disk.
final class FormIntake: MultipartHandler {
    struct Field: Encodable {
        let name: String
        let value: String
    }

    private let directory: String
    private(set) var fields: [Field] = []
    private(set) var files: [StoredFile] = []
    private var open: OpenPart?

    private enum OpenPart {
        case text(name: String, bytes: [UInt8])
        case file(StoredFile)
    }

    /// The largest size of a text field in bytes.
    private static let maxFieldSize = 1 << 20

    init(directory: String) {
        self.directory = directory
    }

    func partBegan(_ head: MultipartPartHead) throws {
        // A part with a file name is a file, even if the name is empty (RFC 7578 section 4.2).
        guard let fileName = head.fileName else {
            open = .text(name: head.name, bytes: [])
            return
        }
        let file = try StoredFile(
            in: directory, name: head.name, fileName: fileName, type: head.contentType ?? "text/plain")
        files.append(file)
        open = .file(file)
    }

    func partData(_ bytes: Span<UInt8>) throws {
        switch open {
        case .text(let name, var text):
            open = nil
            guard text.count + bytes.count <= Self.maxFieldSize else {
                throw ReceiverError("The field \(name) is longer than \(Self.maxFieldSize) bytes. Send it as a file.")
            }
            for index in bytes.indices { text.append(bytes[index]) }
            open = .text(name: name, bytes: text)
        case .file(let file):
            try file.append(bytes)
        case nil:
            break
        }
    }

    func partEnded() throws {
        switch open {
        case .text(let name, let bytes): fields.append(Field(name: name, value: String(decoding: bytes, as: UTF8.self)))
        case .file(let file): try file.finish()
        case nil: break
        }
        open = nil
    }

    /// The fields without the token, for responses and the page.
    var publicFields: [Field] { fields.filter { $0.name != "TOKEN" } }

    /// Returns whether the form has the right token.
    func hasToken(_ token: String) -> Bool {
        guard let given = fields.first(where: { $0.name == "TOKEN" })?.value else { return false }
        return Bytes.areEqual(given, token)
    }

    /// Removes the stored files.
    func discard() {
        for file in files { file.remove() }
        files = []
    }
}
