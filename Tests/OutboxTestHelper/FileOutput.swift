import Glibc

/// Standard output without a buffer.
enum FileOutput {
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}
