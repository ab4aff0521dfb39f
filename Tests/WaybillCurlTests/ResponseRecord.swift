// The fuzzer links to this file and compiles the parser into its own module.

import HTTPTypes
import WaybillCore

#if !WAYBILL_FUZZ
    @testable import WaybillCurl
#endif

/// The options with which a response is parsed.
struct ResponseOptions: Hashable, Sendable {
    var isToHEAD = false
    var limits = TransferLimits()

    /// Options for the response to a HEAD request.
    static let head = ResponseOptions(isToHEAD: true)

    /// Options with limits that short responses reach.
    static let narrow: ResponseOptions = {
        var options = ResponseOptions()
        options.limits.responseHead = .bytes(120)
        options.limits.responseHeadLines = 4
        options.limits.responseBody = .bytes(24)
        return options
    }()
}

/// Everything that the parser reports about a response. After a failure, only the failure.
struct ResponseRecord: Hashable {
    var failure: ResponseAssembler.Failure?
    var version: String?
    var status: Int?
    var fields: [String] = []
    var body: [UInt8] = []
    var isUntouched = false
    var sawContinue = false
    var isComplete = false
    /// Whether the response is complete after the end of the connection.
    var isCompleteAtEnd = false
    var hasExcess = false
    var allowsReuse = false

    init() {}

    /// Parses a response that arrives in the given pieces.
    init(_ bytes: [UInt8], cutAt cuts: [Int] = [], _ options: ResponseOptions = .init()) {
        var parser = ResponseParser(limits: options.limits, isToHEAD: options.isToHEAD)
        do throws(ResponseAssembler.Failure) {
            var start = 0
            for end in cuts + [bytes.count] {
                try Self.receive(bytes[start..<end], with: &parser)
                start = end
            }
        } catch {
            failure = error
            return
        }
        precondition(parser.byteCount == Int64(bytes.count), "The number of received bytes is wrong.")
        version = parser.version
        if let head = parser.assembler.head {
            status = head.status.code
            fields = head.headerFields.map { "\($0.name.rawName): \($0.value)" }
        }
        body = parser.assembler.body
        isUntouched = parser.isUntouched
        sawContinue = parser.assembler.sawContinue
        isComplete = parser.isComplete
        hasExcess = parser.hasExcess
        allowsReuse = parser.allowsReuse
        isCompleteAtEnd = parser.receiveEnd()
    }

    /// Returns the number of bytes that the parser stores besides the fields, after every byte was passed on its own.
    static func storedCount(of bytes: [UInt8], _ options: ResponseOptions) -> Int {
        var parser = ResponseParser(limits: options.limits, isToHEAD: options.isToHEAD)
        do throws(ResponseAssembler.Failure) {
            for index in bytes.indices { try Self.receive(bytes[index...index], with: &parser) }
        } catch {
            // What was stored until the failure counts, too.
        }
        let properties = [Mirror(reflecting: parser), Mirror(reflecting: parser.assembler)].flatMap(\.children)
        return properties.reduce(0) { $0 + (($1.value as? [UInt8])?.count ?? 0) }
    }

    /// Passes a piece in a buffer of its exact size, so that the address sanitizer detects an access beyond its end.
    private static func receive(
        _ piece: ArraySlice<UInt8>, with parser: inout ResponseParser
    ) throws(ResponseAssembler.Failure) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece.count, alignment: 1)
        defer { unsafe buffer.deallocate() }
        unsafe buffer.copyBytes(from: piece)
        try unsafe parser.receive(UnsafeRawBufferPointer(buffer))
    }
}

/// An input of the fuzzer: a byte with the options, the distances between cuts, and a response.
struct ResponseFuzzInput {
    var options: ResponseOptions
    var cuts: [Int] = []
    var response: [UInt8]

    /// Bit 0 of the first byte selects HEAD, bit 1 narrow limits; the upper four bits are the number of distances.
    init(_ input: [UInt8]) {
        let choice = input.first ?? 0
        options = choice & 2 == 0 ? ResponseOptions() : .narrow
        options.isToHEAD = choice & 1 != 0
        let distances = input.dropFirst().prefix(Int(choice >> 4))
        response = Array(input.dropFirst(1 + distances.count))
        var cut = 0
        for distance in distances {
            cut += Int(distance)
            if cut < response.count { cuts.append(cut) }
        }
    }
}

/// Returns the first property that a response violates, or `nil`.
func violation(of response: [UInt8], cutAt cuts: [Int], _ options: ResponseOptions) -> String? {
    let whole = ResponseRecord(response, options)
    for cuts in [cuts, Array(response.indices.dropFirst())] {
        let record = ResponseRecord(response, cutAt: cuts, options)
        if record != whole { return "cut at \(cuts.prefix(8)): \(record) instead of \(whole)" }
    }
    let expected = NaiveResponse.record(of: response, options)
    if whole != expected { return "\(whole), the oracle says \(expected)" }
    let limits = options.limits
    let stored = ResponseRecord.storedCount(of: response, options)
    let longestLine = max(limits.responseHead.bytes, 4_096) + 1
    if stored > limits.responseBody.bytes + longestLine { return "\(stored) bytes are stored" }
    return whole.failure == nil ? contradiction(in: whole, of: response, options) : nil
}

private func contradiction(
    in whole: ResponseRecord, of response: [UInt8], _ options: ResponseOptions
) -> String? {
    if whole.allowsReuse, !whole.isComplete || whole.hasExcess { return "reuse after an ambiguous end: \(whole)" }
    if whole.isComplete, !whole.isCompleteAtEnd || whole.status ?? 0 < 200 {
        return "complete without a head: \(whole)"
    }
    if Int64(whole.body.count) > options.limits.responseBody.bytes { return "\(whole.body.count) bytes in the body" }
    if whole.fields.count > options.limits.responseHeadLines { return "\(whole.fields.count) fields" }
    let fieldBytes = whole.fields.reduce(0) { $0 + $1.utf8.count }
    // A replacement character is longer than the byte that it replaces.
    if fieldBytes > 3 * options.limits.responseHead.bytes { return "\(fieldBytes) bytes in the fields" }
    guard whole.isComplete else { return nil }
    var longer = whole
    longer.hasExcess = true
    longer.allowsReuse = false
    if ResponseRecord(response + [0x48], options) != longer { return "a byte after the end changes \(whole)" }
    let shorter = ResponseRecord(Array(response.dropLast()), options)
    return whole.hasExcess || !shorter.isCompleteAtEnd ? nil : "complete without its last byte: \(shorter)"
}
