/// Advice for a failure that names an option.
///
/// A program sets a property, and a user of the command line writes a flag. A message therefore never names an option
/// directly: it includes a case of this enumeration, which is printed in the terms of the API unless a command has
/// registered its own. All other messages read the same in both places.
///
/// ```swift
/// "The server took no byte for \(limit). \(Remedy.raiseStallLimit)"
/// ```
package enum Remedy: Sendable, Hashable, CaseIterable {
    // Limits.
    case raiseConnectLimit
    case raiseStallLimit
    case raiseResponseLimit
    case raiseTotalLimit
    case raiseResponseBodyLimit
    case raiseImageLimit
    case raiseImageLimitOrLowerSide

    // TLS.
    case trustAuthority
    case comparePins
    case giveAuthoritiesAsPEM
    case checkClientCertificate

    // Redirects.
    case chooseRedirects

    // Forms.
    case giveStreamLength
    case spillStream
    case makeRandomBoundary
    case makeRoomForStream
    case chooseTemporaryDirectory

    // Outbox uploads.
    case nameSecretField
    case nameCredential
    case giveCredentialValue
    case registerUploadKind

    // Stores.
    case allowUnencrypted
    case trustAuthorityOfStore
    case giveRegion
    case leaveOutEndpointPath
    case waitForRecord
    case renewCredentials

    /// The advice in terms of the API.
    package var api: String {
        switch self {
        case .raiseConnectLimit: "Check the network, or raise limits.connect."
        case .raiseStallLimit: "Try again, or raise limits.stall."
        case .raiseResponseLimit: "Raise limits.response if the server works that long."
        case .raiseTotalLimit: "Raise limits.total, or leave it out."
        case .raiseResponseBodyLimit: "Raise limits.responseBody if that is expected."
        case .raiseImageLimit: "Allow more bytes."
        case .raiseImageLimitOrLowerSide: "Allow more bytes, or a smaller minSide."
        case .trustAuthority: "Set tls.certificateAuthorities for a private authority."
        case .comparePins: "Compare its key with tls.pinnedKeys."
        case .giveAuthoritiesAsPEM: "Give tls.certificateAuthorities a PEM file."
        case .checkClientCertificate:
            "Check format, key and passphrase of tls.clientCertificate, and that they belong together."
        case .chooseRedirects: "Send it to that address, or choose .resend or .asGET in options.redirects."
        case .giveStreamLength: "Give its length, or set unknownLength to .spill or .chunked."
        case .spillStream: "Set unknownLength to .spill, which reads it first."
        case .makeRandomBoundary: "Use MultipartBoundary.random()."
        case .makeRoomForStream: "Make room, or choose another directory in MultipartForm.temporaryDirectory."
        case .chooseTemporaryDirectory: "Choose another directory in MultipartForm.temporaryDirectory."
        case .nameSecretField:
            "Use .credential(name, named:), and define the name where uploads are delivered."
        case .nameCredential: "Name a credential instead, as in .bearer(named:) or .field(_:named:)."
        case .giveCredentialValue: "Give the form to an outbox, or use .text(name, .secret(value))."
        case .registerUploadKind: "Add it to Configuration.kinds."
        case .allowUnencrypted: "Use https, or set allowsUnencrypted if an eavesdropper may read the objects."
        case .trustAuthorityOfStore:
            "Set tls.certificateAuthorities in place of tls.insecureSkipVerification."
        case .giveRegion: "Set region, as in cn-hangzhou."
        case .leaveOutEndpointPath: "Leave the path out, or set keepsPath."
        case .waitForRecord: "Wait for it, or set conflictPolicy to .wait."
        case .renewCredentials: "Get new ones, or use .federated, which renews them in time."
        }
    }

    /// Registers a command's wording for all later messages. Call it once, before any error is created.
    package static func register(_ words: @escaping @Sendable (Remedy) -> String) {
        registered.withLock { $0 = words }
    }

    // One registration per process: errors are created in every layer, on threads that belong to no session.
    private static let registered = Locked<@Sendable (Remedy) -> String>({ $0.api })
}

extension Remedy: CustomStringConvertible {
    /// The advice in the registered wording, or in terms of the API.
    package var description: String { Self.registered.withLock { $0 }(self) }
}
