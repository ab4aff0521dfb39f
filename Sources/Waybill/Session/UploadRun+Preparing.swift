import WaybillCore
import WaybillMultipart

// Making the body, off the caller's thread and the engine's where that takes a disk or a processor.

extension UploadRun {
    func prepare() {
        switch request.content.kind {
        case .empty, .notAFile: prepareNow(nil)
        case .body(let body): prepareNow(body)
        case .form(let form):
            if isPlain, let body = form.preparedAtOnce() { return prepareNow(body) }
            prepareLater { [plan] in try await plan.get().composed(form).prepared() }
        case .file(let path, let type):
            if let body = FileBody(atOnce: path, contentType: type) { return prepareNow(body) }
            prepareLater { try FileBody(path: path, contentType: type) }
        }
    }

    /// Whether a form is sent as it was given.
    private var isPlain: Bool {
        guard let plan = try? plan.get() else { return false }
        return plan.commonFields == nil && plan.chain.isEmpty
    }

    private func prepareNow(_ body: (any UploadBody)?) {
        guard let refresher, refresher.current == nil else { return prepared(body) }
        prepareLater { body }
    }

    private func prepareLater(_ make: @escaping @Sendable () async throws -> (any UploadBody)?) {
        let task = Task { [weak self] in
            do {
                let body = try await make()
                if let self, self.refresher?.current == nil { try await self.fetchCredential(rejected: nil) }
                self?.prepared(body)
            } catch let error as UploadError {
                self?.post(.preparationFailed(error))
            } catch {
                self?.post(.preparationFailed(UploadError(preparing: error)))
            }
        }
        hold { $0.preparation = task }
    }

    private func prepared(_ body: (any UploadBody)?) {
        do {
            let headers = try plan.get().headers(for: body)
            let isWanted = state.withLock { state -> Bool in
                guard state.result == nil else { return false }
                state.held.body = body
                state.held.headers = headers
                return true
            }
            guard isWanted else { return }
            broadcast.describe(body?.parts ?? [])
            post(.prepared(total: body.map(\.length) ?? 0, isReplayable: body?.isReplayable ?? true))
        } catch {
            post(.preparationFailed(error))
        }
    }
}
