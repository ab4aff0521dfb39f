import TestSupport
import Testing
import WaybillStores

/// Faults of a store and the resulting end of an upload, one row each.
struct FaultRow: Sendable, CustomTestStringConvertible {
    /// The type of upload.
    enum Upload: Sendable {
        /// One request of 300,000 bytes.
        case put
        /// One request of 9 MiB, which expects 100-continue.
        case largePut
        /// A file of two parts of 100 KiB and one of 1,000 bytes.
        case parts
    }

    /// The expected end.
    enum End: Sendable {
        /// The object is stored once, and the client knows.
        case stored
        /// The same, detected by a request to the store.
        case foundStored
        /// An error, and whether the object is stored anyway.
        case fails(StoreError.Code, storeCode: String? = nil, isStored: Bool = false)
    }

    var testDescription: String
    /// Whether the store and the client speak the protocol of S3.
    var isS3 = false
    var upload = Upload.put
    var version = OSSSignatureVersion.v4
    /// The client's tokens in order of use.
    var tokens: [String?] = [nil]
    /// Whether the client signs with a secret other than the store's.
    var hasOtherSecret = false
    var hasCallback = false
    /// Whether the object must not exist.
    var isConditional = false
    /// The stall limit of the client; the default is 15 s.
    var stall: Duration?
    let arrange: @Sendable (OSSStore) -> Void
    var end: End
    /// The expected number of requests of each operation.
    var requests: [OSSOperation: Int]
    /// How often the object was made; by default 1 if it is stored.
    var timesStored: Int?
    /// Whether the outcome of the failure is unknown.
    var isUnknown = false
    /// Whether the client has corrected its clock.
    var correctsClock = false

    init(
        _ name: String, _ upload: Upload = .put, _ end: End, _ requests: [OSSOperation: Int],
        _ arrange: @escaping @Sendable (OSSStore) -> Void
    ) {
        testDescription = name
        self.upload = upload
        self.end = end
        self.requests = requests
        self.arrange = arrange
    }

    /// Returns a changed copy.
    func with(_ change: (inout FaultRow) -> Void) -> FaultRow {
        var copy = self
        change(&copy)
        return copy
    }

    static let all = skewed + busy + broken + wrongResponses + refused + conditional + unknownRequests + hostile

    /// The rows that apply to the protocol of S3, which has neither callbacks nor a checksum of an object in parts.
    static let s3 = all.filter { row in
        let isForeign = row.testDescription.contains("invalidSigningDate") || row.testDescription.contains("whole")
        return row.version == .v4 && !row.hasCallback && !isForeign
    }.map { row in
        row.with {
            $0.testDescription = "S3, \(row.testDescription)"
            $0.isS3 = true
            // No field identifies a response of S3, so its form decides, and an idempotent request is sent again.
            if case .fails(.unexpectedResponse, _, _) = row.end, row.requests[.initiate] == 1 {
                $0.requests[.initiate] = 2
            }
            guard case .fails(let code, let storeCode?, let isStored) = row.end else { return }
            let codes = [
                "SecurityTokenExpired": "ExpiredToken", "ServiceUnavailable": "SlowDown",
                "FileAlreadyExists": "PreconditionFailed",
            ]
            $0.end = .fails(code, storeCode: codes[storeCode] ?? storeCode, isStored: isStored)
        }
    }

    // MARK: Clocks

    static let skewed: [FaultRow] = [-1_200, 1_200].flatMap { seconds in
        OSSSignatureVersion.allCases.flatMap { version in
            OSSSkew.Report.allCases.map { report in
                let row =
                    report == .dateOf1970
                    ? FaultRow(
                        "", .put, .fails(.rejected, storeCode: "RequestTimeTooSkewed"), [.putObject: 1]
                    ) { $0.skew(OSSSkew(seconds: seconds, report: report)) }
                    : FaultRow("", .put, .stored, [.putObject: 2]) {
                        $0.skew(OSSSkew(seconds: seconds, report: report))
                    }
                return FaultRow(
                    "\(seconds) s, \(report), \(version)", row.upload, row.end, row.requests, row.arrange
                ).with {
                    $0.version = version
                    $0.correctsClock = report != .dateOf1970
                }
            }
        }
    }

