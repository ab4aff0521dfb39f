// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that users of Waybill neither fetch nor build the benchmarks.
let package = Package(
    name: "waybill-benchmarks",
    products: [.executable(name: "waybill-bench", targets: ["WaybillBench"])],
    dependencies: [
        .package(name: "waybill", path: ".."),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.90.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    ],
    targets: [
        .target(name: "CBench"),
        .executableTarget(name: "JPEGWorkload", dependencies: [.product(name: "WaybillJPEG", package: "waybill")]),

        // The launcher of the measured processes, their network, and the server.
        .executableTarget(name: "BenchLauncher"),
        .executableTarget(name: "BenchNetwork", dependencies: ["CBench"]),
        .executableTarget(name: "BenchSink", linkerSettings: [.linkedLibrary("dl")]),

        // The measured processes: Waybill, and peers in Swift that send the same forms. Peers in other languages are in
        // Peers: a C program built by SwiftPM would load the Swift runtime.
        .target(name: "BenchDriver"),
        .executableTarget(
            name: "WaybillWorkload", dependencies: ["BenchDriver", .product(name: "Waybill", package: "waybill")]),
        .executableTarget(
            name: "PeerAHC",
            dependencies: [
                "BenchDriver", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .executableTarget(name: "PeerURLSession", dependencies: ["BenchDriver"]),

        // Measurements inside one process.
        .executableTarget(
            name: "WaybillBench",
            dependencies: [
                "BenchDriver", "CBench", .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
