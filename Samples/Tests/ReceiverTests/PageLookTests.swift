import CardArtist
import Foundation
import ReceiverKit
import Testing

/// The layout of the page: light and dark, narrow and wide, and right-to-left scripts.
///
/// With `RECEIVER_SCREENSHOTS=DIR` the screenshots are saved there: `light.png`, `dark.png`, `narrow.png`,
/// `scripts.png`.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: Browser.isExpected, "Chromium or chromedriver is not installed; `make setup` does that"))
struct PageLookTests {
    @Test func `the page follows the color scheme and reduced motion`() async throws {
        try await withLivePage { receiver, scratch, browser in
            try await Self.sendBothSides(browser, scratch)
            let paper = "getComputedStyle(document.body).backgroundColor"
            let beat = "getComputedStyle(document.getElementById('link'), '::before').animationName"
            var screenshots: [Data] = []
            for (scheme, color) in [("light", "rgb(245, 244, 240)"), ("dark", "rgb(16, 19, 21)")] {
                try await browser.prefer(["prefers-color-scheme": scheme])
                #expect(try await browser.text(paper) == color)
                let ratios = try await browser.texts(Self.contrasts)
                #expect(ratios.count > 10)
                // WCAG 2.2, success criterion 1.4.3.
                #expect(ratios.compactMap(Double.init).allSatisfy { $0 >= 4.5 }, "\(scheme): \(ratios)")
                screenshots.append(try await Self.screenshot(scheme, browser))
            }
            #expect(screenshots[0] != screenshots[1])
            #expect(try await browser.text(beat) == "beat")
            try await browser.prefer(["prefers-reduced-motion": "reduce"])
            #expect(try await browser.text(beat) == "none")
        }
    }

    @Test func `the page fits narrow windows and long names in any script`() async throws {
        try await withLivePage { receiver, scratch, browser in
            let card = Data(try await CardArtist.photo(of: .front, width: 640))
            let names = [
                String(repeating: "W", count: 300) + ".jpg", "بطاقة الهوية الوطنية — الوجه (١).jpg", "תעודת זהות.jpg",
                "居民身份证 正面 🪪.jpg", "photo\u{202E}gpj.exe",
            ]
            for name in names {
                let fields = [("BUSINESSNO", "业务 2026-0042"), ("NAME", "محمد بن عبد الله"), ("NOTE", name)]
                try await receiver.post(name, card, fields: fields, scratch: scratch)
            }
            // Images are requested when they come near the window.
            try await browser.resize(width: 1_240, height: 6_000)
            try await browser.until("document.querySelectorAll('.after').length === \(names.count)")
            try await browser.until("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
            let isArabic = "[...document.querySelectorAll('h3 bdi')].find(b => b.textContent.includes('بطاقة'))"
            #expect(try await browser.text("getComputedStyle(\(isArabic)).direction") == "rtl")
            #expect(try await browser.text("getComputedStyle(document.querySelector('h3 bdi')).direction") == "ltr")
            for width in [320, 480, 861, 1_240, 2_000] {
                try await browser.resize(width: width, height: 900)
                let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                #expect(try await browser.number(overflow) == 0, "at \(width)")
            }
            _ = try await Self.screenshot("scripts", browser, width: 1_240, height: 1_500)
            _ = try await Self.screenshot("narrow", browser, width: 390, height: 1_600)
        }
    }

    // MARK: Helpers

    private func withLivePage(_ body: (Receiver, Scratch, Browser) async throws -> Void) async throws {
        try await withReceiver(sizeLimit: 64 << 20) { receiver, scratch in
            try await Browser.open("\(receiver.page)&token=right") { browser in
                try await browser.until("document.getElementById('link').textContent === 'Live'")
                try await body(receiver, scratch, browser)
            }
        }
    }

    /// Sends both sides and waits for the images. They are larger for saved screenshots.
    private static func sendBothSides(_ browser: Browser, _ scratch: Scratch) async throws {
        let cards = try await CardArtist.cards(in: scratch.path, width: directory == nil ? 800 : 2_016)
        for (side, path) in [("FRONT", cards.front), ("BACK", cards.back)] {
            try await browser.type(path, into: "input[name=\(side)]")
        }
        try await browser.value("document.querySelector('input[name=BUSINESSNO]').value = '2026-0117-0042'")
        try await browser.until("document.querySelectorAll('.drop canvas:not([hidden])').length === 2")
        try await browser.click("#submit")
        try await browser.until("document.querySelectorAll('.after').length === 2")
        try await browser.until("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
        try await browser.until("document.getElementById('outcome').className === 'good'")
    }

    private static let directory = ProcessInfo.processInfo.environment["RECEIVER_SCREENSHOTS"]

    /// Returns a screenshot of the window, and saves it if `RECEIVER_SCREENSHOTS` is set.
    private static func screenshot(
        _ name: String, _ browser: Browser, width: Int = 1_200, height: Int = 860
    ) async throws -> Data {
        try await browser.resize(width: width, height: height)
        let image = try await browser.screenshot()
        #expect(image.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(image.count > 10_000)
        if let directory {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try image.write(to: URL(filePath: directory).appending(path: "\(name).png"))
        }
        return image
    }

    /// The contrast of all text on the page with its background (WCAG 2.2, relative luminance).
    private static let contrasts = """
        (() => {
          const numbers = (color) => color.match(/[0-9.]+/g).map(Number);
          const light = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
          const luminance = (c) => 0.2126 * light(c[0] / 255) + 0.7152 * light(c[1] / 255) + 0.0722 * light(c[2] / 255);
          const under = (e) => {
            for (let at = e; at; at = at.parentElement) {
              const c = numbers(getComputedStyle(at).backgroundColor);
              if (c.length === 3 || c[3] === 1) return c;
            }
            return [255, 255, 255];
          };
          const texts = [...document.querySelectorAll('body *')].filter((e) =>
            e.checkVisibility() && !e.matches('.tag, .skip, .unseen, option, .drop *')
            && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
          return texts.map((e) => {
            const [one, two] = [luminance(numbers(getComputedStyle(e).color)), luminance(under(e))];
            return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
          });
        })()
        """
}
