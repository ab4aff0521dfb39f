import WaybillCore

/// Why a body can't be made, read, or understood.
///
/// ``code`` is for programs, ``message`` for people: it says what is wrong, in which part, and what to do.
///
/// ```swift
/// do {
///     let body = try await form.prepared()
/// } catch {
///     switch error.code {
///     case .fileNotFound: print("pick another file:", error.path ?? "")
///     default: print(error)
///     }
/// }
/// ```
///
/// No error contains the text of a `Secret`.
public struct BodyError: Error, Sendable {
    /// A kind of failure. Open: new ones may come with any release, so give a `switch` a `default`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name, as it is printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// What kind of failure it is.
    public var code: Code
    /// What went wrong, and the remedy. It names the part, if one is to blame.
    public var message: String
    /// The field name of the part to blame.
    public var part: String?
    /// The position of the part to blame, counted from 0.
    public var partIndex: Int?
    /// The file to blame.
    public var path: String?
    /// The error underneath: what a stream threw, or the ``SourceChange`` seen in a file.
    public var cause: (any Error)?

    /// Describes a failure.
    public init(
        _ code: Code, _ message: String, part: String? = nil, partIndex: Int? = nil, path: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.part = part
        self.partIndex = partIndex
        self.path = path
        self.cause = cause
    }

    /// Describes a failure of a part; the message begins with its number and name.
    package init(
        _ code: Code, _ message: String, at place: PartPlace?, path: String? = nil, cause: (any Error)? = nil
    ) {
        self.init(
            code, place.map { "\($0): \(message)" } ?? message, part: place?.name, partIndex: place?.index,
            path: path, cause: cause)
    }
}

extension BodyError {
    /// The task that needed the body was cancelled.
    package static var taskCancelled: BodyError { BodyError(.cancelled, "The task was cancelled.") }
}

/// How a source file differs from what it was when the length of its body was promised. It is the
/// ``BodyError/cause`` of ``BodyError/Code/sourceChanged``.
public enum SourceChange: String, Error, Sendable, Hashable {
    /// The file has fewer bytes.
    case shrank
    /// The file has more bytes.
    case grew
    /// The file has as many bytes, and was written to, or its attributes were changed.
    case modified
    /// Another file lies at the path.
    case replaced
    /// No file lies at the path.
    case removed
}

extension BodyError: CustomStringConvertible {
    /// One line: code and message.
    public var description: String { "\(code): \(message)" }
}

/// Which part is meant, for people: `part 2 ("FILE")`.
package struct PartPlace: Sendable, Hashable, CustomStringConvertible {
    package let index: Int
    package let name: String

    package init(index: Int, name: String) {
        self.index = index
        self.name = name
    }

    package var description: String { "part \(index + 1) (\(quoted(name)))" }
}

/// A foreign text made fit to be printed: quoted, shortened, and without characters that move a cursor, colour a
/// terminal or turn the direction of writing.
package func quoted(_ text: String, limit: Int = 80) -> String {
    var result = "\""
    for scalar in text.unicodeScalars.prefix(limit) {
        if scalar.controlsOutput {
            result += scalar.outputEscape
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result + (text.unicodeScalars.dropFirst(limit).isEmpty ? "\"" : "…\"")
}
