import FlyingFox
import Foundation
import WaybillMultipart

/// Takes one form: checks its size, streams it through the parser, answers with what was found.
struct UploadHandler: HTTPHandler {
    let token: String
    let directory: String
    let sizeLimit: Int

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let announced = request.headers[.contentLength].flatMap { Int($0) }
        if let announced, announced > sizeLimit {
            return try closing(.tooLarge(limit: sizeLimit), request, bytesLeft: announced)
        }
        let intake = FormIntake(directory: directory)
        var received = 0
        do {
            var parser = try MultipartParser(
                contentType: request.headers[.contentType] ?? "", limits: MultipartLimits())
            var handler = intake
            for try await chunk in request.bodySequence {
                received += chunk.count
                guard received <= sizeLimit else { throw Refusal.tooLarge }
                try parser.feed([UInt8](chunk).span, to: &handler)
            }
            try parser.finish()
        } catch {
            intake.discard()
            let reply: Reply =
                switch error {
                case Refusal.tooLarge: .tooLarge(limit: sizeLimit)
                case let error as ReceiverError: .notStored(error)
                default: .malformed(error)
                }
            return try closing(reply, request, bytesLeft: (announced ?? .max) - received)
        }
        return try answer(intake)
    }

    private enum Refusal: Error {
        case tooLarge
    }

    private func answer(_ intake: FormIntake) throws -> HTTPResponse {
        guard intake.holds(token: token) else {
            intake.discard()
            return try Reply.wrongToken.response()
        }
        return try Reply.accepted(intake).response()
    }

    /// Answers a request whose body was not read to its end.
    private func closing(_ reply: Reply, _ request: HTTPRequest, bytesLeft: Int) throws -> HTTPResponse {
        let body = try reply.json()
        let sequence = FarewellBody(answer: body, rest: request.bodySequence, bytesLeft: bytesLeft)
        return HTTPResponse(
            statusCode: reply.status, headers: [.contentType: "application/json", .connection: "close"],
            body: HTTPBodySequence(from: sequence, count: body.count))
    }
}