    // MARK: Busy, or not OSS at all

    static let busy: [FaultRow] = [
        FaultRow("503 twice", .put, .stored, [.putObject: 3]) { $0.fail(.busy(), times: 2) },
        FaultRow(
            "503 at each operation of a multipart upload", .parts, .stored,
            [.initiate: 2, .uploadPart: 4, .complete: 2]
        ) {
            $0.fail(.busy(), on: .initiate)
            $0.fail(.busy(), on: .uploadPart, part: 2)
            $0.fail(.busy(), on: .complete)
        },
        FaultRow("503 for ever", .put, .fails(.rejected, storeCode: "ServiceUnavailable"), [.putObject: 4]) {
            $0.fail(.busy(), times: nil)
        },
        FaultRow("503 with Retry-After", .put, .stored, [.putObject: 2]) { $0.fail(.busy(retryAfter: 1)) },
        FaultRow("a page with 502", .put, .stored, [.putObject: 2]) { $0.fail(.html(status: 502)) },
        FaultRow("a page with 200", .put, .stored, [.putObject: 2, .headObject: 1]) {
            $0.fail(.html(status: 200), on: .putObject)
        },
        FaultRow("a page with 200 for ever", .put, .fails(.unexpectedResponse), [.putObject: 2, .headObject: 1]) {
            $0.fail(.html(status: 200), on: .putObject, times: nil)
        },
        FaultRow("a page with 403", .put, .fails(.rejected), [.putObject: 1]) { $0.fail(.html(status: 403)) },
        FaultRow("417 to a question", .largePut, .stored, [.putObject: 2]) { $0.fail(.refuseContinue) },
    ]

    // MARK: Connections

    static let broken: [FaultRow] = [
        FaultRow("dropped within a body", .put, .stored, [.putObject: 2]) { $0.fail(.drop(afterBodyBytes: 100_000)) },
        FaultRow("dropped within a part", .parts, .stored, [.initiate: 1, .uploadPart: 4, .complete: 1]) {
            $0.fail(.drop(afterBodyBytes: 50_000), on: .uploadPart, part: 1)
        },
        FaultRow("stalled within a body", .largePut, .stored, [.putObject: 2]) {
            $0.fail(.stall(afterBodyBytes: 100_000))
        }.with { $0.stall = .seconds(1) },
        FaultRow("a put that is stored without a response", .put, .foundStored, [.putObject: 1, .headObject: 1]) {
            $0.fail(.storeThenDrop, on: .putObject)
        },
        FaultRow(
            "a part that is stored without a response", .parts, .stored,
            [.initiate: 1, .uploadPart: 3, .listParts: 1, .complete: 1]
        ) { $0.fail(.storeThenDrop, on: .uploadPart, part: 2) },
        FaultRow(
            "an object that is completed without a response", .parts, .foundStored,
            [.initiate: 1, .uploadPart: 3, .complete: 1, .headObject: 1]
        ) { $0.fail(.storeThenDrop, on: .complete) },
    ]

    // MARK: Wrong responses about stored data

    static let wrongResponses: [FaultRow] = [
        FaultRow("another checksum, once", .put, .stored, [.putObject: 2]) { $0.fail(.wrongChecksum) }
            .with { $0.timesStored = 2 },
        FaultRow("another checksum, always", .put, .fails(.checksumMismatch), [.putObject: 2]) {
            $0.fail(.wrongChecksum, times: nil)
        }.with { $0.timesStored = 2 },
        FaultRow("another checksum of a part", .parts, .stored, [.initiate: 1, .uploadPart: 4, .complete: 1]) {
            $0.fail(.wrongChecksum, on: .uploadPart, part: 2)
        },
        FaultRow("another checksum of the whole", .parts, .stored, [.initiate: 2, .uploadPart: 6, .complete: 2]) {
            $0.fail(.wrongChecksum, on: .complete)
        }.with { $0.timesStored = 2 },
        FaultRow("a callback that failed", .put, .fails(.storedButCallbackFailed, isStored: true), [.putObject: 1]) {
            $0.fail(.callbackFailed)
        }.with { $0.hasCallback = true },
        FaultRow(
            "a callback that failed at the end of the parts", .parts, .fails(.storedButCallbackFailed, isStored: true),
            [.initiate: 1, .uploadPart: 3, .complete: 1]
        ) { $0.fail(.callbackFailed, on: .complete) }.with { $0.hasCallback = true },
    ]

