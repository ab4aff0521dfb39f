public import HTTPTypes
import WaybillCore

/// The policy for redirects.
///
/// The rules ensure that neither the body is lost nor a credential disclosed:
///
/// | status | action |
/// | --- | --- |
/// | 307, 308 | Sends the same request with its body to the new location. |
/// | 303 | Sends `GET` to the new location: the upload was accepted, and its response is there. |
/// | 301, 302 after a body | ``AfterBody``: an error by default. |
/// | 301, 302 without a body | Sends the same request to the new location. |
/// | any other 3xx | Not a redirect; treated as any other response. |
///
/// Redirects are followed only to `http` and `https`, never from `https` to `http`, at most ``maxHops`` times, and
/// never in a loop.
///
/// Requests to another origin (scheme, host and port) contain no credentials: no ``UploadOptions/authentication``, no
/// client certificate, no user and password of the URL, and of the header fields only those of a fixed list, such as
/// `Content-Type`, `Accept`, `User-Agent`, `Idempotency-Key` and `traceparent`. A redirect back to the first origin
/// does not restore them. The body is sent. With ``keepsCredentials``, everything except the user and password of the
/// URL is sent.
///
/// ```swift
/// options.redirects = .asGET         // like a browser
/// options.redirects = .returned      // follow nothing
/// ```
public struct RedirectPolicy: Sendable, Hashable {
    /// The meaning of 301 and 302 after a request with a body. RFC 9110 section 15.4 allows a client to repeat the
    /// request without the body.
    public enum AfterBody: Sendable, Hashable {
        /// The meaning is ambiguous. The upload fails with ``UploadError/Code/redirectWouldDropBody``.
        case fail
        /// The upload was accepted, and its response is at the new location: sends `GET`, as browsers do.
        case asGET
        /// The resource has moved: sends the same request with its body, as for 307.
        case resend
    }

    /// Whether redirects are followed.
    public var follows: Bool
    /// The meaning of 301 and 302 after a request with a body.
    public var afterBody: AfterBody
    /// Whether credentials, all header fields and the client certificate are also sent to other origins. Use this only
    /// for servers that redirect to origins of the same owner.
    public var keepsCredentials: Bool
    /// The maximum number of redirects of an upload in all its attempts.
    public var maxHops: Int

    /// Creates a policy. The defaults are those of ``standard``.
    public init(
        follows: Bool = true, afterBody: AfterBody = .fail, keepsCredentials: Bool = false, maxHops: Int = 5
    ) {
        self.follows = follows
        self.afterBody = afterBody
        self.keepsCredentials = keepsCredentials
        self.maxHops = maxHops
    }

    /// Follows 303, 307 and 308, and 301 and 302 only without a body; at most five redirects.
    public static let standard = RedirectPolicy()
    /// Follows 301 and 302 after a body with `GET`.
    public static let asGET = RedirectPolicy(afterBody: .asGET)
    /// Follows 301 and 302 after a body with the same body.
    public static let resend = RedirectPolicy(afterBody: .resend)
    /// Follows no redirects. The response is treated as any other: an error that contains the response, unless
    /// ``UploadOptions/accepts`` accepts it.
    public static let returned = RedirectPolicy(follows: false)
}

/// A redirect that was followed.
public struct UploadRedirect: Sendable, Hashable {
    /// The status of the redirect.
    public var status: HTTPResponse.Status
    /// The method of the following request.
    public var method: HTTPRequest.Method
    /// The absolute URL of the new location. It may contain a signature; ``description`` does not show it.
    public var url: String
    /// Whether the credentials were dropped, because this or an earlier redirect led to another origin.
    public var droppedCredentials: Bool

    /// Creates a redirect.
    public init(status: HTTPResponse.Status, method: HTTPRequest.Method, url: String, droppedCredentials: Bool) {
        self.status = status
        self.method = method
        self.url = url
        self.droppedCredentials = droppedCredentials
    }
}

extension UploadRedirect: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// One line, without the URL's user, password and query: `307 to POST https://other.example/upload`.
    public var description: String {
        "\(status.code) to \(method) \(Redaction.url(url))\(droppedCredentials ? " without credentials" : "")"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The redacted text only.
    public var customMirror: Mirror { Mirror(self, children: ["redirect": description]) }
}
