import FlyingFox
import Foundation
import Glibc

/// The unfinished resumable uploads, each in a file with mode 0600, and the responses of those that ended last.
///
/// An upload has one transfer at a time: a newer request takes the upload over, and what the older one still sends is
/// ignored. So a client that continues after a broken connection does not wait for the server to notice it.
actor ResumableUploads {
    struct Upload {
        /// The header fields of the form.
        let headers: HTTPHeaders
        let path: String
        let descriptor: Int32
        /// The time of its removal, unless it is complete before.
        let end: ContinuousClock.Instant
        var length: Int?
        var offset = 0
        /// The number of the transfer that may append.
        var transfer = 0
        /// The response of the form, once the upload is complete.
        var response: Task<HTTPResponse, any Error>?
        /// Whether the response exists and the file is removed.
        var isFinished = false
        var expiry: Task<Void, any Error>?
    }

    /// The directory of the files.
    nonisolated let directory: String
    private let configuration: Receiver.Configuration
    private let forms: UploadHandler
    private var cutPercent: Int?
    private var uploads: [String: Upload] = [:]

    init(_ configuration: Receiver.Configuration, forms: UploadHandler) throws {
        self.configuration = configuration
        self.forms = forms
        cutPercent = configuration.cutPercent
        directory = try StoredFile.makeDirectory()
    }

    /// Creates an upload with the header fields of its form, and returns its unguessable name.
    func create(_ headers: HTTPHeaders, length: Int?) throws -> String {
        if uploads.count >= configuration.maxUnfinished {
            let finished = uploads.filter(\.value.isFinished).min { $0.value.end < $1.value.end }
            guard let finished else { throw Rejection(.serviceUnavailable, fields: [.retryAfter: "10"]) }
            remove(finished.key)
        }
        let name = RandomName.make()
        let path = "\(directory)/\(name)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ReceiverError("Creating a file in \(directory) failed: errno \(errno).") }
        let end = ContinuousClock.now + configuration.unfinishedLifetime
        uploads[name] = Upload(headers: headers, path: path, descriptor: descriptor, end: end, length: length)
        expire(name, after: configuration.unfinishedLifetime)
        return name
    }

    /// Ends the transfer of an upload, so that its offset is final, and starts a new one.
    func claim(_ name: String) -> Upload? {
        uploads[name]?.transfer += 1
        return uploads[name]
    }

    /// Sets the length of an upload, which the last request declares at the latest.
    func setLength(_ length: Int, of name: String) { uploads[name]?.length = length }

    /// Appends bytes at the offset of an upload.
    func append(_ bytes: Data, to name: String, transfer: Int) throws {
        let upload = try current(name, transfer)
        let cut = cutPercent.flatMap { percent in upload.length.map { $0 * percent / 100 } } ?? .max
        let accepted = bytes.prefix(max(0, cut - upload.offset))
        try StoredFile.write([UInt8](accepted).span, to: upload.descriptor)
        uploads[name]?.offset += accepted.count
        if upload.offset + bytes.count >= cut {
            cutPercent = nil
            throw Hangup()
        }
    }

    /// Completes an upload: handles its form as that of an ordinary request. The response is kept for a while.
    func complete(_ name: String, transfer: Int) throws -> Task<HTTPResponse, any Error> {
        let upload = try current(name, transfer)
        guard upload.offset == upload.length ?? upload.offset else { throw Rejection.inconsistentLength }
        close(upload.descriptor)
        upload.expiry?.cancel()
        let task = Task {
            var headers = upload.headers
            headers[.contentLength] = "\(upload.offset)"
            let body = try HTTPBodySequence(file: URL(filePath: upload.path), suggestedBufferSize: 65_536)
            let form = HTTPRequest(
                method: .POST, version: .http11, path: "/upload", query: [], headers: headers, body: body)
            defer { finished(name) }
            var response = try await forms.reply(to: form).reply.response()
            response.headers[.uploadComplete] = "?1"
            return response
        }
        uploads[name]?.response = task
        uploads[name]?.length = upload.offset
        return task
    }

    /// Removes an upload and its file, and returns whether there was one.
    @discardableResult
    func remove(_ name: String) -> Bool {
        guard let upload = uploads.removeValue(forKey: name) else { return false }
        upload.expiry?.cancel()
        if upload.response == nil { close(upload.descriptor) }
        unlink(upload.path)
        return true
    }

    /// Removes all uploads and the directory.
    func removeAll() {
        for name in uploads.keys { remove(name) }
        rmdir(directory)
    }

    private func current(_ name: String, _ transfer: Int) throws -> Upload {
        guard let upload = uploads[name] else { throw Rejection(.notFound) }
        // A newer request has taken the upload over.
        guard upload.transfer == transfer, upload.response == nil else { throw Hangup() }
        return upload
    }

    private func finished(_ name: String) {
        guard let upload = uploads[name] else { return }
        unlink(upload.path)
        uploads[name]?.isFinished = true
        expire(name, after: configuration.responseLifetime)
    }

    private func expire(_ name: String, after lifetime: Duration) {
        uploads[name]?.expiry?.cancel()
        uploads[name]?.expiry = Task { [weak self] in
            try await Task.sleep(for: lifetime)
            await self?.remove(name)
        }
    }
}
