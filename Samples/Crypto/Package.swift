// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Samples that hash and decrypt: apart, for swift-crypto takes a minute to build.
let package = Package(
    name: "waybill-samples-crypto",
    dependencies: [
        .package(name: "waybill", path: "../.."),
        .package(url: "https://github.com/apple/swift-crypto", from: "3.12.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    ],
    targets: [
        // Signed parameters, and answers sealed with AES-GCM.
        .target(
            name: "SealedKit",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillTesting", package: "waybill"),
            ],
            path: "SealedAnswers/Kit", swiftSettings: settings),
        .executableTarget(
            name: "SealedAnswers",
            dependencies: [
                "SealedKit", .product(name: "Waybill", package: "waybill"),
            ],
            path: "SealedAnswers/Command", swiftSettings: settings),
        .testTarget(
            name: "SealedAnswersTests",
            dependencies: [
                "SealedKit", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Waybill", package: "waybill"),
            ],
            swiftSettings: settings),

        // Many photos into Qiniu, a few at once.
        .target(
            name: "QiniuBatchKit",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillStores", package: "waybill"),
                .product(name: "WaybillTesting", package: "waybill"),
            ],
            path: "QiniuBatch/Kit", swiftSettings: settings),
        .executableTarget(
            name: "QiniuBatch",
            dependencies: [
                "QiniuBatchKit", .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillStores", package: "waybill"),
            ],
            path: "QiniuBatch/Command", swiftSettings: settings),
        .testTarget(
            name: "QiniuBatchTests",
            dependencies: [
                "QiniuBatchKit", .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillStores", package: "waybill"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
