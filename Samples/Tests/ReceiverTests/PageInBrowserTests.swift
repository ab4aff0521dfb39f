import CardArtist
import Foundation
import ReceiverKit
import Testing

/// The page in a real browser.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: Browser.isExpected, "Chromium or chromedriver is not installed; `make setup` does that"))
struct PageInBrowserTests {
    @Test func `choosing and sending both sides shows progress and both images`() async throws {
        try await withPage { receiver, scratch, browser in
            let cards = try await CardArtist.cards(in: scratch.path, width: 800)
            try await browser.type(cards.front, into: "input[name=FRONT]")
            try await browser.type(cards.back, into: "input[name=BACK]")
            try await browser.until("[...document.querySelectorAll('.about')].every(a => a.textContent.includes('×'))")
            #expect(try await browser.number("document.querySelectorAll('.drop canvas:not([hidden])').length") == 2)
            // The front was photographed upside down, the back with the camera upright.
            #expect(try await browser.text("document.getElementById('about-FRONT').textContent").contains("800 × 600"))
            #expect(try await browser.text("document.getElementById('about-BACK').textContent").contains("600 × 800"))
            try await Self.follow(browser, "#bar")
            try await browser.limitUploads(to: 120_000)
            try await browser.click("#submit")
            try await browser.until("document.getElementById('outcome').className === 'good'")
            let outcome = try await browser.text("document.getElementById('outcome').textContent")
            #expect(outcome == "Both sides are stored, with identical bytes.")
            try await Self.expectRise(of: "window.seen", in: browser)

            try await browser.until("document.querySelectorAll('.before, .after').length === 4")
            try await browser.until("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
            let shown = try await browser.text("document.querySelector('.arrival').innerText")
            for fact in ["DOCTYPE", "ID-CARD", "FRONT", "BACK", "800 × 600", "100.0 KiB", "Download"] {
                #expect(shown.contains(fact), "\(shown)")
            }
            for path in [cards.front, cards.back] {
                let sum = try await run("sha256sum", [path])
                #expect(shown.contains(String(decoding: sum.output.prefix(64), as: UTF8.self)))
            }
            #expect(!shown.contains("right"))
            #expect(try await browser.consoleMessages() == [])
        }
    }

    @Test func `dropped JPEG files fill the sides and other files are rejected`() async throws {
        try await withPage { _, scratch, browser in
            let cards = try await CardArtist.cards(in: scratch.path, width: 320)
            let note = try scratch.write("note <b>.txt", Data("no image".utf8))
            try await browser.drop([note], on: "[data-side=BACK]")
            try await browser.until(
                "document.getElementById('about-BACK').textContent === 'note <b>.txt is not a JPEG file.'")
            #expect(try await browser.number("document.querySelector('input[name=BACK]').files.length") == 0)
            try await browser.drop([cards.back, cards.front], on: "[data-side=BACK]")
            try await browser.until("[...document.querySelectorAll('.about')].every(a => a.textContent.includes('×'))")
            let names = try await browser.texts(
                "[...document.querySelectorAll('.side input')].map(i => i.files[0].name)")
            #expect(names == [cards.front, cards.back].map { URL(filePath: $0).lastPathComponent })
            // A file that is dropped elsewhere does not replace the page.
            try await browser.drop([note], on: "header")
            #expect(try await browser.isTrue("location.pathname === '/' && document.querySelector('.side')"))

            try await browser.click("[data-side=FRONT] .remove")
            #expect(try await browser.number("document.querySelector('input[name=FRONT]').files.length") == 0)
            #expect(try await browser.isTrue("document.activeElement.name === 'FRONT'"))
            try await browser.click("#submit")
            try await browser.until("document.querySelector('[data-state=stored] .file')")
            #expect(try await browser.number("document.querySelectorAll('.file').length") == 1)
            #expect(try await browser.consoleMessages() == [])
        }
    }

    @Test func `hostile names are displayed as text`() async throws {
        try await withPage { receiver, scratch, browser in
            let card = Data(try await CardArtist.photo(of: .front, width: 160))
            for name in hostileNames {
                let fields = [("<b onclick=window.hit=7>", name.replacing("\n", with: " "))]
                try await receiver.post(name, card, fields: fields, scratch: scratch)
            }
            // Images are requested when they come near the window.
            try await browser.resize(width: 1_240, height: 12_000)
            let count = hostileNames.count
            try await browser.until("document.querySelectorAll('[data-state=stored] .after').length === \(count)")
            let shown = try await browser.texts("[...document.querySelectorAll('.arrival h3')].map(h => h.textContent)")
            let last = try #require(try await receiver.latest()?.files.first?.fileName)
            #expect(shown.first == visible(last))
            for name in hostileNames where !name.contains("\n") { #expect(shown.contains(visible(name))) }
            #expect(shown.contains("photo\\u{202e}gpj.exe"))
            #expect(try await browser.isTrue("typeof window.hit === 'undefined'"))
            // The names added no elements.
            #expect(try await browser.number("document.querySelectorAll('b, script:not([src]), style').length") == 0)
            #expect(try await browser.number("document.images.length") == Double(2 * count + 1))
            let handlers =
                "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on'))"
            #expect(try await browser.number("\(handlers).length") == 0)
            let places = "[...document.querySelectorAll('[href], [src]')].map(e => new URL(e.href || e.src).origin)"
            #expect(try await browser.isTrue("\(places).every(o => o === location.origin)"))
            #expect(try await browser.consoleMessages() == [])
        }
    }

    @Test func `the content security policy blocks injected markup and requests`() async throws {
        try await withPage { _, _, browser in
            let choose = """
                const input = document.querySelector('input[name=FRONT]');
                const transfer = new DataTransfer();
                transfer.items.add(new File([new Uint8Array([255, 216, 255, 217])], arguments[0], {type: 'image/jpeg'}));
                input.files = transfer.files;
                input.dispatchEvent(new Event('change'));
                """
            let name = "a\"b\n\u{202E}<img src=x onerror=window.hit=1>.jpg"
            try await browser.value(choose, [name])
            try await browser.until("document.getElementById('about-FRONT').textContent.includes('shown')")
            #expect(
                try await browser.text("document.getElementById('about-FRONT').textContent").hasPrefix(visible(name)))
            try await browser.click("#submit")
            try await browser.until("document.getElementById('outcome').className === 'good'")
            try await browser.until("document.querySelector('[data-state=stored] .file a')")
            // Plain strings, and strings that a script of the page has declared to be trusted markup and script.
            let inject = """
                window.blocked = [];
                addEventListener('securitypolicyviolation', event => blocked.push(event.effectiveDirective));
                try { document.body.innerHTML = '<img src=x onerror="window.hit = 2">'; } catch {}
                const trusted = trustedTypes.createPolicy('test', {createHTML: t => t, createScript: t => t});
                const script = document.createElement('script');
                script.textContent = trusted.createScript('window.hit = 3');
                document.body.append(script);
                document.body.insertAdjacentHTML(
                    'beforeend', trusted.createHTML('<p onclick="window.hit = 4" style="color: red" id="put">x</p>'));
                document.getElementById('put').click();
                const image = new Image();
                image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=';
                fetch('https://evil.example/').catch(() => {});
                """
            try await browser.value(inject)
            for directive in [
                "require-trusted-types-for", "script-src-elem", "script-src-attr", "style-src-attr", "img-src",
                "connect-src",
            ] {
                try await browser.until("blocked.includes('\(directive)')")
            }
            #expect(try await browser.isTrue("typeof window.hit === 'undefined'"))
            #expect(
                try await browser.text("getComputedStyle(document.getElementById('put')).color") == "rgb(29, 33, 37)")
        }
    }

