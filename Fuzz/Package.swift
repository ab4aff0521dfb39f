// swift-tools-version: 6.2
import PackageDescription

// libFuzzer brings its own main; see Scripts/fuzz for the flags that go with it.
let fuzzer: [SwiftSetting] = [.unsafeFlags(["-parse-as-library"])]

let package = Package(
    name: "waybill-fuzz",
    dependencies: [.package(name: "waybill", path: "..")],
    targets: [
        .executableTarget(
            name: "FuzzForm", dependencies: [.product(name: "WaybillMultipart", package: "waybill")],
            swiftSettings: fuzzer),
        .executableTarget(
            name: "FuzzImage", dependencies: [.product(name: "WaybillJPEG", package: "waybill")],
            swiftSettings: fuzzer),
    ],
    swiftLanguageModes: [.v6]
)
