package import WaybillMultipart

/// A form of the tables: what is said to the encoder, and the bytes that must come of it.
///
/// The bytes are written down by hand, after the WHATWG algorithm; nothing here asks the encoder. Whoever reads forms is
/// held against the parts.
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

    /// Every form of every table.
    package static let all = NameTable.forms + ContentTable.forms + ShapeTable.forms
}

extension TableForm: CustomStringConvertible {
    package var description: String { id }
}

extension MultipartForm {
    /// The form as a user says it. Contents of files go into the folder.
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
    /// What it is made of.
    package enum Source: Sendable {
        case text(String)
        case secret(String)
        case data([UInt8])
        case file([UInt8])
        case json([String: String])
    }

    package var name: String
    package var fileName: String?
    /// What is said to the encoder; `nil` leaves it to it.
    package var contentType: String?
    package var source: Source
    /// What a reader that undoes exactly what the algorithm does must get, where that differs from the above.
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

    /// A field. `readName` and `content` are what must come out, where line breaks make a difference.
    package static func text(
        _ name: String, _ value: String, readName: [UInt8]? = nil, content: [UInt8]? = nil
    ) -> TablePart {
        TablePart(
            name: name, source: .text(value),
            read: Read(name: readName ?? Array(name.utf8), content: content ?? Array(value.utf8)))
    }

    /// A file; `type` is what must be sent, `said` what the encoder is told.
    package static func file(
        _ name: String, _ fileName: String, _ source: Source, said: String? = nil, type: String, content: [UInt8]
    ) -> TablePart {
        TablePart(
            name: name, fileName: fileName, contentType: said, source: source,
            read: Read(
                name: Array(name.utf8), fileName: Array(fileName.utf8), contentType: type, content: content))
    }
}

/// Bytes of hexadecimal digits: `hex("E8 BA AB")`.
package func hex(_ digits: String) -> [UInt8] {
    digits.split(separator: " ").compactMap { UInt8($0, radix: 16) }
}
