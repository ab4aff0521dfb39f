import FlyingFox
import Foundation
import WaybillMultipart

/// Receives one form: checks its size, streams it through the parser, and responds with its content.
struct UploadHandler: HTTPHandler {
    let token: String
    let directory: String
    let sizeLimit: Int
    let journal: Journal

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (reply, bytesLeft) = await reply(to: request)
        return try bytesLeft.map { try closing(reply, request, bytesLeft: $0) } ?? reply.response()
    }

    /// Receives the form of a request.
    ///
    /// - Returns: The response, and the largest number of bytes that are left if the body was not read completely.
    func reply(to request: HTTPRequest) async -> (reply: Reply, bytesLeft: Int?) {
        let contentLength = request.headers[.contentLength].flatMap { Int($0) }
        var report = await ArrivalReport(
            to: journal, agent: request.headers[HTTPHeader("User-Agent")] ?? "", total: contentLength)
        if let contentLength, contentLength > sizeLimit {
            let reply = Reply.tooLarge(limit: sizeLimit)
            await report.rejected(reply.message)
            return (reply, contentLength)
        }
        let intake = FormIntake(directory: directory)
        do {
            try await read(request, into: intake, &report)
        } catch {
            intake.discard()
            let reply: Reply =
                switch error {
                case Rejection.tooLarge: .tooLarge(limit: sizeLimit)
                case let error as ReceiverError: .notStored(error)
                case let error as BodyError: .rejected(error)
                default: .malformed(error)
                }
            await report.rejected(reply.message)
            return (reply, (contentLength ?? .max) - report.received)
        }
        guard intake.hasToken(token) else {
            intake.discard()
            await report.rejected(Reply.wrongToken.message)
            return (.wrongToken, nil)
        }
        await report.stored(intake)
        return (.accepted(intake), nil)
    }

    private enum Rejection: Error {
        case tooLarge
    }

    private func read(_ request: HTTPRequest, into intake: FormIntake, _ report: inout ArrivalReport) async throws {
        var parser = try MultipartParser(contentType: request.headers[.contentType] ?? "", limits: MultipartLimits())
        var handler = intake
        report.isWaiting = true
        for try await chunk in request.bodySequence {
            report.isWaiting = false
            guard report.received + chunk.count <= sizeLimit else { throw Rejection.tooLarge }
            try parser.feed([UInt8](chunk).span, to: &handler)
            await report.received(chunk.count, intake)
            report.isWaiting = true
        }
        report.isWaiting = request.bodySequence.count.map { report.received < $0 } ?? false
        try parser.finish()
    }

    /// Returns the response to a request whose body was not read completely.
    private func closing(_ reply: Reply, _ request: HTTPRequest, bytesLeft: Int) throws -> HTTPResponse {
        ClosingBody(response: try reply.json(), rest: request.bodySequence, bytesLeft: bytesLeft)
            .response(reply.status, Reply.headers)
    }
}
