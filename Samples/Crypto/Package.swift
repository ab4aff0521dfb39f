// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Samples that hash, decrypt and sign: apart, for swift-crypto takes a minute to build.
let package = Package(
    name: "waybill-samples-crypto",
    dependencies: [
        .package(name: "waybill", path: "../.."),
        .package(name: "waybill-samples", path: ".."),
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

        // As much of an object store as the two samples below need; it checks what it is sent.
        .target(
            name: "LittleStore",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "WaybillTesting", package: "waybill"),
            ],
            path: "LittleStore", swiftSettings: settings),

        // Photos straight into the store, with keys from a token server.
        .target(
            name: "DirectKit",
            dependencies: [
                "LittleStore",
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillStores", package: "waybill"),
            ],
            path: "DirectToOSS/Kit", swiftSettings: settings),
        .executableTarget(
            name: "DirectToOSS",
            dependencies: [
                "DirectKit", "LittleStore",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "Waybill", package: "waybill"),
            ],
            path: "DirectToOSS/Command", swiftSettings: settings),
        .testTarget(
            name: "DirectToOSSTests",
            dependencies: [
                "DirectKit", "LittleStore",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "WaybillStores", package: "waybill"),
            ],
            swiftSettings: settings),

        // A server that signs forms, and an app without a secret that posts them.
        .target(
            name: "SignedPostKit",
            dependencies: [
                "LittleStore",
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillStores", package: "waybill"),
            ],
            path: "ServerSignedPost/Kit", swiftSettings: settings),
        .executableTarget(
            name: "ServerSignedPost",
            dependencies: [
                "SignedPostKit", "LittleStore",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "Waybill", package: "waybill"),
            ],
            path: "ServerSignedPost/Command", swiftSettings: settings),
        .testTarget(
            name: "ServerSignedPostTests",
            dependencies: [
                "SignedPostKit", "LittleStore",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillStores", package: "waybill"),
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

        // Which side of a card it is, and then both sides for the bank.
        .target(
            name: "CardRecognitionKit",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillJPEG", package: "waybill"),
                .product(name: "WaybillTesting", package: "waybill"),
            ],
            path: "CardRecognition/Kit", swiftSettings: settings),
        .executableTarget(
            name: "CardRecognition",
            dependencies: [
                "CardRecognitionKit",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "Waybill", package: "waybill"),
            ],
            path: "CardRecognition/Command", swiftSettings: settings),
        .testTarget(
            name: "CardRecognitionTests",
            dependencies: [
                "CardRecognitionKit",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Waybill", package: "waybill"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
