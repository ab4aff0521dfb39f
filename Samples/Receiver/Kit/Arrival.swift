import Foundation

/// One form, on its way or arrived, as the page shows it. It never holds the token.
struct Arrival: Encodable, Sendable {
    enum State: String, Encodable, Sendable {
        case arriving, stored
        /// Answered with a no.
        case refused
        /// The client was gone before the form was whole.
        case broken
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
        /// Empty until the file is whole.
        let sha256: String
        let width: Int?
        let height: Int?
    }

    let id: String
    /// What the client calls itself.
    let agent: String
    /// Milliseconds since 1970.
    let began: Int
    /// The length that was announced; `nil` when there was none.
    let total: Int?
    var state = State.arriving
    var received = 0
    var bytesPerSecond = 0
    var milliseconds = 0
    var fields: [Field] = []
    var files: [File] = []
    /// Why it was refused.
    var message = ""

    init(agent: String, total: Int?) {
        id = RandomName.make()
        self.agent = Excerpt.of(agent)
        self.total = total
        began = Int(Date().timeIntervalSince1970 * 1_000)
    }

    /// Takes over what a form has brought so far.
    mutating func take(_ intake: FormIntake) {
        fields = intake.publicFields.prefix(Self.most).map { field in
            Field(name: Excerpt.of(field.name), value: Excerpt.of(field.value))
        }
        files = intake.files.prefix(Self.most).map { file in
            File(
                name: Excerpt.of(file.name), fileName: Excerpt.of(file.fileName), type: Excerpt.of(file.type),
                bytes: file.byteCount, sha256: file.sha256, width: file.size?.width, height: file.size?.height)
        }
    }

    /// Fields and files beyond it are stored and not shown.
    static let most = 100
}

/// The beginning of a foreign text: enough to know it by, and not enough to fill memory with.
enum Excerpt {
    /// In Unicode scalars: a single character may have any number of them.
    static let longest = 400

    static func of(_ text: String) -> String {
        guard
            let end = text.unicodeScalars.index(
                text.unicodeScalars.startIndex, offsetBy: longest, limitedBy: text.unicodeScalars.endIndex),
            end != text.unicodeScalars.endIndex
        else { return text }
        return String(text.unicodeScalars[..<end]) + "…"
    }
}

/// Names that nobody can guess: 128 random bits of the system as 32 hexadecimal digits.
enum RandomName {
    static func make() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
