// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Samples around the outbox: apart, for nobody else needs SQLite and a library for services.
let package = Package(
    name: "waybill-samples-outbox",
    dependencies: [
        .package(name: "waybill", path: "../.."),
        .package(name: "waybill-samples", path: ".."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.9.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    ],
    targets: [
        // A backend that books each form once, however often it comes, and keeps count.
        .target(
            name: "LittleBackend",
            dependencies: [
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "ReceiverKit", package: "waybill-samples"),
                .product(name: "WaybillTesting", package: "waybill"),
            ],
            path: "LittleBackend", swiftSettings: settings),

        // Cards that are handed over, a worker that is killed twice, and a program that learns what it missed.
        .target(
            name: "KioskKit",
            dependencies: [
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ],
            path: "KioskOutbox/Kit", swiftSettings: settings),
        .executableTarget(
            name: "KioskOutbox",
            dependencies: [
                "KioskKit", "LittleBackend",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ReceiverKit", package: "waybill-samples"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ],
            path: "KioskOutbox/Command", swiftSettings: settings),
        .testTarget(
            name: "KioskOutboxTests",
            dependencies: [
                "KioskKit", "KioskOutbox", "LittleBackend",
                .product(name: "CardArtist", package: "waybill-samples"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ],
            swiftSettings: settings),

        // Who goes first, and what is the same: in a program, and on the disk.
        .executableTarget(
            name: "PriorityQueue",
            dependencies: [
                "LittleBackend", .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ],
            path: "PriorityQueue/Command", swiftSettings: settings),
        .testTarget(
            name: "PriorityQueueTests",
            dependencies: [
                "LittleBackend", "PriorityQueue", .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