    // MARK: Refusals

    static let refused: [FaultRow] = [
        FaultRow("an upload that is gone at part 2", .parts, .stored, [.initiate: 2, .complete: 1]) {
            $0.fail(.noSuchUpload, on: .uploadPart, part: 2)
        },
        FaultRow("an upload that is gone at its end", .parts, .stored, [.initiate: 2, .uploadPart: 6, .complete: 2]) {
            $0.fail(.noSuchUpload, on: .complete)
        },
        FaultRow("a token that ran out", .put, .stored, [.putObject: 2]) { $0.fail(.tokenExpired) }
            .with { $0.tokens = ["tok3n-first", "tok3n-second"] },
        FaultRow("a token that ran out among the parts", .parts, .stored, [.initiate: 1, .uploadPart: 4, .complete: 1])
        {
            $0.fail(.tokenExpired, on: .uploadPart, part: 3)
        }.with { $0.tokens = ["tok3n-first", "tok3n-second"] },
        FaultRow(
            "tokens that always ran out", .put, .fails(.rejected, storeCode: "SecurityTokenExpired"), [.putObject: 2]
        ) { $0.fail(.tokenExpired, times: nil) }.with { $0.tokens = ["tok3n-first", "tok3n-second"] },
    ]

    /// A conditional write that is rejected because of its own earlier request, or because of another object.
    static let conditional: [FaultRow] = [
        FaultRow("its own object, of a lost response that a query missed", .put, .foundStored, [.putObject: 2]) {
            $0.fail(.storeThenDrop, on: .putObject)
            $0.fail(.refused(status: 404, code: "NoSuchKey"), on: .headObject)
        },
        FaultRow("its own object, after an error", .put, .foundStored, [.putObject: 2, .headObject: 1]) {
            $0.fail(.xml(status: 503, .cut), on: .putObject)
        },
        FaultRow("its own object in parts, after an error", .parts, .foundStored, [.complete: 2, .headObject: 1]) {
            $0.fail(.xml(status: 503, .cut), on: .complete)
        },
        FaultRow(
            "another object of the same size", .put, .fails(.rejected, storeCode: "FileAlreadyExists"), [.putObject: 2]
        ) {
            $0.put("k", [UInt8](repeating: 7, count: 300_000))
            $0.fail(.busy(), on: .putObject)
        }.with { $0.timesStored = 1 },
        FaultRow(
            "an object that a query can't compare", .put, .fails(.rejected, storeCode: "FileAlreadyExists"),
            [.putObject: 2]
        ) {
            $0.fail(.xml(status: 503, .cut), on: .putObject)
            $0.fail(.denied, on: .headObject, times: nil)
        }.with {
            $0.timesStored = 1
            $0.isUnknown = true
        },
    ].map { row in row.with { $0.isConditional = true } }

    static let unknownRequests: [FaultRow] = OSSSignatureVersion.allCases.flatMap { version in
        [nil, "tok3n-of-mine"].map { token in
            FaultRow(
                "another secret\(token == nil ? "" : " with a token"), \(version)", .put,
                .fails(.rejected, storeCode: "SignatureDoesNotMatch"), [.putObject: 1]
            ) { _ in }.with {
                $0.version = version
                $0.tokens = [token]
                $0.hasOtherSecret = true
            }
        }
    }

    // MARK: Markup that does harm

    static let hostile: [FaultRow] = OSSFault.HostileXML.allCases.flatMap { xml in
        [
            FaultRow("\(xml) in an answer", .parts, .fails(.unexpectedResponse), [.initiate: 1]) {
                $0.fail(.xml(status: 200, xml), on: .initiate, times: nil)
            },
            FaultRow("\(xml) in a refusal", .put, .fails(.rejected), [.putObject: 1]) {
                $0.fail(.xml(status: 403, xml), on: .putObject)
            }.with { $0.timesStored = 1 },
        ]
    }
}
