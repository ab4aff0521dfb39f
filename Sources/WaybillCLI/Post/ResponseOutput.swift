import Waybill

/// Where a response goes: its body, and its head if that is wanted.
struct ResponseOutput {
    private let body: AnswerTarget
    private let head: AnswerTarget?
    private let includesHead: Bool

    /// Opens both files, so that a wrong path costs no upload.
    init(_ output: OutputOptions) throws(CommandFailure) {
        try output.head.check(output: output.output, isJSON: output.json, isEach: false)
        body = try AnswerTarget(path: output.output, isJSON: output.json)
        head = try output.head.dump.map { (path) throws(CommandFailure) in
            try AnswerTarget(path: path, isJSON: false, option: "-D")
        }
        includesHead = output.head.isIncluded
        if let place = body.place, place == head?.place {
            throw .usage("-o and -D: both name \"\(Redaction.escaped(output.output ?? ""))\". Choose two files.")
        }
    }

    /// Delivers a response. The head goes first: it is small, and there when the body can't be written.
    func write(_ body: [UInt8], head: ResponseHead) throws(CommandFailure) {
        try self.head?.write([], after: head)
        try self.body.write(body, after: includesHead ? head : nil)
    }
}
