import Hummingbird
import NIOCore
import Waybill

/// Takes forms and sends their files on, each as the part of a form of its own, while they still arrive.
///
/// No byte is kept: the part is read as fast as the other server takes it, and whoever sends us the form is slowed down
/// to that. Memory is the same for a kilobyte and for a gigabyte.
struct Forwarder: Sendable {
    let target: String
    let session = UploadSession.shared

    var router: Router<BasicRequestContext> {
        let router = Router()
        router.post("/forward") { request, _ in try await forward(request) }
        return router
    }

    private func forward(_ request: Request) async throws -> Response {
        var lines: [String] = []
        do {
            let form = try IncomingForm(
                request.body.map { $0.readableBytesView }, contentType: request.headers[.contentType] ?? "")
            for try await part in form where part.fileName != nil {
                let answer = try await session.upload(outgoing(part), to: target)
                lines.append("\(part.name): \(answer.status) \(answer.text)")
            }
        } catch let error as BodyError {
            return Self.text("\(error)\n", .badRequest)
        } catch let error as UploadError {
            // The part may have failed us and not the target: what was sent so far has no closing boundary.
            return Self.text("\(error)\n", .badGateway)
        }
        return Self.text(lines.map { $0 + "\n" }.joined(), .ok)
    }

    private func outgoing(_ part: IncomingPart) -> MultipartForm {
        var form: MultipartForm = [
            .stream(
                "FILE", part.chunks, length: nil, fileName: part.head.safeFileName ?? "unnamed",
                contentType: part.contentType)
        ]
        // How long the part is, nobody knows before its end: sent chunked, not spilled to a disk.
        form.unknownLength = .chunked
        return form
    }

    private static func text(_ text: String, _ status: Hummingbird.HTTPResponse.Status) -> Response {
        Response(status: status, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
