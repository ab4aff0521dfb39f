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
            let answer = try await post(form, to: url, by: .shared)
            print("HTTP", answer.status)
            print(answer.text)
        } catch {
            print("It did not work: \(error)")
        }
    }
}
