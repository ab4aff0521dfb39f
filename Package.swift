// swift-tools-version: 6.2
import PackageDescription

// Warnings are errors in our own build (`make test` sets WAYBILL_CI=1), never in yours: a package that
// depends on this one by path would otherwise fail on a warning that a newer compiler invents.
let isStrict = Context.environment["WAYBILL_CI"] == "1"

let swift: [SwiftSetting] =
    [
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .strictMemorySafety(),
    ] + (isStrict ? [.treatAllWarnings(as: .error)] : [])

// The image kernels in plain Swift instead of C: what tests compare the C with, as a build of its own.
let kernels: [SwiftSetting] =
    Context.environment["WAYBILL_PLAIN_SWIFT"] == "1" ? [.define("WAYBILL_PLAIN_SWIFT")] : []

// C is optimised in debug builds, too: unoptimised, a photo takes eight times the CPU. Swift 6.2 refuses such flags in a
// package that is fetched by version.
#if compiler(>=6.3)
    let optimized: [CSetting] = [.unsafeFlags(["-O2"], .when(configuration: .debug))]
#else
    let optimized: [CSetting] = []
#endif

let c: [CSetting] = optimized + (isStrict ? [.treatAllWarnings(as: .error)] : [])

let images: BuildSettingCondition = .when(traits: ["Images"])
let shared: BuildSettingCondition = .when(traits: ["Shared"])

// Our own build enables `Shared`, too: as a default and not by a flag, so that the packages of samples pass the same
// defines and reuse the build of the root package.
let defaults: Set = ["Images", "Stores", "Outbox", "Command"]

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

