public import HTTPTypes
import WaybillCore

/// What is done about an answer that sends the upload elsewhere.
///
/// The rules are those under which neither the body nor a credential gets lost on the way:
///
/// | status | what is done |
/// | --- | --- |
/// | 307, 308 | the same request, body and all, to the new location |
/// | 303 | `GET` of the new location: the upload was taken, its answer lies there |
/// | 301, 302 after a body | ``AfterBody``: an error, unless you choose what is meant |
/// | 301, 302 without a body | the same request to the new location |
/// | any other 3xx | an answer like another |
///
/// Only to `http` and `https`, never from `https` to `http`, at most ``maxHops`` times, never in a circle.
///
/// To another origin (scheme, host and port) nothing is sent that may authenticate: no ``UploadOptions/authentication``, no
/// client certificate, no user and password of the URL, and of the header fields only those of a fixed list, such as
/// `Content-Type`, `Accept`, `User-Agent`, `Idempotency-Key` and `traceparent`. A redirect back to the first origin does not
/// restore them. The body is sent. ``keepsCredentials`` sends all but the user and password of the URL.
///
/// ```swift
/// options.redirects = .asGET         // like a browser
/// options.redirects = .returned      // follow nothing
/// ```
public struct RedirectPolicy: Sendable, Hashable {
    /// What 301 and 302 mean after a request with a body. RFC 9110 section 15.4 allows a client to repeat it without.
    public enum AfterBody: Sendable, Hashable {
        /// Nobody can know: ``UploadError/Code/redirectWouldDropBody``.
        case fail
        /// The upload was taken, and its answer lies there: `GET`, as browsers do.
        case asGET
        /// The place has moved: the same request with its body, as for 307.
        case resend
    }

    /// Whether redirects are followed at all.
    public var follows: Bool
    /// What 301 and 302 mean after a body.
    public var afterBody: AfterBody
    /// Whether credentials, all header fields and the client certificate are sent to other origins, too. Only for servers that
    /// redirect to origins of the same owner.
    public var keepsCredentials: Bool
    /// The most redirects of an upload, over all its attempts.
    public var maxHops: Int

    /// The defaults are those of ``standard``.
    public init(
        follows: Bool = true, afterBody: AfterBody = .fail, keepsCredentials: Bool = false, maxHops: Int = 5
    ) {
        self.follows = follows
        self.afterBody = afterBody
        self.keepsCredentials = keepsCredentials
        self.maxHops = maxHops
    }

    /// 303, 307 and 308 are followed, 301 and 302 not after a body; five at most.
    public static let standard = RedirectPolicy()
    /// After a body, 301 and 302 are followed by `GET`.
    public static let asGET = RedirectPolicy(afterBody: .asGET)
    /// After a body, 301 and 302 are followed with the body.
    public static let resend = RedirectPolicy(afterBody: .resend)
    /// None is followed: the answer counts as any other, an error with the response inside unless
    /// ``UploadOptions/accepts`` takes it.
    public static let returned = RedirectPolicy(follows: false)
}

/// A redirect that was followed.
public struct UploadRedirect: Sendable, Hashable {
    /// The status that asked for it.
    public var status: HTTPResponse.Status
    /// The method that was used after it.
    public var method: HTTPRequest.Method
    /// The absolute URL that it led to. It may hold a signature; ``description`` doesn't show it.
    public var url: String
    /// Whether the credentials stayed behind, because it is or was another origin.
    public var droppedCredentials: Bool

    /// Describes a redirect.
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
