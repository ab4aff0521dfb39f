extension ResumableServer.State {
    typealias Server = ResumableServer

    // MARK: Requests

    /// Records a request and returns what applies to it.
    mutating func enter(_ call: Server.Call) -> (number: Int, plan: Server.Plan) {
        let occurrence = counts[call.kind, default: 0] + 1
        counts[call.kind] = occurrence
        let plan = Server.Plan(
            rules.filter { $0.kind == call.kind && $0.occurrence.contains(occurrence) }.map(\.fault))
        if let status = plan.forgetStatus, let id = call.uploadID { forget(id, status: status) }
        let number = requests.count
        requests.append(
            Server.Request(
                number: number, kind: call.kind, occurrence: occurrence, dialect: call.dialect, method: call.method,
                path: call.path, upload: call.uploadID, head: call.request, claimedOffset: call.offset,
                claimedLength: call.length, saysComplete: call.completes))
        inFlight += 1
        return (number, plan)
    }

    /// Ends a request.
    mutating func leave(_ number: Int, status: Int?, isWhole: Bool) {
        guard !requests[number].isOver else { return }
        requests[number].isOver = true
        requests[number].status = status
        requests[number].isBodyComplete = isWhole
        inFlight -= 1
        // A transfer that still exists was cut.
        if let transfer = transfers[number], transfer.vanishes, let index = transfer.upload {
            forget(uploads[index].id, status: 404)
        }
        release(number)
    }

    /// Ends the transfer of a request.
    mutating func release(_ number: Int) {
        buffers[number] = nil
        guard let transfer = transfers.removeValue(forKey: number), let index = transfer.upload else { return }
        if uploads[index].owner == number { uploads[index].owner = nil }
    }

    // MARK: Uploads

    func index(of id: String) -> Int? {
        guard let number = Int(id), uploads.indices.contains(number - 1), uploads[number - 1].id == id else {
            return nil
        }
        return number - 1
    }

    /// Creates an upload and returns its index.
    mutating func create(_ call: Server.Call, _ dialect: Server.Dialect, _ settings: Server.Settings, _ number: Int)
        -> Int
    {
        let id = "\(uploads.count + 1)"
        uploads.append(
            Server.Upload(
                id: id, path: settings.uploadPrefix + id, dialect: dialect, creation: call.request,
                method: call.method, content: Server.Content(keeps: settings.keepsBodies)))
        requests[number].upload = id
        return uploads.count - 1
    }

    /// Makes an upload inaccessible.
    mutating func forget(_ id: String, status: Int) {
        guard let index = index(of: id) else { return }
        uploads[index].isForgotten = true
        uploads[index].goneStatus = status
    }

    /// Ends an older transfer of an upload, so that a later request takes precedence.
    mutating func evict(from index: Int, by number: Int) {
        guard let owner = uploads[index].owner else { return }
        requests[owner].wasEvicted = true
        requests[number].overlaps = true
        uploads[index].owner = nil
    }

    // MARK: Content

    /// Starts the transfer of the content of a request.
    mutating func begin(_ transfer: Server.Transfer, _ number: Int, keeps: Bool) {
        transfers[number] = transfer
        buffers[number] = Server.Content(keeps: keeps || transfer.isStaged)
        if let index = transfer.upload {
            uploads[index].owner = number
            transfers[number]!.reported = uploads[index].offset
        }
    }

    /// Takes content bytes of a request.
    mutating func take(_ bytes: [UInt8], _ number: Int) {
        requests[number].bodyBytes += bytes.count
        guard let transfer = transfers[number] else { return }
        let kept = bytes.prefix(max(0, transfer.keeps - transfer.received))
        transfers[number]!.received += bytes.count
        guard let index = transfer.upload, !transfer.isStaged else {
            buffers[number]!.append(kept)
            return
        }
        guard uploads[index].owner == number else { return }
        store(kept, transfer.limit, in: index, number)
    }

    /// Stores the content of a request that is stored only as a whole.
    mutating func storeStaged(_ number: Int) {
        guard let transfer = transfers[number], let index = transfer.upload, transfer.isStaged,
            let bytes = buffers[number]?.bytes
        else { return }
        store(bytes[...], transfer.limit, in: index, number)
    }

    private mutating func store(_ bytes: ArraySlice<UInt8>, _ limit: Int, in index: Int, _ number: Int) {
        let room = max(0, limit - uploads[index].offset)
        if bytes.count > room { transfers[number]?.isExceeded = true }
        uploads[index].content.append(bytes.prefix(room))
        if uploads[index].dialect == .tus { completeIfWhole(index) }
    }

    // MARK: Completion

    /// Completes an upload of tus when its offset reaches its length, which is independent of the end of the request.
    mutating func completeIfWhole(_ index: Int) {
        guard !uploads[index].isComplete, uploads[index].length == uploads[index].offset else { return }
        uploads[index].isComplete = true
        if uploads[index].part != .partial { applicationRuns.append(run(of: index)) }
    }

    /// Returns the representation of an upload for the application.
    func run(of index: Int) -> Server.Run {
        let upload = uploads[index]
        return Server.Run(
            upload: upload.id, dialect: upload.dialect, method: upload.method, creation: upload.creation,
            metadata: upload.metadata, content: upload.content)
    }
}
