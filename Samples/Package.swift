// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "waybill-samples",
    dependencies: [
        .package(name: "waybill", path: ".."),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.90.0"),
    ],
    targets: [
        // A backend that takes forms: streaming parser on a small HTTP server.
        .target(
            name: "ReceiverKit",
            dependencies: [
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "WaybillMultipart", package: "waybill"),
            ],
            path: "Receiver/Kit", swiftSettings: settings),
        .executableTarget(
            name: "Receiver", dependencies: ["ReceiverKit"], path: "Receiver/Command", swiftSettings: settings),
        .testTarget(
            name: "ReceiverTests", dependencies: ["ReceiverKit", .product(name: "waybill", package: "waybill")],
            swiftSettings: settings),

        // Two sides of a specimen identity card, drawn, photographed, prepared and posted.
        .target(
            name: "CCardJPEG", path: "IDCardFlow/CCardJPEG", linkerSettings: [.linkedLibrary("jpeg")]),
        .target(
            name: "CardArtist", dependencies: ["CCardJPEG"], path: "IDCardFlow/CardArtist", swiftSettings: settings),
        .executableTarget(
            name: "IDCardFlow",
            dependencies: ["ReceiverKit", "CardArtist", .product(name: "Waybill", package: "waybill")],
            path: "IDCardFlow/Command", swiftSettings: settings),
        .testTarget(
            name: "IDCardFlowTests",
            dependencies: ["CardArtist", "IDCardFlow", "ReceiverKit", .product(name: "Waybill", package: "waybill")],
            swiftSettings: settings),

        // A form sent by somebody else's client, chunk by chunk.
        .executableTarget(
            name: "OtherClient",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "WaybillMultipart", package: "waybill"),
            ],
            path: "OtherClient/Command", swiftSettings: settings),
        .testTarget(
            name: "OtherClientTests",
            dependencies: [
                "OtherClient", "ReceiverKit", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "WaybillMultipart", package: "waybill"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
