import WaybillCore
import Waybill

extension Remedy {
    /// The advice in terms of the command line. It uses only flags that the command supports.
    var shell: String {
        switch self {
        case .raiseConnectLimit: "Check the network, or raise --connect-timeout."
        case .raiseStallLimit: "Try again, or raise --stall-timeout."
        case .raiseResponseLimit: "Raise --response-timeout if the server needs more time."
        case .raiseTotalLimit: "Raise -m, or leave it out."
        case .raiseResponseBodyLimit: "Raise --max-filesize if such a response is expected."
        case .raiseImageLimit: "Raise --max-bytes."
        case .raiseImageLimitOrLowerSide: "Raise --max-bytes, or lower --min-side."
        case .convertHEIC: "Save the image as a JPEG."
        case .salvageImage: "To keep the intact rows, use waybill shrink --salvage."
        case .decodeHEIC: "Pass --heic, or let the phone take photos as JPEG."
        case .trustAuthority: "Trust a private certificate authority with --cacert."
        case .comparePins: "Compare the server's key with --pinnedpubkey."
        case .provideAuthoritiesAsPEM: "Pass a PEM file to --cacert."
        case .checkClientCertificate: "Check that --cert, --cert-type, --key and --pass match."
        case .chooseRedirects: "Send the upload to that URL, or use --redirect resend or --redirect get."
        case .provideStreamLength, .spillStream, .makeReplayable: "Save it to a file first, and send the file."
        case .makeRandomBoundary: "Leave --boundary out to use a random one."
        case .freeDiskSpaceForStream: "Free disk space, or set the environment variable TMPDIR to another directory."
        case .chooseTemporaryDirectory: "Set the environment variable TMPDIR to another directory."
        case .nameSecretField:
            "Use -F 'FIELD=credential:NAME', and pass its source to waybill outbox run with --credential."
        case .nameCredential: "Pass the name of a credential with --credential instead."
        case .provideCredentialValue: "Add --queue, or use -F 'FIELD=env:VARIABLE'."
        case .shareFiles: "Pass --snapshot to store a copy, or --pin so that only this machine delivers it."
        case .shareLargeFiles:
            "Set WAYBILL_OUTBOX_FILES to a directory that all machines have mounted, or pass --pin without --snapshot."
        case .provideSharedDirectory: "Set WAYBILL_OUTBOX_FILES to this directory."
        case .registerUploadKind: "Deliver it with the program that queued it."
        case .allowUnencrypted: "Use https, or pass --allow-http if an eavesdropper may read the objects."
        case .trustAuthorityOfStore: "Pass the certificate authority with --cacert instead of -k."
        case .provideRegion: "Pass --region, as in --region cn-hangzhou."
        case .removeEndpointPath: "Remove the path from --endpoint."
        case .waitForRecord: "Wait until the other upload has ended, then run the command again."
        case .renewCredentials: "Set OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET and OSS_SESSION_TOKEN to new ones."
        }
    }
}
