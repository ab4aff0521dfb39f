// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "waybill-samples",
    products: [
        // What tests of other samples send to.
        .library(name: "ReceiverKit", targets: ["ReceiverKit"]),
        // What samples in packages of their own photograph.
        .library(name: "CardArtist", targets: ["CardArtist"]),
    ],
    dependencies: [
        .package(name: "waybill", path: ".."),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    ],
    targets: [
        // A backend that takes forms: streaming parser on a small HTTP server.
        .target(
            name: "ReceiverKit",
            dependencies: [
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "WaybillJPEG", package: "waybill"),
                .product(name: "WaybillMultipart", package: "waybill"),
            ],
            path: "Receiver/Kit",
            // Part of the program, so that it runs from anywhere.
            resources: [.embedInCode("Page")], swiftSettings: settings),
        .executableTarget(
            name: "Receiver", dependencies: ["ReceiverKit"], path: "Receiver/Command", swiftSettings: settings),
        .testTarget(
            name: "ReceiverTests",
            dependencies: ["CardArtist", "ReceiverKit", .product(name: "waybill", package: "waybill")],
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
    ],
    swiftLanguageModes: [.v6]
)
