public import WaybillMultipart

/// The parts of a session's configuration that are added to every upload. Use it with
/// ``UploadOptions/excludedDefaults`` to exclude some of them.
///
/// ```swift
/// options.excludedDefaults = [.commonFields, .interceptors]
/// ```
public struct SessionDefaults: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int
    /// Creates a set from its raw value.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// ``UploadSession/Configuration/headers``.
    public static let headers = SessionDefaults(rawValue: 1)
    /// ``UploadSession/Configuration/commonFields``.
    public static let commonFields = SessionDefaults(rawValue: 2)
    /// ``UploadSession/Configuration/interceptors``. Those of the request are kept.
    public static let interceptors = SessionDefaults(rawValue: 4)
    /// ``UploadSession/Configuration/cookies``. Cookies are neither sent nor stored.
    public static let cookies = SessionDefaults(rawValue: 8)
    /// ``UploadSession/Configuration/userAgent``.
    public static let userAgent = SessionDefaults(rawValue: 16)
    /// All of them.
    public static let all: SessionDefaults = [.headers, .commonFields, .interceptors, .cookies, .userAgent]
}

/// Parts at the beginning of every form of a session.
///
/// ```swift
/// configuration.commonFields = [.text("appVersion", "2.1"), .text("channel", "kiosk")]
/// configuration.commonFields = CommonFields {
///     [.text("timestamp", "\(Int(Date().timeIntervalSince1970))"), .text("TOKEN", .secret(token.value))]
/// }
/// ```
///
/// The parts are created once per upload, when its form is prepared, so that all its attempts send the same bytes. A
/// part of the form with the same name, compared byte by byte, replaces the common one. Contents that are not forms,
/// and bodies that the caller prepared, get no common fields.
public struct CommonFields: Sendable, ExpressibleByArrayLiteral {
    private let make: @Sendable () -> [MultipartPart]

    /// Creates parts that are the same for every upload.
    public init(arrayLiteral elements: MultipartPart...) {
        make = { elements }
    }

    /// Creates parts with a closure that is called for every upload. The closure must return immediately.
    public init(_ make: @escaping @Sendable () -> [MultipartPart]) {
        self.make = make
    }

    /// Returns the form with the common parts in front, except for those whose names the form already has.
    func prepended(to form: MultipartForm) -> MultipartForm {
        let own = Set(form.parts.map { Array($0.name.utf8) })
        var form = form
        form.parts = make().filter { !own.contains(Array($0.name.utf8)) } + form.parts
        return form
    }
}
