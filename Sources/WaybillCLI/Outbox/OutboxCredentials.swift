import ArgumentParser
import Waybill

/// The credentials that queued uploads name, for `outbox run`.
struct OutboxCredentials: NamedCredentials {
    /// The source of a credential.
    enum Source: Sendable, Hashable {
        case environment(String)
        case file(String)
    }

    private let sources: [String: Source]
    private let console: Console

    /// Parses `NAME=env:VARIABLE` and `NAME=@file`. Sources are read only when they are needed.
    init(_ texts: [String], console: Console) throws(CommandFailure) {
        var sources: [String: Source] = [:]
        for text in texts {
            // Not quoted, because it may be the credential itself.
            guard let equals = text.firstIndex(of: "=") else {
                throw .usage("--credential must be NAME=env:VARIABLE or NAME=@file.")
            }
            let name = try CredentialName.checked(String(text[..<equals]), for: "--credential")
            let value = text[text.index(after: equals)...]
            if value.hasPrefix("env:"), value.utf8.count > 4 {
                sources[name] = .environment(String(value.dropFirst(4)))
            } else if value.hasPrefix("@"), value.utf8.count > 1 {
                sources[name] = .file(String(value.dropFirst()))
            } else {
                throw .usage(
                    "--credential \(name): every user can read arguments with ps. "
                        + "Write \(name)=env:VARIABLE or \(name)=@file.")
            }
        }
        self.sources = sources
        self.console = console
    }

    /// Returns whether the source of a credential is known.
    func names(_ name: String) -> Bool {
        sources[name] != nil || Environment.value(of: CredentialName.variable(of: name)) != nil
    }

    /// Returns the account from the environment, as `waybill put` reads it: a token, or the JSON of the two keys.
    private func qiniuAccount() -> String? {
        if let token = Environment.value(of: "QINIU_UPLOAD_TOKEN"), !token.isEmpty { return token }
        guard let accessKey = Environment.value(of: "QINIU_ACCESS_KEY"), !accessKey.isEmpty,
            let secretKey = Environment.value(of: "QINIU_SECRET_KEY"), !secretKey.isEmpty
        else { return nil }
        console.hide([secretKey])
        let keys: JSONObject = ["accessKey": accessKey, "secretKey": secretKey]
        return keys.text
    }

    /// Reads a credential anew on each call, because a file may have been replaced. Trailing line breaks are removed.
    func credential(named name: String) async throws -> Secret? {
        let value: String?
        switch sources[name] ?? .environment(CredentialName.variable(of: name)) {
        case .environment(let variable):
            value = Environment.value(of: variable) ?? (name == StoreAccountName.qiniu ? qiniuAccount() : nil)
        case .file(let path):
            let bytes = try InputFile.read(path, limit: 1 << 20, for: "--credential \(name)")
            value = String(decoding: bytes, as: UTF8.self)
        }
        guard let text = value?.trimmingLineBreaks, !text.isEmpty else { return nil }
        console.hide([text])
        return .secret(text)
    }
}

/// Validates names of credentials, which appear in queues, environment variables and lists.
enum CredentialName {
    /// Returns the name if it is valid.
    static func checked(_ name: String, for option: String) throws(CommandFailure) -> String {
        let isValid = name.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F
                || $0 == 0x2D || $0 == 0x2E
        }
        // Not quoted, because it may be the credential itself.
        guard isValid, !name.isEmpty, name.utf8.count <= 64 else {
            throw .usage(
                "\(option): the name of a credential must have 1 to 64 letters, digits, \"-\", \"_\" or \".\".")
        }
        return name
    }

    /// Returns the default environment variable of a credential: `WAYBILL_CREDENTIAL_` and the name in capitals.
    static func variable(of name: String) -> String {
        "WAYBILL_CREDENTIAL_" + name.uppercased().replacing("-", with: "_").replacing(".", with: "_")
    }
}

extension String {
    /// The string without trailing line breaks.
    var trimmingLineBreaks: String {
        var text = self[...]
        while let last = text.last, last.isNewline { text.removeLast() }
        return String(text)
    }
}
