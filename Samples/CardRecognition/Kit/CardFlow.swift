import Crypto
import Foundation
public import Waybill

/// A client that recognizes the sides in two photos, saves both, and submits them in order.
public struct CardFlow: Sendable {
    /// The URL and the credentials of the recognition service.
    public struct Reader: Sendable {
        var url: String
        var key: String
        var secret: Secret

        /// Creates the description of a service.
        public init(url: String, key: String, secret: Secret) {
            self.url = url
            self.key = key
            self.secret = secret
        }
    }

    /// The largest size of an image.
    public static let limit = ByteCount.kilobytes(100)

    private let reader: Reader
    private let token: Secret
    private let archive: Archive
    private let session: UploadSession
    private let bank: UploadSession

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - reader: The recognition service.
    ///   - bank: The base URL of the bank.
    ///   - token: The value of the field `TOKEN` for the bank.
    ///   - encryptionKey: The key of the bank's responses.
    ///   - directory: The directory for images.
    public init(reader: Reader, bank: String, token: Secret, encryptionKey: [UInt8], directory: String) {
        self.reader = reader
        self.token = token
        archive = Archive(directory: directory)
        session = UploadSession()
        var configuration = UploadSession.Configuration()
        configuration.baseURL = bank
        // Responses pass interceptors from the last to the first: decryption, then the envelope.
        configuration.interceptors = [
            JSONEnvelope(code: "RETCODE", message: "RETMSG", successCodes: ["000000"]),
            .transforming("decrypt the response") { encrypted in
                Array(
                    try AES.GCM.open(AES.GCM.SealedBox(combined: encrypted), using: SymmetricKey(data: encryptionKey)))
            },
        ]
        self.bank = UploadSession(configuration: configuration)
    }

    /// Runs the whole flow.
    ///
    /// - Parameters:
    ///   - photos: The paths of two photos, in any order.
    ///   - business: The business number.
    /// - Returns: The bank's number of the submission.
    /// - Throws: `UploadError` of either service; ``FlowError`` if the photos do not show the two sides of a card.
    public func run(photos: [String], business: String) async throws -> String {
        var saved: [Side: String] = [:]
        for path in photos {
            let image = try await JPEGRecompressor(.maxBytes(Self.limit)).recompress(file: path)
            let side = try await recognize(image.bytes)
            guard saved[side] == nil else { throw FlowError.sameSideTwice(side) }
            saved[side] = try archive.save(image.bytes, business: business, side: side)
        }
        guard let front = saved[.front] else { throw FlowError.missing(.front) }
        guard let back = saved[.back] else { throw FlowError.missing(.back) }
        return try await submit(front: front, back: back, business: business)
    }

    /// Closes both sessions.
    public func close() async {
        await session.close()
        await bank.close()
    }

    private func recognize(_ image: [UInt8]) async throws -> Side {
        let found = try await session.upload(
            [
                .text("api_key", reader.key), .text("api_secret", reader.secret),
                .data("image_file", image, fileName: "card.jpg", contentType: "image/jpeg"),
            ],
            to: reader.url, as: Recognition.self)
        guard found.cards.count == 1 else { throw FlowError.notOneCard(found.cards.count) }
        return found.cards[0].side
    }

    /// Sends the front, then the back with the number of the front, then submits both. Each step uses the responses
    /// before it.
    private func submit(front: String, back: String, business: String) async throws -> String {
        let token = token
        let common: [MultipartPart] = [.text("TOKEN", token), .text("BUSINESSNO", business)]
        var chain = UploadChain(
            "front", UploadRequest(.post, "cards/front", content: .form(form(common, [.file("FILE", path: front)]))))
        chain.then("back") { done in
            guard let number = try done["front"]?.decode(StoredImage.self).DATA.ID else { return nil }
            let parts: [MultipartPart] = [.text("FRONT", number), .file("FILE", path: back)]
            return UploadRequest(.post, "cards/back", content: .form(form(common, parts)))
        }
        chain.then("submit") { done in
            let numbers = try done.responses.map { try $0.decode(StoredImage.self).DATA.ID }
            let parts: [MultipartPart] = [.text("IDS", numbers.joined(separator: ","))]
            return UploadRequest(.post, "cards/submit", content: .form(form(common, parts)))
        }
        let responses = try await bank.run(chain).get()
        return try responses[responses.count - 1].decode(StoredImage.self).DATA.ID
    }
}

/// Returns a form with the common parts and the parts of one step.
private func form(_ common: [MultipartPart], _ parts: [MultipartPart]) -> MultipartForm {
    var form = MultipartForm()
    for part in common + parts { form.append(part) }
    return form
}

/// A side of a card, as named by the service.
public enum Side: String, Sendable, Decodable {
    case front, back
}

/// An error for photos that do not show the two sides of a card.
public enum FlowError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A photo shows no card, or this number of cards.
    case notOneCard(Int)
    /// Both photos show this side.
    case sameSideTwice(Side)
    /// No photo shows this side.
    case missing(Side)

    /// A readable description.
    public var description: String {
        switch self {
        case .notOneCard(let count): "A photo shows \(count) cards instead of one."
        case .sameSideTwice(let side): "Both photos show the \(side)."
        case .missing(let side): "No photo shows the \(side)."
        }
    }
}

/// The response of the recognition service.
struct Recognition: Decodable, Sendable {
    struct Card: Decodable, Sendable {
        let side: Side
    }

    let cards: [Card]
}

/// The response of the bank.
struct StoredImage: Decodable, Sendable {
    struct Content: Decodable, Sendable {
        let ID: String
    }

    let DATA: Content
}
