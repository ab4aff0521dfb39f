import FoundationEssentials
import TestSupport
import Testing

@testable import WaybillStores

@Suite struct `Dates of object stores` {
    @Test(
        arguments: [
            (1_672_223_261, "Wed, 28 Dec 2022 10:27:41 GMT", "20221228T102741Z"),
            (1_132_253_398, "Thu, 17 Nov 2005 18:49:58 GMT", "20051117T184958Z"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT", "20000229T000000Z"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "19700101T000000Z"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT", "19691231T235959Z"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT", "99991231T235959Z"),
            (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT", "00010101T000000Z"),
        ])
    func `a date is formatted in each form`(_ seconds: Double, _ http: String, _ compact: String) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(StoreDate.http(date) == http)
        #expect(StoreDate.compact(date) == compact)
        #expect(StoreDate.day(date) == String(compact.prefix(8)))
    }

    @Test func `extreme dates do not trap`() {
        for seconds in [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude] {
            #expect(StoreDate.compact(Date(timeIntervalSince1970: seconds)).utf8.count == 16)
        }
    }

    @Test(
        arguments: [
            "2022-12-28T10:27:41Z", "2022-12-28T10:27:41.000Z", "2022-12-28t10:27:41z", "2022-12-28 10:27:41",
            "2022-12-28T18:27:41+08:00", "2022-12-28T18:27:41+0800", "2022-12-28T05:57:41-04:30", "20221228T102741Z",
            "2022-12-28T10:27:41",
        ])
    func `ISO 8601 variants are parsed`(_ text: String) {
        #expect(StoreDate.parse(text)?.timeIntervalSince1970 == 1_672_223_261)
    }

    @Test func `fractions of seconds are parsed`() throws {
        #expect(try #require(StoreDate.parse("2022-12-28T10:27:41.25Z")).timeIntervalSince1970 == 1_672_223_261.25)
    }

    @Test(
        arguments: [
            "", "soon", "2022", "2022-13-01T00:00:00Z", "2022-02-29T00:00:00Z", "2022-12-28T24:00:00Z",
            "2022-12-28T10:60:00Z", "2022-12-28T10:27:41X", "2022-12-28T10:27:41+99:00", "2022-12-28", "1672223261",
            "2022-1228T10:27:41Z", "+022-12-28T10:27:41Z", "2022-12-28T10:27:41Z ",
        ])
    func `an invalid date is nil`(_ text: String) {
        #expect(StoreDate.parse(text) == nil)
    }

    @Test func `random dates survive formatting and parsing`() throws {
        var random = SeededGenerator()
        let seed = random.seed
        for _ in 0..<300 {
            let date = Date(
                timeIntervalSince1970: Double(Int.random(in: -62_135_596_800...253_402_300_799, using: &random)))
            #expect(StoreDate.parse(StoreDate.compact(date)) == date, "seed \(seed)")
            #expect(StoreDate.parse(StoreDate.iso8601(date)) == date, "seed \(seed)")
        }
    }
}
