import FoundationEssentials
import TestSupport

/// A server of the IETF draft for resumable uploads as a program. It writes each representation that the application
/// receives to a file of the directory. The state is the number of representations.
struct DraftProgram {
    private var directory = ""
    private var sendsInterim = false

    init(_ arguments: [String]) throws {
        var words = arguments.makeIterator()
        while let word = words.next() {
            switch word {
            case "--directory": directory = words.next() ?? ""
            case "--interim": sendsInterim = true
            default: throw UsageError(text: "not an option: \(word)")
            }
        }
        guard !directory.isEmpty else { throw UsageError(text: "--directory wants a directory") }
    }

    func run() throws {
        let server = try ResumableServer(.draft8) { [sendsInterim] settings in settings.sendsInterim = sendsInterim }
        server.respond { [directory] run in
            let file = URL(filePath: "\(directory)/\(run.upload ?? "ordinary")")
            return ScriptedResponse((try? Data(run.bytes).write(to: file)) == nil ? 500 : 200)
        }
        try TestStore.serve(port: server.port) { try TestStore.say(server.applicationRuns.count) }
    }
}
