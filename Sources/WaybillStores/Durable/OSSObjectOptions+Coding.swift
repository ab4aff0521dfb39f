import HTTPTypes

// The persistent form of object options. Only properties that are set are encoded; properties that are absent in data
// of an older release have their defaults.

extension OSSObjectOptions: Codable {
    private enum CodingKeys: String, CodingKey {
        case contentType, headers, metadata, encodesMetadata, access, storageClass, forbidsOverwrite, tags, encryption
        case encryptionKeyID, trafficLimit, callback
    }

    /// Decodes the result of ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        contentType = try values.decodeIfPresent(String.self, forKey: .contentType)
        headers = try values.decodeIfPresent(HTTPFields.self, forKey: .headers) ?? [:]
        metadata = try values.decodeIfPresent([String: String].self, forKey: .metadata) ?? [:]
        if try values.decodeIfPresent(Bool.self, forKey: .encodesMetadata) == true { metadataPolicy = .percentEncode }
        access = try values.decodeIfPresent(OSSAccess.self, forKey: .access)
        storageClass = try values.decodeIfPresent(OSSStorageClass.self, forKey: .storageClass)
        forbidsOverwrite = try values.decodeIfPresent(Bool.self, forKey: .forbidsOverwrite) ?? false
        tags = try values.decodeIfPresent([String: String].self, forKey: .tags) ?? [:]
        encryption = try values.decodeIfPresent(String.self, forKey: .encryption)
        encryptionKeyID = try values.decodeIfPresent(String.self, forKey: .encryptionKeyID)
        trafficLimit = try values.decodeIfPresent(Int.self, forKey: .trafficLimit)
        callback = try values.decodeIfPresent(OSSCallback.self, forKey: .callback)
    }

    /// Encodes the properties that are set.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(contentType, forKey: .contentType)
        if !headers.isEmpty { try values.encode(headers, forKey: .headers) }
        if !metadata.isEmpty { try values.encode(metadata, forKey: .metadata) }
        if metadataPolicy == .percentEncode { try values.encode(true, forKey: .encodesMetadata) }
        try values.encodeIfPresent(access, forKey: .access)
        try values.encodeIfPresent(storageClass, forKey: .storageClass)
        if forbidsOverwrite { try values.encode(true, forKey: .forbidsOverwrite) }
        if !tags.isEmpty { try values.encode(tags, forKey: .tags) }
        try values.encodeIfPresent(encryption, forKey: .encryption)
        try values.encodeIfPresent(encryptionKeyID, forKey: .encryptionKeyID)
        try values.encodeIfPresent(trafficLimit, forKey: .trafficLimit)
        try values.encodeIfPresent(callback, forKey: .callback)
    }
}

extension OSSAccess: Codable {}
extension OSSStorageClass: Codable {}

extension OSSCallback: Codable {
    private enum CodingKeys: String, CodingKey {
        case urls, body, bodyType, host, sendsServerName, variables
    }

    /// Decodes the result of ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let type = try values.decodeIfPresent(String.self, forKey: .bodyType).flatMap(BodyType.init(rawValue:))
        self.init(
            try values.decode([String].self, forKey: .urls), body: try values.decode(String.self, forKey: .body),
            bodyType: type ?? .form)
        host = try values.decodeIfPresent(String.self, forKey: .host)
        sendsServerName = try values.decodeIfPresent(Bool.self, forKey: .sendsServerName) ?? false
        variables = try values.decodeIfPresent([String: String].self, forKey: .variables) ?? [:]
    }

    /// Encodes the callback, including its variables.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(urls, forKey: .urls)
        try values.encode(body, forKey: .body)
        try values.encode(bodyType.rawValue, forKey: .bodyType)
        try values.encodeIfPresent(host, forKey: .host)
        if sendsServerName { try values.encode(true, forKey: .sendsServerName) }
        if !variables.isEmpty { try values.encode(variables, forKey: .variables) }
    }
}
