import WaybillCore

/// An error that occurs while a body is made, read or parsed.
///
/// Use ``code`` in programs and ``message`` for people: the message describes the failure, names the part and gives the
/// remedy.
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
/// No error contains the value of a `Secret`.
public struct BodyError: Error, Sendable {
    /// An error code. The set is open: releases may add new codes, so include a `default` in a `switch`.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The name of the code, as printed.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// The error code.
    public var code: Code
    /// A description of the failure and the remedy. It names the part that caused the failure, if any.
    public var message: String
    /// The field name of the part that caused the failure.
    public var part: String?
    /// The zero-based index of the part that caused the failure.
    public var partIndex: Int?
    /// The path of the file that caused the failure.
    public var path: String?
    /// The underlying error: the error thrown by a stream, or the ``SourceChange`` detected in a file.
    public var cause: (any Error)?

    /// Creates an error.
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

    /// Creates an error for a part; the message begins with its number and name.
    package init(
        _ code: Code, _ message: String, at location: PartLocation?, path: String? = nil, cause: (any Error)? = nil
    ) {
        self.init(
            code, location.map { "\($0): \(message)" } ?? message, part: location?.name, partIndex: location?.index,
            path: path, cause: cause)
    }
}

extension BodyError {
    /// The error for a cancelled task.
    package static var taskCancelled: BodyError { BodyError(.cancelled, "The task was cancelled.") }
}

/// A difference between a source file and its state when the length of the body was determined. It is the
/// ``BodyError/cause`` of ``BodyError/Code/sourceChanged``.
public enum SourceChange: String, Error, Sendable, Hashable {
    /// The file has fewer bytes.
    case shrank
    /// The file has more bytes.
    case grew
    /// The file has the same size, but was written to or its attributes were changed.
    case modified
    /// The path now refers to another file.
    case replaced
    /// The path no longer refers to a file.
    case removed
}

extension BodyError: CustomStringConvertible {
    /// One line with code and message.
    public var description: String { "\(code): \(message)" }
}

/// A part as named at the start of messages: `Part 2 ("FILE")`.
package struct PartLocation: Sendable, Hashable, CustomStringConvertible {
    package let index: Int
    package let name: String

    package init(index: Int, name: String) {
        self.index = index
        self.name = name
    }

    package var description: String { "Part \(index + 1) (\(quoted(name)))" }
}

/// Returns untrusted text in a form that is safe to print: quoted, shortened, and without characters that move the
/// cursor, change terminal colors or the writing direction.
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
