// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses Waybill fetches or builds what only measures it.
let package = Package(
    name: "waybill-benchmarks",
    products: [.executable(name: "waybill-bench", targets: ["WaybillBench"])],
    dependencies: [.package(name: "waybill", path: "..")],
    targets: [
        .target(name: "CBench"),
        .executableTarget(name: "JPEGErrand", dependencies: [.product(name: "WaybillJPEG", package: "waybill")]),
        .executableTarget(name: "BenchLauncher"),
        .executableTarget(name: "CurlMime", linkerSettings: [.linkedLibrary("curl")]),
        .executableTarget(
            name: "WaybillBench",
            dependencies: [
                "CBench", "BenchLauncher", "CurlMime", .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
