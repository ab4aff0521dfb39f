import Glibc

/// Paths that mean the same in another folder and in another program.
enum AbsolutePath {
    /// A path from the root on. Links stay what they are.
    ///
    /// - Throws: ``StoreError`` with the code `fileNotFound` when there is no folder to begin from.
    static func of(_ path: String) throws(StoreError) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let folder = unsafe getcwd(nil, 0) else {
            throw StoreError(.fileNotFound, "the working directory is gone: give an absolute path")
        }
        defer { unsafe free(folder) }
        return unsafe "\(String(cString: folder))/\(path)"
    }
}
