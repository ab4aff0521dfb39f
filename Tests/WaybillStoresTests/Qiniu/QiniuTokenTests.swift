import FoundationEssentials
import Testing
import WaybillCore

@testable import WaybillStores

struct QiniuTokenTests {
    private let docs = QiniuKeys(accessKey: "MY_ACCESS_KEY", secretKey: .secret("MY_SECRET_KEY"))
    private let java = QiniuKeys(accessKey: "abcdefghklmnopq", secretKey: .secret("1234567890"))

    // MARK: Vectors

    @Test func `the policy of Qiniu's documentation has the published token`() throws {
        var policy = QiniuPutPolicy(
            scope: .key("sunflower.jpg", bucket: "my-bucket"), deadline: Date(timeIntervalSince1970: 1_451_491_200))
        policy.returnBody =
            #"{"name":$(fname),"size":$(fsize),"w":$(imageInfo.width),"h":$(imageInfo.height),"hash":$(etag)}"#
        let token = try docs.uploadToken(for: policy, at: Date(timeIntervalSince1970: 1_451_487_600))
        let encoded =
            "eyJzY29wZSI6Im15LWJ1Y2tldDpzdW5mbG93ZXIuanBnIiwiZGVhZGxpbmUiOjE0NTE0OTEyMDAsInJldHVybkJvZHkiOiJ7XCJuYW1lXCI6"
            + "JChmbmFtZSksXCJzaXplXCI6JChmc2l6ZSksXCJ3XCI6JChpbWFnZUluZm8ud2lkdGgpLFwiaFwiOiQoaW1hZ2VJbmZvLmhlaWdodCks"
            + "XCJoYXNoXCI6JChldGFnKX0ifQ=="
        #expect(token.text.value == "MY_ACCESS_KEY:wQ4ofysef1R7IKnrziqtomqyDvI=:\(encoded)")
    }

    @Test(arguments: [
        (
            #"{"endUser":"y","scope":"1:2","deadline":1234571490}"#,
            "yyeexeUkPOROoTGvwBjJ0F0VLEo=:eyJlbmRVc2VyIjoieSIsInNjb3BlIjoiMToyIiwiZGVhZGxpbmUiOjEyMzQ1NzE0OTB9"
        ),
        (
            #"{"scope":"1:2","deadline":1234571490,"endUser":"y"}"#,
            "zx3NdMGffQ0JhUlgGSU5oeTx9Nk=:eyJzY29wZSI6IjE6MiIsImRlYWRsaW5lIjoxMjM0NTcxNDkwLCJlbmRVc2VyIjoieSJ9"
        ),
        ("test", "-jP8eEV9v48MkYiBGs81aDxl60E=:dGVzdA=="),
    ])
    func `tokens carrying bytes match published ones`(text: String, expected: String) {
        #expect(java.token(carrying: text.utf8).value == "abcdefghklmnopq:\(expected)")
    }

    @Test func `a policy has the token of Qiniu's Java package`() throws {
        var policy = QiniuPutPolicy(
            scope: .key("2", bucket: "1"), deadline: Date(timeIntervalSince1970: 1_234_571_490))
        policy.endUser = "y"
        // The members are in the order of the second vector above.
        #expect(
            try policy.json(at: .init(timeIntervalSince1970: 0))
                == #"{"scope":"1:2","deadline":1234571490,"endUser":"y"}"#)
        let token = try java.uploadToken(for: policy, at: .init(timeIntervalSince1970: 0))
        #expect(token.text.value.hasPrefix("abcdefghklmnopq:zx3NdMGffQ0JhUlgGSU5oeTx9Nk="))
    }

    @Test func `signed bytes match the published token`() {
        #expect(java.token(for: "test".utf8).value == "abcdefghklmnopq:mSNBTR7uS2crJsyFr2Amwv1LaYg=")
    }

    @Test func `a management request has the token of Qiniu's Python package`() {
        let token = QiniuKeys(accessKey: "ak", secretKey: .secret("sk")).managementToken(
            "GET", "/stat/cGhvdG9zOmNhcmRzLzcg56m6LmpwZw==", host: "rs.qiniuapi.com")
        #expect(token.value == "ak:gh1okBoKBorFglgs2-uphCtRFc8=")
    }

