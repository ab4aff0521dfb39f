// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "kiosk",
    dependencies: [
        .package(path: "../waybill", traits: ["Outbox"])
    ],
    targets: [
        .executableTarget(
            name: "kiosk",
            dependencies: [
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ])
    ])
