import Waybill
import WaybillCore

/// Prints what a server offers for resumable uploads.
enum ServerCheck {
    static func run(_ url: String) async -> [Check] {
        do throws(UploadError) {
            return notes(try await UploadSession().resumeOffer(of: url))
        } catch {
            return [Check("server", false, error.message)]
        }
    }

    static func notes(_ offer: ResumeOffer) -> [Check] {
        var limits: [String] = []
        if let length = offer.maximumLength { limits.append("at most \(ByteCount(bytes: length)) each") }
        if let append = offer.maximumAppend { limits.append("at most \(ByteCount(bytes: append)) a request") }
        let versions = offer.draftVersions.map(String.init).joined(separator: " and ")
        let draft =
            offer.draftVersions.isEmpty
            ? "not offered" : (["interop version \(versions)"] + limits).joined(separator: "; ")
        var tus = [offer.tusVersions.isEmpty ? "not offered" : offer.tusVersions.joined(separator: ", ")]
        if !offer.tusVersions.isEmpty {
            if !offer.tusExtensions.isEmpty { tus.append("extensions \(offer.tusExtensions.joined(separator: ", "))") }
            if offer.draftVersions.isEmpty { tus += limits }
        }
        return [
            Check(note: "resumable uploads by the IETF draft", draft),
            Check(note: "resumable uploads by tus", tus.joined(separator: "; ")),
        ]
    }
}