    @Test func `a private URL has its deadline and token`() {
        let url = java.privateURL("http://www.qiniu.com?go=1", until: Date(timeIntervalSince1970: 1_234_571_490))
        #expect(
            url.value
                == "http://www.qiniu.com?go=1&e=1234571490&token=abcdefghklmnopq:8vzBeLZ9W3E4kbBLFLW0Xe0u7v4=")
        let plain = java.privateURL("http://h/a%20b#top", until: Date(timeIntervalSince1970: 1.9))
        #expect(plain.value.hasPrefix("http://h/a%20b?e=1&token=abcdefghklmnopq:"))
        #expect("\(plain)" == "<redacted>")
    }

    @Test func `URL-safe Base64 is encoded and decoded`() {
        #expect(URLSafeBase64.encode(Array("你好/+=".utf8)) == "5L2g5aW9Lys9")
        #expect(URLSafeBase64.decode("5L2g5aW9Lys9") == Array("你好/+=".utf8))
        #expect(URLSafeBase64.encode([0xfb, 0xff]) == "-_8=")
        #expect(URLSafeBase64.decode("-_8") == [0xfb, 0xff])
        #expect(URLSafeBase64.decode("-_8=") == [0xfb, 0xff])
        #expect(URLSafeBase64.decode("a b") == nil)
    }

    // MARK: Policies

    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    private static func policy(_ change: (inout QiniuPutPolicy) -> Void) -> QiniuPutPolicy {
        var policy = QiniuPutPolicy(scope: .bucket("b"), deadline: now.addingTimeInterval(60))
        change(&policy)
        return policy
    }

    @Test func `each policy field is encoded under its name`() throws {
        let policy = Self.policy {
            $0.scope = .prefix("cards/", bucket: "b-1")
            $0.insertOnly = true
            $0.endUser = "u\"\\\n\u{1}"
            $0.callbackURLs = ["https://a/", "https://b/"]
            $0.callbackHost = "a"
            $0.callbackBody = "key=$(key)"
            $0.callbackBodyType = .form
            $0.callbackFetchesKey = true
            $0.persistentOps = "avthumb/mp4"
            $0.persistentNotifyURL = "https://n/"
            $0.persistentPipeline = "p"
            $0.persistentType = 0
            $0.fileSizeMinimum = 1
            $0.fileSizeLimit = 2
            $0.typeDetection = .never
            $0.allowedTypes = .allBut(["application/json", "text/*"])
            $0.storageClass = .archiveInstant
            $0.deleteAfterDays = 7
            $0.trafficLimit = 819_200
        }
        #expect(
            try policy.json(at: Self.now)
                == #"{"scope":"b-1:cards/","isPrefixalScope":1,"deadline":1700000060,"insertOnly":1,"#
                + #""endUser":"u\"\\\n\u0001","callbackUrl":"https://a/;https://b/","callbackHost":"a","#
                + #""callbackBody":"key=$(key)","callbackBodyType":"application/x-www-form-urlencoded","#
                + #""callbackFetchKey":1,"persistentOps":"avthumb/mp4","persistentNotifyUrl":"https://n/","#
                + #""persistentPipeline":"p","persistentType":0,"fsizeMin":1,"fsizeLimit":2,"detectMime":-1,"#
                + #""mimeLimit":"!application/json;text/*","fileType":4,"deleteAfterDays":7,"trafficLimit":819200}"#)
        let rest = Self.policy {
            $0.scope = .newKey("k", bucket: "b")
            $0.returnURL = "https://r/"
            $0.returnBody = "{}"
            $0.persistentWorkflowTemplateID = "t"
            $0.saveKey = "$(etag)"
            $0.forcesSaveKey = true
            $0.allowedTypes = .only(["image/*"])
        }
        #expect(
            try rest.json(at: Self.now)
                == #"{"scope":"b:k","deadline":1700000060,"insertOnly":1,"returnUrl":"https://r/","returnBody":"{}","#
                + #""persistentWorkflowTemplateID":"t","forceSaveKey":true,"saveKey":"$(etag)","mimeLimit":"image/*"}"#)
    }

    // Created on each access: the leak sanitizer can't follow the tagged pointer in a stored limit.
    static var conflicts: [(String, QiniuPutPolicy)] {
        [
            (
                "insertOnly",
                policy {
                    $0.scope = .key("k", bucket: "b"); $0.insertOnly = true
                }
            ),
            (
                "returnUrl",
                policy {
                    $0.callbackURLs = ["https://a"]; $0.callbackBody = "b"; $0.returnURL = "https://r"
                }
            ),
            (
                "returnBody",
                policy {
                    $0.callbackURLs = ["https://a"]; $0.callbackBody = "b"; $0.returnBody = "{}"
                }
            ),
            ("callbackBody", policy { $0.callbackURLs = ["https://a"] }),
            (
                "http://",
                policy {
                    $0.callbackURLs = ["ftp://a"]; $0.callbackBody = "b"
                }
            ),
            ("callbackUrl", policy { $0.callbackHost = "h" }), ("callbackUrl", policy { $0.callbackFetchesKey = true }),
            (
                "saveKey",
                policy {
                    $0.callbackURLs = ["https://a"]; $0.callbackBody = "b"; $0.callbackFetchesKey = true;
                    $0.saveKey = "s"
                }
            ),
            ("http://", policy { $0.returnURL = "r" }), ("deadline", policy { $0.deadline = now }),
            ("deadline", policy { $0.deadline = .distantFuture }),
            ("deadline", policy { $0.deadline = Date(timeIntervalSince1970: .nan) }),
            ("isPrefixalScope", policy { $0.scope = .prefix("", bucket: "b") }),
            ("bucket", policy { $0.scope = .bucket("") }), ("bucket", policy { $0.scope = .bucket("a:b") }),
            ("750", policy { $0.scope = .key(String(repeating: "k", count: 750), bucket: "b") }),
            ("persistentOps", policy { $0.persistentNotifyURL = "https://n" }),
            (
                "persistentOps",
                policy {
                    $0.persistentOps = "a"; $0.persistentWorkflowTemplateID = "t"
                }
            ),
            (
                "persistentType",
                policy {
                    $0.persistentOps = "a"; $0.persistentType = 2
                }
            ),
            (
                "persistentPipeline",
                policy {
                    $0.persistentOps = "a"; $0.persistentType = 1; $0.persistentPipeline = "p"
                }
            ),
            ("saveKey", policy { $0.forcesSaveKey = true }), ("fsizeMin", policy { $0.fileSizeMinimum = -1 }),
            ("fsizeLimit", policy { $0.fileSizeLimit = -1 }),
            (
                "fsizeMin",
                policy {
                    $0.fileSizeMinimum = 3; $0.fileSizeLimit = 2
                }
            ),
            ("deleteAfterDays", policy { $0.deleteAfterDays = 0 }),
            ("trafficLimit", policy { $0.trafficLimit = 819_199 }),
            ("mimeLimit", policy { $0.allowedTypes = .only([]) }),
            ("mimeLimit", policy { $0.allowedTypes = .allBut(["!image/png"]) }),
        ]
    }

    @Test(arguments: conflicts.indices) func `invalid or conflicting policy fields are refused`(index: Int) {
        let (word, policy) = Self.conflicts[index]
        let error = #expect(throws: StoreError.self) { try java.uploadToken(for: policy, at: Self.now) }
        #expect(error?.code == .invalidPutPolicy)
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }

    // MARK: Tokens

    @Test func `the permissions of a token are parsed`() throws {
        let policy = Self.policy {
            $0.scope = .prefix("a:b/", bucket: "b")
            $0.fileSizeLimit = 100
            $0.fileSizeMinimum = 10
            $0.callbackURLs = ["https://a"]
            $0.callbackBody = "b"
        }
        let token = try QiniuUploadToken(try java.uploadToken(for: policy, at: Self.now).text)
        #expect(token.scope == .prefix("a:b/", bucket: "b"))
        #expect(token.accessKey == "abcdefghklmnopq")
        #expect(token.deadline == policy.deadline)
        #expect(token.fileSizeLimit == 100 && token.fileSizeMinimum == 10)
        #expect(token.hasSideEffects && !token.hasStandardResponse)
        try token.check(key: "a:b/c", size: 50, at: Self.now)
        for (key, size, later, code) in [
            ("a:b/c", 101, 0.0, StoreError.Code.sizeNotAllowed), ("a:b/c", 9, 0, .sizeNotAllowed),
            ("c", 50, 0, .uploadTokenDoesNotCover), ("a:b/c", 50, 60, .uploadTokenExpired),
        ] {
            let error = #expect(throws: StoreError.self) {
                try token.check(key: key, size: Int64(size), at: Self.now.addingTimeInterval(later))
            }
            #expect(error?.code == code)
        }
    }

    @Test(arguments: [
        "", "a:b", "a:b:c:d", "a:b:!!", "a:b:e30=", "a:b:bm90IGpzb24=", " a:b:e30=", "a::e30=",
        "a:b:eyJzY29wZSI6ImIiLCJkZWFkbGluZSI6InNvb24ifQ==",
    ])
    func `an invalid token is refused and not quoted`(text: String) {
        let error = #expect(throws: StoreError.self) { try QiniuUploadToken(.secret(text)) }
        #expect(error?.code == .invalidUploadToken)
        #expect(text.utf8.count < 4 || error.map { !"\($0)".contains(text) } == true)
    }

    @Test func `scopes cover keys by their bytes`() {
        #expect(QiniuScope.key("e\u{301}", bucket: "b").covers("e\u{301}"))
        #expect(!QiniuScope.key("e\u{301}", bucket: "b").covers("\u{e9}"))
        #expect(QiniuScope.key("k", bucket: "b").covers(nil))
        #expect(!QiniuScope.newKey("", bucket: "b").covers("k"))
        #expect(QiniuScope.newKey("", bucket: "b").covers(""))
        #expect(QiniuScope.bucket("b").covers("anything"))
        #expect(!QiniuScope.prefix("a", bucket: "b").covers("b"))
    }

    @Test func `no description contains a secret`() throws {
        let token = try java.uploadToken(for: Self.policy { _ in }, at: Self.now)
        var dumped = ""
        dump(token, to: &dumped)
        dump(java, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped, "\(java)", "\(QiniuTokens.given(token))"] {
            #expect(!text.contains("1234567890") && !text.contains(token.text.value.split(separator: ":")[1]))
        }
    }

    // MARK: Sources of tokens

    @Test func `a provider is called for each file, and its error is the cause`() async throws {
        struct Refused: Error {}
        let asked = Locked<[QiniuTokens.Request]>([])
        let good = try java.uploadToken(for: Self.policy { _ in }, at: Self.now)
        let tokens = QiniuTokens.provider { request in
            asked.withLock { $0.append(request) }
            if request.key == "bad" { throw Refused() }
            return good
        }
        let request = QiniuTokens.Request(key: "k", size: 7, reason: .begin)
        #expect(try await tokens.token(for: request, at: Self.now) == good)
        #expect(asked.withLock { $0 } == [request])
        let error = await #expect(throws: StoreError.self) {
            try await tokens.token(for: .init(key: "bad", size: 7, reason: .complete), at: Self.now)
        }
        #expect(error?.code == .uploadTokenUnavailable && error?.cause is Refused)
        let late = await #expect(throws: StoreError.self) {
            try await tokens.token(for: request, at: good.deadline)
        }
        #expect(late?.code == .uploadTokenExpired)
    }

    @Test func `keys create a token for the key of the upload only`() async throws {
        let tokens = QiniuTokens.keys(java, bucket: "b", lifetime: .seconds(10))
        let token = try await tokens.token(for: .init(key: "k", size: nil, reason: .begin), at: Self.now)
        #expect(token.scope == .key("k", bucket: "b") && token.deadline == Self.now.addingTimeInterval(10))
        let any = try await tokens.token(for: .init(key: nil, size: nil, reason: .begin), at: Self.now)
        #expect(any.scope == .bucket("b"))
    }
}
