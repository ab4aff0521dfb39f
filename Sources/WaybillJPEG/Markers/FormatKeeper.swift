#if Images
    /// Removes the metadata of a PNG or WebP file and keeps the parts that define its pixels unchanged.
    enum FormatKeeper {
        /// The chunks that define the pixels of a PNG file and their colors.
        private static let pngChunks: Set<String> = [
            "IHDR", "PLTE", "IDAT", "tRNS", "gAMA", "cHRM", "sRGB", "cICP", "mDCV", "cLLI",
        ]
        /// Those that a profile, which is metadata, takes precedence over. Without it, they would change the colors.
        private static let belowProfile: Set<String> = ["gAMA", "cHRM"]
        private static let pngEnd: [UInt8] = [0, 0, 0, 0] + Array("IEND".utf8) + [0xAE, 0x42, 0x60, 0x82]

        /// - Returns: `nil` if the file is an animation, damaged, or has more bytes than the limit without its metadata.
        static func strip(png bytes: [UInt8], limit: Int) -> [UInt8]? {
            do throws(JPEGError) {
                // A file can have millions of chunks, so none is remembered.
                var (hasProfile, isAnimation) = (false, false)
                _ = try PNGHeader.walk(bytes) { name, _ in
                    if name == "iCCP" { hasProfile = true }
                    if name == "acTL" { isAnimation = true }
                }
                guard !isAnimation else { return nil }
                var output = PNGHeader.signature
                _ = try PNGHeader.walk(bytes) { name, data in
                    guard pngChunks.contains(name), !(hasProfile && belowProfile.contains(name)),
                        output.count <= limit
                    else { return }
                    // The length and the name precede the data; the checksum follows.
                    output += bytes[data.lowerBound - 8..<min(bytes.count, data.upperBound + 4)]
                }
                output += pngEnd
                return output.count <= limit ? output : nil
            } catch {
                return nil
            }
        }

        /// - Returns: `nil` if the file is an animation, damaged, or has more bytes than the limit without its metadata.
        static func strip(webP bytes: [UInt8], limit: Int) -> [UInt8]? {
            var output: [UInt8] = []
            var position = 12
            let end = min(bytes.count, 8 + little(bytes, 4))
            while position + 8 <= end, output.count + 12 <= limit {
                let name = String(decoding: bytes[position..<position + 4], as: UTF8.self)
                let length = little(bytes, position + 4)
                let next = position + 8 + length
                guard next <= end else { return nil }
                switch name {
                case "ANIM", "ANMF": return nil
                case "VP8X":
                    guard length == 10 else { return nil }
                    output += bytes[position..<next]
                    // Of the flags, only that of transparency remains true.
                    output[output.count - 10] &= 0x10
                case "ALPH", "VP8 ", "VP8L":
                    // Some programs do not write the byte that pads the last chunk.
                    output += bytes[position..<min(end, next + length % 2)]
                    if output.count % 2 == 1 { output.append(0) }
                default: break
                }
                position = next + length % 2
            }
            guard !output.isEmpty, output.count + 12 <= limit else { return nil }
            let count = output.count + 4
            return Array("RIFF".utf8) + (0..<4).map { UInt8(count >> (8 * $0) & 255) } + Array("WEBP".utf8) + output
        }

        private static func little(_ bytes: [UInt8], _ offset: Int) -> Int {
            (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
        }
    }
#endif
