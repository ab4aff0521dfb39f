import ArgumentParser

/// A call as ArgumentParser gets it: of the arguments that may be given any number of times, only the first.
///
/// The time of ArgumentParser grows with the square of the number of arguments; with 20,000 files it was 16 seconds. The
/// command takes the other arguments when the call was parsed: ``TakesManyArguments/take(_:)``.
struct LongCall: Sendable, Hashable {
    /// What ArgumentParser gets.
    private(set) var words: [String] = []
    /// The other values by the first long names of their options; those of bare words by an empty name.
    private(set) var others: [String: [String]] = [:]

    /// Takes out what repeats the names in `many`.
    init(_ pieces: [CallReader.Piece], many: Set<String>) {
        var seen: Set<String> = []
        for piece in pieces {
            guard let (name, value) = Self.argument(of: piece), many.contains(name), !seen.insert(name).inserted else {
                words += piece.words
                continue
            }
            others[name, default: []].append(value)
        }
    }

    private static func argument(of piece: CallReader.Piece) -> (name: String, value: String)? {
        switch piece.kind {
        case .option(let name, let value?): (name, value)
        case .bare(let word): ("", word)
        case .option(_, nil), .flag, .other: nil
        }
    }
}

/// A command of which some arguments may be given any number of times.
protocol TakesManyArguments: ParsableCommand {
    /// Where the values of such an argument are kept, by its first long name; bare words have an empty name.
    static var manyArguments: [String: ManyArguments<Self>] { get }
}

/// Where the values of an argument are kept.
enum ManyArguments<Command> {
    case texts(WritableKeyPath<Command, [String]>)
    case numbers(WritableKeyPath<Command, [Int64]>)
}

extension TakesManyArguments {
    static var manyNames: Set<String> { Set(manyArguments.keys) }

    /// Takes the arguments that ArgumentParser did not get.
    mutating func take(_ call: LongCall) throws(CommandFailure) {
        for (name, place) in Self.manyArguments {
            guard let values = call.others[name] else { continue }
            switch place {
            case .texts(let path): self[keyPath: path] += values
            case .numbers(let path):
                for value in values {
                    guard let number = Int64(value) else {
                        throw .usage("\"\(value)\" is not a number. See waybill --help.")
                    }
                    self[keyPath: path].append(number)
                }
            }
        }
    }
}
