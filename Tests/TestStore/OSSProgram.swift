import TestSupport

/// The OSS store as a program.
struct OSSProgram {
    private var settings = OSSStoreSettings()

    init(_ arguments: [String]) throws {
        settings.accounts = []
        var words = arguments.makeIterator()
        while let word = words.next() {
            guard let value = words.next() else { throw UsageError(text: "\(word) wants a value") }
            switch word {
            case "--account":
                let parts = value.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
                guard parts.count >= 2 else { throw UsageError(text: "an account is id:secret or id:secret:token") }
                settings.accounts.append(OSSAccount(parts[0], parts[1], token: parts.count > 2 ? parts[2] : nil))
            case "--region": settings.region = value
            case "--page": settings.largestPage = Int(value) ?? settings.largestPage
            case "--host": settings.serviceHosts.insert(value)
            default: throw UsageError(text: "not an option: \(word)")
            }
        }
    }

    func run() throws {
        let store = try OSSStore(settings)
        try TestStore.serve(port: store.port) { try TestStore.say(Report(store.state, store.complaints)) }
    }

    private struct Report: Encodable {
        struct Request: Encodable {
            let operation: String
            let key: String
            let signature: String
            let status: Int?
            let code: String?
            let lines: [String]
        }

        struct Object: Encodable {
            let bucket: String
            let key: String
            let size: Int
            let etag: String
            let crc64: String
            let fields: [String: String]
            let callback: String?
        }

        let requests: [Request]
        let objects: [Object]
        let openUploads: Int
        let peakInFlight: Int
        let complaints: [String]

        init(_ state: OSSState, _ complaints: [String]) {
            requests = state.log.map { entry in
                Request(
                    operation: entry.operation.rawValue, key: entry.key, signature: entry.signature.rawValue,
                    status: entry.status, code: entry.code, lines: entry.lines)
            }
            objects = state.allObjects.map { bucket, key, object in
                Object(
                    bucket: bucket, key: key, size: object.content.size, etag: object.etag,
                    crc64: String(object.content.crc64), fields: object.fields, callback: object.callback)
            }
            openUploads = state.uploads.count
            peakInFlight = state.peakInFlight
            self.complaints = complaints
        }
    }
}
