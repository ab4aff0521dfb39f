import BenchDriver
import Glibc
import Waybill
import WaybillCore

/// Measures the session without a network: its transport reads the body and responds immediately, on the thread that
/// starts the attempt.
enum SessionAlone {
    /// The content of a measured upload: the five text fields of all drivers, and a part that the case names.
    enum Source: String {
        /// No other part.
        case texts
        /// The bytes of the file.
        case data
        /// The file, of which nothing is read.
        case inspected
        /// The file, read and checked.
        case file

        var isRead: Bool { self == .file }
    }

    static func run(_ source: Source, path: String, count: Int, isWatched: Bool) async throws {
        let session = UploadSession(transport: ImmediateTransport(readsBody: source.isRead))
        let form = try form(source, path: path)
        for _ in 0..<count {
            let response =
                isWatched
                ? try await session.upload(form, to: "http://127.0.0.1:8080/upload") { progress in
                    precondition(progress.acknowledged <= progress.sent)
                }
                : try await session.upload(form, to: "http://127.0.0.1:8080/upload")
            guard response.status == .ok else { throw UnexpectedResponse(text: response.text) }
        }
    }

    private static func form(_ source: Source, path: String) throws -> MultipartForm {
        var form = MultipartForm()
        for field in DriverForm.fields { form.append(.text(field.name, field.value)) }
        switch source {
        case .texts: break
        case .data: form.append(.data("FILE", try ParserRun.contents(path), fileName: "file.bin"))
        case .inspected, .file: form.append(.file("FILE", path: path))
        }
        return form
    }
}

/// A transport that reads the body and responds before `start` returns.
private struct ImmediateTransport: UploadTransport {
    let readsBody: Bool

    func start(_ request: TransferRequest, sink: any TransferSink) -> any TransferControl {
        sink.transfer(.connected(TransferConnection(isReused: true, peerAddress: "127.0.0.1", peerPort: 8080)))
        let length = request.body?.length ?? 0
        if readsBody, let body = request.body { read(body) }
        if sink.wantsProgress {
            sink.transfer(.progress(TransferProgress(sent: length, acknowledged: length, accuracy: .exact)))
        }
        sink.transfer(.bodyAcknowledged)
        let head = HTTPResponse(status: .ok)
        sink.transfer(.responseHead(head))
        let counters = TransferCounters(
            announced: length, sent: length, acknowledged: length, isBodyComplete: true, sawResponseHead: true)
        sink.transfer(
            .ended(TransferEnd(result: .success(TransferResponse(head: head)), evidence: counters)))
        return NoControl()
    }

    private func read(_ body: any UploadBody) {
        do {
            let reader = try body.makeReader {}
            defer { reader.close() }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            var isComplete = false
            while !isComplete {
                isComplete = try buffer.withUnsafeMutableBytes { bytes in
                    var output = OutputRawSpan(buffer: bytes, initializedCount: 0)
                    let result = try reader.read(into: &output)
                    _ = output.finalize(for: bytes)
                    if result == .later { usleep(50) }
                    return result == .end
                }
            }
        } catch {
            preconditionFailure("\(error)")
        }
    }

    private struct NoControl: TransferControl {
        func cancel() {}
        func pause() {}
        func resume() {}
        func limit(to rate: ByteCount?) {}
    }
}
