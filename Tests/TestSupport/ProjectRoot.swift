/// The location of the project on the machine that built the tests.
package enum ProjectRoot {
    /// The directory of `Package.swift`.
    package static let path: String = {
        let parts = #filePath.split(separator: "/")
        return "/" + parts.dropLast(3).joined(separator: "/")
    }()

    /// Returns the path of a file of the project.
    package static func file(_ relativePath: String) -> String { "\(path)/\(relativePath)" }

    /// The directory of the programs that were built with the tests.
    package static let products: String = {
        let parts = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast().joined(separator: "/")
    }()
}
