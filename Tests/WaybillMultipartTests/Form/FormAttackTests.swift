import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillMultipart

/// Input at the far ends of what a type can hold: an error each, never the end of the process.
@Suite(.timeLimit(.minutes(1))) struct FormAttackTests {
    private static func endless(_ length: Int64) -> MultipartPart {
        .stream("s", AsyncStream<[UInt8]> { $0.finish() }, length: length, fileName: "s.bin")
    }

    @Test func `a stream of 2^63-1 bytes is refused and does not end the process`() async {
        await #expect(processExitsWith: .success) {
            let form: MultipartForm = [FormAttackTests.endless(.max)]
            _ = try? await form.prepared()
        }
    }

    @Test func `two streams whose lengths overflow are refused by check, and do not end the process`() async {
        await #expect(processExitsWith: .success) {
            let form: MultipartForm = [FormAttackTests.endless(.max / 2 + 1), FormAttackTests.endless(.max / 2 + 1)]
            try? await form.check(against: FormLimits(maxParts: 10))
        }
    }

    @Test func `a sparse file of nearly 2^63 bytes is refused and does not end the process`() async throws {
        // Only memory file systems hold such files.
        await #expect(processExitsWith: .success) {
            let path = "/dev/shm/waybill-\(getpid())"
            let raw = unsafe open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
            guard raw >= 0, ftruncate(raw, .max - 4_096) == 0 else { return }
            defer { unsafe _ = unlink(path) }
            let form: MultipartForm = [.file("a", path: path), .file("b", path: path)]
            _ = try? await form.prepared()
            unsafe _ = unlink(path)
        }
    }

    @Test func `one chunk as large as can be asked for is the whole body`() async {
        await #expect(processExitsWith: .success) {
            let body = try await ([.text("a", "1")] as MultipartForm).prepared()
            var sizes: [Int] = []
            for try await chunk in body.chunks(ofSize: .max) { sizes.append(chunk.count) }
            guard sizes == [Int(body.contentLength!)] else { exit(3) }
        }
    }

    @Test func `a date that is no moment is an error and does not end the process`() async {
        await #expect(processExitsWith: .success) {
            for seconds in [Double.infinity, -.infinity, .nan, 1e300, -1e300, 1e18] {
                let date = Date(timeIntervalSince1970: seconds)
                _ = try? FormFieldEncoder().parts(of: ["d": date])
            }
        }
    }

    @Test func `a name made of a date that is no moment does not end the process`() async {
        await #expect(processExitsWith: .success) {
            for seconds in [Double.infinity, -.infinity, .nan, 1e300, -1e300, 1e18] {
                let date = Date(timeIntervalSince1970: seconds)
                _ = MultipartPart.data("d", [1], named: date, in: TimeZone(secondsFromGMT: 0)!)
            }
        }
    }

    @Test(arguments: [Double.infinity, .nan, 1e300])
    func `a date that no number can say is refused, not sent as nothing`(seconds: Double) {
        for dates in [FormFieldEncoder.DateStrategy.secondsSince1970, .millisecondsSince1970] {
            let value = ["d": Date(timeIntervalSince1970: seconds)]
            let parts = try? FormFieldEncoder(dates: dates).parts(of: value)
            guard seconds == 1e300, case .secondsSince1970 = dates else {
                #expect(parts == nil, "\(parts.map { "\($0.map(\.content))" } ?? "")")
                continue
            }
        }
    }

    @Test func `a decimal that is no number is refused like any other`() {
        #expect(throws: BodyError.self) { try FormFieldEncoder().parts(of: ["d": Decimal.nan]) }
    }

    @Test func `a secret in a dictionary is as secret as one in a struct`() throws {
        let parts = try FormFieldEncoder(secrets: ["token"]).parts(of: ["token": "t0p-s3cret"])
        #expect(!MultipartForm(parts).curlArguments.lines.joined().contains("t0p-s3cret"))
    }

    @Test func `a nil of a struct is written where that was asked for`() throws {
        struct Order: Encodable { var id = 1; var note: String? }
        let parts = try FormFieldEncoder(nils: .null).parts(of: Order())
        #expect(parts.map(\.name) == ["id", "note"])
    }

    @Test func `a reason why a value is no JSON is in the message`() async throws {
        let error = await #expect(throws: BodyError.self) {
            _ = try await ([.json("META", ["x": Double.nan])] as MultipartForm).prepared()
        }
        #expect(error?.message.lowercased().contains("nan") == true, "\(error?.message ?? "")")
    }

    @Test func `a file called - is a file for curl too`() throws {
        let form: MultipartForm = [.file("F", path: "-")]
        #expect(form.curlArguments.lines.joined().contains("./-"))
    }

    private struct Rendered: PartPreparing {
        func prepare() async throws -> PreparedPart { PreparedPart(content: .bytes([1]), fileName: "a.pdf") }
    }

    @Test func `a part that becomes a file when it is made goes last with the files`() async throws {
        var form: MultipartForm = [.preparing("FILE", with: Rendered()), .text("key", "k")]
        form.order = .filesLast
        #expect(try await form.prepared().parts.map(\.name) == ["key", "FILE"])
    }

    @Test func `check refuses a negative length as prepared does`() async {
        let form: MultipartForm = [Self.endless(-1)]
        await #expect(throws: BodyError.self) { try await form.check(against: FormLimits()) }
    }

    @Test func `100,000 parts take seconds`() async throws {
        let parts = (0..<100_000).map { MultipartPart.text("field\($0)", "\($0)") }
        let body = try await MultipartForm(parts).prepared()
        #expect(body.parts.count == 100_000)
        #expect(body.preview().utf8.count > 100_000)
    }
}
