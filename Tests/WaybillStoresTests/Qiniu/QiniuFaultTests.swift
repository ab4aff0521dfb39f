import FoundationEssentials
import TestSupport
import Testing
import Waybill
import WaybillCore

@testable import WaybillStores

/// Each failure of the store and its result.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct QiniuFaultTests {
    enum End: Sendable, Equatable {
        case stored
        case error(StoreError.Code)
        /// The object is stored anyway.
        case storedBut(StoreError.Code)
        /// The object is stored, and the client can't know.
        case storedUnknown
    }

    struct Row: Sendable {
        var fault: QiniuFault
        var operation: QiniuStoreOperation
        /// How often the fault occurs; `nil` for always.
        var times: Int?
        var end: End
        /// The number of requests of the operation; `nil` if it can vary.
        var requests: Int?
        /// Whether the object may have been made twice: the same bytes under the same key.
        var mayRepeat = false
        var partSize = ByteCount.mebibytes(1)
    }

    private static let portal = QiniuFault.captivePortal
    private static let elsewhere = QiniuFault.refuse(400, "incorrect region, please use up-z2.qiniup.com")

    // Two hosts with one retry each: temporary failures are requested four times.
    static let forms: [Row] = [
        Row(fault: .refuse(503, ""), operation: .form, times: 3, end: .stored, requests: 4),
        Row(fault: .refuse(503, "busy"), operation: .form, times: nil, end: .error(.rejected), requests: 4),
        Row(fault: .refuse(599, "x"), operation: .form, times: 1, end: .stored, requests: 2),
        Row(fault: .refuse(400, "bad"), operation: .form, times: nil, end: .error(.rejected), requests: 1),
        Row(fault: elsewhere, operation: .form, times: nil, end: .error(.rejected), requests: 1),
        Row(
            fault: .refuse(400, "transfer acceleration is not configured on this bucket"), operation: .form, times: 1,
            end: .stored, requests: 2),
        Row(fault: .refuse(401, "bad token"), operation: .form, times: 1, end: .stored, requests: 2),
        Row(fault: .refuse(401, "bad token"), operation: .form, times: nil, end: .error(.rejected), requests: 2),
        Row(fault: .clockAhead(seconds: 7_200), operation: .form, times: nil, end: .stored, requests: 2),
        Row(
            fault: .clockAhead(seconds: 7_200, hasDate: false), operation: .form, times: nil, end: .error(.rejected),
            requests: 2),
        Row(fault: .refuse(406, "crc32"), operation: .form, times: 1, end: .stored, requests: 2),
        Row(fault: .refuse(406, "crc32"), operation: .form, times: nil, end: .error(.checksumMismatch), requests: 2),
        Row(fault: .refuse(413, "size"), operation: .form, times: nil, end: .error(.sizeNotAllowed), requests: 1),
        Row(fault: .refuse(573, "slower"), operation: .form, times: 3, end: .stored, requests: 4),
        Row(fault: .refuse(571, "slower"), operation: .form, times: nil, end: .error(.rejected), requests: 6),
        Row(fault: .refuse(612, "no entry"), operation: .form, times: nil, end: .error(.rejected), requests: 1),
        Row(fault: .refuse(614, "exists"), operation: .form, times: nil, end: .error(.objectExists), requests: 1),
        Row(fault: .refuse(631, "no bucket"), operation: .form, times: nil, end: .error(.rejected), requests: 1),
        Row(
            fault: .callbackFailed, operation: .form, times: nil, end: .storedBut(.storedButCallbackFailed), requests: 1
        ),
        Row(fault: portal, operation: .form, times: 1, end: .stored, requests: 2),
        Row(fault: portal, operation: .form, times: nil, end: .error(.unexpectedResponse), requests: 2),
        Row(fault: .drop(afterBodyBytes: 1_000), operation: .form, times: 1, end: .stored, requests: 2),
        Row(fault: .storeThenDrop, operation: .form, times: 1, end: .stored, requests: 2, mayRepeat: true),
        Row(fault: .wrongHash, operation: .form, times: 1, end: .stored, requests: 2, mayRepeat: true),
        Row(
            fault: .wrongHash, operation: .form, times: nil, end: .storedBut(.checksumMismatch), requests: 2,
            mayRepeat: true),
        Row(fault: .gibberish, operation: .form, times: nil, end: .storedBut(.unexpectedResponse), requests: 1),
        Row(fault: .stall(afterBodyBytes: 1_000), operation: .form, times: 1, end: .stored, requests: 2),
    ]

    static let parts: [Row] = [
        Row(fault: .refuse(503, ""), operation: .begin, times: 3, end: .stored, requests: 4),
        Row(fault: .refuse(503, ""), operation: .part, times: 3, end: .stored, requests: nil),
        Row(fault: .refuse(502, ""), operation: .complete, times: 1, end: .stored, requests: 2),
        Row(fault: .refuse(701, "ctx"), operation: .part, times: 1, end: .stored, requests: nil),
        Row(
            fault: .refuse(612, "no such uploadId"), operation: .part, times: nil, end: .error(.uploadGone),
            requests: nil),
        Row(fault: .forget, operation: .complete, times: 1, end: .stored, requests: 2),
        Row(fault: .forget, operation: .complete, times: nil, end: .error(.uploadGone), requests: 2),
        Row(fault: .refuse(401, "expired token"), operation: .complete, times: 1, end: .stored, requests: 2),
        Row(fault: .clockAhead(seconds: 7_200), operation: .begin, times: nil, end: .stored, requests: 2),
        Row(fault: .clockAhead(seconds: 7_200), operation: .part, times: nil, end: .stored, requests: nil),
        Row(fault: .clockAhead(seconds: 7_200), operation: .complete, times: nil, end: .stored, requests: 2),
        Row(fault: .refuse(403, "no"), operation: .begin, times: nil, end: .error(.rejected), requests: 1),
        Row(fault: elsewhere, operation: .begin, times: nil, end: .error(.rejected), requests: 1),
        Row(fault: .refuse(573, "slower"), operation: .part, times: 2, end: .stored, requests: nil),
        Row(
            fault: .callbackFailed, operation: .complete, times: nil, end: .storedBut(.storedButCallbackFailed),
            requests: 1),
        Row(fault: portal, operation: .begin, times: 1, end: .stored, requests: 2),
        Row(fault: portal, operation: .part, times: 1, end: .stored, requests: nil),
        Row(fault: portal, operation: .complete, times: nil, end: .error(.unexpectedResponse), requests: 2),
        Row(fault: .drop(afterBodyBytes: 10_000), operation: .part, times: 2, end: .stored, requests: nil),
        Row(fault: .stall(afterBodyBytes: 10_000), operation: .part, times: 1, end: .stored, requests: nil),
        Row(fault: .storeThenDrop, operation: .part, times: 1, end: .stored, requests: 3),
        Row(
            fault: .storeThenDrop, operation: .complete, times: 1, end: .storedUnknown,
            requests: 1),
        Row(fault: .wrongMD5, operation: .part, times: 1, end: .stored, requests: 4),
        Row(fault: .wrongMD5, operation: .part, times: nil, end: .error(.checksumMismatch), requests: nil),
        // The hash can be verified if each part is one block.
        Row(
            fault: .wrongHash, operation: .complete, times: 1, end: .stored, requests: 2, mayRepeat: true,
            partSize: .mebibytes(4)),
        Row(
            fault: .wrongHash, operation: .complete, times: nil, end: .storedBut(.checksumMismatch), requests: 2,
            mayRepeat: true, partSize: .mebibytes(4)),
        Row(fault: .gibberish, operation: .begin, times: nil, end: .error(.unexpectedResponse), requests: 1),
        Row(fault: .gibberish, operation: .complete, times: nil, end: .storedBut(.unexpectedResponse), requests: 1),
    ]

    @Test(arguments: forms.indices) func `each fault of a form ends as in its row`(index: Int) async throws {
        try await run(Self.forms[index], size: 50_000)
    }

    @Test(arguments: parts.indices) func `each fault of parts ends as in its row`(index: Int) async throws {
        try await run(Self.parts[index], size: 2 * 1_048_576 + 70_000)
    }

    private func run(_ row: Row, size: Int) async throws {
        let fixture = try QiniuFixture(hosts: 2)
        fixture.store.fail(row.fault, on: row.operation, times: row.times)
        let client = fixture.client {
            $0.partSize = row.partSize
            // Only where no response arrives: a busy machine may delay any response.
            guard row.lingers else { return }
            $0.transfer.limits.stall = .milliseconds(500 * Slowness.factor)
            $0.transfer.limits.response = .seconds(Slowness.factor)
        }
        let bytes = QiniuFixture.bytes(size)
        let error = await QiniuFixture.failure { () async throws(StoreError) in
            try await client.upload(.data(bytes), to: "k")
        }
        let state = try await fixture.store.settled()
        let made = state.object("k")?.timesStored ?? 0
        let description = "\(row.fault) on \(row.operation): \(error.map { "\($0)" } ?? "stored"), made \(made)"
        switch row.end {
        case .stored:
            #expect(error == nil, "\(description)")
            #expect(row.mayRepeat ? (1...2).contains(made) : made == 1, "\(description)")
            #expect(state.object("k")?.content.size == size)
        case .error(let code):
            #expect(error?.code == code && error?.isStored == false, "\(description)")
            #expect(made == 0, "\(description)")
        case .storedBut(let code):
            #expect(error?.code == code, "\(description)")
            #expect(row.mayRepeat ? (1...2).contains(made) : made == 1, "\(description)")
            #expect(error?.isStored == (code == .storedButCallbackFailed), "\(description)")
        case .storedUnknown:
            #expect(error?.outcome == .unknown && error?.isStored == false, "\(description)")
            #expect(made == 1, "\(description)")
        }
        if let requests = row.requests { #expect(state.log(row.operation).count == requests, "\(description)") }
        // A stored part is never sent again, unless its stored bytes appear to be wrong.
        #expect(row.isResent || state.counts.values.allSatisfy { $0.resentAfterStored == 0 }, "\(description)")
        #expect(row.lingers || state.counts.values.allSatisfy { $0.peakInFlight <= 1 }, "\(description)")
        #expect(fixture.store.complaints.isEmpty)
        // Printed errors contain no part of a token.
        for token in Set(state.log.map(\.token)).filter({ !$0.isEmpty }) {
            for piece in token.split(separator: ":").dropFirst() {
                #expect(!description.contains(piece), "\(description)")
            }
        }
    }
}

extension QiniuFaultTests.Row {
    var isResent: Bool { if case .wrongMD5 = fault { true } else { false } }
    /// Whether the store still processes the first request when the next one arrives, because it was not notified
    /// that the client had closed.
    var lingers: Bool { if case .stall = fault { true } else { false } }
}
