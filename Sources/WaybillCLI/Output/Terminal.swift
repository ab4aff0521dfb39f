import Glibc
import Waybill

/// The terminal on standard error.
enum Terminal {
    /// Returns whether lines may be redrawn: standard error is a terminal, and neither `TERM=dumb` nor `CI` is set.
    static func canRedraw(_ environment: (String) -> String?) -> Bool {
        isatty(2) == 1 && environment("TERM") != "dumb" && (environment("CI") ?? "").isEmpty
    }

    /// Returns whether colors may be used (https://no-color.org).
    static func canUseColor(_ environment: (String) -> String?) -> Bool {
        canRedraw(environment) && (environment("NO_COLOR") ?? "").isEmpty
    }

    /// The current width in columns; 80 if it is unknown.
    static var columns: Int { columns(of: 2) }

    /// Returns the width of the terminal on another descriptor.
    static func columns(of descriptor: Int32) -> Int {
        let columns = size(of: descriptor)?.ws_col ?? 0
        return columns > 0 ? Int(columns) : 80
    }

    /// The current height in lines; 24 if it is unknown.
    static var rows: Int {
        let rows = size(of: 2)?.ws_row ?? 0
        return rows > 0 ? Int(rows) : 24
    }

    private static func size(of descriptor: Int32) -> winsize? {
        var size = winsize()
        let code = unsafe withUnsafeMutablePointer(to: &size) { unsafe ioctl(descriptor, UInt(TIOCGWINSZ), $0) }
        return code == 0 ? size : nil
    }
}

/// Measures and truncates text for a terminal.
enum TerminalText {
    /// Returns the number of columns of a text: two for East Asian and emoji characters, none for combining marks
    /// (Unicode Standard Annex 11).
    static func columns(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    /// Returns the text truncated to a number of columns, with `…` at its end.
    static func fitted(_ text: String, to limit: Int) -> String {
        guard columns(of: text) > limit else { return text }
        var kept = String.UnicodeScalarView()
        var used = 0
        for scalar in text.unicodeScalars {
            let width = columns(of: scalar)
            guard used + width <= limit - 1 else { break }
            kept.append(scalar)
            used += width
        }
        return limit > 0 ? String(kept) + "…" : ""
    }

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: 0
        default: wide.contains { $0.contains(scalar.value) } ? 2 : 1
        }
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97C,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
        0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]
}

/// Formats bytes from a server for a terminal.
enum UntrustedText {
    /// Returns the text with line breaks and tabs; everything else that could control a terminal is escaped. Bytes that
    /// are not UTF-8 become U+FFFD.
    static func escaped(_ bytes: some Collection<UInt8>) -> String {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.map { line in
            // Compare bytes: as a Character, CR LF equals neither CR nor LF.
            let text = line.suffix(1).first == UInt8(ascii: "\r") ? line.dropLast() : line
            return text.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
                .map { Redaction.escaped(String(decoding: $0, as: UTF8.self)) }.joined(separator: "\t")
        }.joined(separator: "\n")
    }

    /// Returns the bytes for a descriptor: unchanged for a file or pipe; escaped and ended by a line break for a
    /// terminal.
    ///
    /// As with curl, binary data (any NUL byte) is not written to a terminal; a warning is printed instead.
    static func bytes(_ bytes: [UInt8], for descriptor: Int32, remedy: String) -> [UInt8] {
        guard isatty(descriptor) == 1 else { return bytes }
        guard !bytes.contains(0) else {
            Console.standard.line(
                "warning: The response is binary (\(Figures.size(bytes.count))) and was not printed to the "
                    + "terminal. \(remedy)")
            return []
        }
        let text = escaped(bytes)
        return Array((text.isEmpty || text.hasSuffix("\n") ? text : text + "\n").utf8)
    }
}
