import HTTPTypes
import Waybill

/// Rejects options that can't be stored with a queued upload, with a message that names the right command for them.
///
/// Ignoring such an option would be an error, because the caller relies on it.
enum QueueCheck {
    /// Returns the header fields to store. Throws for a field that carries a credential.
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
            throw .usage(
                "-H: \(name) can't be omitted with --queue, because waybill outbox run sends it. Leave the option out.")
        case .field(let field) where field.name.canonicalName == "expect":
            throw .usage("-H: Expect is set by waybill outbox run. Leave it out with --queue.")
        case .field(let field) where isSecret(field.name):
            throw .usage(
                "-H: \(field.name) looks like a credential, and credentials are not stored. "
                    + "Pass its name with --credential "
                    + "\(field.name)=NAME; waybill outbox run reads its value from "
                    + "\(CredentialName.variable(of: "NAME")), or from "
                    + "its own --credential NAME=env:VARIABLE or NAME=@file.")
        case .field(let field): headers.append(field)
        }
    }

    /// Returns whether ``headers(_:)`` accepts an argument. Accepts a malformed one, which parsing reports.
    static func accepts(_ argument: String) -> Bool {
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

    /// Returns whether a field is known to carry credentials, or has a name that suggests it.
    static func isSecret(_ name: HTTPField.Name) -> Bool {
        let text = name.canonicalName
        return ["cookie", "authorization", "proxy-authorization"].contains(text)
            || ["token", "secret", "password", "api-key", "apikey", "authorization", "credential", "session"].contains {
                text.contains($0)
            }
    }

    /// Throws if a URL contains a user name or password.
    static func url(_ url: String) throws(CommandFailure) {
        guard UserInformation.secrets(of: url).isEmpty else {
            throw .usage(
                "The URL contains a user name or password, which are not stored. "
                    + "Pass the name of a credential with --credential "
                    + "Authorization=NAME; its value is the whole field value, \"Basic …\".")
        }
    }

    /// Throws for options that belong to `outbox run`.
    static func delivery(
        _ network: NetworkOptions, _ limits: LimitOptions, isInsecure: Bool
    ) throws(CommandFailure) {
        if let name = isInsecure ? "-k" : network.firstGiven ?? limits.times.firstGiven {
            throw .usage("\(name) is not stored with an upload. Leave it out, and use it with waybill outbox run.")
        }
        if limits.retries != nil {
            throw .usage("--retry can't be combined with --queue. Limit the number of attempts with --attempts.")
        }
    }

    static func user(_ user: String?, isDigest: Bool) throws(CommandFailure) {
        guard user != nil || isDigest else { return }
        throw .usage(
            "\(user != nil ? "-u" : "--digest"): passwords are not stored. "
                + "Pass the name of a credential with --credential "
                + "Authorization=NAME; waybill outbox run reads the whole field value, \"Basic …\", from "
                + "\(CredentialName.variable(of: "NAME")).")
    }
}
