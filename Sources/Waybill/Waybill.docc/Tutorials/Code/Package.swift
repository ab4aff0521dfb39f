// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Kiosk",
    dependencies: [
        .package(url: "<where you got this>/waybill", branch: "main", traits: ["Outbox"])
    ],
    targets: [
        .executableTarget(
            name: "Kiosk",
            dependencies: [
                .product(name: "Waybill", package: "waybill"),
                .product(name: "WaybillOutbox", package: "waybill"),
            ])
    ])
