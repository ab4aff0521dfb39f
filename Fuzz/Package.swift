// swift-tools-version: 6.2
import PackageDescription

// libFuzzer has its own `main`; without this flag the compiler would require one here.
let fuzzer: [SwiftSetting] = [.unsafeFlags(["-parse-as-library"])]

let package = Package(
    name: "waybill-fuzz",
    dependencies: [
        .package(name: "waybill", path: ".."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
    ],
    targets: [
        .executableTarget(
            name: "FuzzParser", dependencies: [.product(name: "WaybillMultipart", package: "waybill")],
            swiftSettings: fuzzer),
        .executableTarget(
            name: "FuzzForm", dependencies: [.product(name: "WaybillMultipart", package: "waybill")],
            swiftSettings: fuzzer),
        .executableTarget(
            name: "FuzzMarkers", dependencies: [.product(name: "WaybillJPEG", package: "waybill")],
            swiftSettings: fuzzer),
        .executableTarget(
            name: "FuzzImage", dependencies: [.product(name: "WaybillJPEG", package: "waybill")],
            swiftSettings: fuzzer),
        // The parser is internal to its module: the target compiles its files.
        .executableTarget(
            name: "FuzzResponse",
            dependencies: [
                .product(name: "WaybillCore", package: "waybill"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: fuzzer + [.define("WAYBILL_FUZZ")]),
    ],
    swiftLanguageModes: [.v6]
)
