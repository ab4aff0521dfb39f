import WaybillCore
import Glibc
import Waybill

/// Assembles a form from arguments: reads texts from files and the environment, and marks secrets.
///
/// Files that are sent as files are not opened here: the session opens them, and its errors name the part.
struct FormAssembly {
    private(set) var parts: [MultipartPart] = []
    /// Strings that must not appear in any output of the command.
    private(set) var secrets: [String] = []
    private(set) var files: [(name: String, isJPEG: Bool)] = []

    /// Whether the form is for an outbox, which does not store secrets.
    private var isQueued = false
    /// The file of `--each` that the form belongs to.
    private var file: String?

    /// Whether to check which paths are pipes.
    private var findsPipes = true

    /// Creates an empty form.
    init(isQueued: Bool = false, file: String? = nil, findsPipes: Bool = true) {
        (self.isQueued, self.file, self.findsPipes) = (isQueued, file, findsPipes)
    }

    /// Parses the options of a form and reads texts from files. `words` are the words of the command line, for the
    /// order of `-F` and `--form-string`.
    init(
        _ options: FormOptions, arguments words: [String], isQueued: Bool = false, images: ImageLog? = nil
    ) throws(CommandFailure) {
        let all = try Self.arguments(options, inOrderOf: words)
        let imageSettings = try ImageSettings(options, log: images)
        try self.init(all, imageSettings: imageSettings, environment: Environment.value, isQueued: isQueued)
    }

    /// Assembles the form and reads texts from files. `environment` returns the value of a variable.
    init(
        _ arguments: [FormArgument], imageSettings: ImageSettings, environment: (String) -> String?,
        isQueued: Bool = false
    ) throws(CommandFailure) {
        self.isQueued = isQueued
        for argument in arguments { try add(argument, imageSettings: imageSettings, environment: environment) }
        try imageSettings.checkUse(by: files)
    }

    /// Returns the parsed arguments of `-F` and `--form-string`, in the order in which they were given.
    static func arguments(
        _ options: FormOptions, inOrderOf words: [String]
    ) throws(CommandFailure) -> [FormArgument] {
        var forms: [FormArgument] = []
        for text in options.form { forms.append(try FormArgument(text)) }
        var literals: [FormArgument] = []
        for text in options.formString { literals.append(try FormArgument(literal: text)) }
        let all = FormOrder.merge(forms, literals, order: FormOrder.isLiteral(words))
        guard !all.isEmpty else { throw .usage("The form has no parts. Add at least one -F name=value.") }
        return all
    }

    /// Adds the parts of an argument, and reads its text.
    mutating func add(
        _ argument: FormArgument, imageSettings: ImageSettings, environment: (String) -> String?
    ) throws(CommandFailure) {
        try checkSecrecy(of: argument)
        switch argument.source {
        case .literal(let text):
            add(argument, SystemPath.bytes(of: text), isSecret: false)
        case .credential(let credential):
            var part = MultipartPart.credential(argument.name, named: credential)
            part.contentType = argument.contentType
            part.fileName = argument.fileName
            parts.append(part)
        case .environment(let variable):
            guard let value = environment(variable) else {
                throw .usage(
                    "-F \(Redaction.quoted(argument.name)): the environment variable \(variable) is not set. "
                        + "Set it first."
                )
            }
            add(argument, SystemPath.bytes(of: value), isSecret: true)
        case .textFile(let path):
            let purpose = "-F \(Redaction.quoted(argument.name))"
            add(argument, try InputFile.read(path, for: purpose), isSecret: true)
        case .files(let files):
            for file in files { try add(file, named: argument.name, imageSettings) }
        }
    }

    /// Adds existing parts.
    mutating func append(_ more: [MultipartPart]) { parts += more }

    /// Adds the secrets of another form.
    mutating func addSecrets(of other: FormAssembly) { secrets += other.secrets }

    /// Throws for a secret text in a queued form, and for a named credential in a form that is sent immediately.
    private func checkSecrecy(of argument: FormArgument) throws(CommandFailure) {
        let name = Redaction.escaped(argument.name)
        switch argument.source {
        case .credential(let credential) where !isQueued:
            throw .usage(
                "-F \"\(name)\": credential:\(credential) requires --queue. To send it immediately, use "
                    + "\(name)=env:VARIABLE or \(name)=<FILE.")
        case .environment where isQueued, .textFile where isQueued:
            throw .usage(
                "-F \"\(name)\": texts from the environment or a file are secrets, which are not "
                    + "stored. Use \(name)=credential:NAME; waybill outbox run reads its value from "
                    + "\(CredentialName.variable(of: "NAME")) or its --credential. If the text is not secret, use "
                    + "--form-string '\(name)=…', or \(name)=@FILE for a file.")
        default: break
        }
    }

