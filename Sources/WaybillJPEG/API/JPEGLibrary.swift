import CWaybillJPEG

/// Which libjpeg-turbo this was built with, for reports of what is at hand.
public enum JPEGLibrary {
    /// The version: `2.1.5`.
    public static var version: String { unsafe String(cString: wb_jpeg_library_version()) }
}
