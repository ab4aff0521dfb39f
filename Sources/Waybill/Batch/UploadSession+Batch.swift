import WaybillMultipart

extension UploadSession {
    /// Starts uploads of many items and returns the handle of all at once.
    ///
    /// ```swift
    /// let batch = session.startBatch(of: files.lazy.filter(\.isNew)) { file in
    ///     UploadRequest(.put, "https://bucket.example/\(file.name)", content: .file(path: file.path))
    /// }
    /// ```
    ///
    /// Items are taken from the sequence when it is their turn, one after the other, on a task of the batch; a sequence that
    /// blocks, blocks a thread of Swift's pool.
    ///
    /// - Parameters:
    ///   - items: The items. It may be lazy and as long as you like.
    ///   - options: What happens when one fails, and how many are on their way at once.
    ///   - request: Makes the request of an item, when it is its turn. What it throws is the failure of that item.
    /// - Returns: The handle of all.
    public func startBatch<Items: Sequence & SendableMetatype>(
        of items: sending Items, options: UploadBatchOptions = UploadBatchOptions(),
        request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) -> UploadBatch<Items.Element> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        start(items, batchRun(options, count: nil), request)
    }

    /// Starts uploads of many items whose number is known, and returns the handle of all at once.
    public func startBatch<Items: RandomAccessCollection & SendableMetatype>(
        of items: sending Items, options: UploadBatchOptions = UploadBatchOptions(),
        request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) -> UploadBatch<Items.Element> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        let run: Run<Items.Element> = batchRun(options, count: items.count)
        return start(items, run, request)
    }

    /// Starts many requests and returns the handle of all at once.
    public func startBatch<Requests: Sequence & SendableMetatype>(
        of requests: sending Requests, options: UploadBatchOptions = UploadBatchOptions()
    ) -> UploadBatch<UploadRequest> where Requests.Element == UploadRequest, Requests.Iterator: SendableMetatype {
        start(requests, batchRun(options, count: nil)) { $0 }
    }

    /// Starts many requests whose number is known, and returns the handle of all at once.
    public func startBatch<Requests: RandomAccessCollection & SendableMetatype>(
        of requests: sending Requests, options: UploadBatchOptions = UploadBatchOptions()
    ) -> UploadBatch<UploadRequest>
    where Requests.Element == UploadRequest, Requests.Iterator: SendableMetatype {
        // Elements of other collections may be made anew each time they are asked for.
        let measure = (requests as? [UploadRequest]).map { requests -> BatchMeasure in
            { await Self.lengths(of: requests) { $0 } }
        }
        let run: Run<UploadRequest> = batchRun(options, count: requests.count, measure: measure)
        return start(requests, run) { $0 }
    }

    /// Starts uploads of items that come with time, and returns the handle of all at once.
    ///
    /// The next item is awaited only when there is room for it. An error of the sequence ends the batch, once what is on its
    /// way has ended: ``BatchSummary/sourceError``.
    public func startBatch<Items: AsyncSequence & SendableMetatype>(
        of items: sending Items, options: UploadBatchOptions = UploadBatchOptions(),
        request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) -> UploadBatch<Items.Element> where Items.Element: Sendable, Items.AsyncIterator: SendableMetatype {
        let run: Run<Items.Element> = batchRun(options, count: nil)
        let ask = ask(request)
        Task {
            var source = items.makeAsyncIterator()
            await run.drive(&source, ask)
        }
        return UploadBatch(run: run)
    }

    /// Uploads many items and waits for all.
    ///
    /// Cancelling the surrounding task cancels the batch. The results of all are kept in memory; for very many items, read them
    /// from `startBatch(of:options:request:)` as they come.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - options: What happens when one fails, and how many are on their way at once.
    ///   - onProgress: Called with snapshots, at most about twenty a second, the last one included.
    ///   - request: Makes the request of an item, when it is its turn. What it throws is the failure of that item.
    /// - Returns: What became of each item that was taken, in the order of the source. Nothing is thrown: look at each.
    public func uploadAll<Items: Collection & SendableMetatype>(
        _ items: sending Items, options: UploadBatchOptions = UploadBatchOptions(),
        onProgress: (@Sendable (UploadBatchProgress) -> Void)? = nil,
        request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) async -> [BatchResult<Items.Element, UploadResponse, UploadError>]
    where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        let run: Run<Items.Element> = batchRun(options, count: items.count)
        // Before the first item is taken, so that no result is dropped for want of a reader.
        let reader = BatchReader(run: run)
        let batch = start(items, run, request)
        return await withTaskCancellationHandler {
            // In a task that is not cancelled: the results of cancelled items are returned, too.
            await Task {
                async let watched: Void = Self.watch(batch, onProgress)
                var results: [BatchResult<Items.Element, UploadResponse, UploadError>] = []
                while let result = await reader.run.nextResult() { results.append(result) }
                await watched
                return results.sorted { $0.index < $1.index }
            }.value
        } onCancel: {
            batch.cancel()
        }
    }

    /// Starts uploads of items whose sizes are looked at with the first listener to the progress.
    package func startMeasuredBatch<Item: Sendable>(
        of items: [Item], options: UploadBatchOptions = UploadBatchOptions(),
        request: @escaping @Sendable (Item) throws -> UploadRequest
    ) -> UploadBatch<Item> {
        let run: Run<Item> = batchRun(options, count: items.count) {
            await Self.lengths(of: items, request)
        }
        return start(items, run, request)
    }

    private static func lengths<Item: Sendable>(
        of items: [Item], _ request: @Sendable (Item) throws -> UploadRequest
    ) async -> [ExpectedLength?] {
        var lengths: [ExpectedLength?] = []
        lengths.reserveCapacity(items.count)
        for item in items {
            guard !Task.isCancelled else { break }
            lengths.append(await (try? request(item))?.content.expectedLength())
        }
        return lengths
    }

    private typealias Run<Item: Sendable> = BatchRun<Item, UploadTask>

    private func batchRun<Item: Sendable>(
        _ options: UploadBatchOptions, count: Int?, measure: BatchMeasure? = nil
    ) -> Run<Item> {
        // What the session's queue holds at most between its two calls, and what runs.
        let busy = 2 * min(max(1, core.configuration.slots), AdmissionQueue.mostSlots) + 2
        return BatchRun(
            options: options, window: busy, count: count, clock: core.configuration.clock, measure: measure)
    }

    private func ask<Item: Sendable>(
        _ request: @escaping @Sendable (Item) async throws -> UploadRequest
    ) -> Run<Item>.Ask {
        { [core] item in
            let request = try await request(item)
            return BatchWork(expectedLength: { await request.content.expectedLength() }, start: { core.start(request) })
        }
    }

    private func start<Items: Sequence & SendableMetatype>(
        _ items: sending Items, _ run: Run<Items.Element>,
        _ request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) -> UploadBatch<Items.Element> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        run.start(items, ask(request))
        return UploadBatch(run: run)
    }

    private static func watch<Item: Sendable>(
        _ batch: UploadBatch<Item>, _ onProgress: (@Sendable (UploadBatchProgress) -> Void)?
    ) async {
        guard let onProgress else { return }
        for await progress in batch.progress { onProgress(progress) }
    }
}
