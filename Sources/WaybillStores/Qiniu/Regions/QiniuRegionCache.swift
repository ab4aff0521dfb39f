import FoundationEssentials
import HTTPTypes
import Waybill
import WaybillCore

/// A cache of the regions of buckets. Concurrent requests for a bucket share one query; results are kept until they
/// expire.
final class QiniuRegionCache: Sendable {
    /// The key of a cache entry.
    struct Key: Sendable, Hashable, Codable {
        var accessKey: String
        var bucket: String
    }

    /// A response and its expiration.
    struct Entry: Sendable, Hashable, Codable {
        var key: Key
        var response: QiniuRegionResponse
        /// The expiration as a Unix time in seconds.
        var expires: Int64

        // The names in the cache file.
        private enum CodingKeys: String, CodingKey {
            case key
            case response = "answer"
            case expires
        }
    }

    private typealias QueryTask = Task<Result<QiniuRegionResponse, StoreError>, Never>

    private struct State: Sendable {
        var known: [Key: Entry] = [:]
        var tasks: [Key: QueryTask] = [:]
        var isRead = false
    }

    private let query: QiniuRegionQuery
    private let scheme: String
    private let options: UploadOptions
    private let session: UploadSession
    private let now: @Sendable () -> Date
    private let state = Locked(State())

    init(
        _ query: QiniuRegionQuery, scheme: String, options: UploadOptions, session: UploadSession,
        now: @escaping @Sendable () -> Date
    ) {
        self.query = query
        self.scheme = scheme
        self.options = options
        self.session = session
        self.now = now
    }

    /// Returns the regions of a bucket. Concurrent callers share one query, which continues if one of them is
    /// cancelled.
    func response(for key: Key) async throws(StoreError) -> QiniuRegionResponse {
        await readCache()
        let moment = seconds
        let (known, task) = state.withLock { state -> (QiniuRegionResponse?, QueryTask?) in
            if let entry = state.known[key], entry.expires > moment { return (entry.response, nil) }
            if let task = state.tasks[key] { return (nil, task) }
            let task = Task { await self.runQuery(key) }
            state.tasks[key] = task
            return (nil, task)
        }
        if let known { return known }
        guard let result = await task?.value else {
            throw StoreError(.regionUnknown, "The region of the bucket was not queried.")
        }
        return try result.get()
    }

    /// Removes an entry that turned out to be wrong.
    func forget(_ key: Key) async {
        state.withLock { $0.known[key] = nil }
        await writeCache()
    }

    private var seconds: Int64 { Int64(now().timeIntervalSince1970) }

    private func runQuery(_ key: Key) async -> Result<QiniuRegionResponse, StoreError> {
        let result = await queryServices(key)
        let moment = seconds
        state.withLock { state in
            state.tasks[key] = nil
            guard case .success(let response) = result else { return }
            state.known[key] = Entry(key: key, response: response, expires: moment + response.lifetime)
        }
        if case .success = result { await writeCache() }
        return result
    }

    private func queryServices(_ key: Key) async -> Result<QiniuRegionResponse, StoreError> {
        var last = StoreError(.regionUnknown, "No region service is configured.")
        for service in query.services {
            let base = service.contains("://") ? service : "\(scheme)://\(service)"
            let ak = PercentEncoding.query(key.accessKey)
            let url = "\(base)/v4/query?ak=\(ak)&bucket=\(PercentEncoding.query(key.bucket))"
            let result = await Result { () async throws(UploadError) in
                try await session.send(UploadRequest(.get, url, options: options))
            }
            switch result {
            case .success(let response):
                do throws(StoreError) {
                    return .success(try QiniuRegionResponse(json: response.body, suffixes: query.suffixes))
                } catch {
                    last = error
                }
            case .failure(let error):
                if error.isCancelled { return .failure(StoreError(error)) }
                last = Self.explain(error, key)
                // No such bucket: the next service would respond in the same way.
                if last.status == 612 || last.status == 631 { return .failure(last) }
            }
        }
        return .failure(last)
    }

    private static func explain(_ error: UploadError, _ key: Key) -> StoreError {
        let message = QiniuResponseParser.message(of: error.response)
        var result = StoreError(
            .regionUnknown,
            "The region of the bucket \(key.bucket) could not be determined. "
                + (message.isEmpty
                    ? error.message : "The region service responded: \(StoreError.shown(message).sentence)"),
            outcome: error.outcome, cause: error)
        result.status = error.response?.status.code
        return result
    }
}

// MARK: - On the disk

extension QiniuRegionCache {
    private static var fileName: String { "qiniu-regions.json" }

    private func readCache() async {
        guard let path = query.cacheDirectory, !state.withLock({ $0.isRead }) else { return }
        let entries = try? await RecordFileSystem.run { () throws(RecordError) in
            let folder = try RecordFileSystem.openDirectory(path)
            guard let bytes = try RecordFileSystem.read(Self.fileName, in: folder, path) else { return [Entry]() }
            return (try? JSONDecoder().decode([Entry].self, from: Data(bytes))) ?? []
        }
        state.withLock { state in
            guard !state.isRead else { return }
            state.isRead = true
            for entry in entries ?? [] where state.known[entry.key] == nil {
                // The file may have been written when other suffixes were trusted.
                let hosts = entry.response.hosts
                guard !hosts.isEmpty, hosts.allSatisfy({ QiniuRegionResponse.isTrusted($0, query.suffixes) }) else {
                    continue
                }
                state.known[entry.key] = entry
            }
        }
    }

    /// Writes the cache. A failure is ignored: the service is queried again next time.
    private func writeCache() async {
        guard let path = query.cacheDirectory else { return }
        let entries = state.withLock { Array($0.known.values) }
            .sorted { ($0.key.accessKey, $0.key.bucket) < ($1.key.accessKey, $1.key.bucket) }
        guard let bytes = try? JSONEncoder().encode(entries) else { return }
        try? await RecordFileSystem.run { () throws(RecordError) in
            try RecordFileSystem.replace(
                Self.fileName, in: try RecordFileSystem.openDirectory(path), with: Array(bytes), path)
        }
    }
}
