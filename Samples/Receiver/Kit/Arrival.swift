import Foundation

/// A form that is being received or was received, as shown by the page. It never contains the token.
struct Arrival: Encodable, Sendable {
    enum State: String, Encodable, Sendable {
        case arriving, stored
        /// The response was an error.
        case rejected
        /// The client disconnected before the end of the form.
        case interrupted
    }

    struct Field: Encodable, Sendable, Equatable {
        let name: String
        let value: String
    }

    struct File: Encodable, Sendable, Equatable {
        let name: String
        let fileName: String
        let type: String
        let bytes: Int
        /// Empty until the file is complete.
        let sha256: String
        let width: Int?
        let height: Int?
    }

    let id: String
    /// The `User-Agent` of the client.
    let agent: String
    /// The start in milliseconds since 1970.
    let began: Int
    /// The `Content-Length`; `nil` if there was none.
    let total: Int?
    var state = State.arriving
    var received = 0
    var bytesPerSecond = 0
    var milliseconds = 0
    var fields: [Field] = []
    var files: [File] = []
    /// The reason of a rejection.
    var message = ""

    init(agent: String, total: Int?) {
        id = RandomName.make()
        self.agent = Excerpt.of(agent)
        self.total = total
        began = Int(Date().timeIntervalSince1970 * 1_000)
    }

    /// Copies the fields and files received so far.
    mutating func update(from intake: FormIntake) {
        fields = intake.publicFields.prefix(Self.maxShown).map { field in
            Field(name: Excerpt.of(field.name), value: Excerpt.of(field.value))
        }
        files = intake.files.prefix(Self.maxShown).map { file in
            File(
                name: Excerpt.of(file.name), fileName: Excerpt.of(file.fileName), type: Excerpt.of(file.type),
                bytes: file.byteCount, sha256: file.sha256, width: file.size?.width, height: file.size?.height)
        }
    }

    /// The largest number of fields and of files shown. All are stored.
    static let maxShown = 100
}

/// Truncates text of clients, to bound memory.
enum Excerpt {
    /// The limit in Unicode scalars, because a character may have any number of them.
    static let maxScalars = 400

    static func of(_ text: String) -> String {
        guard
            let end = text.unicodeScalars.index(
                text.unicodeScalars.startIndex, offsetBy: maxScalars, limitedBy: text.unicodeScalars.endIndex),
            end != text.unicodeScalars.endIndex
        else { return text }
        return String(text.unicodeScalars[..<end]) + "…"
    }
}

/// Unguessable names: 128 bits of the system's random generator as 32 hexadecimal digits.
enum RandomName {
    static func make() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
