import Glibc
import WaybillCore

/// Reads a segment list from the first byte to the last and fills each buffer as far as possible.
///
/// The pool reads bytes that are not in memory. Allocates when it opens a file and at its first wait, never per read.
final class SegmentReader: FileSendingReader {
    private enum Step {
        case progress, full, waiting
    }

    private let list: SegmentList
    private let disk: DiskAccess
    // Set for a body without a closing boundary: its last bytes are held back until the files were checked again.
    private let holdsBack: Bool
    private let wake: @Sendable () -> Void
    private let streams: [any BodyReader]

    private var index = 0
    private var offset: Int64 = 0
    private var descriptor: FileDescriptor?
    private var canReadNow = true
    private var canSendNow = true
    private var isChecked = false
    private var verified = 0
    private var withheldBytes: [UInt8] = []
    private var job: DiskJob?
    private var isJobPending = false
    private var pooledRange = 0..<0
    private var failure: BodyError?

    /// Creates a reader and the readers of all streams, so that a stream that was read already fails now, not midway.
    init(
        _ list: SegmentList, disk: DiskAccess, holdsBack: Bool, wake: @escaping @Sendable () -> Void
    ) throws(BodyError) {
        var streams: [any BodyReader] = []
        for stream in list.streams { streams.append(try stream.makeReader(disk: disk, wake: wake)) }
        self.streams = streams
        self.list = list
        self.disk = disk
        self.holdsBack = holdsBack
        self.wake = wake
    }

    /// Creates a reader of a range of a list. The files are checked before the last byte of the range is read.
    convenience init(
        _ list: SegmentList, range: Range<Int64>, disk: DiskAccess, holdsBack: Bool,
        wake: @escaping @Sendable () -> Void
    ) throws(BodyError) {
        let slice = list.slice(range)
        try self.init(slice, disk: disk, holdsBack: holdsBack || slice.endsWithVerification, wake: wake)
    }

    func read(into output: inout OutputRawSpan) throws(BodyError) -> BodyRead {
        if let failure { throw failure }
        do {
            return try fill(&output)
        } catch {
            // Sticky: a read after a failure must not yield the closing boundary.
            failure = error
            throw error
        }
    }

    private func fill(_ output: inout OutputRawSpan) throws(BodyError) -> BodyRead {
        let before = output.byteCount
        var isWaiting = false
        steps: while index < list.segments.count {
            switch try step(&output) {
            case .progress: continue
            case .full: break steps
            case .waiting:
                isWaiting = true
                break steps
            }
        }
        if isWaiting, holdsBack, isOnlyCheckMissing { holdBack(output.byteCount - before, of: &output) }
        let appended = output.byteCount - before
        if appended > 0 { return .bytes(appended) }
        return index == list.segments.count ? .end : .later
    }

    func send(upTo limit: Int, into socket: Int32) -> Int? {
        guard failure == nil, !isJobPending, pooledRange.isEmpty, disk.allowsNonblocking, canReadNow, canSendNow,
            let descriptor, index < list.segments.count, case .file(let slice) = list.segments[index],
            offset < slice.count
        else { return nil }
        let count = Int(min(Int64(limit), slice.count - offset))
        let result = disk.sendNow(descriptor, count, at: slice.range.lowerBound + offset, into: socket)
        guard result <= 0 else {
            offset += Int64(result)
            return result
        }
        switch Int32(-result) {
        case EAGAIN, EINTR: return 0
        case ENODATA, ENOMEM, ENOBUFS: return nil
        default:
            // The next call would fail, too.
            canSendNow = false
            return nil
        }
    }

    func close() {
        failure = BodyError(.readerClosed, "The reader was used after it was closed. Create a new reader.")
        job?.close()
        job = nil
        descriptor = nil
        withheldBytes = []
        for stream in streams { stream.close() }
    }

    // MARK: One step

    private func step(_ output: inout OutputRawSpan) throws(BodyError) -> Step {
        if isJobPending {
            guard let outcome = job?.takeOutcome() else { return .waiting }
            isJobPending = false
            try accept(outcome)
            return .progress
        }
        switch list.segments[index] {
        case .bytes(let bytes): return copy(bytes, to: &output)
        case .file(let slice): return try readFile(slice, into: &output)
        case .stream(let number): return try readStream(streams[number], into: &output)
        case .verification: return try verify(&output)
        }
    }

    private func copy(_ bytes: [UInt8], to output: inout OutputRawSpan) -> Step {
        let start = Int(offset)
        let count = min(output.freeCapacity, bytes.count - start)
        unsafe bytes.withUnsafeBytes { all in
            unsafe append(UnsafeRawBufferPointer(rebasing: all[start..<start + count]), to: &output)
        }
        offset += Int64(count)
        guard offset == Int64(bytes.count) else { return .full }
        nextSegment()
        return .progress
    }

    private func readStream(_ stream: any BodyReader, into output: inout OutputRawSpan) throws(BodyError) -> Step {
        guard output.freeCapacity > 0 else { return .full }
        do {
            switch try stream.read(into: &output) {
            case .bytes: return .progress
            case .later: return .waiting
            case .end:
                stream.close()
                nextSegment()
                return .progress
            }
        } catch {
            throw error as? BodyError ?? BodyError(.streamFailed, "The stream failed: \(error)", cause: error)
        }
    }