    private mutating func add(_ argument: FormArgument, _ bytes: [UInt8], isSecret: Bool) {
        var part = MultipartPart.rawText(argument.name, bytes, isSecret: isSecret)
        part.contentType = argument.contentType
        part.fileName = argument.fileName
        parts.append(part)
        if isSecret { secrets.append(String(decoding: bytes, as: UTF8.self)) }
    }

    private mutating func add(
        _ file: FormArgument.File, named name: String, _ imageSettings: ImageSettings
    ) throws(CommandFailure) {
        let isHEIC = imageSettings.heicDecoder != nil && Self.isHEIC(file)
        let isJPEG = Self.isJPEG(file) || isHEIC
        files.append((name, isJPEG))
        let options = imageSettings.options(forPart: name, isJPEG: isJPEG)
        if options == nil, imageSettings.compressesAll { warnOfUncompressed(file, named: name, imageSettings.log) }
        if options != nil, !isHEIC, let type = file.contentType, !Self.isJPEG(type) {
            throw .usage(
                "-F: \(Redaction.quoted(name)) is compressed as a JPEG and can't have the type "
                    + "\(Redaction.escaped(type)). Leave out ;type=.")
        }
        var onPrepared: (@Sendable (JPEGReport) -> Void)?
        if let options, let log = imageSettings.log {
            let part = ImageLog.Part(form: self.file, index: parts.count, name: name, path: file.path)
            onPrepared = { report in log.add(part, report, options) }
        }
        if file.isStandardInput || findsPipes && PipedInput.isPipe(file.path) {
            parts.append(
                PipedPart.part(
                    name, file.path, fileName: file.fileName, contentType: isHEIC ? nil : file.contentType, options,
                    onPrepared: onPrepared))
        } else if let options {
            parts.append(.image(name, path: file.path, fileName: file.fileName, options, onPrepared: onPrepared))
        } else {
            parts.append(Self.part(file, named: name))
        }
    }

    private func warnOfUncompressed(_ file: FormArgument.File, named name: String, _ log: ImageLog?) {
        if Self.isHEIC(file) { log?.addUncompressed(file.path, "HEIC", "Pass --heic.") }
        let formats = ["image/png": "PNG", "image/webp": "WebP"]
        if let format = Self.contentType(of: file).flatMap({ formats[$0] }) {
            log?.addUncompressed(file.path, format, "To compress it, name its part: --max-bytes '\(name)=SIZE'.")
        }
    }

    private static func part(_ file: FormArgument.File, named name: String) -> MultipartPart {
        MultipartPart.file(name, path: file.path, fileName: file.fileName, contentType: file.contentType)
    }

    /// Returns whether a file is a JPEG, based on its content type or its names.
    static func isJPEG(_ file: FormArgument.File) -> Bool { contentType(of: file).map { isJPEG($0) } ?? false }

    /// Returns whether a file is a HEIC image, based on its content type or its names.
    static func isHEIC(_ file: FormArgument.File) -> Bool {
        ["image/heic", "image/heif"].contains(contentType(of: file))
    }

    private static func contentType(of file: FormArgument.File) -> String? {
        let table = ContentTypeTable.standard
        let typeOfName = part(file, named: "").fileName.flatMap(table.type) ?? table.type(forFile: file.path)
        return file.contentType ?? typeOfName
    }

    private static func isJPEG(_ contentType: String) -> Bool {
        let type = contentType.prefix { $0 != ";" }.trimmingWhitespace.lowercased()
        return type == "image/jpeg" || type == "image/jpg" || type == "image/pjpeg"
    }
}

/// Determines the order in which `-F` and `--form-string` were given. ArgumentParser keeps the order within each
/// option, but not between the two.
enum FormOrder {
    /// Returns the order of the two options: `true` is a `--form-string`.
    static func isLiteral(_ words: [String]) -> [Bool] {
        CommandWords.reader.pieces(words).compactMap { piece in
            switch piece.kind {
            case .option("form", _): false
            case .option("form-string", _): true
            default: nil
            }
        }
    }

    /// Merges the values of the two lists in that order. If it does not match the lists, forms come first.
    static func merge<Value>(_ forms: [Value], _ literals: [Value], order: [Bool]) -> [Value] {
        guard order.count(where: { $0 }) == literals.count, order.count == forms.count + literals.count else {
            return forms + literals
        }
        var forms = forms[...]
        var literals = literals[...]
        return order.map { $0 ? literals.removeFirst() : forms.removeFirst() }
    }
}

/// The environment of this process.
enum Environment {
    /// Returns the value of a variable that is set and not empty.
    static func text(_ name: String) -> String? { value(of: name).flatMap { $0.isEmpty ? nil : $0 } }

    static func value(of name: String) -> String? {
        unsafe getenv(name).map { value in
            unsafe SystemPath.text(of: UnsafeRawBufferPointer(start: value, count: strlen(value)))
        }
    }
}
