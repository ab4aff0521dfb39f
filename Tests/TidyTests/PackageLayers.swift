/// The layers of the package, as shown in `Docs/Architecture.md`. `Package.swift` and every import are checked
/// against them.
///
/// A new dependency between targets is a decision: change it here, in the manifest and in the document in one commit.
enum PackageLayers {
    /// The modules that each target of `Sources` may import in addition to those of the toolchain.
    static let allowedImports: [String: Set<String>] = [
        "CWaybillFiles": [],
        "CWaybillJPEG": [],
        "CWaybillImages": [],
        "CWaybillCurl": [],
        "CWaybillChecksum": [],
        "CWaybillPostgres": [],
        "WaybillCore": ["HTTPTypes"],
        "WaybillMultipart": ["WaybillCore", "CWaybillFiles"],
        "WaybillJPEG": ["WaybillCore", "CWaybillJPEG", "CWaybillImages"],
        "WaybillCurl": ["WaybillCore", "CWaybillCurl", "HTTPTypes", "Logging"],
        "Waybill": ["WaybillCore", "WaybillMultipart", "WaybillJPEG", "WaybillCurl", "HTTPTypes", "Logging"],
        "WaybillStores": [
            "WaybillCore", "WaybillMultipart", "WaybillJPEG", "Waybill", "CWaybillChecksum", "Crypto", "HTTPTypes",
            "Logging",
        ],
        "WaybillOutbox": [
            "WaybillCore", "WaybillMultipart", "Waybill", "GRDB", "GRDBSQLite", "HTTPTypes", "Logging",
        ],
        "WaybillPostgres": ["WaybillCore", "Waybill", "WaybillOutbox", "CWaybillPostgres"],
        "WaybillFoundation": ["Waybill", "WaybillCore"],
        "WaybillTesting": ["WaybillCore", "WaybillMultipart", "HTTPTypes"],
        "WaybillCLI": [
            "WaybillCore", "Waybill", "WaybillCurl", "WaybillStores", "WaybillOutbox", "WaybillPostgres",
            "ArgumentParser",
            "Logging", "HTTPTypes",
        ],
    ]

    /// The modules of the toolchain that any target may import.
    static let toolchain: Set<String> = ["Swift", "Glibc", "FoundationEssentials", "Dispatch"]

    /// Foundation costs a program 6 MB of memory, so only the targets that need it import it.
    static func mayUseFoundation(_ path: String) -> Bool {
        path.hasPrefix("Sources/WaybillFoundation/") || path.hasPrefix("Sources/WaybillCLI/")
    }

    /// The only target that imports each C module.
    static let cModuleOwners = [
        "CWaybillFiles": "WaybillMultipart", "CWaybillJPEG": "WaybillJPEG", "CWaybillImages": "WaybillJPEG",
        "CWaybillCurl": "WaybillCurl",
        "CWaybillChecksum": "WaybillStores", "CWaybillPostgres": "WaybillPostgres",
    ]

    /// The directory of a target's tests if it is not `Tests/<target>Tests`. A C module is tested through the target
    /// that imports it.
    static let testDirectories = [
        "CWaybillFiles": "WaybillMultipartTests", "CWaybillJPEG": "WaybillJPEGTests",
        "CWaybillImages": "WaybillJPEGTests",
        "CWaybillCurl": "WaybillCurlTests", "CWaybillChecksum": "WaybillStoresTests",
        "CWaybillPostgres": "WaybillPostgresTests", "WaybillCLI": "CLITests",
    ]

    static let maxFileLines = 400
    static let maxFunctionLines = 70
}