// What only some products need. A package that depends on this one with `traits: []` fetches none of it.
let crypto: Target.Dependency = .product(
    name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Stores"]))
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Outbox"]))
let sqlite: Target.Dependency = .product(
    name: "GRDBSQLite", package: "GRDB.swift", condition: .when(traits: ["Outbox"]))
let argumentParser: Target.Dependency = .product(
    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Command"]))

let package = Package(
    name: "waybill",
    products: [
        .library(name: "Waybill", targets: ["Waybill"]),
        .library(name: "WaybillCore", targets: ["WaybillCore"]),
        .library(name: "WaybillMultipart", targets: ["WaybillMultipart"]),
        .library(name: "WaybillJPEG", targets: ["WaybillJPEG"]),
        .library(name: "WaybillFoundation", targets: ["WaybillFoundation"]),
        .library(name: "WaybillStores", targets: ["WaybillStores"]),
        .library(name: "WaybillOutbox", targets: ["WaybillOutbox"]),
        .library(name: "WaybillPostgres", targets: ["WaybillPostgres"]),
        .library(name: "WaybillTesting", targets: ["WaybillTesting"]),
        .executable(name: "waybill", targets: ["WaybillCLI"]),
    ],
    traits: [
        .default(enabledTraits: isStrict ? defaults.union(["Shared"]) : defaults),
        .trait(name: "Images", description: "PNG and WebP images as input: needs the headers of libpng and libwebp."),
        .trait(name: "Stores", description: "What WaybillStores needs: swift-crypto."),
        .trait(name: "Outbox", description: "What WaybillOutbox needs: GRDB."),
        .trait(
            name: "Shared", description: "Outboxes in PostgreSQL: needs the headers of libpq.",
            enabledTraits: ["Outbox"]),
        .trait(
            name: "Command", description: "What the command needs: swift-argument-parser; and the other traits.",
            enabledTraits: ["Images", "Stores", "Outbox"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // C shims. Each links its system library, and exactly one Swift target imports each.
        .target(name: "CWaybillFiles", cSettings: c),
        .target(name: "CWaybillJPEG", cSettings: c, linkerSettings: [.linkedLibrary("jpeg")]),
        .target(
            name: "CWaybillImages", cSettings: c + [.define("WAYBILL_IMAGES", images)],
            linkerSettings: ["png16", "webp", "webpdemux"].map { .linkedLibrary($0, images) }),
        .target(name: "CWaybillCurl", cSettings: c, linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CWaybillChecksum", cSettings: c),
        .target(
            name: "CWaybillPostgres", cSettings: c + [.define("WAYBILL_SHARED", shared)],
            linkerSettings: [.linkedLibrary("pq", shared)]),

        // Shared types.
        .target(name: "WaybillCore", dependencies: [httpTypes], swiftSettings: swift),

        // Engines: none imports another.
        .target(name: "WaybillMultipart", dependencies: ["WaybillCore", "CWaybillFiles"], swiftSettings: swift),
        .target(
            name: "WaybillJPEG", dependencies: ["WaybillCore", "CWaybillJPEG", "CWaybillImages"],
            swiftSettings: swift + kernels),
        .target(
            name: "WaybillCurl", dependencies: ["WaybillCore", "CWaybillCurl", httpTypes, logging],
            swiftSettings: swift),

        // Sessions.
        .target(
            name: "Waybill",
            dependencies: ["WaybillCore", "WaybillMultipart", "WaybillJPEG", "WaybillCurl", httpTypes, logging],
            swiftSettings: swift),

        // Optional products.
        .target(
            name: "WaybillStores",
            dependencies: [
                "WaybillCore", "WaybillMultipart", "WaybillJPEG", "Waybill", "CWaybillChecksum", crypto, httpTypes,
                logging,
            ],
            swiftSettings: swift),
        .target(
            name: "WaybillOutbox",
            dependencies: ["WaybillCore", "WaybillMultipart", "Waybill", grdb, sqlite, httpTypes, logging],
            swiftSettings: swift),
        .target(
            name: "WaybillPostgres", dependencies: ["WaybillCore", "Waybill", "WaybillOutbox", "CWaybillPostgres"],
            swiftSettings: swift),

        // Adapters and test support.
        .target(name: "WaybillFoundation", dependencies: ["Waybill", "WaybillCore"], swiftSettings: swift),
        .target(
            name: "WaybillTesting", dependencies: ["WaybillCore", "WaybillMultipart", httpTypes], swiftSettings: swift),

        // The command.
        .executableTarget(
            name: "WaybillCLI",
            dependencies: [
                "WaybillCore", "Waybill", "WaybillCurl", "WaybillStores", "WaybillOutbox", "WaybillPostgres",
                argumentParser, logging, httpTypes,
            ],
            swiftSettings: swift),

        // Tests.
        .target(
            name: "CTestSupport", path: "Tests/CTestSupport", cSettings: c,
            linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("webp")]),
        .target(
            name: "TestSupport", dependencies: ["WaybillCore", "WaybillMultipart", "CTestSupport", crypto],
            path: "Tests/TestSupport", swiftSettings: swift),
        .executableTarget(
            name: "TestStore", dependencies: ["TestSupport"], path: "Tests/TestStore", swiftSettings: swift),
        .executableTarget(
            name: "StoreTestHelper", dependencies: ["WaybillStores", "WaybillOutbox", "Waybill", "WaybillCore"],
            path: "Tests/StoreTestHelper", swiftSettings: swift),
        .executableTarget(
            name: "ExitTestHelper",
            dependencies: ["WaybillCurl", "WaybillMultipart", "WaybillCore", "CTestSupport", httpTypes],
            path: "Tests/ExitTestHelper",
            swiftSettings: swift),
        .executableTarget(
            name: "VendorRequests", dependencies: ["WaybillStores", "WaybillCore", "TestSupport", httpTypes],
            path: "Tests/Vendors/Requests", swiftSettings: swift),
        .testTarget(
            name: "TestSupportTests", dependencies: ["TestSupport", "CTestSupport", "WaybillCore"],
            swiftSettings: swift),
        .testTarget(
            name: "WaybillCoreTests", dependencies: ["WaybillCore", "TestSupport", "CTestSupport"], swiftSettings: swift
        ),
        .testTarget(
            name: "WaybillMultipartTests", dependencies: ["WaybillMultipart", "TestSupport"], swiftSettings: swift),
        .testTarget(name: "WaybillJPEGTests", dependencies: ["WaybillJPEG", "TestSupport"], swiftSettings: swift),
        .testTarget(
            name: "WaybillCurlTests",
            dependencies: ["WaybillCurl", "CWaybillCurl", "ExitTestHelper", "TestSupport", httpTypes],
            swiftSettings: swift),
        .testTarget(
            name: "WaybillTests", dependencies: ["Waybill", "WaybillTesting", "TestSupport", httpTypes],
            swiftSettings: swift),
        .testTarget(
            name: "WaybillStoresTests",
            dependencies: [
                "WaybillStores", "WaybillOutbox", "Waybill", "WaybillTesting", "TestSupport", "StoreTestHelper",
                "WaybillCLI", crypto, httpTypes, logging,
            ],
            swiftSettings: swift),
        .target(name: "COutboxFaults", path: "Tests/COutboxFaults", cSettings: c),
        .executableTarget(
            name: "OutboxTestHelper",
            dependencies: ["WaybillOutbox", "WaybillPostgres", "Waybill", "WaybillCore", "COutboxFaults", logging],
            path: "Tests/OutboxTestHelper", swiftSettings: swift),
        .testTarget(
            name: "WaybillOutboxTests",
            dependencies: [
                "WaybillOutbox", "WaybillPostgres", "OutboxTestHelper", "Waybill", "WaybillTesting", "TestSupport",
                grdb,
                httpTypes, logging,
            ],
            swiftSettings: swift),
        .testTarget(
            name: "WaybillPostgresTests",
            dependencies: ["WaybillPostgres", "WaybillOutbox", "Waybill", "WaybillCore", "TestSupport"],
            swiftSettings: swift),
        .testTarget(
            name: "WaybillFoundationTests",
            dependencies: ["WaybillFoundation", "Waybill", "WaybillTesting", "TestSupport"], swiftSettings: swift),
        .testTarget(
            name: "WaybillTestingTests",
            dependencies: ["WaybillTesting", "Waybill", "WaybillCurl", "TestSupport", httpTypes], swiftSettings: swift),
        .testTarget(
            name: "IntegrationTests", dependencies: ["Waybill", "TestSupport", httpTypes, logging],
            swiftSettings: swift),
        .testTarget(
            name: "InteropTests", dependencies: ["WaybillMultipart", "TestSupport"], exclude: ["Readers", "Senders"],
            swiftSettings: swift),
        .testTarget(
            name: "CLITests", dependencies: ["WaybillCLI", "WaybillOutbox", "TestSupport", argumentParser],
            swiftSettings: swift),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "Waybill", "WaybillMultipart", "WaybillJPEG", "WaybillFoundation", "WaybillStores", "WaybillOutbox",
                "WaybillPostgres", "WaybillTesting", "WaybillCLI", "TestSupport", argumentParser, logging,
            ],
            swiftSettings: swift),
        .testTarget(name: "SetupTests", dependencies: ["TestSupport"], swiftSettings: swift),
        .testTarget(name: "TidyTests", dependencies: ["TestSupport"], swiftSettings: swift),
    ],
    swiftLanguageModes: [.v6]
)
