import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillJPEG

@Suite struct GamutTests {
    /// A color space as described by its profile and by its standard.
    struct Space: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let profile: [UInt8]
        /// Converts values to linear light, 0 to 1.
        let light: @Sendable (Double) -> Double
        /// Converts linear light of its primaries to that of sRGB, both with D65: computed from the chromaticities in
        /// the standards, without the profile's conversion to D50.
        let toSRGB: [[Double]]
    }

    /// SMPTE EG 432-1 primaries with sRGB's curve.
    static let displayP3 = Space(
        testDescription: "Display P3",
        profile: ProfileBytes.matrix(
            "Display P3",
            columns: [[0.51512, 0.2412, -0.00105], [0.29198, 0.69225, 0.04189], [0.1571, 0.06657, 0.78407]],
            curve: ProfileBytes.parametric(3, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045])),
        light: { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) },
        toSRGB: [
            [1.2249402, -0.2249402, 0], [-0.0420570, 1.0420570, 0], [-0.0196376, -0.0786361, 1.0982736],
        ])

    /// Adobe RGB (1998), version 2005-05.
    static let adobe = Space(
        testDescription: "Adobe RGB (1998)",
        profile: ProfileBytes.matrix(
            "Adobe RGB (1998)",
            columns: [[0.60974, 0.31111, 0.01947], [0.20528, 0.62567, 0.06087], [0.14919, 0.06322, 0.74457]],
            curve: ProfileBytes.gamma(563.0 / 256)),
        light: { pow($0, 563.0 / 256) },
        toSRGB: [[1.3983557, -0.3983557, 0], [0, 1, 0], [0, -0.0429290, 1.0429290]])

    /// Adobe RGB with its curve as a table, as scanners write it.
    static let table = Space(
        testDescription: "a table",
        profile: ProfileBytes.matrix(
            "Scanner",
            columns: [[0.60974, 0.31111, 0.01947], [0.20528, 0.62567, 0.06087], [0.14919, 0.06322, 0.74457]],
            curve: ProfileBytes.table((0..<256).map { pow(Double($0) / 255, 563.0 / 256) })),
        light: adobe.light, toSRGB: adobe.toSRGB)

    /// A color that changes slowly across most of the gamut.
    static func colour(_ x: Int, _ y: Int) -> RGBColor {
        RGBColor(red: 40 + x * 2, green: 60 + y * 3, blue: 220 - x - y)
    }

    @Test(arguments: [displayP3, adobe, table], JPEGOptions.Mode.allCases)
    func `wide-gamut colors look the same in sRGB`(space: Space, mode: JPEGOptions.Mode) throws {
        let (width, height) = (96, 56)
        let file = Scene.file(
            width, height, sampling: (1, 1), segments: [TinyJPEG.jfif, space.profile], Self.colour)
        for options in [
            JPEGOptions(mode: mode), JPEGOptions(quality: 95, mode: mode),
            JPEGOptions(maxBytes: .bytes(6_000), mode: mode),
        ] {
            let result = try recompress(file, options)
            #expect(!result.report.isPassedThrough)
            #expect(result.report.convertedProfile?.isEmpty == false && result.report.droppedProfile == nil)
            let seen = try DecodedPixels(result.bytes)
            var sum = 0.0
            for y in 0..<height {
                for x in 0..<width {
                    let at = (x * seen.header.width / width, y * seen.header.height / height)
                    let wanted = Self.converted(Self.colour(x, y), space)
                    sum += zip(seen.rgb(at.0, at.1), wanted).reduce(0) { $0 + abs($1.0 - $1.1) } / 3
                }
            }
            #expect(sum / Double(width * height) < 3, "\(options)")
        }
    }

    @Test(arguments: 1...8)
    func `a rotated image keeps its converted colors`(orientation: Int) throws {
        let exif = TinyJPEG.exif(orientation: UInt16(orientation))
        let flat = RGBColor(red: 60, green: 200, blue: 80)
        let file = Scene.file(33, 21, segments: [exif, Self.displayP3.profile]) { _, _ in flat }
        let seen = try DecodedPixels(try recompress(file, JPEGOptions(quality: 95)).bytes)
        let wanted = Self.converted(flat, Self.displayP3)
        for (x, y) in [(0, 0), (seen.header.width - 1, seen.header.height - 1), (9, 11)] {
            for (value, wanted) in zip(seen.rgb(x, y), wanted) { #expect(abs(value - wanted) < 3) }
        }
    }

    @Test func `gray stays gray in a wide gamut`() throws {
        let file = Scene.file(64, 48, segments: [Self.displayP3.profile]) { x, y in
            RGBColor(red: x * 3, green: x * 3, blue: x * 3)
        }
        let seen = try DecodedPixels(try recompress(file, JPEGOptions(quality: 95)).bytes)
        #expect(seen.header.components.count == 1)
        for x in 0..<64 { #expect(abs(seen.picture.luma[x, 20] - Double(x * 3)) < 3) }
    }

    @Test func `a profile equal to sRGB changes nothing, whatever its name`() throws {
        let profile = ProfileBytes.matrix(
            "My screen",
            columns: [[0.43607, 0.22249, 0.01392], [0.38515, 0.71687, 0.09708], [0.14307, 0.06061, 0.7141]],
            curve: ProfileBytes.parametric(3, [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]))
        let file = Scene.file(48, 48, segments: [profile], Scene.quarters(48, 48))
        let report = try recompress(file, JPEGOptions()).report
        #expect(report.isPassedThrough && report.droppedProfile == nil && report.convertedProfile == nil)
        #expect(report.stripped == ["ICC profile"])
    }

    @Test func `a profile in several segments is assembled in any order`() throws {
        let whole = Array(Self.adobe.profile.dropFirst(18))
        let cut = whole.count / 2
        func piece(_ number: UInt8, _ bytes: ArraySlice<UInt8>) -> [UInt8] {
            TinyJPEG.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [number, 2] + bytes)
        }
        let (first, second) = (piece(1, whole[..<cut]), piece(2, whole[cut...]))
        let quarters = Scene.quarters(32, 32)
        let header = try JPEGHeader(parsing: Scene.file(32, 32, segments: [second, first], quarters))
        #expect(header.profileName == "Adobe RGB (1998)" && header.profile?.matrix != nil)
        for broken in [[first], [first, first], [first, second, second]] {
            let file = Scene.file(32, 32, segments: broken, quarters)
            #expect(try JPEGHeader(parsing: file).profile?.matrix == nil)
            #expect(try recompress(file, JPEGOptions()).report.droppedProfile == "unnamed")
        }
    }

    @Test func `a truncated or damaged profile is converted or dropped, never trusted`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for space in [Self.displayP3, Self.table] {
            let whole = Array(space.profile.dropFirst(18))
            for length in stride(from: 0, to: whole.count, by: 5) { _ = ICCProfile(whole[..<length]) }
            for round in 0..<300 {
                var changed = whole
                for _ in 0..<3 {
                    changed[Int.random(in: 0..<whole.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                guard let matrix = ICCProfile(changed[...]).matrix, let conversion = GamutConversion(matrix) else {
                    continue
                }
                let flat = Plane(width: 4, height: 4) { _, _ in 77 }
                let half = Plane(width: 2, height: 2) { _, _ in 99 }
                let picture = conversion.convert(DecodedImage(luma: flat, chroma: [half, half]))
                #expect((0...255).contains(picture.luma[3, 3]), "seed \(seed), round \(round)")
            }
        }
    }

    static func converted(_ colour: RGBColor, _ space: Space) -> [Double] {
        let light = [colour.red, colour.green, colour.blue].map { space.light(Double($0) / 255) }
        return space.toSRGB.map { row in
            let value = min(1, max(0, zip(row, light).reduce(0) { $0 + $1.0 * $1.1 }))
            return 255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * pow(value, 1 / 2.4) - 0.055)
        }
    }
}

extension DecodedPixels {
    /// Returns red, green and blue of a pixel (JFIF 1.02).
    func rgb(_ x: Int, _ y: Int) -> [Double] {
        let value = yCbCr(x, y)
        let (blue, red) = (value[1] - 128, value[2] - 128)
        let values = [value[0] + 1.402 * red, value[0] - 0.344136 * blue - 0.714136 * red, value[0] + 1.772 * blue]
        return values.map { min(255, max(0, $0)) }
    }
}

/// Writes ICC profiles of primaries and curves (ICC.1:2010).
enum ProfileBytes {
    static func long(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    static func fixed(_ value: Double) -> [UInt8] { long(Int((value * 65_536).rounded())) }
    static func short(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

    static func parametric(_ kind: Int, _ values: [Double]) -> [UInt8] {
        Array("para".utf8) + long(0) + short(kind) + short(0) + values.flatMap(fixed)
    }

    static func gamma(_ value: Double) -> [UInt8] {
        Array("curv".utf8) + long(0) + long(1) + short(Int((value * 256).rounded())) + [0, 0]
    }

    static func table(_ values: [Double]) -> [UInt8] {
        Array("curv".utf8) + long(0) + long(values.count) + values.flatMap { short(Int(($0 * 65_535).rounded())) }
    }

    /// Returns an APP2 segment with a complete profile. `columns` are the primaries in XYZ.
    static func matrix(_ name: String, columns: [[Double]], curve: [UInt8]) -> [UInt8] {
        let description = Array("desc".utf8) + long(0) + long(name.utf8.count + 1) + Array(name.utf8) + [0]
        var elements = [("desc", description)]
        for (channel, column) in zip(["r", "g", "b"], columns) {
            elements.append(("\(channel)XYZ", Array("XYZ ".utf8) + long(0) + column.flatMap(fixed)))
            elements.append(("\(channel)TRC", curve))
        }
        var head = [UInt8](repeating: 0, count: 128)
        head.replaceSubrange(12..<24, with: Array("mntrRGB XYZ ".utf8))
        head.replaceSubrange(36..<40, with: Array("acsp".utf8))
        var tags = long(elements.count)
        var data: [UInt8] = []
        let start = 132 + 12 * elements.count
        for (tag, element) in elements {
            tags += Array(tag.utf8) + long(start + data.count) + long(element.count)
            data += element + Array(repeating: 0, count: (4 - element.count % 4) % 4)
        }
        return TinyJPEG.segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + head + tags + data)
    }
}
