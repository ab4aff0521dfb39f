import WaybillCore
import Waybill

extension Remedy {
    /// The advice in terms of the command line. It uses only flags that the command supports.
    var shell: String {
        switch self {
        case .raiseConnectLimit: "Check the network, or raise --connect-timeout."
        case .raiseStallLimit: "Try again, or raise --stall-timeout."
        case .raiseResponseLimit: "Raise --response-timeout if the server works that long."
        case .raiseTotalLimit: "Raise -m, or leave it out."
        case .raiseResponseBodyLimit: "Raise --max-filesize if that is expected."
        case .raiseImageLimit: "Raise --max-bytes."
        case .raiseImageLimitOrLowerSide: "Raise --max-bytes, or lower --min-side."
        case .trustAuthority: "Name a private authority with --cacert."
        case .comparePins: "Compare its key with --pinnedpubkey."
        case .giveAuthoritiesAsPEM: "Give --cacert a PEM file."
        case .checkClientCertificate: "Check that --cert, --cert-type, --key and --pass belong together."
        case .chooseRedirects: "Send it to that address, or choose --redirect resend or --redirect get."
        case .giveStreamLength, .spillStream: "Save it to a file first, and send the file."
        case .makeRandomBoundary: "Leave --boundary out: a random one is made."
        case .makeRoomForStream: "Make room, or choose another directory with the variable TMPDIR."
        case .chooseTemporaryDirectory: "Choose another directory with the variable TMPDIR."
        case .nameSecretField:
            "Write -F 'FIELD=credential:NAME', and give its value to waybill outbox run with --credential."
        case .nameCredential: "Name a credential with --credential instead."
        case .giveCredentialValue: "Give --queue, or write -F 'FIELD=env:VARIABLE'."
        case .registerUploadKind: "Deliver it with the program that queued it."
        case .allowUnencrypted: "Use https, or give --allow-http if an eavesdropper may read the objects."
        case .trustAuthorityOfStore: "Name the authority with --cacert in place of -k."
        case .giveRegion: "Give --region, as in cn-hangzhou."
        case .leaveOutEndpointPath: "Leave the path out of --endpoint."
        case .waitForRecord: "Wait until that has ended, then give the command again."
        case .renewCredentials: "Set OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET and OSS_SESSION_TOKEN to new ones."
        }
    }
}
