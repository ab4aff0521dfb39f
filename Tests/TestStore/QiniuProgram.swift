import TestSupport

/// The Qiniu store as a program.
struct QiniuProgram {
    private var settings = QiniuStoreSettings()

    init(_ arguments: [String]) throws {
        settings.accounts = [:]
        var words = arguments.makeIterator()
        while let word = words.next() {
            guard let value = words.next() else { throw UsageError(text: "\(word) wants a value") }
            switch word {
            case "--account":
                let parts = value.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2 else { throw UsageError(text: "an account is accesskey:secretkey") }
                settings.accounts[parts[0]] = parts[1]
            case "--page": settings.largestPage = Int(value) ?? settings.largestPage
            default: throw UsageError(text: "not an option: \(word)")
            }
        }
    }

    func run() throws {
        let store = try QiniuStore(settings)
        try TestStore.serve(port: store.port) { try TestStore.say(Report(store.state, store.complaints)) }
    }

    private struct Report: Encodable {
        struct Request: Encodable {
            let operation: String
            let status: Int?
            let lines: [String]
        }

        struct Object: Encodable {
            let bucket: String
            let key: String
            let size: Int
            let hash: String
            let crc32: UInt32
            let type: String
            let fileName: String
            let metadata: [String: String]
            let variables: [String: String]
        }

        let requests: [Request]
        let objects: [Object]
        let openUploads: Int
        let complaints: [String]

        init(_ state: QiniuState, _ complaints: [String]) {
            requests = state.log.map { Request(operation: $0.operation.rawValue, status: $0.status, lines: $0.lines) }
            objects = state.allObjects.map { bucket, key, object in
                Object(
                    bucket: bucket, key: key, size: object.content.size, hash: object.hash, crc32: object.content.crc32,
                    type: object.type, fileName: object.fileName, metadata: object.metadata,
                    variables: object.variables)
            }
            openUploads = state.uploads.count
            self.complaints = complaints
        }
    }
}
