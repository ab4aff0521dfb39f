import AsyncHTTPClient
import WaybillMultipart

/// `OtherClient URL FILE…` posts files as the parts FILE of one form.
@main
struct Command {
    static func main() async {
        var arguments = CommandLine.arguments.dropFirst()
        guard let url = arguments.popFirst(), !arguments.isEmpty else {
            print("usage: OtherClient URL FILE…")
            return
        }
        var form: MultipartForm = [.text("TOKEN", "specimen-token")]
        for path in arguments { form.append(.file("FILE", path: path)) }
        do {
            let response = try await post(form, to: url, by: .shared)
            print("HTTP", response.status)
            print(response.text)
        } catch {
            print("OtherClient failed: \(error)")
        }
    }
}
