import CWaybillJPEG

/// The libjpeg-turbo library that this module was built with.
public enum JPEGLibrary {
    /// The version: `2.1.5`.
    public static var version: String { unsafe String(cString: wb_jpeg_library_version()) }
}
