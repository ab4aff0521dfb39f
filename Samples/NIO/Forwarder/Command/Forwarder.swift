import Hummingbird
import NIOCore
import Waybill

/// Receives forms and forwards each file as a part of another form while it arrives.
///
/// Nothing is stored: a part is read as fast as the target accepts it, and back pressure slows the client down to that.
/// Memory is constant, whatever the size of the part.
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
                let response = try await session.upload(outgoing(part), to: target)
                lines.append("\(part.name): \(response.status) \(response.text)")
            }
        } catch let error as BodyError {
            return Self.text("\(error)\n", .badRequest)
        } catch let error as UploadError {
            // Also if the incoming part failed: the outgoing body then lacks its closing boundary.
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
        // The length is unknown until the part ends: send it chunked instead of spooling it to the disk.
        form.unknownLength = .chunked
        return form
    }

    private static func text(_ text: String, _ status: Hummingbird.HTTPResponse.Status) -> Response {
        Response(status: status, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
