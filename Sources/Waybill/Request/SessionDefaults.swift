public import WaybillMultipart

/// What a session adds to every upload, to name what one upload does without: ``UploadOptions/omits``.
///
/// ```swift
/// options.omits = [.commonFields, .interceptors]
/// ```
public struct SessionDefaults: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: Int
    /// Makes a set of bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// ``UploadSession/Configuration/headers``.
    public static let headers = SessionDefaults(rawValue: 1)
    /// ``UploadSession/Configuration/commonFields``.
    public static let commonFields = SessionDefaults(rawValue: 2)
    /// ``UploadSession/Configuration/interceptors``; those of the request stay.
    public static let interceptors = SessionDefaults(rawValue: 4)
    /// ``UploadSession/Configuration/cookies``: none are sent, none are kept.
    public static let cookies = SessionDefaults(rawValue: 8)
    /// ``UploadSession/Configuration/userAgent``.
    public static let userAgent = SessionDefaults(rawValue: 16)
    /// All of them.
    public static let all: SessionDefaults = [.headers, .commonFields, .interceptors, .cookies, .userAgent]
}

/// Parts that stand at the beginning of every form of a session.
///
/// ```swift
/// configuration.commonFields = [.text("appVersion", "2.1"), .text("channel", "kiosk")]
/// configuration.commonFields = CommonFields {
///     [.text("timestamp", "\(Int(Date().timeIntervalSince1970))"), .text("TOKEN", .secret(token.value))]
/// }
/// ```
///
/// They are made once for every upload, when its form is prepared, so that all its attempts send the same bytes. A part of
/// the form with the same name, byte for byte, takes the place of the common one. Contents that are no form, and bodies
/// that were prepared by you, get none.
public struct CommonFields: Sendable, ExpressibleByArrayLiteral {
    private let make: @Sendable () -> [MultipartPart]

    /// Parts that are the same for every upload.
    public init(arrayLiteral elements: MultipartPart...) {
        make = { elements }
    }

    /// Parts that are made anew for every upload. The closure must answer at once.
    public init(_ make: @escaping @Sendable () -> [MultipartPart]) {
        self.make = make
    }

    /// The form with those of the common parts in front that it does not have itself.
    func put(before form: MultipartForm) -> MultipartForm {
        let own = Set(form.parts.map { Array($0.name.utf8) })
        var form = form
        form.parts = make().filter { !own.contains(Array($0.name.utf8)) } + form.parts
        return form
    }
}
