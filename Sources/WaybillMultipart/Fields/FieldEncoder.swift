/// The encoder of a single value: it has the value's name and nesting depth, and returns containers.
final class FieldEncoder: Encoder {
    let output: FieldOutput
    let name: String
    let codingPath: [any CodingKey]
    let depth: Int
    let isSecret: Bool
    private(set) var containers = 0

    init(_ output: FieldOutput, named name: String, at path: [any CodingKey], depth: Int, isSecret: Bool) {
        self.output = output
        self.name = name
        self.codingPath = path
        self.depth = depth
        self.isSecret = isSecret
    }

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        containers += 1
        return KeyedEncodingContainer(FieldMembers<Key>(node: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        containers += 1
        return FieldElements(node: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        containers += 1
        return FieldSingle(node: self)
    }

    /// Returns the encoder of a member or element.
    func child(named name: String, key: any CodingKey, isSecret: Bool = false) -> FieldEncoder {
        FieldEncoder(
            output, named: name, at: codingPath + [key], depth: depth + 1, isSecret: self.isSecret || isSecret)
    }

    func put(_ text: String) throws {
        try checkDepth()
        try output.put(text, named: name, at: codingPath, isSecret)
    }

    func encode(_ value: some Encodable) throws {
        try checkDepth()
        try output.encode(value, named: name, at: codingPath, depth: depth, isSecret: isSecret)
    }

    func text(of value: some BinaryFloatingPoint & CustomStringConvertible) throws -> String {
        try output.text(of: value, at: codingPath)
    }

    /// Nested containers and encoders passed to other values bypass ``encode(_:)``; their contents do not.
    func checkDepth() throws {
        guard depth <= FieldOutput.maxDepth, containers <= FieldOutput.maxContainers else {
            throw FieldOutput.tooDeep(codingPath)
        }
    }
}

/// The members of a type.
private struct FieldMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: FieldEncoder

    var codingPath: [any CodingKey] { node.codingPath }

    mutating func encodeNil(forKey key: Key) throws {
        try node.checkDepth()
        try node.output.putNil(named: child(key).name, at: node.codingPath + [key])
    }

    mutating func encode(_ value: Bool, forKey key: Key) throws { try put(node.output.text(of: value), key) }
    mutating func encode(_ value: String, forKey key: Key) throws { try put(value, key) }
    mutating func encode(_ value: Double, forKey key: Key) throws { try put(node.text(of: value), key) }
    mutating func encode(_ value: Float, forKey key: Key) throws { try put(node.text(of: value), key) }
    mutating func encode(_ value: Int, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: Int8, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: Int16, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: Int32, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: Int64, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: UInt, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: UInt8, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: UInt16, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: UInt32, forKey key: Key) throws { try put(String(value), key) }
    mutating func encode(_ value: UInt64, forKey key: Key) throws { try put(String(value), key) }

    mutating func encode(_ value: some Encodable, forKey key: Key) throws {
        try node.checkDepth()
        try child(key).encode(value)
    }

    // A synthesized encode(to:) calls these for optional members; the default implementations would skip nil.
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOrNil(value, key) }
    mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        try encodeOrNil(value, key)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        child(key).container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        child(key).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { child(FieldKey("super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { child(key) }

    private func put(_ text: String, _ key: Key) throws {
        try node.checkDepth()
        try child(key).put(text)
    }

    private mutating func encodeOrNil(_ value: (some Encodable)?, _ key: Key) throws {
        // Via child(_:), where the value is dispatched on its type and formatted.
        if let value { try child(key).encode(value) } else { try encodeNil(forKey: key) }
    }

    private func child(_ key: any CodingKey) -> FieldEncoder {
        node.child(
            named: node.output.member(key.stringValue, of: node.name), key: key,
            isSecret: node.output.settings.secrets.contains(key.stringValue))
    }
}

/// The elements of a list.
private struct FieldElements: UnkeyedEncodingContainer {
    let node: FieldEncoder
    private(set) var count = 0

    init(node: FieldEncoder) {
        self.node = node
    }

    var codingPath: [any CodingKey] { node.codingPath }

    mutating func encodeNil() throws {
        let next = next()
        try node.output.putNil(named: next.name, at: next.codingPath)
    }

    mutating func encode(_ value: Bool) throws { try put(node.output.text(of: value)) }
    mutating func encode(_ value: String) throws { try put(value) }
    mutating func encode(_ value: Double) throws { try put(node.text(of: value)) }
    mutating func encode(_ value: Float) throws { try put(node.text(of: value)) }
    mutating func encode(_ value: Int) throws { try put(String(value)) }
    mutating func encode(_ value: Int8) throws { try put(String(value)) }
    mutating func encode(_ value: Int16) throws { try put(String(value)) }
    mutating func encode(_ value: Int32) throws { try put(String(value)) }
    mutating func encode(_ value: Int64) throws { try put(String(value)) }
    mutating func encode(_ value: UInt) throws { try put(String(value)) }
    mutating func encode(_ value: UInt8) throws { try put(String(value)) }
    mutating func encode(_ value: UInt16) throws { try put(String(value)) }
    mutating func encode(_ value: UInt32) throws { try put(String(value)) }
    mutating func encode(_ value: UInt64) throws { try put(String(value)) }

    mutating func encode(_ value: some Encodable) throws {
        try node.checkDepth()
        try next().encode(value)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        next().container(keyedBy: keyType)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { next() }

    private mutating func put(_ text: String) throws {
        try node.checkDepth()
        try next().put(text)
    }

    private mutating func next() -> FieldEncoder {
        defer { count += 1 }
        return node.child(named: node.output.element(count, of: node.name), key: FieldKey(index: count))
    }
}

/// A single-value container. Its value is encoded one level deeper, so that a value that encodes itself terminates.
private struct FieldSingle: SingleValueEncodingContainer {
    let node: FieldEncoder

    var codingPath: [any CodingKey] { node.codingPath }

    mutating func encodeNil() throws { try node.output.putNil(named: node.name, at: node.codingPath) }

    mutating func encode(_ value: Bool) throws { try put(node.output.text(of: value)) }
    mutating func encode(_ value: String) throws { try put(value) }
    mutating func encode(_ value: Double) throws { try put(node.text(of: value)) }
    mutating func encode(_ value: Float) throws { try put(node.text(of: value)) }
    mutating func encode(_ value: Int) throws { try put(String(value)) }
    mutating func encode(_ value: Int8) throws { try put(String(value)) }
    mutating func encode(_ value: Int16) throws { try put(String(value)) }
    mutating func encode(_ value: Int32) throws { try put(String(value)) }
    mutating func encode(_ value: Int64) throws { try put(String(value)) }
    mutating func encode(_ value: UInt) throws { try put(String(value)) }
    mutating func encode(_ value: UInt8) throws { try put(String(value)) }
    mutating func encode(_ value: UInt16) throws { try put(String(value)) }
    mutating func encode(_ value: UInt32) throws { try put(String(value)) }
    mutating func encode(_ value: UInt64) throws { try put(String(value)) }

    mutating func encode(_ value: some Encodable) throws {
        try node.checkDepth()
        try node.output.encode(
            value, named: node.name, at: node.codingPath, depth: node.depth + 1, isSecret: node.isSecret)
    }

    private func put(_ text: String) throws { try node.put(text) }
}
