// swift-tools-version: 6.2
import PackageDescription

// libFuzzer has its own `main`; without this flag the compiler would require one here.
let fuzzer: [SwiftSetting] = [.unsafeFlags(["-parse-as-library"])]

let package = Package(
    name: "waybill-fuzz",
    dependencies: [.package(name: "waybill", path: "..")],
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
    ],
    swiftLanguageModes: [.v6]
)