    private func readFile(_ slice: FileSlice, into output: inout OutputRawSpan) throws(BodyError) -> Step {
        let source = slice.source
        guard let descriptor else {
            guard let opened = try disk.openNow(source) else { return submit(.open(source)) }
            descriptor = opened
            return .progress
        }
        guard offset < slice.count else {
            if isChecked {
                nextSegment()
                return .progress
            }
            guard disk.allowsNonblocking, canReadNow else { return submit(.check(descriptor, source)) }
            try disk.check(descriptor, source)
            nextSegment()
            return .progress
        }
        guard output.freeCapacity > 0 else { return .full }
        if !pooledRange.isEmpty {
            copyPooled(to: &output)
            return .progress
        }
        if disk.allowsNonblocking, canReadNow, try readNow(descriptor, slice, into: &output) { return .progress }
        let start = slice.range.lowerBound + offset
        let count = Int(min(slice.count - offset, Int64(DiskJob.maxReadBytes)))
        return submit(.read(descriptor, source, offset: start, count: count, end: slice.range.upperBound))
    }

    /// Reads bytes that are in the page cache directly into the caller's buffer. Returns `false` if that would wait.
    private func readNow(
        _ descriptor: FileDescriptor, _ slice: FileSlice, into output: inout OutputRawSpan
    ) throws(BodyError) -> Bool {
        let count = Int(min(Int64(output.freeCapacity), slice.count - offset))
        let disk = disk
        let start = slice.range.lowerBound + offset
        let result = unsafe output.withUnsafeMutableBytes { buffer, used in
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + count])
            let result = unsafe disk.readNow(descriptor, into: target, at: start)
            used += max(0, result)
            return result
        }
        switch result {
        case 1...:
            offset += Int64(result)
            return true
        case 0: throw disk.endedEarly(descriptor, slice.source)
        case -Int(EAGAIN): return false
        case -Int(EINTR): return true
        case -Int(EOPNOTSUPP), -Int(EINVAL), -Int(ENOSYS):
            canReadNow = false
            return false
        default: throw slice.source.failed(SystemError(Int32(-result)))
        }
    }

    private func verify(_ output: inout OutputRawSpan) throws(BodyError) -> Step {
        while verified < list.sources.count {
            guard try disk.verifyNow(list.sources[verified]) else {
                return submit(.verify(list.sources, from: verified))
            }
            verified += 1
        }
        guard !withheldBytes.isEmpty else {
            nextSegment()
            return .progress
        }
        return copy(withheldBytes, to: &output)
    }

    private func nextSegment() {
        index += 1
        offset = 0
        descriptor = nil
        canReadNow = true
        canSendNow = true
        isChecked = false
    }

    // MARK: The pool

    private func submit(_ request: DiskJob.Request) -> Step {
        let job = self.job ?? makeJob()
        self.job = job
        isJobPending = true
        job.submit(request)
        return .waiting
    }

    private func makeJob() -> DiskJob {
        let largest = list.segments.reduce(Int64(0)) { largest, segment in
            guard case .file(let slice) = segment else { return largest }
            return max(largest, slice.count)
        }
        return DiskJob(disk: disk, bufferSize: Int(min(largest, Int64(DiskJob.maxReadBytes))), wake: wake)
    }

    private func accept(_ outcome: DiskJob.Outcome) throws(BodyError) {
        switch outcome {
        case .opened(let opened): descriptor = opened
        case .read(let count, let checked):
            pooledRange = 0..<count
            isChecked = checked
        case .checked: nextSegment()
        case .verified: verified = list.sources.count
        case .failed(let error): throw error
        }
    }

    private func copyPooled(to output: inout OutputRawSpan) {
        guard let job else { return }
        let count = min(output.freeCapacity, pooledRange.count)
        let end = pooledRange.lowerBound + count
        unsafe append(UnsafeRawBufferPointer(rebasing: job.bytes[pooledRange.lowerBound..<end]), to: &output)
        pooledRange = end..<pooledRange.upperBound
        offset += Int64(count)
    }

    // MARK: Holding back

    /// Whether all bytes were read and only the checks of the files are outstanding.
    private var isOnlyCheckMissing: Bool {
        switch list.segments[index] {
        case .bytes, .stream: false
        case .file(let slice): offset == slice.count && index + 2 == list.segments.count
        case .verification: index + 1 == list.segments.count
        }
    }

    /// Removes the last bytes from the caller's buffer.
    private func holdBack(_ count: Int, of output: inout OutputRawSpan) {
        guard count > 0 else { return }
        var withheld: [UInt8] = []
        unsafe output.withUnsafeMutableBytes { buffer, used in
            withheld = unsafe Array(buffer[used - count..<used])
            used -= count
        }
        withheldBytes = withheld
    }
}

extension SegmentReader: CustomReflectable {
    /// Empty: the segments contain values that must not be printed.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Appends bytes to a span that has capacity for them.
func append(_ bytes: UnsafeRawBufferPointer, to output: inout OutputRawSpan) {
    unsafe output.withUnsafeMutableBytes { buffer, used in
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + bytes.count]).copyMemory(from: bytes)
        used += bytes.count
    }
}
