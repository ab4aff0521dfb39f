import WaybillMultipart

extension UploadSession {
    /// Starts uploads of many items and returns their common handle immediately.
    ///
    /// ```swift
    /// let batch = session.startBatch(of: files.lazy.filter(\.isNew)) { file in
    ///     UploadRequest(.put, "https://bucket.example/\(file.name)", content: .file(path: file.path))
    /// }
    /// ```
    ///
    /// A task of the batch takes items from the sequence one after the other when they can start. A sequence that
    /// blocks occupies a thread of Swift's cooperative pool. The progress of the batch knows the number of items if they
    /// are a `RandomAccessCollection`, such as an array.
    ///
    /// - Parameters:
    ///   - items: The items. The sequence may be lazy and of any length.
    ///   - options: The failure policy and the number of concurrent items.
    ///   - request: Creates the request of an item when it starts. If the closure throws, the item fails with that
    ///     error.
    /// - Returns: The handle of the batch.
    public func startBatch<Items: Sequence & SendableMetatype>(
        of items: sending Items, options: UploadBatchOptions = UploadBatchOptions(),
        request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) -> UploadBatch<Items.Element> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        let run: Run<Items.Element> = batchRun(options, count: Self.count(of: items))
        return start(items, run, request)
    }

    /// Starts many requests and returns their common handle immediately.
    ///
    /// The progress of the batch knows the number of requests if they are a `RandomAccessCollection`, and also their
    /// lengths if they are an array.
    public func startBatch<Requests: Sequence & SendableMetatype>(
        of requests: sending Requests, options: UploadBatchOptions = UploadBatchOptions()
    ) -> UploadBatch<UploadRequest> where Requests.Element == UploadRequest, Requests.Iterator: SendableMetatype {
        // Other collections may create their elements anew on each access.
        let measure = (requests as? [UploadRequest]).map { requests -> BatchMeasure in
            { await Self.lengths(of: requests) { $0 } }
        }
        let run: Run<UploadRequest> = batchRun(options, count: Self.count(of: requests), measure: measure)
        return start(requests, run) { $0 }
    }

    /// Starts uploads of items that arrive over time, and returns their common handle immediately.
    ///
    /// The next item is awaited only when it can start. If the sequence throws, no further item is taken, and the batch
    /// ends after its running items: see ``BatchSummary/sourceError``.
    public func startBatch<Items: AsyncSequence & SendableMetatype>(
        of items: sending Items, options: UploadBatchOptions = UploadBatchOptions(),
        request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) -> UploadBatch<Items.Element> where Items.Element: Sendable, Items.AsyncIterator: SendableMetatype {
        let run: Run<Items.Element> = batchRun(options, count: nil)
        let makeWork = makeWork(request)
        Task {
            var source = items.makeAsyncIterator()
            await run.takeItems(&source, makeWork)
        }
        return UploadBatch(run: run)
    }

    /// Uploads many items and waits for all of them.
    ///
    /// Cancelling the surrounding task cancels the batch. All results are kept in memory. For a very large number of
    /// items, read the results of `startBatch(of:options:request:)` as they arrive.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - options: The failure policy and the number of concurrent items.
    ///   - onProgress: Called with snapshots, at most about twenty times per second, including the last one.
    ///   - request: Creates the request of an item when it starts. If the closure throws, the item fails with that
    ///     error.
    /// - Returns: The result of each item that was taken, in the order of the source. This method does not throw: check
    ///   each result.
    public func uploadAll<Items: Collection & SendableMetatype>(
        _ items: sending Items, options: UploadBatchOptions = UploadBatchOptions(),
        onProgress: (@Sendable (UploadBatchProgress) -> Void)? = nil,
        request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) async -> [BatchResult<Items.Element, UploadResponse, UploadError>]
    where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        let run: Run<Items.Element> = batchRun(options, count: items.count)
        // Created before the first item is taken, so that no result is dropped for lack of a reader.
        let reader = BatchReader(run: run)
        let batch = start(items, run, request)
        return await withTaskCancellationHandler {
            // In a task that is not cancelled, so that the results of cancelled items are returned as well.
            await Task {
                async let observation: Void = Self.watch(batch, onProgress)
                var results: [BatchResult<Items.Element, UploadResponse, UploadError>] = []
                while let result = await reader.run.nextResult() { results.append(result) }
                await observation
                return results.sorted { $0.index < $1.index }
            }.value
        } onCancel: {
            batch.cancel()
        }
    }

    /// Starts uploads of items whose sizes are read when the first listener to the progress is added.
    package func startMeasuredBatch<Item: Sendable>(
        of items: [Item], options: UploadBatchOptions = UploadBatchOptions(),
        request: @escaping @Sendable (Item) throws -> UploadRequest
    ) -> UploadBatch<Item> {
        let run: Run<Item> = batchRun(options, count: items.count) {
            await Self.lengths(of: items, request)
        }
        return start(items, run, request)
    }

    /// Returns the number of items if it is known without a pass over them.
    private static func count(of items: some Sequence) -> Int? { (items as? any RandomAccessCollection)?.count }

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
        // The maximum number of uploads that the session's queue admits ahead, plus those that run.
        let defaultWindow = 2 * min(max(1, core.configuration.maximumConcurrentTransfers), AdmissionQueue.maxSlots) + 2
        return BatchRun(
            options: options, window: defaultWindow, count: count, clock: core.configuration.clock, measure: measure)
    }

    private func makeWork<Item: Sendable>(
        _ request: @escaping @Sendable (Item) async throws -> UploadRequest
    ) -> Run<Item>.MakeWork {
        { [core] item in
            let request = try await request(item)
            return BatchWork(expectedLength: { await request.content.expectedLength() }, start: { core.start(request) })
        }
    }

    private func start<Items: Sequence & SendableMetatype>(
        _ items: sending Items, _ run: Run<Items.Element>,
        _ request: @escaping @Sendable (Items.Element) async throws -> UploadRequest
    ) -> UploadBatch<Items.Element> where Items.Element: Sendable, Items.Iterator: SendableMetatype {
        run.start(items, makeWork(request))
        return UploadBatch(run: run)
    }

    private static func watch<Item: Sendable>(
        _ batch: UploadBatch<Item>, _ onProgress: (@Sendable (UploadBatchProgress) -> Void)?
    ) async {
        guard let onProgress else { return }
        for await progress in batch.progress { onProgress(progress) }
    }
}
