import Foundation
import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct ColorTests {
    static let (width, height) = (64, 48)

    @Test(arguments: [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (4, 2)])
    func `every sampling decodes to the same colors`(horizontal: Int, vertical: Int) throws {
        let scene = Scene.quarters(Self.width, Self.height)
        let file = Scene.file(Self.width, Self.height, sampling: (horizontal, vertical), scene)
        let result = try recompress(file, JPEGOptions(quality: 90, maxPixels: 3_000))
        #expect(!result.report.isPassedThrough)
        try OrientationTests.expectQuarters(result)
        #expect(try JPEGHeader(parsing: result.bytes).components.map(\.horizontalSampling) == [2, 1, 1])
    }

    @Test func `gray images keep a single component`() throws {
        let file = BadInputTests.grey(40, 24)
        for options in [JPEGOptions(), JPEGOptions(quality: 90), JPEGOptions(maxBytes: .bytes(600), mode: .fast)] {
            let seen = try DecodedPixels(try recompress(file, options).bytes)
            #expect(seen.header.components.count == 1)
            #expect(seen.picture.chroma.isEmpty)
        }
    }

    @Test func `a color image that is gray everywhere is written as gray`() throws {
        let file = Scene.file(Self.width, Self.height) { x, y in
            let value = (x * 3 + y * 2) % 256
            return RGBColor(red: value, green: value, blue: value)
        }
        let result = try recompress(file, JPEGOptions(quality: 80, maxPixels: 3_000))
        #expect(try JPEGHeader(parsing: result.bytes).components.count == 1)
    }

    @Test func `a file that stores RGB keeps its colors`() throws {
        let scene = Scene.quarters(Self.width, Self.height)
        let file = stored(
            segments: [TinyJPEG.adobe(transform: 0)],
            [
                { scene($0, $1).red }, { scene($0, $1).green }, { scene($0, $1).blue },
            ])
        try OrientationTests.expectQuarters(try recompress(file, JPEGOptions(quality: 90)))
    }

    @Test(arguments: [true, false])
    func `CMYK is converted to colors, also inverted as by Adobe`(isAdobe: Bool) throws {
        let scene = Scene.quarters(Self.width, Self.height)
        let flip = isAdobe ? 0 : 255
        // Without black, the complement of an ink is the color itself.
        let file = stored(
            segments: isAdobe ? [TinyJPEG.adobe(transform: 0)] : [],
            [
                { scene($0, $1).red ^ flip }, { scene($0, $1).green ^ flip }, { scene($0, $1).blue ^ flip },
                { _, _ in 255 ^ flip },
            ])
        let result = try recompress(file, JPEGOptions(quality: 90))
        try OrientationTests.expectQuarters(result)
        #expect(try JPEGHeader(parsing: result.bytes).components.count == 3)
    }

    @Test func `YCCK is converted to colors`() throws {
        let scene = Scene.quarters(Self.width, Self.height)
        // YCCK is the YCbCr of the complement; Adobe's inks are already stored as complements.
        func complement(_ index: Int) -> (Int, Int) -> Int {
            { x, y in
                let colour = scene(x, y)
                return RGBColor(red: 255 - colour.red, green: 255 - colour.green, blue: 255 - colour.blue).yCbCr[index]
            }
        }
        let file = stored(
            segments: [TinyJPEG.adobe(transform: 2)],
            [complement(0), complement(1), complement(2), { _, _ in 255 }])
        try OrientationTests.expectQuarters(try recompress(file, JPEGOptions(quality: 90)))
    }

    @Test func `black ink darkens`() throws {
        let file = stored(segments: [TinyJPEG.adobe(transform: 0)], Array(repeating: { _, _ in 128 }, count: 4))
        let seen = try DecodedPixels(try recompress(file, JPEGOptions(quality: 90)).bytes)
        #expect(abs(seen.yCbCr(20, 20)[0] - 64) < 3)
    }

    @Test func `progressive input decodes like baseline`() throws {
        let progressive = try recompress(Scene.photoFile, JPEGOptions(mode: .fast)).bytes
        #expect(try JPEGHeader(parsing: progressive).process == .progressive)
        let options = JPEGOptions.maxBytes(.bytes(5_000), mode: .fast)
        // The coefficients are the same, so the bytes are.
        #expect(try recompress(progressive, options).bytes == recompress(Scene.photoFile, options).bytes)
    }

    /// Quarters of 48 x 40 pixels created with cjpeg -arithmetic, sequential and progressive.
    static let arithmetic = [
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU
        FRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU
        FBQUFBQUFBT/yQARCAAoADADASIAAhEBAxEB/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwD/AMkd0UQL2bSXzSPC3DEJjp5dqMoT
        mGNxOehLmT/ARhENv1cfWR6nc58KZrsvmG2C7gycHyJZZGT98kSJ7imsmy80YWsQ+U6q8v6KlkvQ4e3FG0axAaFPMGkt7M+pJfB7
        rOKs+flgYJz29uvOF3PSJoJrDWBizvr21b1ozsi9d2YAD8ABj32rRiueAeUrigdIAm2iJIySg5PcgTwNZUCwGd+0ZM9VfjJ8j/m1
        Sc18iftwcxGW1S40Ip1OfeTROOrU/9k=
        """,
        """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMU
        FRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU
        FBQUFBQUFBT/ygARCAAoADADASIAAhEBAxEB/8wABgAQARD/2gAMAwEAAhADEAAAAf8AkaFPSmOHPEgIA0tOIj3FeuOqOWUnptZq
        Rk2Tslc3oaaMWw4bxXHEYkn5OBH6hv/MAAQQBf/aAAgBAQABBQLA2qHRn33mwKEj/8wABBEF/9oACAEDAQE/Ae7FoRny9LU9v/ho
        172eWjoiRn/+CIx86vCeW7gc1WXvxS+5NNVptB8AKv/MAAQRBf/aAAgBAgEBPwHuKasMFFF8XF/RMVUodNolKxhiDaYe+gpmxCjo
        ebMe7F2RvKu8/8wABBAF/9oACAEBAAY/AsCTlkd7DD8bp/O4gpfYtRsKwP/MAAQQBf/aAAgBAQABPyGwNhDhYsvUFmbYA//aAAwD
        AQACAAMAAAAQ940jrOfz4P/MAAQRBf/aAAgBAwEBPxDUWfQJqLf708Nu4SuDKZdZI/3zBS7/zAAEEQX/2gAIAQIBAT8QpuQ6jQ7E
        PHMtqto01/H+OzcJQP/MAAQQBf/aAAgBAQABPxCqlELQ7SIwV3QT/9k=
        """,
    ]

    @Test(arguments: arithmetic, JPEGOptions.Mode.allCases)
    func `arithmetic coding is decoded, but never written`(text: String, mode: JPEGOptions.Mode) throws {
        let bytes = Array(try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
        #expect(try JPEGHeader(parsing: bytes).isArithmetic)
        let seen = try DecodedPixels(bytes)
        let scene = Scene.quarters(48, 40)
        for (x, y) in [(12, 10), (36, 10), (12, 30), (36, 30)] {
            for (value, wanted) in zip(seen.yCbCr(x, y), scene(x, y).yCbCr) { #expect(abs(value - Double(wanted)) < 3) }
        }
        // So small that Huffman tables matter: the result is coarse, but never larger than the input.
        for options in [JPEGOptions(mode: mode), JPEGOptions(quality: 60, mode: mode)] {
            let result = try recompress(bytes, options)
            #expect(result.bytes.count <= bytes.count)
            #expect(try !JPEGHeader(parsing: result.bytes).isArithmetic || result.report.isPassedThrough)
        }
    }

    @Test(arguments: [0, 2] as [UInt8])
    func `inks are within two levels of the documented formula`(transform: UInt8) throws {
        let inks: [(Int, Int) -> Int] = [
            { x, _ in 30 + x * 3 }, { _, y in 240 - y * 4 }, { x, y in 60 + x + y }, { x, y in 255 - (x + y) },
        ]
        // YCCK stores the first three as YCbCr of their complements, which for inverted inks are the inks again.
        func stored(_ x: Int, _ y: Int) -> [Int] {
            let values = inks.map { $0(x, y) }
            guard transform == 2 else { return values }
            let colour = RGBColor(red: 255 - values[0], green: 255 - values[1], blue: 255 - values[2])
            return colour.yCbCr + [values[3]]
        }
        let file = self.stored(
            segments: [TinyJPEG.adobe(transform: transform)], (0..<4).map { ink in { x, y in stored(x, y)[ink] } })
        let seen = try DecodedPixels(try recompress(file, JPEGOptions(quality: 100)).bytes)
        var sums = [0.0, 0.0, 0.0]
        for y in 0..<Self.height {
            for x in 0..<Self.width {
                // Adobe stores the complement of an ink, so R = (255 - C)(255 - K) / 255 is a product of stored
                // values.
                let left = inks.map { Double($0(x, y)) }
                for (index, value) in seen.rgb(x, y).enumerated() {
                    sums[index] += abs(value - left[index] * left[3] / 255)
                }
            }
        }
        #expect(sums.allSatisfy { $0 / Double(Self.width * Self.height) < 2 })
    }

    private func stored(segments: [[UInt8]], _ samples: [(Int, Int) -> Int]) -> [UInt8] {
        let components = samples.enumerated().map {
            TinyJPEG.Component(identifier: UInt8($0.offset + 1), sample: $0.element)
        }
        return TinyJPEG(width: Self.width, height: Self.height, components: components, segments: segments).encoded()
    }
}
