import Crypto
import Foundation
public import Waybill

/// Two photographs, in whatever order they were taken: recognised, saved, and handed in side by side.
public struct CardFlow: Sendable {
    /// A service that reads cards, and what it knows its customer by.
    public struct Reader: Sendable {
        var url: String
        var key: String
        var secret: Secret

        /// Describes the service.
        public init(url: String, key: String, secret: Secret) {
            self.url = url
            self.key = key
            self.secret = secret
        }
    }

    /// What the pictures may weigh.
    public static let limit = ByteCount.kilobytes(100)

    private let reader: Reader
    private let token: Secret
    private let archive: Archive
    private let session: UploadSession
    private let bank: UploadSession

    /// - Parameters:
    ///   - reader: Who recognises.
    ///   - bank: Where to hand in.
    ///   - token: What the bank knows its customer by.
    ///   - sealingKey: What the bank's answers are sealed with.
    ///   - folder: Where pictures are saved.
    public init(reader: Reader, bank: String, token: Secret, sealingKey: [UInt8], folder: String) {
        self.reader = reader
        self.token = token
        archive = Archive(folder: folder)
        session = UploadSession()
        var configuration = UploadSession.Configuration()
        configuration.baseURL = bank
        // Answers go through them from the last to the first: opened, then judged.
        configuration.interceptors = [
            JSONEnvelope(code: "RETCODE", message: "RETMSG", successCodes: ["000000"]),
            .transforming("open the answer") { sealed in
                Array(try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: SymmetricKey(data: sealingKey)))
            },
        ]
        self.bank = UploadSession(configuration: configuration)
    }

    /// Does all of it.
    ///
    /// - Parameters:
    ///   - photographs: The paths of two pictures, in any order.
    ///   - business: The number of the business.
    /// - Returns: The number under which the bank has both.
    /// - Throws: `UploadError` of either service; ``FlowError`` when these aren't the two sides of a card.
    public func run(photographs: [String], business: String) async throws -> String {
        var saved: [Side: String] = [:]
        for path in photographs {
            let image = try await JPEGRecompressor(.maxBytes(Self.limit)).recompress(file: path)
            let side = try await recognise(image.bytes)
            guard saved[side] == nil else { throw FlowError.sameSideTwice(side) }
            saved[side] = try archive.save(image.bytes, business: business, side: side)
        }
        guard let front = saved[.front] else { throw FlowError.missing(.front) }
        guard let back = saved[.back] else { throw FlowError.missing(.back) }
        return try await handIn(front: front, back: back, business: business)
    }

    /// Ends both sessions.
    public func close() async {
        await session.close()
        await bank.close()
    }

    private func recognise(_ image: [UInt8]) async throws -> Side {
        let found = try await session.upload(
            [
                .text("api_key", reader.key), .text("api_secret", reader.secret),
                .data("image_file", image, fileName: "card.jpg", contentType: "image/jpeg"),
            ],
            to: reader.url, as: Recognition.self)
        guard found.cards.count == 1 else { throw FlowError.notOneCard(found.cards.count) }
        return found.cards[0].side
    }

    /// The front, then the back with the front's number, then both: each step is made of the answers before it.
    private func handIn(front: String, back: String, business: String) async throws -> String {
        let token = token
        let common: [MultipartPart] = [.text("TOKEN", token), .text("BUSINESSNO", business)]
        var chain = UploadChain(
            "front", UploadRequest(.post, "cards/front", content: .form(form(common, [.file("FILE", path: front)]))))
        chain.then("back") { done in
            guard let number = try done["front"]?.decode(Filed.self).DATA.ID else { return nil }
            let parts: [MultipartPart] = [.text("FRONT", number), .file("FILE", path: back)]
            return UploadRequest(.post, "cards/back", content: .form(form(common, parts)))
        }
        chain.then("submit") { done in
            let numbers = try done.responses.map { try $0.decode(Filed.self).DATA.ID }
            let parts: [MultipartPart] = [.text("IDS", numbers.joined(separator: ","))]
            return UploadRequest(.post, "cards/submit", content: .form(form(common, parts)))
        }
        let answers = try await bank.run(chain).get()
        return try answers[answers.count - 1].decode(Filed.self).DATA.ID
    }
}

/// A form of parts that each step has, and its own.
private func form(_ common: [MultipartPart], _ parts: [MultipartPart]) -> MultipartForm {
    var form = MultipartForm()
    for part in common + parts { form.append(part) }
    return form
}

/// A side of a card, as the service names it.
public enum Side: String, Sendable, Decodable {
    case front, back
}

/// Why two pictures are not the two sides of a card.
public enum FlowError: Error, Sendable, Equatable, CustomStringConvertible {
    /// So many cards were seen in one picture.
    case notOneCard(Int)
    /// Both pictures show this side.
    case sameSideTwice(Side)
    /// No picture shows this side.
    case missing(Side)

    /// What is wrong, for people.
    public var description: String {
        switch self {
        case .notOneCard(let count): "a picture shows \(count) cards, where one is wanted"
        case .sameSideTwice(let side): "both pictures show the \(side)"
        case .missing(let side): "no picture shows the \(side)"
        }
    }
}

/// The answer of the service that recognises.
struct Recognition: Decodable, Sendable {
    struct Card: Decodable, Sendable {
        let side: Side
    }

    let cards: [Card]
}

/// The answer of the bank.
struct Filed: Decodable, Sendable {
    struct Content: Decodable, Sendable {
        let ID: String
    }

    let DATA: Content
}
