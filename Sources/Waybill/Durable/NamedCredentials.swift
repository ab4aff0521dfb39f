public import WaybillCore
public import WaybillMultipart

/// Who knows the credentials that durable uploads only name.
///
/// Nothing secret is written to a queue: it holds names, and when an upload is delivered the program that runs then says what
/// they stand for.
///
/// ```swift
/// let credentials = CredentialTable { name in
///     guard name == "backend" else { return nil }
///     return .secret(try await vault.token())
/// }
/// ```
public protocol NamedCredentials: Sendable {
    /// The credential of a name, fresh if it can be; `nil` for a name that isn't known.
    ///
    /// - Throws: Why it can't be had now.
    func credential(named name: String) async throws -> Secret?
}

/// Credentials from a closure.
public struct CredentialTable: NamedCredentials {
    private let find: @Sendable (String) async throws -> Secret?

    /// Asks a closure each time.
    public init(_ find: @escaping @Sendable (String) async throws -> Secret?) {
        self.find = find
    }

    /// Looks a credential up.
    public func credential(named name: String) async throws -> Secret? { try await find(name) }
}

/// Knows no credential.
public struct NoCredentials: NamedCredentials {
    /// Makes one.
    public init() {}

    /// `nil`.
    public func credential(named name: String) async throws -> Secret? { nil }
}

extension NamedCredentials {
    /// The credential, which must be there.
    ///
    /// - Throws: ``UploadError/Code/credentialRefreshFailed``.
    package func required(_ name: String) async throws(UploadError) -> Secret {
        let found: Secret?
        do {
            found = try await credential(named: name)
        } catch {
            throw UploadError(
                .credentialRefreshFailed, "no credential could be had for the name \(quoted(name))",
                phase: .preparing, cause: error)
        }
        guard let found else {
            throw UploadError(
                .credentialRefreshFailed,
                "nobody knows the credential named \(quoted(name)): add it to the credentials of whoever delivers",
                phase: .preparing)
        }
        return found
    }
}

extension MultipartPart {
    /// A field whose text is a credential that is only named: for forms that go into an outbox.
    ///
    /// ```swift
    /// form.append(.credential("TOKEN", named: "backend"))
    /// ```
    ///
    /// A form with such a part can't be sent otherwise; it fails with ``UploadError/Code/credentialRefreshFailed``.
    public static func credential(_ name: String, named credential: String) -> MultipartPart {
        .preparing(name, with: NamedCredentialPart(credential: credential))
    }
}

/// Stands for a credential in a form, until somebody who knows it prepares the form.
struct NamedCredentialPart: PartPreparing {
    let credential: String

    func prepare() async throws -> PreparedPart {
        throw UploadError(
            .credentialRefreshFailed,
            "The credential \(quoted(credential)) is only named, and the form is sent now. \(Remedy.giveCredentialValue)",
            phase: .preparing)
    }
}
