// The samples of the guide to authentication, compiled.
import HTTPTypes
import Waybill

private func schemes(
    session: UploadSession, form: MultipartForm, url: String, password: String, token: String
) async throws {
    // snippet: basic authentication
    var options = UploadOptions()
    options.authentication = .basic(user: "clerk", password: .secret(password))
    let response = try await session.upload(form, to: url, options: options)
    // end
    print(response)
    // snippet: digest authentication
    options.authentication = .digest(user: "clerk", password: .secret(password))
    // end
    // snippet: bearer authentication
    options.authentication = .bearer(.secret(token))
    // end
}

private func refresh(session: UploadSession, signInURL: String, clientKey: String) -> UploadSession {
    // snippet: refreshing authentication
    struct SignInReply: Decodable {
        var token: String
        var secondsLeft: Int
    }

    let refresher = BearerRefresher {
        let credentials: MultipartForm = [.text("client", "kiosk"), .text("key", .secret(clientKey))]
        let reply = try await session.upload(credentials, to: signInURL, as: SignInReply.self)
        return BearerToken(.secret(reply.token), validFor: .seconds(reply.secondsLeft))
    }

    var configuration = UploadSession.Configuration()
    configuration.options.authentication = .refreshing(refresher)
    let uploads = UploadSession(configuration: configuration)
    // end
    return uploads
}

private func ownField(session: UploadSession, form: MultipartForm, url: String, key: String) async throws {
    var options = UploadOptions()
    // snippet: a header field with a key
    let apiKey = HTTPField.Name("X-Api-Key")!
    options.secretFields.insert(apiKey)
    let request = UploadRequest(.post, url, headers: [apiKey: key], content: .form(form), options: options)
    let response = try await session.send(request)
    // end
    print(response)
}

private func redacted() {
    // snippet: redacted secrets
    let password = Secret.secret("correct horse")
    print(password)  // <redacted>
    print(Authentication.basic(user: "clerk", password: password))  // basic
    // end
}
