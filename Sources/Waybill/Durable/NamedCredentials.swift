public import WaybillCore
public import WaybillMultipart

/// A provider of the credentials that durable uploads reference by name.
///
/// A queue contains no secrets, only names. The process that delivers an upload provides the values.
///
/// ```swift
/// let credentials = CredentialTable { name in
///     guard name == "backend" else { return nil }
///     return .secret(try await vault.token())
/// }
/// ```
public protocol NamedCredentials: Sendable {
    /// Returns the credential with a name, refreshed if possible; `nil` for an unknown name.
    ///
    /// - Throws: An error if the credential is not available now.
    func credential(named name: String) async throws -> Secret?
}

/// Credentials that are provided by a closure.
public struct CredentialTable: NamedCredentials {
    private let find: @Sendable (String) async throws -> Secret?

    /// Creates a table whose closure is called for each credential.
    public init(_ find: @escaping @Sendable (String) async throws -> Secret?) {
        self.find = find
    }

    /// Returns the credential with a name.
    public func credential(named name: String) async throws -> Secret? { try await find(name) }
}

extension NamedCredentials {
    /// Returns the credential with a name, which must exist.
    ///
    /// - Throws: ``UploadError/Code/credentialRefreshFailed``.
    package func required(_ name: String) async throws(UploadError) -> Secret {
        let found: Secret?
        do {
            found = try await credential(named: name)
        } catch {
            throw UploadError(
                .credentialRefreshFailed, "Reading the credential named \(quoted(name)) failed. See the cause.",
                phase: .preparing, cause: error)
        }
        guard let found else {
            throw UploadError(
                .credentialRefreshFailed,
                "There is no credential named \(quoted(name)). Define it where uploads are delivered.",
                phase: .preparing)
        }
        return found
    }
}

extension MultipartPart {
    /// Returns a field whose text is a named credential, for forms that are enqueued in an outbox.
    ///
    /// ```swift
    /// form.append(.credential("TOKEN", named: "backend"))
    /// ```
    ///
    /// A form with such a part can't be sent directly: it fails with ``UploadError/Code/credentialRefreshFailed``.
    public static func credential(_ name: String, named credential: String) -> MultipartPart {
        .preparing(name, with: NamedCredentialPart(credential: credential))
    }
}

/// A placeholder for a credential in a form, which is replaced when the form is made durable.
struct NamedCredentialPart: PartPreparing {
    let credential: String

    func prepare() async throws -> PreparedPart {
        throw UploadError(
            .credentialRefreshFailed,
            "The form is sent directly, but its credential \(quoted(credential)) has only a name. "
                + "\(Remedy.provideCredentialValue)",
            phase: .preparing)
    }
}
