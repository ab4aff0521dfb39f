import WaybillCore
import FoundationEssentials
import Waybill

/// Encodes and decodes uploads by the names of their types.
struct UploadTypeRegistry: Sendable {
    private let kinds: [String: any DurableUpload.Type]

    init(_ extra: [any DurableUpload.Type]) throws(OutboxError) {
        var kinds: [String: any DurableUpload.Type] = [:]
        for kind in [DurableForm.self, DurableFileUpload.self] + extra {
            guard kinds[kind.kind].map({ $0 == kind }) ?? true else {
                throw OutboxError(.unknownKind, "two kinds of uploads are called \"\(kind.kind)\": rename one")
            }
            kinds[kind.kind] = kind
        }
        self.kinds = kinds
    }

    func knows(_ kind: String) -> Bool { kinds[kind] != nil }

    func encode(_ upload: some DurableUpload) throws(OutboxError) -> String {
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(upload), as: UTF8.self)
        } catch {
            throw OutboxError(.uploadRefused, "the upload can't be written down: \(error)", cause: error)
        }
    }

    func decode(_ kind: String, _ spec: String) throws(OutboxError) -> any DurableUpload {
        guard let type = kinds[kind] else {
            throw OutboxError(
                .unknownKind,
                "This program doesn't know uploads of the kind \"\(kind)\". \(Remedy.registerUploadKind)")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(spec.utf8))
        } catch {
            throw OutboxError(.unknownKind, "an upload of the kind \"\(kind)\" can't be read: \(error)", cause: error)
        }
    }
}
