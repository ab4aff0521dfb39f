// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Without the trait `All` this package fetches what IDCardFlow and the Receiver need: FlyingFox, swift-http-types,
// swift-log.
let all: TargetDependencyCondition? = .when(traits: ["All"])

let waybill: Target.Dependency = .product(name: "Waybill", package: "waybill")
let jpeg: Target.Dependency = .product(name: "WaybillJPEG", package: "waybill")
let multipart: Target.Dependency = .product(name: "WaybillMultipart", package: "waybill")
let testing: Target.Dependency = .product(name: "WaybillTesting", package: "waybill")
let stores: Target.Dependency = .product(name: "WaybillStores", package: "waybill", condition: all)
let outbox: Target.Dependency = .product(name: "WaybillOutbox", package: "waybill", condition: all)
let command: Target.Dependency = .product(name: "waybill", package: "waybill", condition: all)

let flyingFox: Target.Dependency = .product(name: "FlyingFox", package: "FlyingFox")
let flyingSocks: Target.Dependency = .product(name: "FlyingSocks", package: "FlyingFox")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto", condition: all)
let lifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: all)

let package = Package(
    name: "waybill-samples",
    products: [
        // The backend and the photos that tests of other samples use.
        .library(name: "ReceiverKit", targets: ["ReceiverKit"]),
        .library(name: "CardArtist", targets: ["CardArtist"]),
    ],
    traits: [
        .trait(
            name: "All",
            description:
                "Also the samples of object stores and of the outbox: swift-crypto, GRDB, swift-service-lifecycle.")
    ],
    dependencies: [
        // All default traits or none: SwiftPM then passes the same flags as in the root package, and reuses its build.
        .package(name: "waybill", path: "..", traits: [.trait(name: "default", condition: .when(traits: ["All"]))]),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.9.0"),
    ],
    targets: [
        // A backend for forms: the streaming parser on a small HTTP server.
        .target(
            name: "ReceiverKit",
            dependencies: [flyingFox, flyingSocks, jpeg, multipart],
            path: "Receiver/Kit",
            // Embedded, so that the program runs from any directory.
            resources: [.embedInCode("Page")], swiftSettings: settings),
        .executableTarget(
            name: "Receiver", dependencies: ["ReceiverKit"], path: "Receiver/Command", swiftSettings: settings),
        .testTarget(
            name: "ReceiverTests",
            dependencies: ["CardArtist", "ReceiverKit", flyingSocks, command],
            swiftSettings: settings),

        // Renders two photos of a specimen identity card, compresses and posts them.
        .target(
            name: "CCardJPEG", path: "IDCardFlow/CCardJPEG", linkerSettings: [.linkedLibrary("jpeg")]),
        .target(
            name: "CardArtist", dependencies: ["CCardJPEG"], path: "IDCardFlow/CardArtist", swiftSettings: settings),
        .executableTarget(
            name: "IDCardFlow",
            dependencies: ["ReceiverKit", "CardArtist", waybill],
            path: "IDCardFlow/Command", swiftSettings: settings),
        .testTarget(
            name: "IDCardFlowTests",
            dependencies: ["CardArtist", "IDCardFlow", "ReceiverKit", waybill],
            swiftSettings: settings),

        // MARK: Object stores and encrypted responses: trait All

        // Signed parameters, and responses encrypted with AES-GCM.
        .target(
            name: "EncryptedResponsesKit",
            dependencies: [crypto, flyingFox, flyingSocks, waybill, testing],
            path: "EncryptedResponses/Kit", swiftSettings: settings),
        .executableTarget(
            name: "EncryptedResponses",
            dependencies: ["EncryptedResponsesKit", waybill],
            path: "EncryptedResponses/Command", swiftSettings: settings),
        .testTarget(
            name: "EncryptedResponsesTests",
            dependencies: ["EncryptedResponsesKit", crypto, waybill],
            swiftSettings: settings),

        // The part of an object store that the next two samples need. It verifies requests.
        .target(
            name: "LittleStore",
            dependencies: [crypto, flyingFox, flyingSocks, testing],
            path: "LittleStore", swiftSettings: settings),

        // Uploads photos to the store, with keys from a token server.
        .target(
            name: "DirectKit",
            dependencies: ["LittleStore", flyingFox, flyingSocks, waybill, stores],
            path: "DirectToOSS/Kit", swiftSettings: settings),
        .executableTarget(
            name: "DirectToOSS",
            dependencies: ["DirectKit", "LittleStore", "CardArtist", waybill],
            path: "DirectToOSS/Command", swiftSettings: settings),
        .testTarget(
            name: "DirectToOSSTests",
            dependencies: ["DirectKit", "LittleStore", "CardArtist", stores],
            swiftSettings: settings),

        // A server that signs forms, and an app without a key that posts them.
        .target(
            name: "SignedPostKit",
            dependencies: ["LittleStore", flyingFox, flyingSocks, waybill, stores],
            path: "ServerSignedPost/Kit", swiftSettings: settings),
        .executableTarget(
            name: "ServerSignedPost",
            dependencies: ["SignedPostKit", "LittleStore", "CardArtist", waybill],
            path: "ServerSignedPost/Command", swiftSettings: settings),
        .testTarget(
            name: "ServerSignedPostTests",
            dependencies: ["SignedPostKit", "LittleStore", "CardArtist", waybill, stores],
            swiftSettings: settings),

        // A backend that signs URLs for a minute, and an app that asks, puts and confirms, also from an outbox.
        .target(
            name: "TicketKit",
            dependencies: ["LittleStore", flyingFox, flyingSocks, waybill, stores],
            path: "TicketedUpload/Kit", swiftSettings: settings),
        .executableTarget(
            name: "TicketedUpload",
            dependencies: ["TicketKit", "LittleStore", "CardArtist", waybill, outbox],
            path: "TicketedUpload/Command", swiftSettings: settings),
        .testTarget(
            name: "TicketedUploadTests",
            dependencies: ["TicketKit", "LittleStore", waybill, outbox],
            swiftSettings: settings),

        // Uploads many photos to Qiniu, three at a time.
        .target(
            name: "QiniuBatchKit",
            dependencies: [crypto, flyingFox, flyingSocks, waybill, stores, testing],
            path: "QiniuBatch/Kit", swiftSettings: settings),
        .executableTarget(
            name: "QiniuBatch",
            dependencies: ["QiniuBatchKit", waybill, stores],
            path: "QiniuBatch/Command", swiftSettings: settings),
        .testTarget(
            name: "QiniuBatchTests",
            dependencies: ["QiniuBatchKit", waybill, stores],
            swiftSettings: settings),

        // Recognizes the sides of a card and submits both to a bank.
        .target(
            name: "CardRecognitionKit",
            dependencies: [crypto, flyingFox, flyingSocks, waybill, jpeg, testing],
            path: "CardRecognition/Kit", swiftSettings: settings),
        .executableTarget(
            name: "CardRecognition",
            dependencies: ["CardRecognitionKit", "CardArtist", waybill],
            path: "CardRecognition/Command", swiftSettings: settings),
        .testTarget(
            name: "CardRecognitionTests",
            dependencies: ["CardRecognitionKit", "CardArtist", crypto, waybill],
            swiftSettings: settings),

        // MARK: The outbox: trait All

        // A backend that honors idempotency keys and counts requests.
        .target(
            name: "LittleBackend",
            dependencies: [flyingFox, flyingSocks, "ReceiverKit", testing],
            path: "LittleBackend", swiftSettings: settings),

        // An outbox with workers that are killed, and results that are read until they are acknowledged.
        .target(
            name: "KioskKit",
            dependencies: [lifecycle, waybill, outbox],
            path: "KioskOutbox/Kit", swiftSettings: settings),
        .executableTarget(
            name: "KioskOutbox",
            dependencies: [
                "KioskKit", "LittleBackend", "CardArtist", logging, "ReceiverKit", lifecycle, waybill, outbox,
            ],
            path: "KioskOutbox/Command", swiftSettings: settings),
        .testTarget(
            name: "KioskOutboxTests",
            dependencies: [
                "KioskKit", "KioskOutbox", "LittleBackend", "CardArtist", logging, lifecycle, waybill, outbox,
            ],
            swiftSettings: settings),

        // Priorities and duplicates, in a session and in an outbox.
        .executableTarget(
            name: "PriorityQueue",
            dependencies: ["LittleBackend", waybill, outbox],
            path: "PriorityQueue/Command", swiftSettings: settings),
        .testTarget(
            name: "PriorityQueueTests",
            dependencies: ["LittleBackend", "PriorityQueue", waybill, outbox],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
