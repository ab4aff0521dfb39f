import Foundation
import Glibc
import TestSupport
import Testing

@testable import WaybillCLI

@Suite(
    .timeLimit(.minutes(5 * Slowness.factor)),
    .enabled(if: InstalledBrowser.here.isExpected, "\(InstalledBrowser.remedy)"))
struct ReportPageTests {
    private static let photo = NoisePhoto.bytes(width: 320, height: 240, seed: 5)

    /// Names that are markup: a slash in the middle ends a tag.
    private static let hostileNames = [
        "\"><script>window.hit=1</script>.jpg", "</style><img src=x onerror=window.hit=2>.jpg",
        "' onmouseover='window.hit=3.jpg", "&lt;b&gt;&#60;script&#62;window.hit=4.jpg", "\u{202E}gpj.live\u{2066}.jpg",
        "身份证 正面.jpg", "]]><!--${window.hit=5}`.jpg",
    ]

    @Test func `names are text on the page, and no script in them runs`() async throws {
        let folder = try TemporaryDirectory()
        try await Self.makePage(in: folder, names: Self.hostileNames)
        try await Browser.open(folder.path("page.html")) { browser in
            #expect(try await browser.complaints() == [])
            #expect(try await browser.isTrue("document.documentElement.dataset.ready === 'yes'"))
            #expect(try await browser.isTrue("typeof window.hit === 'undefined'"))
            let shown = try await browser.value(
                "return [...document.querySelectorAll('h2')].map(h => h.textContent)")
            #expect(
                shown as? [String]
                    == Self.hostileNames.map {
                        $0.replacingOccurrences(of: "\u{202E}", with: "\\u{202e}")
                            .replacingOccurrences(of: "\u{2066}", with: "\\u{2066}")
                    })
            // The document contains only the elements of the page.
            let count = Double(Self.hostileNames.count)
            #expect(try await browser.number("return document.scripts.length") == 1)
            #expect(try await browser.number("return document.querySelectorAll('style').length") == 1)
            #expect(try await browser.number("return document.images.length") == 3 * count)
            let handlers = """
                return [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())
                    .filter(n => n.startsWith('on')).length
                """
            #expect(try await browser.number(handlers) == 0)
        }
    }

    @Test func `the page loads no resources, and its policy blocks injected content`() async throws {
        let folder = try TemporaryDirectory()
        try await Self.makePage(in: folder, names: ["a.jpg"])
        let page = String(decoding: try folder.read("page.html"), as: UTF8.self)
        #expect(!page.contains("http:") && !page.contains("https:") && !page.contains("url("))
        try await Browser.open(folder.path("page.html")) { browser in
            let foreign = """
                return performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('data:')).length
                """
            #expect(try await browser.number(foreign) == 0)
            let injected = """
                const script = document.createElement('script');
                script.textContent = 'window.hit = 1';
                document.body.append(script);
                document.body.insertAdjacentHTML('beforeend', '<p onclick="window.hit = 2" style="color: red" id="p">x</p>');
                document.getElementById('p').click();
                return typeof window.hit + getComputedStyle(document.getElementById('p')).color;
                """
            #expect(try await browser.text(injected) == "undefinedrgb(31, 35, 40)")
            let complaints = try await browser.complaints().joined()
            #expect(complaints.contains("Content Security Policy"))
        }
    }

    @Test func `the slider follows keys and mouse`() async throws {
        let folder = try TemporaryDirectory()
        try await Self.makePage(in: folder, names: ["a.jpg", "b.jpg"])
        try await Browser.open(folder.path("page.html")) { browser in
            let loaded = "[...document.images].every(i => i.complete && i.naturalWidth > 0)"
            #expect(try await browser.isTrue(loaded))
            // Both images cover the same rectangle, so that the slider compares the same region.
            let sizes = """
                return [...document.querySelector('.stage').querySelectorAll('img')]
                    .map(i => JSON.stringify(i.getBoundingClientRect())).filter((s, k, all) => s !== all[0]).length
                """
            #expect(try await browser.number(sizes) == 0)
            let value = "return Number(document.querySelector('.split').value)"
            let clip = "return getComputedStyle(document.querySelector('.after')).clipPath"
            #expect(try await browser.text(clip) == "inset(0px 0px 0px 50%)")

            var presses = 0
            while try await browser.isTrue("document.activeElement.className !== 'split'"), presses < 10 {
                try await browser.press(.tab)
                presses += 1
            }
            let outline = "return getComputedStyle(document.querySelector('.stage')).outlineStyle"
            #expect(try await browser.text(outline) == "solid")
            try await browser.press(.right, .right, .right)
            #expect(try await browser.number(value) == 53)
            #expect(try await browser.text(clip) == "inset(0px 0px 0px 53%)")
            #expect(
                try await browser.text("return document.activeElement.getAttribute('aria-valuetext')")
                    == "53 % before, 47 % after")
            try await browser.press(.end)
            #expect(try await browser.text(clip) == "inset(0px 0px 0px 100%)")

            try await browser.press(.tab, .enter)
            #expect(try await browser.text("return document.activeElement.getAttribute('aria-pressed')") == "true")
            let width = "return document.querySelector('.before').getBoundingClientRect().width"
            #expect(try await browser.number(width) == 240)
            try await browser.press(.enter)

            let edge = "const r = document.querySelector('.stage').getBoundingClientRect(); return "
            let x = try await browser.number(edge + "r.left + r.width * 0.25")
            let y = try await browser.number(edge + "r.top + r.height * 0.5")
            try await browser.click(x: x, y: y)
            #expect(abs(try await browser.number(value) - 25) <= 2)
        }
    }

    @Test func `the page shows figures and the curve in light and dark mode`() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("broken.jpg", "<script>window.hit=1</script>")
        let run = try await Self.makePage(in: folder, names: ["a.jpg"], and: ["broken.jpg"], exit: 3)
        let bytes = try #require(try run.jsonLines().first?["bytes"] as? Int)
        try await Browser.open(folder.path("page.html")) { browser in
            let figures = try await browser.text("return document.querySelector('.figures').innerText")
            for fact in ["240 × 320", ReportText.size(bytes), "Exif, comment", "from Exif orientation 6"] {
                #expect(figures.contains(fact), "\(figures)")
            }
            let dots = try await browser.number("return document.querySelectorAll('svg .dot').length")
            #expect(dots >= 2)
            // More bytes give a higher similarity: each dot is to the right of the previous one and not below it.
            let isRising = """
                [...document.querySelectorAll('svg .dot')].map(d => [+d.getAttribute('cx'), +d.getAttribute('cy')])
                    .every((d, k, all) => k === 0 || d[0] > all[k - 1][0] && d[1] <= all[k - 1][1])
                """
            #expect(try await browser.isTrue(isRising))
            #expect(try await browser.number("return document.querySelectorAll('.curve tbody tr').length") == dots)
            #expect(try await browser.text("return document.querySelector('p.bad').textContent").contains("notAJPEG"))
            #expect(try await browser.isTrue("typeof window.hit === 'undefined'"))

            let paper = "return getComputedStyle(document.body).backgroundColor"
            try await browser.prefer("light")
            #expect(try await browser.text(paper) == "rgb(255, 255, 255)")
            try await browser.prefer("dark")
            #expect(try await browser.text(paper) == "rgb(13, 17, 23)")
        }
    }

    @Test func `the hashes of the policy match style and script`() async throws {
        for (text, hash) in [(ReportStyle.text, ReportStyle.hash), (ReportScript.text, ReportScript.hash)] {
            let run = try await ChildProcess.run("openssl", ["dgst", "-sha256", "-binary"], input: Array(text.utf8))
            #expect("sha256-" + Data(run.output).base64EncodedString() == hash)
        }
    }

    @Test func `a page is readable only by its owner and is not replaced without --force`() async throws {
        let folder = try TemporaryDirectory()
        try await Self.makePage(in: folder, names: ["a.jpg"])
        var status = stat()
        #expect(unsafe stat(folder.path("page.html"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let again = try await Self.run(
            ["shrink", "a.jpg", "-o", "other.jpg", "--max-bytes", "10KB", "--report", "page.html"], in: folder)
        #expect(again.exit == .status(2), "\(again.errorText)")
        #expect(try folder.names().contains("other.jpg") == false)
    }

    /// Writes photos of these names and a page about them named `page.html`.
    @discardableResult
    private static func makePage(
        in folder: TemporaryDirectory, names: [String], and more: [String] = [], exit: Int = 0
    ) async throws -> ChildProcess.Finished {
        for name in names {
            let place = URL(filePath: folder.path).appending(path: name)
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try folder.write(name, photo)
        }
        let options = ["--max-bytes", "10KB", "--mode", "draft", "--report", "page.html", "--json"]
        let run = try await run(["shrink"] + names + more + options, in: folder)
        #expect(run.exit == .status(exit), "\(run.errorText)\(run.text)")
        return run
    }

    private static func run(_ arguments: [String], in folder: TemporaryDirectory) async throws -> ChildProcess.Finished
    {
        try await ChildProcess.run(
            "env", ["--default-signal=INT,TERM", Tool.path] + arguments, environment: Tool.environment(),
            directory: folder.path)
    }
}
