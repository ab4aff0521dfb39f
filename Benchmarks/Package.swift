// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses Waybill fetches or builds what only measures it.
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
        .executableTarget(name: "JPEGErrand", dependencies: [.product(name: "WaybillJPEG", package: "waybill")]),

        // What the measured processes are started by, and what they send to.
        .executableTarget(name: "BenchLauncher"),
        .executableTarget(name: "BenchNetwork", dependencies: ["CBench"]),
        .executableTarget(name: "BenchSink", linkerSettings: [.linkedLibrary("dl")]),

        // The measured processes: ours, and peers in Swift that send the same forms. Those in other languages are in Peers:
        // a program in C that this package builds would load Swift's runtime.
        .target(name: "BenchDriver"),
        .executableTarget(
            name: "WaybillErrand", dependencies: ["BenchDriver", .product(name: "Waybill", package: "waybill")]),
        .executableTarget(
            name: "PeerAHC",
            dependencies: [
                "BenchDriver", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .executableTarget(name: "PeerURLSession", dependencies: ["BenchDriver"]),

        // What is measured inside one process.
        .executableTarget(
            name: "WaybillBench",
            dependencies: [
                "BenchDriver", "CBench", .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
