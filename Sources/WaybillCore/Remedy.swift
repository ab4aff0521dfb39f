/// Advice for a failure that names an option.
///
/// A program sets a property, and a user of the command line writes a flag. A message therefore never names an option
/// directly: it includes a case of this enumeration, which is printed in the terms of the API unless a command has
/// registered its own. All other messages read the same in both places.
///
/// ```swift
/// "The server acknowledged no bytes for \(limit). \(Remedy.raiseStallLimit)"
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
    case decodeHEIC
    case convertHEIC
    case salvageImage

    // TLS.
    case trustAuthority
    case comparePins
    case provideAuthoritiesAsPEM
    case checkClientCertificate

    // Redirects.
    case chooseRedirects

    // Forms.
    case provideStreamLength
    case makeReplayable
    case spillStream
    case makeRandomBoundary
    case freeDiskSpaceForStream
    case chooseTemporaryDirectory

    // Outbox uploads.
    case nameSecretField
    case nameCredential
    case provideCredentialValue
    case registerUploadKind
    case shareFiles
    case shareLargeFiles
    case provideSharedDirectory

    // Stores.
    case allowUnencrypted
    case trustAuthorityOfStore
    case provideRegion
    case removeEndpointPath
    case waitForRecord
    case renewCredentials

    /// The advice in terms of the API.
    package var api: String {
        switch self {
        case .raiseConnectLimit: "Check the network, or raise limits.connect."
        case .raiseStallLimit: "Try again, or raise limits.stall."
        case .raiseResponseLimit: "Raise limits.response if the server needs more time."
        case .raiseTotalLimit: "Raise limits.total, or set it to nil."
        case .raiseResponseBodyLimit: "Raise limits.responseBody if a response of this size is expected."
        case .raiseImageLimit: "Raise maxBytes."
        case .raiseImageLimitOrLowerSide: "Raise maxBytes, or lower minSide."
        case .convertHEIC: "Raise the limits of heicDecoder, or save the image as a JPEG."
        case .salvageImage: "To keep the intact rows, set onFailure to .salvage."
        case .decodeHEIC: "Set heicDecoder, or let the phone take photos as JPEG."
        case .trustAuthority: "Set tls.certificateAuthorities to trust a private certificate authority."
        case .comparePins: "Compare the key with tls.pinnedKeys."
        case .provideAuthoritiesAsPEM: "Set tls.certificateAuthorities to a PEM file."
        case .checkClientCertificate:
            "Check that format, key and passphrase of tls.clientCertificate match."
        case .chooseRedirects: "Send the upload to that URL, or set options.redirects to .resend or .asGET."
        case .makeReplayable: "Keep a copy of the stream (StreamReplay.fromCopy)."
        case .provideStreamLength: "Provide the length, or set unknownLength to .spill or .chunked."
        case .spillStream: "Set unknownLength to .spill, which reads the stream before sending."
        case .makeRandomBoundary: "Use MultipartBoundary.random()."
        case .freeDiskSpaceForStream: "Free disk space, or set MultipartForm.temporaryDirectory to another directory."
        case .chooseTemporaryDirectory: "Set MultipartForm.temporaryDirectory to another directory."
        case .nameSecretField:
            "Use .credential(name, named:), and define the name where uploads are delivered."
        case .nameCredential: "Use a named credential, such as .bearer(named:) or .field(_:named:)."
        case .provideCredentialValue: "Enqueue the form in an outbox, or use .text(name, .secret(value))."
        case .registerUploadKind: "Add it to Configuration.kinds."
        case .shareFiles:
            "Set fileStorage to .snapshot to store a copy, or set allowsPinning so that only this machine delivers it."
        case .shareLargeFiles:
            "Set sharedDirectory of the store, raise inlineLimit, or enqueue files that stay in place with allowsPinning."
        case .provideSharedDirectory: "Set sharedDirectory of the store."
        case .allowUnencrypted: "Use https, or set allowsUnencrypted if an eavesdropper may read the objects."
        case .trustAuthorityOfStore:
            "Set tls.certificateAuthorities instead of tls.insecureSkipVerification."
        case .provideRegion: "Set region, for example to cn-hangzhou."
        case .removeEndpointPath: "Remove the path, or set keepsPath."
        case .waitForRecord: "Wait for the other upload, or set conflictPolicy to .wait."
        case .renewCredentials: "Obtain new credentials, or use .federated, which renews them in time."
        }
    }

    /// Registers a command's wording for all later messages. Call it once, before any error is created.
    package static func register(_ wording: @escaping @Sendable (Remedy) -> String) {
        registered.withLock { $0 = wording }
    }

    // One registration per process: errors are created in every layer, on threads that belong to no session.
    private static let registered = Locked<@Sendable (Remedy) -> String>({ $0.api })
}

extension Remedy: CustomStringConvertible {
    /// The advice in the registered wording, or in terms of the API.
    package var description: String { Self.registered.withLock { $0 }(self) }
}
