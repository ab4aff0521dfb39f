import CWaybillCurl
import WaybillCore

extension CurlTransfer {
    /// Sends what it can past libcurl, if that holds nothing at this moment.
    ///
    /// - Returns: How many bytes libcurl may be given now.
    func sendDirectly(_ most: Int) -> Int {
        guard direct.isOpen, let length = feed?.length, let socket = probe?.socket else { return most }
        let given = feed!.handedOver - feed!.sentDirectly
        guard given > 0 else { return min(most, DirectSend.first) }
        let few = min(most, DirectSend.between(buffer: most))
        guard given == easy!.offset(CURLINFO_SIZE_UPLOAD_T) else { return feed!.sentDirectly > 0 ? few : most }
        let room = DirectSend.room(handedOver: feed!.handedOver, of: length)
        guard let count = feed!.send(upTo: room, into: socket) else { return most }
        if count > 0 { direct.note(end: feed!.handedOver) }
        return few
    }

    /// How many of so many bytes may be read now; `nil` when it has to be asked again at ``heldUntil``, for the end of the body
    /// waits until what went past libcurl is acknowledged.
    func readable(_ most: Int) -> Int? {
        guard direct.unsettledEnd != nil, let length = feed?.length else { return most }
        let room = direct.readable(handedOver: feed!.handedOver, of: length, upTo: most) { acknowledged }
        guard room == 0 else { return room }
        hold(until: .now + direct.wait())
        return nil
    }

    /// An error of the server's ends a body under way, and its connection, unless libcurl is told otherwise. Of a body that went
    /// past it, it does not know that it is complete.
    func noteAnswer() {
        guard let feed, feed.sentDirectly > 0, isHandedOver(uploaded) else { return }
        easy!.set(CURLOPT_KEEP_SENDING_ON_ERROR, true)
    }

    /// Whether the body is not read yet, once for each request on a reused connection that ``needsOwnSegments``: libcurl writes
    /// the head when it gets a pause in place of the body.
    func waitsForHead() -> Bool {
        guard holdsBody else { return false }
        holdsBody = false
        hold(until: .now)
        return true
    }

    /// Whether the body must wait until the head has left, so that they leave as two segments (decision 0003). A longer body
    /// has several segments of its own, and a request that expects 100-continue waits in any case.
    var needsOwnSegments: Bool {
        CurlLibrary.joinsHeadAndBody && probe != nil && !asksLeave && (feed?.length ?? 0) <= 64 << 10
    }

    /// How many bytes of the body the peer has acknowledged; `nil` where the kernel does not say.
    private var acknowledged: Int64? {
        guard let sample = probe?.sample() else { return nil }
        return uploaded - Int64(sample.pending)
    }
}
