import Testing
import WaybillCore

@testable import Waybill

@Suite struct TusMetadataTests {
    @Test(
        arguments: [
            ([:], nil), (["filename": "a.txt"], "filename YS50eHQ="), (["b": "", "a": "1"], "a MQ==,b"),
            (["filename": "身份证.jpg"], "filename 6Lqr5Lu96K+BLmpwZw=="),
        ] as [([String: String], String?)])
    func `names are followed by their values in base64`(_ pairs: [String: String], _ field: String?) throws {
        #expect(try TusMetadata.field(pairs) == field)
    }

    @Test(arguments: ["", "a b", "a,b", "ä", "a\n"]) func `other names are refused`(_ name: String) {
        let error = #expect(throws: UploadError.self) { try TusMetadata.field([name: "1"]) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func `by default the name and the type of the file are sent`() {
        #expect(
            TusMetadata.pairs(path: "/a/b.mp4", type: "video/mp4") == ["filename": "b.mp4", "filetype": "video/mp4"])
        #expect(TusMetadata.pairs(path: nil, type: nil) == [:])
    }
}
