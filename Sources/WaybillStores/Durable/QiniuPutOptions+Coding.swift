import Waybill

// The persistent form of put options and of the scope of a token.

extension QiniuPutOptions: Codable {
    private enum CodingKeys: String, CodingKey {
        case variables, metadata, formFields, priority, tags, group
    }

    /// Decodes the result of ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        variables = try values.decodeIfPresent([String: String].self, forKey: .variables) ?? [:]
        metadata = try values.decodeIfPresent([String: String].self, forKey: .metadata) ?? [:]
        formFields = try values.decodeIfPresent([String: String].self, forKey: .formFields) ?? [:]
        priority = try values.decodeIfPresent(Int.self, forKey: .priority).flatMap(UploadPriority.init) ?? .normal
        tags = try values.decodeIfPresent(Set<String>.self, forKey: .tags) ?? []
        group = try values.decodeIfPresent(String.self, forKey: .group)
    }

    /// Encodes the properties that differ from their defaults.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        if !variables.isEmpty { try values.encode(variables, forKey: .variables) }
        if !metadata.isEmpty { try values.encode(metadata, forKey: .metadata) }
        if !formFields.isEmpty { try values.encode(formFields, forKey: .formFields) }
        if priority != .normal { try values.encode(priority.rawValue, forKey: .priority) }
        if !tags.isEmpty { try values.encode(tags.sorted(), forKey: .tags) }
        try values.encodeIfPresent(group, forKey: .group)
    }
}

extension QiniuScope: Codable {
    private enum CodingKeys: String, CodingKey {
        case text, isPrefix, isNew
    }

    /// Decodes the result of ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            text: try values.decode(String.self, forKey: .text),
            isPrefix: try values.decodeIfPresent(Bool.self, forKey: .isPrefix) ?? false,
            isInsertOnly: try values.decodeIfPresent(Bool.self, forKey: .isNew) ?? false)
    }

    /// Encodes the value of `scope` and its interpretation.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(text, forKey: .text)
        switch self {
        case .prefix: try values.encode(true, forKey: .isPrefix)
        case .newKey: try values.encode(true, forKey: .isNew)
        case .bucket, .key: break
        }
    }
}
