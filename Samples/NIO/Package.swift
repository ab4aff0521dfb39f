// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// A separate package, because SwiftNIO and the libraries on it take minutes to build.
let package = Package(
    name: "waybill-samples-nio",
    dependencies: [
        .package(name: "waybill", path: "../.."),
        .package(name: "waybill-samples", path: ".."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.90.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.3.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.10.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    ],
    targets: [
        // A form streamed by AsyncHTTPClient.
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
                "OtherClient", .product(name: "ReceiverKit", package: "waybill-samples"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "WaybillMultipart", package: "waybill"),
            ],
            swiftSettings: settings),
        // A server that forwards parts in constant memory.
        .executableTarget(
            name: "Forwarder",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Waybill", package: "waybill"),
            ],
            path: "Forwarder/Command", swiftSettings: settings),
        .testTarget(
            name: "ForwarderTests",
            dependencies: [
                "Forwarder", .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Waybill", package: "waybill"),
            ],
            swiftSettings: settings),
        // Resumable uploads to the server of swift-nio-extras.
        .testTarget(
            name: "ResumableTests",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
                .product(name: "Waybill", package: "waybill"),
            ],
            swiftSettings: settings),
        // Metrics and traces of uploads.
        .target(
            name: "WatchingKit",
            dependencies: [
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Waybill", package: "waybill"),
            ],
            path: "Watching/Kit", swiftSettings: settings),
        .executableTarget(
            name: "Watching",
            dependencies: [
                "WatchingKit",
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ReceiverKit", package: "waybill-samples"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Waybill", package: "waybill"),
            ],
            path: "Watching/Command", swiftSettings: settings),
        .testTarget(
            name: "WatchingTests",
            dependencies: [
                "Watching", "WatchingKit",
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ReceiverKit", package: "waybill-samples"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Waybill", package: "waybill"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
