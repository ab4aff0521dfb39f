internal import Glibc

/// The open descriptors and running threads of this process, from proc(5).
///
/// Everything in the process is counted, so use it where nothing else runs: in a child process.
package struct ProcessResources: Sendable, Equatable, CustomStringConvertible {
    /// The targets of the descriptors, sorted: `socket:[4711]`, `/tmp/card.jpg`.
    package let descriptors: [String]
    /// The names of the threads, sorted.
    package let threads: [String]

    /// Returns the current resources.
    package static func now() -> ProcessResources {
        let descriptors = names(in: "/proc/self/fd").compactMap { number -> String? in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe readlink("/proc/self/fd/\(number)", $0.baseAddress!, $0.count)
            }
            // The descriptor used for listing the directory is closed by now.
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
        let threads = names(in: "/proc/self/task").compactMap { number in
            (try? readFile("/proc/self/task/\(number)/comm")).map { String(decoding: $0.dropLast(), as: UTF8.self) }
        }
        return ProcessResources(descriptors: descriptors.sorted(), threads: threads.sorted())
    }

    /// Takes snapshots until one satisfies the condition or ten seconds have passed: threads and sockets
    /// need time to close.
    package static func settled(_ isMet: @escaping @Sendable (ProcessResources) -> Bool) async -> ProcessResources {
        await onOwnThread {
            var snapshot = now()
            for _ in 0..<1_000 where !isMet(snapshot) {
                usleep(10_000)
                snapshot = now()
            }
            return snapshot
        }
    }

    package var description: String {
        "\(descriptors.count) descriptors \(descriptors), \(threads.count) threads \(threads)"
    }

    private static func names(in path: String) -> [String] {
        guard let directory = unsafe opendir(path) else { return [] }
        defer { unsafe _ = closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
