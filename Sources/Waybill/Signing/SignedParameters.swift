import FoundationEssentials
import WaybillCore
public import WaybillMultipart

extension MultipartForm {
    /// Adds a field with the signature of all plain fields: texts and secrets without a file name. Files, data, JSON
    /// and streams are not signed. An existing field with the same name is replaced.
    ///
    /// Texts are signed as they are sent, with line breaks as CRLF. Call this method last, because later changes are
    /// not covered by the signature. The common fields of a session are added later. If there are any, use
    /// ``UploadInterceptor/signingForms(with:field:)`` instead.
    public mutating func sign(with signer: ParameterSigner, field: String) {
        let name = Array(field.utf8)
        parts.removeAll { Array($0.name.utf8) == name }
        let signed = parts.compactMap { part in part.fieldBytes.map { (name: Array(part.name.utf8), value: $0) } }
        append(.text(field, signer.signature(of: signed)))
    }
}

extension OutgoingRequest {
    /// Adds a query parameter with the signature of all other parameters. An existing parameter with the same name is
    /// replaced.
    ///
    /// Names and values are decoded before they are signed; `+` is decoded as a space.
    public mutating func signQuery(with signer: ParameterSigner, parameter: String) {
        let name = Array(parameter.utf8)
        let pairs = (query ?? "").utf8.split(separator: UInt8(ascii: "&")).map { Array($0) }
        let others = pairs.filter { Self.decoded($0.prefix { $0 != UInt8(ascii: "=") }) != name }
        let signed = others.map { pair in
            let key = pair.prefix { $0 != UInt8(ascii: "=") }
            return (name: Self.decoded(key), value: Self.decoded(pair.dropFirst(key.count + 1)))
        }
        query =
            others.isEmpty ? nil : String(decoding: Array(others.joined(separator: [UInt8(ascii: "&")])), as: UTF8.self)
        appendQuery(parameter, signer.signature(of: signed))
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return result
    }
}

extension UploadInterceptor where Self == ClosureInterceptor {
    /// Returns an interceptor that signs every form after all its fields were added. See
    /// `MultipartForm.sign(with:field:)`.
    public static func signingForms(with signer: ParameterSigner, field: String) -> ClosureInterceptor {
        .composing("sign \(field)") { $0.sign(with: signer, field: field) }
    }

    /// Returns an interceptor that signs the query of every attempt. See
    /// ``OutgoingRequest/signQuery(with:parameter:)``.
    public static func signingQueries(with signer: ParameterSigner, parameter: String) -> ClosureInterceptor {
        .adapting("sign \(parameter)") { $0.signQuery(with: signer, parameter: parameter) }
    }
}

/// Base64 encodings (RFC 4648).
enum Base64Text {
    static func standard(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    static func forURL(_ bytes: [UInt8]) -> String {
        standard(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
