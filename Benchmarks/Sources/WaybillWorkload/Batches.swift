import Glibc
import Waybill

/// Batches of uploads in one process.
enum Batches {
    /// Sends a lazy batch: an item exists only while it is processed.
    static func lazily(url: String, path: String, count: Int) async throws -> Int {
        let batch = UploadSession.shared.startBatch(of: 0..<count) { number in
            UploadRequest(.post, url, content: .form([.text("NUMBER", "\(number)"), .file("FILE", path: path)]))
        }
        var responses = 0
        for await result in batch.results where try result.response.status == .ok { responses += 1 }
        return responses
    }

    /// Sends all uploads concurrently, with a slot for each.
    static func concurrently(url: String, path: String, count: Int) async throws -> Int {
        var configuration = UploadSession.Configuration()
        configuration.maximumConcurrentTransfers = max(1, count)
        configuration.maximumConcurrentTransfersPerHost = max(1, count)
        let session = UploadSession(configuration: configuration)
        let results = await session.uploadAll(0..<count) { _ in
            UploadRequest(.post, url, content: .form(Sending.form(path)))
        }
        return try results.count { try $0.response.status == .ok }
    }

    /// Sends images under 100 KiB: as a batch, which compresses while others are sent, or sequentially.
    static func photos(url: String, directory: String, count: Int, isBatch: Bool) async throws -> Int {
        let paths = names(in: directory).map { directory + "/" + $0 }
        guard !paths.isEmpty else { return 0 }
        @Sendable func request(_ number: Int) -> UploadRequest {
            let part = MultipartPart.image("FILE", path: paths[number % paths.count], .maxBytes(.kibibytes(100)))
            return UploadRequest(.post, url, content: .form([part]))
        }
        guard !isBatch else {
            return try await UploadSession.shared.uploadAll(0..<count) { request($0) }
                .count { try $0.response.status == .ok }
        }
        var responses = 0
        for number in 0..<count where try await UploadSession.shared.send(request(number)).status == .ok {
            responses += 1
        }
        return responses
    }

    private static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name.0) { String(cString: $0) }
            if name.hasSuffix(".jpg") { names.append(name) }
        }
        return names.sorted()
    }
}
