import TestSupport
import HTTPTypes
import Testing
import Waybill
import WaybillTesting

/// The assertions on a recorded form.
@Suite(.timeLimit(.minutes(Slowness.factor))) struct RecordedFormTests {
    private let form: MultipartForm = [
        .text("TOKEN", .secret("s3cr3t")), .text("BUSINESSNO", "20260117-0042"), .text("TAG", "a"), .text("TAG", "b"),
        .data("FILE", [0xFF, 0xD8, 1, 2], fileName: "IDFrontImage.jpg", contentType: "image/jpeg"),
    ]

    private func sent(_ script: TransferScript = .responding(), keepsBodies: Bool = true) async throws
        -> RecordedTransfer
    {
        let transport = ScriptedTransport(script, keepsBodies: keepsBodies)
        var configuration = UploadSession.Configuration()
        configuration.options.retry = .none
        let session = UploadSession(configuration: configuration, transport: transport)
        _ = try? await session.upload(form, to: "http://backend.example/upload")
        return try #require(transport.transfers.first)
    }

    private func failure(_ look: () throws -> some Any) -> TestingError? {
        do {
            _ = try look()
            return nil
        } catch {
            return error as? TestingError
        }
    }

    @Test func `the parts of a form are returned by name`() async throws {
        let form = try await sent().form()
        #expect(form.names == ["TOKEN", "BUSINESSNO", "TAG", "TAG", "FILE"])
        #expect(try form.text("TOKEN") == "s3cr3t")
        #expect(try form.text("BUSINESSNO") == "20260117-0042")
        #expect(try form.parts(named: "TAG").map { try $0.text } == ["a", "b"])
        let file = try form.part("FILE")
        #expect(file.fileName == "IDFrontImage.jpg")
        #expect(file.contentType == "image/jpeg")
        #expect(file.bytes == [0xFF, 0xD8, 1, 2])
        #expect(file.headers.map(\.name) == ["Content-Disposition", "Content-Type"])
        #expect(form.parts(named: "OTHER").isEmpty)
    }

    @Test func `a missing part is reported with the existing ones and without content`() async throws {
        let form = try await sent().form()
        let missing = #expect(throws: TestingError.self) { try form.part("FILES") }
        #expect(missing?.code == .noSuchPart)
        let text = try #require(missing).description
        #expect(text.contains("no part \"FILES\""))
        #expect(text.contains("FILE (file \"IDFrontImage.jpg\", image/jpeg, 4 bytes)"))
        #expect(text.contains("TOKEN (6 bytes)"))
        var dumped = ""
        dump(form, to: &dumped)
        for printed in [text, "\(form)", "\(form.parts)", dumped] { #expect(!printed.contains("s3cr3t")) }

        #expect(failure { try form.part("TAG") }?.code == .severalParts)
        #expect(failure { try form.text("TAG") }?.code == .severalParts)
        #expect(failure { try form.text("FILE") }?.code == .notText)
    }

    @Test func `an incomplete form is reported with the bytes received`() async throws {
        let transfer = try await sent(.breaking(after: 100))
        let error = #expect(throws: TestingError.self) { try transfer.form() }
        #expect(error?.code == .notAForm)
        #expect(error?.message.contains("received only 100 of") == true)
    }

    @Test func `a body that was not kept differs from one that is not a form`() async throws {
        let unkept = try await sent(keepsBodies: false)
        #expect(failure { try unkept.form() }?.code == .bodyNotKept)

        let transport = ScriptedTransport(.responding())
        let session = UploadSession(configuration: .init(), transport: transport)
        _ = try await session.upload(.data([1, 2, 3]), to: "http://backend.example/upload")
        let raw = try #require(transport.transfers.first)
        #expect(failure { try raw.form() }?.code == .notAForm)

        let error = #expect(throws: TestingError.self) {
            try RecordedForm(body: Array("--b\r\n".utf8), contentType: "multipart/form-data; boundary=b")
        }
        #expect((error?.cause as? BodyError)?.code == .truncatedBody)
    }
}
