import Testing

@testable import Waybill

@Suite struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Friday, 01-Jan-27 00:00:00 GMT", 1_798_761_600),
    ])
    func `all three date formats are parsed`(text: String, seconds: Int64) {
        #expect(HTTPDate(text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "tomorrow", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    ])
    func `an invalid date is nil`(text: String) {
        #expect(HTTPDate(text) == nil)
    }
}
