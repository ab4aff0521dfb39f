import HTTPTypes
import Waybill

/// What can't be written down with a queued upload, each with where it belongs instead.
///
/// An option that would be dropped in silence is refused: whoever gave it counts on it.
enum QueueCheck {
    /// Header fields that go along: all that are written down, and so none that carries a credential.
    static func headers(_ arguments: [String]) throws(CommandFailure) -> HTTPFields {
        var headers: HTTPFields = [:]
        for argument in arguments {
            var lines = [argument]
            if argument.hasPrefix("@") {
                lines = HeaderArgument.lines(of: try InputFile.read(String(argument.dropFirst()), for: "-H"))
            }
            for line in lines { try add(line, to: &headers) }
        }
        return headers
    }

    private static func add(_ line: String, to headers: inout HTTPFields) throws(CommandFailure) {
        switch try HeaderArgument(line) {
        case .removal(let name):
            throw .usage("-H: \(name) can't be left out of a queued upload: whoever delivers it decides that.")
        case .field(let field) where field.name.canonicalName == "expect":
            throw .usage("-H: Expect is a matter between whoever delivers and the server: leave it out with --queue.")
        case .field(let field) where isSecret(field.name):
            throw .usage(
                "-H: \(field.name) looks like a credential, and no credential is written down. Name one with --credential "
                    + "\(field.name)=NAME; waybill outbox run then takes its value from \(CredentialName.variable(of: "NAME")), or as "
                    + "its own --credential NAME=env:VARIABLE or NAME=@file says.")
        case .field(let field): headers.append(field)
        }
    }

    /// Whether ``headers(_:)`` takes an argument, or refuses it for being malformed: for what stands in it, it does not.
    static func takes(_ argument: String) -> Bool {
        var lines = [argument]
        if argument.hasPrefix("@") {
            lines = (try? InputFile.read(String(argument.dropFirst()), for: "-H")).map(HeaderArgument.lines) ?? []
        }
        return lines.allSatisfy { line in
            switch try? HeaderArgument(line) {
            case nil: true
            case .removal?: false
            case .field(let field)?: field.name.canonicalName != "expect" && !isSecret(field.name)
            }
        }
    }

    /// Fields that are known to carry credentials, and those whose names say so.
    static func isSecret(_ name: HTTPField.Name) -> Bool {
        let text = name.canonicalName
        return ["cookie", "authorization", "proxy-authorization"].contains(text)
            || ["token", "secret", "password", "api-key", "apikey", "authorization", "credential", "session"].contains {
                text.contains($0)
            }
    }

    /// A URL without a password.
    static func url(_ url: String) throws(CommandFailure) {
        guard PostPlan.userInformation(of: url).isEmpty else {
            throw .usage(
                "the URL holds a user or a password, which are not written down. Name a credential with --credential "
                    + "Authorization=NAME: the whole value of the field, \"Basic …\".")
        }
    }

    /// Options that belong to whoever delivers.
    static func way(_ given: [String]) throws(CommandFailure) {
        guard let name = given.first else { return }
        throw .usage("\(name) belongs to whoever delivers: leave it out here and give it to waybill outbox run.")
    }

    static func user(_ user: String?, isDigest: Bool) throws(CommandFailure) {
        guard user != nil || isDigest else { return }
        throw .usage(
            "\(user != nil ? "-u" : "--digest"): no password is written down. Name a credential with --credential "
                + "Authorization=NAME: the whole value of the field, \"Basic …\", which waybill outbox run takes from "
                + "\(CredentialName.variable(of: "NAME")).")
    }

    static func retries(_ retries: Int?) throws(CommandFailure) {
        if retries != nil {
            throw .usage("--retry: a queued upload is tried again by itself; --attempts is how often.")
        }
    }
}

extension WayOptions {
    /// The options that were given, by their names.
    var given: [String] {
        let all = [
            (certificateAuthorities != nil, "--cacert"), (proxy != nil, "-x"), (!resolve.isEmpty, "--resolve"),
            (proxyUser != nil, "-U"), (proxyExceptions != nil, "--noproxy"), (certificate != nil, "-E"),
            (certificateType != "PEM", "--cert-type"), (key != nil, "--key"), (passphrase != nil, "--pass"),
            (pins != nil, "--pinnedpubkey"), (isIPv4, "-4"), (isIPv6, "-6"), (unixSocket != nil, "--unix-socket"),
            (isHTTP2, "--http2"), (redirect != nil, "--redirect"),
        ]
        return all.filter(\.0).map(\.1)
    }
}

extension TimeOptions {
    /// The options that were given, by their names.
    var given: [String] {
        let all = [
            (rate != nil, "--limit-rate"), (connect != nil, "--connect-timeout"), (stall != nil, "--stall-timeout"),
            (response != nil, "--response-timeout"), (total != nil, "-m"), (responseBody != nil, "--max-filesize"),
        ]
        return all.filter(\.0).map(\.1)
    }
}
