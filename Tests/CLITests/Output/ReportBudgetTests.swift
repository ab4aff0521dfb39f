import Foundation
import TestSupport
import Testing
import Waybill

@testable import WaybillCLI

/// The size limits of a page of `shrink --report`, and its links.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct ReportBudgetTests {
    private static func base64(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    @Test(arguments: [1, 2, 10, 37, 200, 500, 1_000], [300, 20_000, 102_400, 1_000_000, 8_000_000])
    func `no number or size of results exceeds the page limit of 20 MB`(_ count: Int, _ bytes: Int) {
        let budget = ReportBudget(count: count)
        let images =
            switch budget.images(resultBytes: bytes) {
            case .result(let original): Self.base64(bytes) + Self.base64(original)
            case .reduced(let each): 2 * Self.base64(each)
            case .none: 0
            }
        let thumbnail = budget.hasThumbnails ? Self.base64(ReportBudget.thumbnailBytes) : 0
        #expect(40_000 + count * (14_000 + thumbnail + images) <= ReportBudget.pageBytes)
    }

    @Test func `ten results are embedded, two hundred are reduced, and both have thumbnails`() {
        guard case .result(let original) = ReportBudget(count: 10).images(resultBytes: 102_400) else {
            Issue.record("not embedded")
            return
        }
        #expect(original > 1_000_000)
        #expect(ReportBudget(count: 200).images(resultBytes: 102_400) == .reduced(bytes: 29_172))
        #expect(ReportBudget(count: 10).hasThumbnails && ReportBudget(count: 200).hasThumbnails)
        #expect(!ReportBudget(count: 1).hasThumbnails)
        #expect(ReportBudget(count: 100_000).images(resultBytes: 102_400) == .none)
    }

    @Test func `links are relative to the page and percent-encoded`() throws {
        let folder = try TemporaryDirectory()
        let links = ReportLinks(page: folder.path("small/page.html"))
        #expect(links.link(to: folder.path("small/a.jpg")) == "a.jpg")
        #expect(links.link(to: folder.path("photos/x/a b.jpg")) == "../photos/x/a%20b.jpg")
        #expect(links.link(to: folder.path("small/deep/../javascript:1.jpg")) == "javascript%3A1.jpg")
        #expect(links.link(to: folder.path("\"><i>&#?%.jpg")) == "../%22%3E%3Ci%3E%26%23%3F%25.jpg")
        #expect(links.link(to: folder.path("身.jpg")) == "../%E8%BA%AB.jpg")
        #expect(links.link(to: "-") == nil)
    }

    /// Creates a page about two photos with the budget of `count` photos.
    private func page(of count: Int, in folder: TemporaryDirectory) async throws -> (text: String, sections: [String]) {
        try FileManager.default.createDirectory(atPath: folder.path("small"), withIntermediateDirectories: false)
        var entries: [ReportImage] = []
        let options = JPEGOptions(maxBytes: .bytes(60_000), mode: .draft)
        for number in 1...2 {
            let name = "photo \(number)#.jpg"
            let file = try folder.write(name, NoisePhoto.bytes(width: 1_200, height: 900, seed: UInt64(number)))
            let result = try await JPEGRecompressor(options).recompress(file: file)
            let after = try folder.write("small/\(name)", result.bytes)
            let links = ReportLinks(page: folder.path("page.html"))
            let report = ShrinkReport(input: file, output: after, image: result.report)
            entries.append(
                ReportImage(
                    name: name, before: .file(file), after: .file(after), outcome: .success(report),
                    thumbnail: Array(result.bytes), originalLink: links.link(to: file),
                    resultLink: links.link(to: after)))
        }
        let page = ReportPage(options: options, entries: entries)
        var sections: [String] = []
        for (index, entry) in entries.enumerated() {
            let section = ReportSection(entry, number: index + 1, options, ReportBudget(count: count))
            sections.append(await section.html())
        }
        let text = page.head + sections.joined() + page.foot
        try folder.write("page.html", text)
        return (text, sections)
    }

    @Test func `a section of two hundred stays below its share, and its links resolve`() async throws {
        let folder = try TemporaryDirectory()
        let (_, sections) = try await page(of: 200, in: folder)
        for section in sections { #expect(section.utf8.count < 92_000, "\(section.utf8.count)") }
        try await Browser.open(folder.path("page.html")) { browser in
            #expect(try await browser.isTrue("[...document.images].every(i => i.complete && i.naturalWidth > 0)"))
            let script = "return [...document.querySelectorAll('.tools a')].map(a => a.href)"
            let links = try #require(try await browser.value(script) as? [String])
            #expect(links.count == 4)
            for link in links {
                let path = try #require(URL(string: link)?.path(percentEncoded: false))
                #expect(FileManager.default.isReadableFile(atPath: path), "\(link)")
            }
            #expect(try await browser.complaints() == [])
        }
    }

    @Test func `figures do not wrap in a narrow window, and every row has a thumbnail`() async throws {
        let folder = try TemporaryDirectory()
        _ = try await page(of: 2, in: folder)
        try await Browser.open(folder.path("page.html")) { browser in
            let thumbnails = try await browser.number(
                "return document.querySelectorAll('.overview tbody img.thumb').length")
            #expect(thumbnails == 2)
            // Wrapped text has rectangles at several vertical positions.
            let wrapped = """
                document.body.style.setProperty('width', '380px');
                return [...document.querySelectorAll('td, dd.figure')].filter(cell => {
                    const range = document.createRange();
                    range.selectNodeContents(cell);
                    return new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1;
                }).length
                """
            #expect(try await browser.number(wrapped) == 0)
            #expect(try await browser.number("return document.querySelectorAll('td, dd.figure').length") > 15)
            let digits = "return getComputedStyle(document.querySelector('.overview td')).fontVariantNumeric"
            #expect(try await browser.text(digits) == "tabular-nums")
        }
    }
}
