import WaybillJPEG

/// Makes pictures of stored files for the page: one to show what arrived, one under a limit.
///
/// Both are encoded here, so a browser is never given the bytes that somebody sent, nor a place or a camera in them. They
/// are made when a page asks, and the last few are kept in memory.
actor PictureStudio {
    struct Pictures: Sendable {
        /// As it arrived, at a size for screens.
        let arrived: JPEGResult
        /// Under ``limit``.
        let small: JPEGResult
    }

    /// The limit in bytes of the small picture.
    static let limit = ByteCount.kibibytes(100)
    private static let most = 24

    private var works: [(path: String, work: Task<Pictures, any Error>)] = []

    /// The pictures of a file.
    ///
    /// - Parameter path: The stored file.
    /// - Returns: Both pictures.
    /// - Throws: `JPEGError`: it is no whole JPEG file, or it can't be made so small.
    func pictures(of path: String) async throws -> Pictures {
        if let index = works.firstIndex(where: { $0.path == path }) {
            works.append(works.remove(at: index))
        } else {
            // Whoever waits for the one that is forgotten still gets it.
            if works.count == Self.most { works.removeFirst() }
            works.append((path, Task { try await Self.make(path) }))
        }
        return try await works[works.endIndex - 1].work.value
    }

    private static func make(_ path: String) async throws -> Pictures {
        async let screen = JPEGRecompressor(JPEGOptions(quality: 90, maxSide: 1_200, mode: .fast)).recompress(
            file: path)
        let small = try await JPEGRecompressor(.maxBytes(limit, mode: .fast)).recompress(file: path)
        return Pictures(arrived: try await screen, small: small)
    }
}
