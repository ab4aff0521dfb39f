import WaybillCore
import FoundationEssentials
import Waybill

/// Encodes and decodes uploads by the names of their types.
struct UploadTypeRegistry: Sendable {
    private let kinds: [String: any DurableUpload.Type]

    init(_ extra: [any DurableUpload.Type]) throws(OutboxError) {
        var kinds: [String: any DurableUpload.Type] = [:]
        for kind in [DurableForm.self, DurableFileUpload.self, DurableTicketedUpload.self] + extra {
            guard kinds[kind.kind].map({ $0 == kind }) ?? true else {
                throw OutboxError(.unknownKind, "Two upload types have the name \"\(kind.kind)\". Rename one of them.")
            }
            kinds[kind.kind] = kind
        }
        self.kinds = kinds
    }

    func contains(_ kind: String) -> Bool { kinds[kind] != nil }

    func encode(_ upload: some DurableUpload) throws(OutboxError) -> String {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(upload), as: UTF8.self)
        } catch {
            throw OutboxError(.uploadRefused, "The upload cannot be encoded: \(error)", cause: error)
        }
    }

    func decode(_ kind: String, _ spec: String) throws(OutboxError) -> any DurableUpload {
        guard let type = kinds[kind] else {
            throw OutboxError(
                .unknownKind,
                "Unknown upload type \"\(kind)\". \(Remedy.registerUploadKind)")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(spec.utf8))
        } catch {
            throw OutboxError(.unknownKind, "An upload of type \"\(kind)\" cannot be decoded: \(error)", cause: error)
        }
    }
}
