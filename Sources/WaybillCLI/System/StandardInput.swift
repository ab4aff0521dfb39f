import Waybill

/// Standard input, which only one argument can read.
enum StandardInput {
    /// Refuses a second argument that reads it.
    ///
    /// - Parameters:
    ///   - form: The parts of a form.
    ///   - others: Further options, each with the path that it reads.
    /// - Throws: ``CommandFailure`` that names the first two.
    static func check(_ form: FormOptions, _ others: [(option: String, path: String?)]) throws(CommandFailure) {
        var readers = others.filter { $0.path.map(PipedInput.isStandardInput) ?? false }.map(\.option)
        for text in form.form {
            let argument = try FormArgument(text)
            let paths: [String] =
                switch argument.source {
                case .files(let files): files.map(\.path)
                case .textFile(let path): [path]
                case .literal, .environment, .credential: []
                }
            let count = paths.count { PipedInput.isStandardInput($0) }
            readers += Array(repeating: "-F \"\(Redaction.escaped(argument.name))\"", count: count)
        }
        guard readers.count <= 1 else {
            throw .usage(
                "Standard input can be read once, but \(readers[0]) and \(readers[1]) both read it. Write one of them to a "
                    + "file.")
        }
    }
}
