import FoundationEssentials
import TestSupport
import Testing
import WaybillStores

@Suite struct `Object key templates` {
    // 2026-11-21 17:04:09 UTC.
    private static let moment = Date(timeIntervalSince1970: 1_795_280_649)
    private static let uuid = UUID(uuidString: "0F8FAD5B-D9CB-469F-A165-70867728950E")!

    private func values(_ parameters: [String: String] = [:], fileName: String? = "front.JPG") -> ObjectKeyValues {
        var values = ObjectKeyValues(
            parameters: parameters, fileName: fileName, date: Self.moment, uuid: Self.uuid)
        values.sha256 = "e3b0c44298fc"
        values.md5 = "d41d8cd98f00"
        return values
    }

    @Test(arguments: [
        ("a/b.jpg", "a/b.jpg"), ("{year}/{month}/{day}", "2026/11/21"),
        ("{date}-{hour}{minute}{second}", "20261121-170409"),
        ("{timestamp}", "1795280649"), ("{uuid}{.ext}", "0f8fad5b-d9cb-469f-a165-70867728950e.jpg"),
        ("{stem}.{ext}", "front.jpg"), ("{sha256:2}/{sha256}", "e3/e3b0c44298fc"), ("{md5}", "d41d8cd98f00"),
        ("x{{y}}z", "x{y}z"), ("{no}", "A1"), ("{+dir}/{no}", "a/b/A1"), ("{no:1}", "A"), ("证件/{no}", "证件/A1"),
    ])
    func `a pattern becomes a key`(_ pattern: String, _ key: String) throws {
        let template = try ObjectKeyTemplate(pattern)
        #expect(try template.key(for: values(["no": "A1", "dir": "a/b"])) == key)
    }

    @Test(arguments: [
        "", "{", "a{b", "}", "a}b", "{}", "{a b}", "{a:}", "{a:0}", "{a:1000}", "{a:x}", "{+year}", "{+}", "{.}",
        "{a-b}", "{中}",
    ])
    func `an invalid pattern is refused`(_ pattern: String) {
        #expect { try ObjectKeyTemplate(pattern) } throws: { ($0 as? StoreError)?.code == .invalidKeyTemplate }
    }

    @Test func `an invalid literal fails when it is used`() {
        let template: ObjectKeyTemplate = "{oops"
        #expect { try template.key(for: values()) } throws: { ($0 as? StoreError)?.code == .invalidKeyTemplate }
    }

    @Test(arguments: [
        "", "a/b", "..", "a\u{0}b", "a\nb", ".", "a\u{7f}",
    ])
    func `a parameter can't add path components or control characters`(_ value: String) {
        let template: ObjectKeyTemplate = "cards/{no}/x.jpg"
        #expect { try template.key(for: values(["no": value])) } throws: {
            ($0 as? StoreError)?.code == .invalidParameter
        }
    }

    @Test func `a refused value is not quoted, because it may be personal data`() {
        let template: ObjectKeyTemplate = "cards/{no}/x.jpg"
        #expect { try template.key(for: values(["no": "110101/19900307"])) } throws: {
            ($0 as? StoreError)?.message.contains("110101") == false
        }
    }

    @Test(arguments: ["/etc", "a//b", "a/../b", "../a", "a/", "a/./b"])
    func `a directory parameter can't leave its prefix`(_ value: String) {
        let template: ObjectKeyTemplate = "cards/{+dir}/x.jpg"
        #expect { try template.key(for: values(["dir": value])) } throws: {
            ($0 as? StoreError)?.code == .invalidParameter
        }
    }

    @Test(arguments: [("{no:2}", "..x"), ("{no:1}", ".x"), ("{+no:3}", "ab/cd")])
    func `truncated parameters are validated after truncation`(_ pattern: String, _ value: String) throws {
        let template = try ObjectKeyTemplate("cards/\(pattern)/x.jpg")
        #expect { try template.key(for: values(["no": value])) } throws: {
            ($0 as? StoreError)?.code == .invalidParameter
        }
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300, -1e300, .greatestFiniteMagnitude])
    func `extreme dates do not trap`(_ seconds: Double) throws {
        let template: ObjectKeyTemplate = "{year}{month}{day}-{timestamp}"
        var values = ObjectKeyValues(date: Date(timeIntervalSince1970: seconds))
        values.utcOffset = .seconds(Int64.max)
        #expect(try !template.key(for: values).isEmpty)
    }

    @Test func `a missing parameter is named`() {
        let template: ObjectKeyTemplate = "cards/{businessNo}/{businessNo}-{side}.jpg"
        #expect(template.parameters == ["businessNo", "side"])
        #expect { try template.key(for: values(["businessNo": "1"])) } throws: {
            let error = $0 as? StoreError
            return error?.code == .missingParameter && error?.message.contains("\"side\"") == true
        }
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("a b&c?.png", "a_b_c_.png"), (".hidden", "hidden"),
        ("身份证 正面.jpeg", "身份证_正面.jpeg"),
        ("noending", "noending"), ("x.tar.gz", "x.tar.gz"), ("x.has space", "x"), ("x.waytoolongending", "x"),
        ("", "file"),
        ("...", "file"),
    ])
    func `file names of clients are sanitized`(_ name: String, _ key: String) throws {
        let template: ObjectKeyTemplate = "{stem}{.ext}"
        #expect(try template.key(for: values(fileName: name)) == key)
    }

    @Test func `a long name is truncated between characters`() throws {
        let template: ObjectKeyTemplate = "{stem}"
        let key = try template.key(for: values(fileName: String(repeating: "证", count: 80) + ".jpg"))
        #expect(key == String(repeating: "证", count: 33))
    }

    @Test func `dates use the configured UTC offset`() throws {
        let template: ObjectKeyTemplate = "{year}-{month}-{day} {hour}"
        var values = values()
        values.utcOffset = .seconds(8 * 3_600)
        #expect(try template.key(for: values) == "2026-11-22 01")
        values.utcOffset = .seconds(-18 * 3_600)
        #expect(try template.key(for: values) == "2026-11-20 23")
    }

    @Test func `dates from 1970 to 2100 are consecutive`() throws {
        let template: ObjectKeyTemplate = "{year} {month} {day}"
        var (year, month, day) = (1970, 1, 1)
        for days in 0..<47_482 {
            let date = Date(timeIntervalSince1970: Double(days) * 86_400 + Double(days % 86_400))
            let numbers = try template.key(for: ObjectKeyValues(date: date)).split(separator: " ").compactMap {
                Int($0)
            }
            #expect(numbers == [year, month, day])
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
            day += 1
            if day > length { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
    }

    @Test func `digests are needed only by templates that use them`() throws {
        #expect(!("{uuid}" as ObjectKeyTemplate).needsDigest)
        let template: ObjectKeyTemplate = "{sha256}"
        #expect(template.needsDigest)
        #expect { try template.key(for: ObjectKeyValues()) } throws: { ($0 as? StoreError)?.code == .invalidParameter }
    }
}
