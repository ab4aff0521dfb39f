import FlyingFox
import Foundation
import WaybillMultipart

/// Takes one form: checks its size, streams it through the parser, answers with what was found.
struct UploadHandler: HTTPHandler {
    let token: String
    let directory: String
    let sizeLimit: Int
    let journal: Journal

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        var report = await ArrivalReport(
            to: journal, agent: request.headers[HTTPHeader("User-Agent")] ?? "", total: announced)
        if let announced, announced > sizeLimit {
            let reply = Reply.tooLarge(limit: sizeLimit)
            await report.refused(reply.message)
            return try closing(reply, request, bytesLeft: announced)
        }
        let intake = FormIntake(directory: directory)
        do {
            try await read(request, into: intake, &report)
        } catch {
            intake.discard()
            let reply: Reply =
                switch error {
                case Refusal.tooLarge: .tooLarge(limit: sizeLimit)
                case let error as ReceiverError: .notStored(error)
                case let error as BodyError: .refused(error)
                default: .malformed(error)
                }
            await report.refused(reply.message)
            return try closing(reply, request, bytesLeft: (announced ?? .max) - report.received)
        }
        guard intake.holds(token: token) else {
            intake.discard()
            await report.refused(Reply.wrongToken.message)
            return try Reply.wrongToken.response()
        }
        await report.stored(intake)
        return try Reply.accepted(intake).response()
    }

    private enum Refusal: Error {
        case tooLarge
    }

    private func read(_ request: HTTPRequest, into intake: FormIntake, _ report: inout ArrivalReport) async throws {
        var parser = try MultipartParser(contentType: request.headers[.contentType] ?? "", limits: MultipartLimits())
        var handler = intake
        report.isWaiting = true
        for try await chunk in request.bodySequence {
            report.isWaiting = false
            guard report.received + chunk.count <= sizeLimit else { throw Refusal.tooLarge }
            try parser.feed([UInt8](chunk).span, to: &handler)
            await report.received(chunk.count, intake)
            report.isWaiting = true
        }
        report.isWaiting = request.bodySequence.count.map { report.received < $0 } ?? false
        try parser.finish()
    }

    /// Answers a request whose body was not read to its end.
    private func closing(_ reply: Reply, _ request: HTTPRequest, bytesLeft: Int) throws -> HTTPResponse {
        let body = try reply.json()
        let sequence = FarewellBody(answer: body, rest: request.bodySequence, bytesLeft: bytesLeft)
        var headers = Reply.headers
        headers[.connection] = "close"
        return HTTPResponse(
            statusCode: reply.status, headers: headers, body: HTTPBodySequence(from: sequence, count: body.count))
    }
}
