import ArgumentParser
import Foundation
import HTTPTypes
import Waybill
import WaybillCore
import WaybillStores

/// The options of `doctor s3://…`.
struct DoctorStoreOptions: ParsableArguments, OptionTable {
    @Option(
        name: .customLong("endpoint"),
        help: ArgumentHelp(
            "The endpoint, without the bucket. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or from the region.",
            valueName: "url"))
    var endpoint: String?

    @Option(
        name: .customLong("region"),
        help: ArgumentHelp("The region. Default: AWS_REGION, AWS_DEFAULT_REGION.", valueName: "id"))
    var region: String?

    @Option(
        name: .customLong("profile"),
        help: ArgumentHelp(
            "The store: \(S3Location.profileNames). Default: aws, or generic with an endpoint.", valueName: "store"),
        completion: .list(S3Location.profiles.map(\.name)))
    var profile: String?

    @Flag(name: .customLong("allow-http"), help: "Accept an http:// endpoint.")
    var allowsHTTP = false

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("Trust only the certificate authorities in this PEM file.", valueName: "file"),
        completion: .file())
    var certificateAuthorities: String?

    static var table: Table {
        [
            ("endpoint", nil, { $0.endpoint != nil }), ("region", nil, { $0.region != nil }),
            ("profile", nil, { $0.profile != nil }), ("allow-http", nil, { $0.allowsHTTP }),
            ("cacert", nil, { $0.certificateAuthorities != nil }),
        ]
    }
}

/// Checks the access to a bucket with the protocol of S3. Nothing is changed.
enum BucketCheck {
    static func run(_ url: String, _ options: DoctorStoreOptions) async -> [Check] {
        do throws(CommandFailure) {
            guard case .s3(let bucket, let prefix) = try PutDestination(url) else { return [] }
            return try await run(bucket, prefix: prefix, options)
        } catch {
            return [Check("store", false, error.message)]
        }
    }

    private static func run(
        _ bucket: String, prefix: String, _ options: DoctorStoreOptions
    ) async throws(CommandFailure) -> [Check] {
        var configuration: S3Client.Configuration
        let client: S3Client
        do throws(StoreError) {
            configuration = try S3Location(
                profile: options.profile, endpoint: options.endpoint, region: options.region
            ).configuration
            configuration.bucket = bucket
            configuration.allowsUnencrypted = options.allowsHTTP
            configuration.transfer.limits.total = .seconds(60)
            configuration.transfer.tls.certificateAuthorities = options.certificateAuthorities
            client = try S3Client(configuration: configuration, credentials: S3Location.credentials)
        } catch {
            throw .usage(error.message)
        }
        do throws(StoreError) {
            return checks(of: try await client.access(prefix: prefix), bucket, configuration)
        } catch {
            return checks(of: error, bucket, configuration.profile)
        }
    }

    /// Returns the checks of a bucket that could be listed.
    private static func checks(
        of access: S3BucketAccess, _ bucket: String, _ configuration: S3Client.Configuration
    ) -> [Check] {
        let region = configuration.region ?? configuration.profile.defaultRegion ?? ""
        let isRight = access.region == region
        let condition =
            configuration.profile.supportsConditionalWrites
            ? "checked by the store, according to its profile; --forbid-overwrite can be used"
            : "ignored by the store, according to its profile; --forbid-overwrite can't be used"
        return [Check("connection", true, "the store responded")] + clock(access.clockOffset) + [
            Check("credentials", true, "accepted"),
            Check(
                "region", isRight,
                isRight
                    ? region
                    : "The store expects \(access.region), not \(region). Pass --region \(access.region), or set "
                        + "AWS_REGION."),
            Check("bucket", true, "\(bucket) can be listed"), Check(note: "conditional writes", condition),
        ]
    }

    /// Returns the checks up to the failed one.
    private static func checks(of error: StoreError, _ bucket: String, _ profile: S3Profile) -> [Check] {
        let response = response(in: error)
        guard response != nil || error.status != nil else {
            return [Check(isAboutCredentials(error) ? "credentials" : "connection", false, error.message.sentence)]
        }
        let date = response?.headers[.date].flatMap { HTTPDate($0) }
        let offset = date.map { Double($0.seconds) - Date().timeIntervalSince1970 }
        return [Check("connection", true, "the store responded")] + clock(offset)
            + finding(error, bucket, profile)
    }

    private static func finding(_ error: StoreError, _ bucket: String, _ profile: S3Profile) -> [Check] {
        switch error.storeCode {
        case "InvalidAccessKeyId":
            let remedy = "Check AWS_ACCESS_KEY_ID, --endpoint and --profile."
            return [Check("credentials", false, "The store does not know the access key. \(remedy)")]
        case _ where isAboutCredentials(error):
            return [Check("credentials", false, error.message.sentence)]
        case "SignatureDoesNotMatch":
            let remedy = "The secret does not belong to the access key. Check AWS_SECRET_ACCESS_KEY, and for a proxy "
            return [Check("credentials", false, "\(remedy)that changes requests.")]
        case "NoSuchBucket":
            return [
                Check(
                    "bucket", false, "The store has no bucket \(bucket). Check its name, --endpoint and --profile.")
            ]
        case "AccessDenied":
            // Garage, and possibly a store that is not known, responds in the same way to a wrong signature.
            let isAmbiguous = [S3Profile.garage.name, S3Profile.generic.name].contains(profile.name)
            return [
                isAmbiguous
                    ? Check(note: "credentials", "not checked: \(error.message.sentence)")
                    : Check("credentials", true, "accepted"),
                Check(
                    note: "bucket",
                    "The credentials do not permit listing \(bucket). They may permit uploads, which need s3:PutObject."
                ),
            ]
        default: return [Check("bucket", false, error.message.sentence)]
        }
    }

    private static func isAboutCredentials(_ error: StoreError) -> Bool {
        error.code.description.hasPrefix("credentials")
    }

    /// Returns the response that an error is based on.
    private static func response(in error: any Error) -> UploadResponse? {
        switch error {
        case let error as UploadError: error.response
        case let error as StoreError: error.cause.flatMap { response(in: $0) }
        default: nil
        }
    }

    /// Returns the check of the local clock. Stores accept a difference of 15 minutes.
    private static func clock(_ offset: Double?) -> [Check] {
        guard let offset else { return [Check(note: "clock", "the response has no date")] }
        let seconds = Int(abs(offset).rounded())
        let difference = "\(seconds) s \(offset < 0 ? "ahead of" : "behind") that of the store"
        guard seconds > 900 else { return [Check("clock", true, seconds < 2 ? "right" : difference)] }
        return [
            Check(
                "clock", false,
                "The local clock is \(difference). Set it. Uploads correct it, but other programs may fail.")
        ]
    }
}
