/// The plan of the house, as `Docs/Architecture.md` draws it. `Package.swift` and every import are held to it.
///
/// A new arrow is a decision: change it here, in the manifest and in the drawing, in one commit.
enum House {
    /// Which modules each target of `Sources` may import, apart from the toolchain's own.
    static let arrows: [String: Set<String>] = [
        "CWaybillFiles": [],
        "CWaybillJPEG": [],
        "CWaybillCurl": [],
        "CWaybillChecksum": [],
        "WaybillCore": ["HTTPTypes"],
        "WaybillMultipart": ["WaybillCore", "CWaybillFiles"],
        "WaybillJPEG": ["WaybillCore", "CWaybillJPEG"],
        "WaybillCurl": ["WaybillCore", "CWaybillCurl", "HTTPTypes", "Logging"],
        "Waybill": ["WaybillCore", "WaybillMultipart", "WaybillJPEG", "WaybillCurl", "HTTPTypes", "Logging"],
        "WaybillStores": [
            "WaybillCore", "WaybillMultipart", "WaybillJPEG", "Waybill", "CWaybillChecksum", "Crypto", "HTTPTypes",
            "Logging",
        ],
        "WaybillOutbox": [
            "WaybillCore", "WaybillMultipart", "Waybill", "GRDB", "GRDBSQLite", "HTTPTypes", "Logging",
        ],
        "WaybillFoundation": ["Waybill", "WaybillCore"],
        "WaybillTesting": ["WaybillCore", "WaybillMultipart", "HTTPTypes"],
        "WaybillCLI": [
            "Waybill", "WaybillCurl", "WaybillStores", "WaybillOutbox", "ArgumentParser", "Logging", "HTTPTypes",
        ],
    ]

    /// What the toolchain brings and any target may import.
    static let toolchain: Set<String> = ["Swift", "Glibc", "FoundationEssentials", "Dispatch"]

    /// Full Foundation costs a program 6 MB of memory, so it stays where it is asked for.
    static func mayUseFoundation(_ path: String) -> Bool {
        path.hasPrefix("Sources/WaybillFoundation/") || path.hasPrefix("Sources/WaybillCLI/")
    }

    /// The one target that sees each C module.
    static let ownerOfC = [
        "CWaybillFiles": "WaybillMultipart", "CWaybillJPEG": "WaybillJPEG", "CWaybillCurl": "WaybillCurl",
        "CWaybillChecksum": "WaybillStores",
    ]

    /// Where the tests of a target are, if not in `Tests/<target>Tests`. A fence is tested through its owner.
    static let testFolders = [
        "CWaybillFiles": "WaybillMultipartTests", "CWaybillJPEG": "WaybillJPEGTests",
        "CWaybillCurl": "WaybillCurlTests", "CWaybillChecksum": "WaybillStoresTests", "WaybillCLI": "CLITests",
    ]

    static let longestFile = 400
    static let longestFunction = 70
}
