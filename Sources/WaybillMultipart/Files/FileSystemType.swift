import CWaybillFiles

/// The kind of the file system that a path lies on, as statfs(2) numbers them; `nil` when it can't be looked at.
package func fileSystemType(of path: String) -> UInt32? {
    let type = unsafe wb_file_system_type(path)
    return type < 0 ? nil : UInt32(truncatingIfNeeded: type)
}
