import WaybillCore

// The credential of an upload, and how it is refreshed.

extension UploadRun {
    var refresher: (any CredentialRefresher)? { plan?.options.authentication?.refresher }

    /// Returns the credential to send now. The refresher's current value takes precedence over the one that was fetched
    /// for this upload.
    func credential(of plan: RequestPlan) -> Secret? {
        guard let refresher else { return plan.credential }
        let current = refresher.current
        return withResources { resources in
            resources.credential = current ?? resources.credential
            return resources.credential
        }
    }

    func fetchCredential(rejected: Secret?) async throws(UploadError) {
        guard let refresher else { return }
        do {
            let value = try await refresher.refresh(rejected: rejected)
            _ = try Authentication.checked(value.value)
            withResources { $0.credential = value }
        } catch let error as UploadError {
            throw error
        } catch {
            throw UploadError(
                .credentialRefreshFailed,
                "Refreshing the credential failed. See the cause.",
                phase: .preparing, cause: error)
        }
    }

    func refreshCredential(_ attempt: Int) {
        let used = withResources { $0.credential }
        log.refreshing(attempt: attempt)
        let task = Task { [weak self] in
            do throws(UploadError) {
                try await self?.fetchCredential(rejected: used)
                self?.send(.credentialReady(attempt: attempt))
            } catch {
                self?.send(.credentialFailed(attempt: attempt, error))
            }
        }
        withResources { resources in
            resources.control = nil
            resources.nextAttemptTask = task
        }
    }
}
