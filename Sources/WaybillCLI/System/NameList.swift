import WaybillCore
import Waybill

/// A list of file names, as written by `find`, `ls` and `git ls-files`: one per line, or each terminated by a NUL byte.
///
/// Names are bytes: quotes and backslashes have no meaning, and a CR is part of the name. Empty names are skipped.
struct NameList {
    /// Linux paths have 4,096 bytes at most. A longer name means that the names are separated by something else.
    static let maxNameBytes = 65_536

    private let separator: UInt8
    private var pending: [UInt8] = []
    private(set) var names: [String] = []

    init(isNullSeparated: Bool) { separator = isNullSeparated ? 0 : UInt8(ascii: "\n") }

    /// Reads a list; `-` is standard input.
    static func read(_ path: String, isNullSeparated: Bool) throws(CommandFailure) -> [String] {
        var list = NameList(isNullSeparated: isNullSeparated)
        try InputFile.forEachChunk(of: path, for: "--each-from") { chunk throws(CommandFailure) in
            try list.add(chunk)
        }
        try list.finish()
        return list.names
    }

    /// Processes the next bytes.
    mutating func add(_ bytes: ArraySlice<UInt8>) throws(CommandFailure) {
        var rest = bytes
        while let end = rest.firstIndex(of: separator) {
            pending += rest[..<end]
            try finish()
            rest = rest[(end + 1)...]
        }
        pending += rest
        guard pending.count <= Self.maxNameBytes else {
            throw .usage(
                "--each-from: a name has more than \(Self.maxNameBytes) bytes. Write one name per line"
                    + (separator == 0 ? ", or leave out -0." : ", or use -0 if they are terminated by NUL bytes."))
        }
    }

    /// Adds the last name, which has no separator after it.
    mutating func finish() throws(CommandFailure) {
        defer { pending.removeAll(keepingCapacity: true) }
        guard !pending.isEmpty else { return }
        guard !pending.contains(0) else {
            throw .usage("--each-from: a name contains a NUL byte. Use -0 if the names are terminated by NUL bytes.")
        }
        names.append(SystemPath.text(of: pending))
    }
}
