internal import CTestSupport

/// A running check sum (FNV-1a, 64 bits), to compare bodies that are too large to keep.
///
/// ```swift
/// #expect(request.digest == BodyDigest(of: expected))
/// ```
package struct BodyDigest: Sendable, Hashable {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package init(of bytes: [UInt8]) { update(bytes[...]) }

    /// Goes on with more bytes.
    package mutating func update(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            state = unsafe cts_digest(state, start, buffer.count)
        }
    }
}
