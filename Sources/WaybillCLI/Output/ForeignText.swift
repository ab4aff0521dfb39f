import Glibc
import Waybill

/// Bytes that a server sent, as a terminal may show them.
enum ForeignText {
    /// The text with line breaks and tabs, and everything else that could control a terminal escaped. Bytes that are not
    /// UTF-8 become U+FFFD.
    static func escaped(_ bytes: some Collection<UInt8>) -> String {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.map { line in
            // By bytes: as a Character, a return with a line feed is neither of the two.
            let text = line.suffix(1).first == UInt8(ascii: "\r") ? line.dropLast() : line
            return text.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
                .map { Redaction.escaped(String(decoding: $0, as: UTF8.self)) }.joined(separator: "\t")
        }.joined(separator: "\n")
    }

    /// The bytes for a descriptor: unchanged for a file or a pipe; for a terminal, escaped, with a line break at the end.
    ///
    /// As with curl, binary data (any NUL byte) isn't written to a terminal; a warning with the remedy is printed.
    static func bytes(_ bytes: [UInt8], for descriptor: Int32, remedy: String) -> [UInt8] {
        guard isatty(descriptor) == 1 else { return bytes }
        guard !bytes.contains(0) else {
            Console.standard.line(
                "warning: The response is binary data (\(ByteCount(bytes: Int64(bytes.count)))), which is not printed to a "
                    + "terminal. \(remedy)")
            return []
        }
        let text = escaped(bytes)
        return Array((text.isEmpty || text.hasSuffix("\n") ? text : text + "\n").utf8)
    }
}
