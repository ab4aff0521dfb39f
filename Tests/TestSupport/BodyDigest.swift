internal import CTestSupport

/// A running checksum (FNV-1a, 64 bits) for comparing bodies that are too large to store.
///
/// ```swift
/// #expect(request.digest == BodyDigest(of: expected))
/// ```
package struct BodyDigest: Sendable, Hashable {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package init(of bytes: [UInt8]) { update(bytes[...]) }

    /// Adds more bytes.
    package mutating func update(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            state = unsafe cts_digest(state, start, buffer.count)
        }
    }
}
