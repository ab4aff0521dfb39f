import CWaybillCurl
import WaybillCore

extension CurlTransfer {
    /// Sends bytes directly to the socket, if libcurl has no unsent bytes.
    ///
    /// - Returns: The number of bytes that may be given to libcurl now.
    func sendDirectly(_ most: Int) -> Int {
        guard direct.isAllowed, let length = feed?.length, let socket = probe?.socket else { return most }
        let given = feed!.bytesRead - feed!.sentDirectly
        guard given > 0 else { return min(most, DirectSend.initialBytes) }
        let few = min(most, DirectSend.libcurlShare(ofBuffer: most))
        guard given == easy!.offset(CURLINFO_SIZE_UPLOAD_T) else { return feed!.sentDirectly > 0 ? few : most }
        let room = DirectSend.sendableCount(bytesRead: feed!.bytesRead, of: length)
        guard let count = feed!.send(upTo: room, into: socket) else { return most }
        if count > 0 { direct.recordSend(end: feed!.bytesRead) }
        return few
    }

    /// Returns how many of the given number of bytes may be read now, or `nil` if the caller must ask again at
    /// ``delayedUntil``, because the end of the body waits until the directly sent bytes are acknowledged.
    func readable(_ most: Int) -> Int? {
        guard direct.unacknowledgedEnd != nil, let length = feed?.length else { return most }
        let room = direct.readable(bytesRead: feed!.bytesRead, of: length, upTo: most) { acknowledged }
        guard room == 0 else { return room }
        delayBody(until: .now + direct.nextPollDelay())
        return nil
    }

    /// Called when a response begins. By default, libcurl ends the body and the connection on an error status of the
    /// server while a body is being sent, and it does not know that a partly directly sent body is complete.
    func responseDidBegin() {
        guard let feed, feed.sentDirectly > 0, isBodySent(uploaded) else { return }
        easy!.set(CURLOPT_KEEP_SENDING_ON_ERROR, true)
    }

    /// Returns whether the body must not be read yet. True once for each request on a reused connection that
    /// ``needsOwnSegments``: libcurl writes the head when the read callback pauses.
    func waitsForHead() -> Bool {
        guard delaysBody else { return false }
        delaysBody = false
        delayBody(until: .now)
        return true
    }

    /// Whether the body must wait until the head was sent, so that they are sent in two segments (decision 0003). A
    /// longer body fills several segments anyway, and a request that expects 100-continue waits in any case.
    var needsOwnSegments: Bool {
        CurlLibrary.joinsHeadAndBody && probe != nil && !expectsContinue && (feed?.length ?? 0) <= 64 << 10
    }

    /// The number of body bytes that the peer has acknowledged; `nil` if the kernel does not report it.
    private var acknowledged: Int64? {
        guard let sample = probe?.sample() else { return nil }
        return uploaded - Int64(sample.pending)
    }
}
