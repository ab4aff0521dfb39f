import WaybillJPEG

/// Renders two images of a stored file for the page: one in screen size, one under a limit.
///
/// Both are encoded by the server, so a browser never gets the bytes or the metadata of a client. They are rendered on
/// request, and the last few are cached in memory.
actor ImageRenderer {
    struct Images: Sendable {
        /// The image in screen size.
        let arrived: JPEGResult
        /// The image under ``limit``.
        let small: JPEGResult
    }

    /// The largest size of the small image.
    static let limit = ByteCount.kibibytes(100)
    private static let capacity = 24

    private var tasks: [(path: String, task: Task<Images, any Error>)] = []

    /// Returns the images of a file.
    ///
    /// - Parameter path: The path of the stored file.
    /// - Returns: Both images.
    /// - Throws: `JPEGError` if it is not a complete JPEG file or cannot be compressed below the limit.
    func images(of path: String) async throws -> Images {
        if let index = tasks.firstIndex(where: { $0.path == path }) {
            tasks.append(tasks.remove(at: index))
        } else {
            // Callers that wait for the evicted task still get its result.
            if tasks.count == Self.capacity { tasks.removeFirst() }
            tasks.append((path, Task { try await Self.make(path) }))
        }
        return try await tasks[tasks.endIndex - 1].task.value
    }

    private static func make(_ path: String) async throws -> Images {
        async let screen = JPEGRecompressor(JPEGOptions(quality: 90, maxSide: 1_200, mode: .fast)).recompress(
            file: path)
        let small = try await JPEGRecompressor(.maxBytes(limit, mode: .fast)).recompress(file: path)
        return Images(arrived: try await screen, small: small)
    }
}
