package import WaybillMultipart

/// A form of the tables: the input of the encoder and the expected bytes.
///
/// The bytes are written by hand according to the WHATWG algorithm and never computed by the encoder. Readers of
/// forms are compared with the parts.
package struct TableForm: Sendable {
    package let id: String
    package let parts: [TablePart]
    /// The whole body, with the boundary ``boundary``.
    package let body: [UInt8]

    package static let boundary = "golden"

    package init(_ id: String, _ parts: [TablePart], body: [UInt8]) {
        self.id = id
        self.parts = parts
        self.body = body
    }

    /// The forms of all tables.
    package static let all = NameTable.forms + ContentTable.forms + ShapeTable.forms
}

extension TableForm: CustomStringConvertible {
    package var description: String { id }
}

extension MultipartForm {
    /// Creates the form as a user would. Contents of files are written to the directory.
    package init(_ table: TableForm, files folder: TemporaryDirectory) throws {
        self.init()
        for part in table.parts { append(try MultipartPart(part, files: folder)) }
    }
}

extension MultipartPart {
    fileprivate init(_ part: TablePart, files folder: TemporaryDirectory) throws {
        switch part.source {
        case .text(let value): self = .text(part.name, value)
        case .secret(let value): self = .text(part.name, .secret(value))
        case .json(let value): self = .json(part.name, value)
        case .data(let bytes):
            self = .data(part.name, bytes, fileName: part.fileName, contentType: part.contentType)
        case .file(let bytes):
            let path = try folder.write("file-\(UInt64.random(in: 0 ... .max))", bytes)
            self = .file(part.name, path: path, fileName: part.fileName, contentType: part.contentType)
        }
    }
}

/// A part of such a form.
package struct TablePart: Sendable {
    /// The source of the content.
    package enum Source: Sendable {
        case text(String)
        case secret(String)
        case data([UInt8])
        case file([UInt8])
        case json([String: String])
    }

    package var name: String
    package var fileName: String?
    /// The content type passed to the encoder; `nil` lets the encoder choose.
    package var contentType: String?
    package var source: Source
    /// The expected result of a reader that exactly reverses the algorithm.
    package var read: Read

    package struct Read: Sendable, Equatable {
        package var name: [UInt8]
        package var fileName: [UInt8]?
        package var contentType: String?
        package var content: [UInt8]

        package init(name: [UInt8], fileName: [UInt8]? = nil, contentType: String? = nil, content: [UInt8]) {
            self.name = name
            self.fileName = fileName
            self.contentType = contentType
            self.content = content
        }
    }

    /// Creates a field. `readName` and `content` are the expected results if line breaks change them.
    package static func text(
        _ name: String, _ value: String, readName: [UInt8]? = nil, content: [UInt8]? = nil
    ) -> TablePart {
        TablePart(
            name: name, source: .text(value),
            read: Read(name: readName ?? Array(name.utf8), content: content ?? Array(value.utf8)))
    }

    /// Creates a file. `type` is the expected type, `declaredType` the type passed to the encoder.
    package static func file(
        _ name: String, _ fileName: String, _ source: Source, declaredType: String? = nil, type: String,
        content: [UInt8]
    ) -> TablePart {
        TablePart(
            name: name, fileName: fileName, contentType: declaredType, source: source,
            read: Read(
                name: Array(name.utf8), fileName: Array(fileName.utf8), contentType: type, content: content))
    }
}

/// Returns the bytes of hexadecimal digits: `hex("E8 BA AB")`.
package func hex(_ digits: String) -> [UInt8] {
    digits.split(separator: " ").compactMap { UInt8($0, radix: 16) }
}