    @Test func `the page is operable by keyboard with visible focus`() async throws {
        try await withPage { _, scratch, browser in
            let focus = "document.activeElement"
            try await browser.press(.tab)
            #expect(try await browser.text("\(focus).id") == "skip")
            var order: [String] = []
            for _ in 0..<6 {
                try await browser.press(.tab)
                order.append(try await browser.text("\(focus).name || \(focus).id"))
                let outline =
                    "getComputedStyle(\(focus).type === 'file' ? \(focus).closest('.drop') : \(focus)).outlineStyle"
                #expect(try await browser.text(outline) == "solid", "\(order)")
            }
            #expect(order == ["FRONT", "BACK", "TOKEN", "BUSINESSNO", "DOCTYPE", "submit"])
            try await browser.press(.enter)
            try await browser.until(
                "document.getElementById('outcome').textContent === 'Choose at least one side first.'")
            #expect(try await browser.text("\(focus).name") == "FRONT")
            // Both keys open the file chooser, which the test suppresses.
            try await browser.value(
                "window.opened = 0; document.querySelector('.side input').addEventListener('click', e => { opened += 1; e.preventDefault(); })"
            )
            try await browser.press(.space, .enter)
            #expect(try await browser.number("window.opened") == 2)

            let cards = try await CardArtist.cards(in: scratch.path, width: 320)
            try await browser.type(cards.front, into: "input[name=FRONT]")
            try await browser.value("document.getElementById('submit').focus()")
            try await browser.press(.space)
            try await browser.until("document.querySelector('.split') && !document.getElementById('submit').disabled")
            #expect(try await browser.text("\(focus).id") == "submit")
            try await browser.value("document.querySelector('.split').focus()")
            try await browser.press(.right, .right)
            #expect(
                try await browser.text("\(focus).getAttribute('aria-valuetext')") == "52 % as it arrived, 48 % small")
            #expect(
                try await browser.text("getComputedStyle(document.querySelector('.after')).clipPath").contains("52%"))
        }
    }

    @Test func `the page follows uploads of waybill and cancels its own`() async throws {
        try await withRunningReceiver { receiver, scratch in
            try await Browser.open("\(receiver.page)&token=right") { browser in
                try await browser.until("document.getElementById('link').textContent === 'Live'")
                try await Self.follow(browser, "#list")
                let file = try scratch.write("scan.bin", Data(repeating: 7, count: 300_000))
                let posted = try await run(
                    commandPath,
                    ["post", receiver.url, "-F", "TOKEN=right", "-F", "FILE=@\(file)", "--limit-rate", "400K"])
                #expect(posted.exitCode == 0)
                try await browser.until("document.querySelector('[data-state=stored]')")
                try await Self.expectRise(of: "window.seen", in: browser)
                #expect(try await browser.text("document.querySelector('.arrival').innerText").contains("waybill"))
                #expect(try await browser.text("document.getElementById('news').textContent") == "Stored: scan.bin")

                let image = try scratch.write("p.jpg", jpeg(width: 100, height: 100, padding: 500_000))
                try await browser.type(image, into: "input[name=FRONT]")
                try await browser.limitUploads(to: 50_000)
                try await browser.click("#submit")
                try await browser.until("document.getElementById('amount').textContent.includes('%')")
                #expect(try await browser.text("document.activeElement.id") == "cancel")
                try await browser.click("#cancel")
                try await browser.until("document.getElementById('outcome').textContent === 'Cancelled.'")
                try await browser.until("!document.getElementById('submit').disabled")
            }
        }
    }

    @Test func `without the key the page reports a wrong token, sends and shows no uploads`() async throws {
        let receiver = try await Receiver.start(.init(token: "right"))
        let scratch = try Scratch()
        let cards = try await CardArtist.cards(in: scratch.path, width: 160)
        try await Browser.open(receiver.origin + "/#token=wrong") { browser in
            try await browser.until("document.documentElement.dataset.ready")
            #expect(try await browser.text("document.getElementById('link').className") == "link off")
            try await browser.type(cards.front, into: "input[name=FRONT]")
            try await browser.click("#submit")
            try await browser.until("document.getElementById('outcome').className === 'bad'")
            let message = try await browser.text("document.getElementById('outcome').textContent")
            #expect(message == "Rejected (100001): The token is invalid.")
            try await browser.value("document.querySelector('input[name=TOKEN]').value = 'right'")
            try await browser.click("#submit")
            try await browser.until("document.getElementById('outcome').className === 'good'")
            #expect(try await browser.number("document.querySelectorAll('.arrival').length") == 0)
            #expect(try await browser.consoleMessages() == [])
        }
        scratch.remove()
        await receiver.stop()
    }

    // MARK: Helpers

    /// Opens the page of a backend with its link and token.
    private func withPage(_ body: (Receiver, Scratch, Browser) async throws -> Void) async throws {
        try await withReceiver { receiver, scratch in
            try await Browser.open("\(receiver.page)&token=right") { browser in
                try await browser.until("document.documentElement.dataset.ready")
                try await body(receiver, scratch, browser)
            }
        }
    }

    /// Records the values of the progress bars in an element.
    private static func follow(_ browser: Browser, _ selector: String) async throws {
        let script = """
            window.seen = [];
            const note = () => document.querySelectorAll('\(selector) progress, \(selector)').forEach(
                bar => { if (bar.value > 0 && bar.value !== seen.at(-1)) seen.push(bar.value); });
            new MutationObserver(note).observe(
                document.querySelector('\(selector)'), {attributes: true, childList: true, subtree: true});
            """
        try await browser.value(script)
    }

    private static func expectRise(of list: String, in browser: Browser) async throws {
        let seen = try await browser.texts(list).compactMap(Double.init)
        #expect(seen.count >= 3, "\(seen)")
        #expect(seen == seen.sorted(), "\(seen)")
        #expect(seen.contains { $0 < 90 } && (seen.last ?? 0) > 50, "\(seen)")
    }
}

/// Escapes invisible characters like the page.
func visible(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0xAD, 0x61C, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF:
            "\\u{\(String(scalar.value, radix: 16))}"
        default: String(scalar)
        }
    }.joined()
}
