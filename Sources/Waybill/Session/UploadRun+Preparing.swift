import WaybillCore
import WaybillMultipart

// Preparation of the body. Work that needs a disk or much CPU time is not done on the caller's thread or the engine's.

extension UploadRun {
    func prepare() {
        switch request.content.kind {
        case .empty, .notAFile: prepareNow(nil)
        case .body(let body): prepareNow(body)
        case .form(let form):
            let isPlain = isPlain
            if isPlain, isStarting, let body = form.preparedSynchronously() { return prepareNow(body) }
            prepareLater { [plan] in
                if isPlain, let body = form.preparedSynchronously() { return body }
                return try await (plan?.composed(form) ?? form).prepared()
            }
        case .file(let path, let type):
            if isStarting, let body = FileBody(inspectingSynchronously: path, contentType: type) {
                return prepareNow(body)
            }
            prepareLater { try await FileBody.inspecting(path, contentType: type) }
        }
    }

    /// Whether a form is sent unchanged.
    private var isPlain: Bool {
        plan.map { $0.commonFields == nil && $0.chain.isEmpty } ?? false
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
                self?.send(.preparationFailed(error))
            } catch {
                self?.send(.preparationFailed(UploadError(preparing: error)))
            }
        }
        withResources { $0.preparation = task }
    }

    private func prepared(_ body: (any UploadBody)?) {
        guard let plan else { return }
        guard let body, let options = plan.options.resume else { return prepared(body, nil, plan) }
        let task = Task { [weak self] in
            do throws(UploadError) {
                guard let (body, resumable) = try await self?.makeResumable(body, options) else { return }
                self?.prepared(body, resumable, plan)
            } catch {
                self?.send(.preparationFailed(error))
            }
        }
        withResources { $0.preparation = task }
    }

    private func prepared(_ body: (any UploadBody)?, _ resumable: ResumableUpload?, _ plan: RequestPlan) {
        do {
            let headers = try plan.headers(for: body)
            guard keep(body, headers, resumable) else {
                resumable?.close {}
                return
            }
            broadcast.describe(body?.parts ?? [])
            send(.prepared(total: body.map(\.length) ?? 0, isReplayable: body?.isReplayable ?? true))
        } catch {
            send(.preparationFailed(error))
        }
    }
}
