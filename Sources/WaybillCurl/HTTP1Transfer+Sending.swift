import WaybillCore

/// Writes the request.
extension HTTP1Transfer {
    /// Sends the buffer, after filling it if it is empty.
    ///
    /// - Returns: Whether the transfer continues.
    func sendBuffered(_ http: HTTP1Connection) -> Bool {
        guard http.isWritable else { return true }
        if output == .sending, buffer?.isEmpty == true, delayedUntil == nil {
            if sendFile(http) { return true }
            counter.align()
            fillBuffer()
            if engineFailure != nil { return false }
        }
        while let buffer, !buffer.isEmpty, http.isWritable {
            let unsent = unsafe buffer.unsent
            switch unsafe http.send(unsent) {
            case .bytes(let count):
                counter.add(body: buffer.removeFirst(count), total: count)
                if count < unsent.count { http.isWritable = false }
            case .wouldBlock: http.isWritable = false
            case .end: abandonOutput("The connection is closed.", http)
            case .failed(let detail): abandonOutput(detail, http)
            }
        }
        awaitContinue()
        guard output == .complete, buffer?.isEmpty == true else { return true }
        releaseBuffer()
        return !parser.isComplete
    }

    /// The peer does not read any more. It may have responded before: what it sent is still in the socket.
    private func abandonOutput(_ detail: String, _ http: HTTP1Connection) {
        outputError = detail
        output = .abandoned
        http.isWritable = false
        http.isReadable = true
        http.isHangup = true
        releaseBuffer()
    }

    func releaseBuffer() {
        if let buffer { engine?.buffers.put(buffer) }
        buffer = nil
    }

    /// Reads bytes of the body into the buffer, as many as are available and permitted.
    func fillBuffer() {
        guard let buffer, feed != nil else { return }
        endDelay()
        while true {
            guard let allowed = pacer.rate == nil ? Int.max : pacedAllowance() else { return }
            let overhead = feed!.length == nil ? OutputBuffer.chunkOverhead : 0
            guard let room = readable(min(buffer.freeSpace - overhead, allowed)), room > 0 else { return }
            let result =
                feed!.length == nil
                ? unsafe buffer.appendChunk(atMost: room) { unsafe feed!.fill($0) }
                : unsafe buffer.appendBody(atMost: room) { unsafe feed!.fill($0) }
            switch result {
            case .bytes(0):
                endOutput()
                return
            case .bytes(let count):
                pacer.consume(count)
                if feed!.length == feed!.bytesRead { return endOutput() }
                if feed!.length == nil { return }
            case .pause: return
            case .abort:
                let failure = feed?.failure
                engineFailure = Failure(
                    .bodyFailed, "The body can't be read: \(failure.map { "\($0)" } ?? "")".sentence, cause: failure)
                return
            }
        }
    }

    /// The body was read to its end. The buffer may still hold bytes.
    private func endOutput() {
        if feed?.length == nil { buffer?.append(Array("0\r\n\r\n".utf8)) }
        if feed?.isAtEnd == true { output = .complete }
    }

    // MARK: - sendfile

    /// Sends bytes of a file directly from the page cache.
    ///
    /// - Returns: Whether nothing has to be read now.
    private func sendFile(_ http: HTTP1Connection) -> Bool {
        guard direct.isAllowed, pacer.rate == nil, let socket = http.plainSocket, let length = feed?.length else {
            return false
        }
        let room = DirectSend.sendableCount(bytesRead: feed!.bytesRead, of: length)
        guard room > 0, let count = feed!.send(upTo: room, into: socket) else { return false }
        if count > 0 {
            direct.recordSend(end: feed!.bytesRead)
            http.addWritten(count)
            counter.add(body: count, total: count)
        }
        if count == 0 { http.isWritable = false }
        return true
    }

    /// Returns how many of the given number of bytes may be read now, or `nil` if the end of the body waits until the
    /// directly sent bytes are acknowledged.
    private func readable(_ most: Int) -> Int? {
        guard direct.unacknowledgedEnd != nil, let length = feed?.length else { return most }
        let room = direct.readable(bytesRead: feed!.bytesRead, of: length, upTo: most) { counter.acknowledgedBody }
        guard room == 0 else { return room }
        delayBody(until: .now + direct.nextPollDelay())
        return nil
    }
}
