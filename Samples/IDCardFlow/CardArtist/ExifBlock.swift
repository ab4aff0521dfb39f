/// The Exif block of a fictitious camera, with personal metadata that an upload should remove.
///
/// TIFF 6.0, little-endian, inside an APP1 segment (CIPA DC-008, section 4.7).
struct ExifBlock {
    private enum Value {
        case text(String)
        case short(Int)
        case long(Int)
        case rationals([(Int, Int)])

        var type: Int {
            switch self {
            case .text: 2
            case .short: 3
            case .long: 4
            case .rationals: 5
            }
        }

        var count: Int {
            switch self {
            case .text(let text): text.utf8.count + 1
            case .short, .long: 1
            case .rationals(let list): list.count
            }
        }

        var bytes: [UInt8] {
            switch self {
            case .text(let text): Array(text.utf8) + [0]
            case .short(let number): ExifBlock.little(number, 2) + [0, 0]
            case .long(let number): ExifBlock.little(number, 4)
            case .rationals(let list): list.flatMap { ExifBlock.little($0.0, 4) + ExifBlock.little($0.1, 4) }
            }
        }
    }

    /// Returns the content of the segment.
    static func bytes(orientation: Int, width: Int, height: Int) -> [UInt8] {
        let header = Array("Exif\0\0".utf8)
        let camera: [(Int, Value)] = [
            (0x829A, .rationals([(1, 60)])), (0x829D, .rationals([(18, 10)])), (0x8827, .short(200)),
            (0x9003, .text("2025:01:15 09:30:00")), (0xA002, .long(width)), (0xA003, .long(height)),
        ]
        let gps: [(Int, Value)] = [
            (1, .text("N")), (2, .rationals([(0, 1), (0, 1), (0, 1)])), (3, .text("E")),
            (4, .rationals([(0, 1), (0, 1), (0, 1)])),
        ]
        func main(_ cameraOffset: Int, _ gpsOffset: Int) -> [(Int, Value)] {
            [
                (0x10F, .text("Specimen Optics")), (0x110, .text("Field Camera 12")), (0x112, .short(orientation)),
                (0x132, .text("2025:01:15 09:30:00")), (0x8769, .long(cameraOffset)), (0x8825, .long(gpsOffset)),
            ]
        }
        let cameraOffset = 8 + directory(main(0, 0), at: 8).count
        let cameraBytes = directory(camera, at: cameraOffset)
        let gpsOffset = cameraOffset + cameraBytes.count
        let tiff = Array("II*\0".utf8) + little(8, 4) + directory(main(cameraOffset, gpsOffset), at: 8)
        return header + tiff + cameraBytes + directory(gps, at: gpsOffset)
    }

    /// Returns a directory, followed by the values that do not fit into its entries.
    private static func directory(_ entries: [(Int, Value)], at offset: Int) -> [UInt8] {
        var head = little(entries.count, 2)
        var tail: [UInt8] = []
        let tailOffset = offset + 2 + entries.count * 12 + 4
        for (tag, value) in entries {
            head += little(tag, 2) + little(value.type, 2) + little(value.count, 4)
            let bytes = value.bytes
            if bytes.count <= 4 {
                head += bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
            } else {
                head += little(tailOffset + tail.count, 4)
                tail += bytes + (bytes.count.isMultiple(of: 2) ? [] : [0])
            }
        }
        return head + little(0, 4) + tail
    }

    private static func little(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
