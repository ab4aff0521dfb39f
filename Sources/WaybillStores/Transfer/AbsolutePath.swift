import Glibc

/// Makes paths independent of the working directory.
enum AbsolutePath {
    /// Returns an absolute path. Symbolic links are not resolved.
    ///
    /// - Throws: ``StoreError`` with the code `fileNotFound` if the working directory no longer exists.
    static func of(_ path: String) throws(StoreError) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let folder = unsafe getcwd(nil, 0) else {
            throw StoreError(.fileNotFound, "The working directory no longer exists. Use an absolute path.")
        }
        defer { unsafe free(folder) }
        return unsafe "\(String(cString: folder))/\(path)"
    }
}
