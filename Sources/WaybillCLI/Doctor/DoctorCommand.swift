import ArgumentParser
import Glibc
import Waybill
import WaybillCurl

/// `waybill doctor`: checks the installation.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the installation, and posts a small form to itself.",
        discussion: """
            Without a URL it uses only the loopback interface. Include the output in a bug report: proxy passwords are \
            redacted. With a URL it also prints what its server offers for resumable uploads, by OPTIONS requests, which \
            have no effect. With s3://bucket it checks connection, clock, credentials, region and access by a request for \
            at most one key. The keys are those of "waybill put".

            EXAMPLES:
              waybill doctor
              waybill doctor --json
              waybill doctor https://files.example/uploads
              waybill doctor s3://photos/2026/ --profile r2 --endpoint https://ACCOUNT.r2.cloudflarestorage.com

            EXIT STATUS:
                0  all checks passed
                1  a check failed; its line says what to do
            """)

    @Argument(
        help: "The URL of a server, to print what it offers for resumable uploads; or s3://bucket/prefix, to check it.")
    var url: String?

    @OptionGroup(title: "Store") var store: DoctorStoreOptions

    @Flag(name: .customLong("json"), help: "One JSON object a line.")
    var json = false

    func run() async throws {
        var checks = Checks.versions + Checks.environmentChecks(Environment.value) + [await SelfTest.run()]
        if let url, url.lowercased().hasPrefix("s3://") {
            checks += await BucketCheck.run(url, store)
        } else {
            if let name = store.firstGiven {
                throw CommandFailure.usage("\(name) applies only to s3://. Leave it out.")
            }
            if let url { checks += await ServerCheck.run(url) }
        }
        let exit = try Check.report(checks, failure: .rejected, isJSON: json)
        if exit != .done { throw ExitCode(exit.rawValue) }
    }
}

/// The result of a check.
struct Check: Sendable, Hashable {
    enum Verdict: String, Sendable, Hashable {
        case ok
        case failed
        /// Information only.
        case note
    }

    var verdict: Verdict
    var name: String
    /// The finding, and the remedy if the check failed.
    var finding: String

    init(_ name: String, _ isPassed: Bool, _ finding: String) {
        self.verdict = isPassed ? .ok : .failed
        self.name = name
        self.finding = finding
    }

    init(note name: String, _ finding: String) {
        self.verdict = .note
        self.name = name
        self.finding = finding
    }

    private var line: String {
        let mark = verdict.rawValue
        return mark + String(repeating: " ", count: 8 - mark.utf8.count) + "\(name): \(Redaction.escaped(finding))"
    }

    /// Prints checks, each as a line or JSON object. Returns `failure` if one of them failed.
    static func report(_ checks: [Check], failure: Exit, isJSON: Bool) throws(CommandFailure) -> Exit {
        let isPassed = checks.allSatisfy { $0.verdict != .failed }
        let exit = isPassed ? Exit.done : failure
        guard isJSON else {
            try StandardOutput.write(checks.map { $0.line + "\n" }.joined())
            return exit
        }
        let output = JSONOutput(.standard)
        for check in checks {
            try output.write(
                "check", ["name": check.name, "verdict": check.verdict.rawValue, "finding": check.finding])
        }
        try output.write("summary", ["result": exit.result, "exit": exit])
        return exit
    }
}

/// Checks that do not use the network.
enum Checks {
    /// Checks of the library versions.
    static var versions: [Check] {
        let curl = CurlLibrary.loaded
        let isOld = !CurlLibrary.isSupported
        return [
            Check(note: "waybill", WaybillCommand.version),
            Check("libcurl", !isOld, isOld ? "\(curl.version) is too old. Install 7.87 or later." : curl.version),
            Check("TLS", curl.tls != nil, curl.tls ?? "libcurl was built without TLS. Install libcurl4-openssl-dev."),
            Check(
                "name resolution", curl.hasAsynchronousNameLookup,
                curl.hasAsynchronousNameLookup
                    ? "asynchronous"
                    : "synchronous: a slow name server delays every upload. Install a libcurl with AsynchDNS."),
            Check(note: "HTTP/2", curl.hasHTTP2 ? "supported" : "not supported; uploads use HTTP/1.1"),
            Check(note: "libjpeg-turbo", JPEGLibrary.version),
        ]
    }

    /// Checks of the system and the environment.
    static func environmentChecks(_ environment: (String) -> String?) -> [Check] {
        [openFiles(), checkTemporaryDirectory(environment("TMPDIR") ?? "/tmp"), certificates()] + proxies(environment)
    }

    private static func openFiles() -> Check {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Check("open files", false, "the limit can't be read: \(SystemText.of(errno))")
        }
        let count = limit.rlim_cur
        return Check(
            "open files", count >= 64, count >= 64 ? "\(count)" : "\(count) is too low. Run ulimit -n 1024.")
    }

    static func checkTemporaryDirectory(_ path: String) -> Check {
        let name = "temporary directory"
        var status = statvfs()
        guard unsafe statvfs(path, &status) == 0 else {
            return Check(
                name, false, "\(path) can't be used: \(SystemText.of(errno)). Set TMPDIR to another directory.")
        }
        let free = ByteCount(
            bytes: Int64(
                clamping: UInt64(status.f_bavail).multipliedReportingOverflow(
                    by: UInt64(status.f_frsize)
                ).partialValue))
        guard unsafe access(path, W_OK | X_OK) == 0 else {
            return Check(
                name, false, "\(path) is not writable: \(SystemText.of(errno)). Set TMPDIR to another directory.")
        }
        let isEnough = free >= .mebibytes(16)
        return Check(
            name, isEnough, "\(path), \(free) free" + (isEnough ? "" : ", which is not enough. Free disk space."))
    }

    private static func certificates() -> Check {
        guard let path = CurlLibrary.loaded.certificateAuthorities else {
            return Check(
                note: "certificates", "libcurl has no default file. Use --cacert if HTTPS fails.")
        }
        return certificates(in: path)
    }

    static func certificates(in path: String) -> Check {
        do throws(CommandFailure) {
            let text = String(decoding: try InputFile.read(path, for: "CA file"), as: UTF8.self)
            let count = text.split(separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false).count - 1
            return Check(
                "certificates", count > 0,
                count > 0
                    ? "\(count) authorities in \(path)"
                    : "\(path) contains no certificates. Run apt-get install ca-certificates.")
        } catch {
            return Check("certificates", false, "\(error.message) Run apt-get install ca-certificates.")
        }
    }

    static func proxies(_ environment: (String) -> String?) -> [Check] {
        let names = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"]
        let found = names.flatMap { [$0, $0.uppercased()] }.compactMap { name -> Check? in
            guard let value = environment(name), !value.isEmpty else { return nil }
            return Check(note: name, "\(shown(value)), not used. Pass proxies with -x.")
        }
        return found.isEmpty ? [Check(note: "proxies", "none in the environment")] : found
    }

    /// Returns a proxy without user name and password. curl accepts proxies without a scheme, too.
    private static func shown(_ proxy: String) -> String {
        guard !proxy.contains("://") else { return Redaction.url(proxy) }
        guard let at = proxy.lastIndex(of: "@") else { return proxy }
        return Secret.placeholder + String(proxy[at...])
    }
}
