import ArgumentParser

/// A call as passed to ArgumentParser, with only the first of arguments that may be repeated any number of times.
///
/// ArgumentParser's time grows with the square of the number of arguments; with 20,000 files it took 16 seconds. The
/// command adds the other arguments after parsing: ``TakesManyArguments/addRemaining(of:)``.
struct LongCall: Sendable, Hashable {
    /// The words for ArgumentParser.
    private(set) var words: [String] = []
    /// The other values by the first long names of their options; those of positional arguments have an empty name.
    private(set) var remaining: [String: [String]] = [:]

    /// Removes repetitions of the names in `many`.
    init(_ pieces: [CallReader.Piece], many: Set<String>) {
        var seen: Set<String> = []
        for piece in pieces {
            guard let (name, value) = Self.argument(of: piece), many.contains(name), !seen.insert(name).inserted else {
                words += piece.words
                continue
            }
            remaining[name, default: []].append(value)
        }
    }

    private static func argument(of piece: CallReader.Piece) -> (name: String, value: String)? {
        switch piece.kind {
        case .option(let name, let value?): (name, value)
        case .positional(let word): ("", word)
        case .option(_, nil), .flag, .other: nil
        }
    }
}

/// A command with arguments that may be repeated any number of times.
protocol TakesManyArguments: ParsableCommand {
    /// The properties for the values of these arguments, by first long name; positional arguments have an empty name.
    static var manyArguments: [String: ManyArguments<Self>] { get }
}

/// The property for the values of an argument.
enum ManyArguments<Command> {
    case texts(WritableKeyPath<Command, [String]>)
    case numbers(WritableKeyPath<Command, [Int64]>)
}

extension TakesManyArguments {
    static var manyNames: Set<String> { Set(manyArguments.keys) }

    /// Adds the arguments that were not passed to ArgumentParser.
    mutating func addRemaining(of call: LongCall) throws(CommandFailure) {
        for (name, property) in Self.manyArguments {
            guard let values = call.remaining[name] else { continue }
            switch property {
            case .texts(let path): self[keyPath: path] += values
            case .numbers(let path):
                for value in values {
                    guard let number = Int64(value) else {
                        throw .usage("\"\(value)\" is not a valid number. See waybill --help.")
                    }
                    self[keyPath: path].append(number)
                }
            }
        }
    }
}
