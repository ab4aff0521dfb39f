import TestSupport
import Testing
import WaybillCore
import WaybillMultipart

@testable import Waybill

extension ResumeCases {
    // MARK: - Checksums

    static let checksums = [
        row("each append has a checksum, which the server compares") { row in
            row.options = { $0.resume?.checksums = [.test("sha256", "sha-256")] }
            row.check = { state, _ in
                for request in state.requests(.append, .finish) {
                    let name = state.requests(.create)[0].dialect == .tus ? "Upload-Checksum" : "Content-Digest"
                    #expect(request.value(of: name)?.hasPrefix("sha") == true)
                }
            }
        },
        row("a creation with the first append has a checksum, too") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusExtensions.append("creation-with-upload") }
            row.options = { $0.resume?.checksums = [.test("sha256")] }
            row.check = { state, _ in #expect(state.requests(.create)[0].value(of: "Upload-Checksum") != nil) }
        },
        row("the first checksum that the server lists is used") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusChecksums = ["md5", "sha1"] }
            row.options = { $0.resume?.checksums = [.test("sha256"), .test("sha1")] }
            row.check = { state, _ in
                #expect(state.requests(.append)[0].value(of: "Upload-Checksum")?.hasPrefix("sha1 ") == true)
            }
        },
        row("a server without checksums gets none") { row in
            row.dialects = [.tus]
            row.configure = { $0.tusExtensions.removeAll { $0 == "checksum" } }
            row.options = { $0.resume?.checksums = [.test("sha256")] }
            row.check = { state, _ in #expect(state.requests(.append)[0].value(of: "Upload-Checksum") == nil) }
        },
        row("an append that was damaged on the way is sent again") { row in
            row.options = { options in
                options.retry = .none
                // The first hash is wrong, as if the server had received other bytes.
                let count = Locked(0)
                options.resume?.checksums = [
                    .test("sha256", "sha-256") { hash in
                        count.withLock { count in
                            count += 1
                            return count == 2 ? hash.reversed() : hash
                        }
                    }
                ]
            }
            row.check = { state, _ in
                #expect(state.requests(.append, .finish).map(\.claimedOffset) == [0, 100_000, 100_000, 200_000])
            }
        },
        row("an append that is always damaged is an error") { row in
            row.options = { options in
                options.retry = .none
                options.resume?.checksums = [.test("sha256", "sha-256") { $0.reversed() }]
            }
            row.expected = .failed(.resumptionFailed, .incomplete)
            row.check = { state, result in
                #expect(state.requests(.append).count == 4)
                #expect("\(result)".contains("do not have the checksum sha"))
            }
        },
        stream("a stream of unknown length has checksums") { row in
            row.options = { $0.resume?.checksums = [.test("sha256", "sha-256")] }
        },
    ]
}

extension ResumeChecksum {
    /// SHA-256.
    static let sha256ForTests = test("sha256", "sha-256")

    /// Returns a checksum of which a test may change the hash.
    fileprivate static func test(
        _ name: String, _ digestName: String? = nil, _ change: @escaping @Sendable ([UInt8]) -> [UInt8] = { $0 }
    ) -> ResumeChecksum {
        ResumeChecksum(name: name, digestName: digestName) { chunks async throws(BodyError) in
            var bytes: [UInt8] = []
            for try await chunk in chunks { bytes += chunk }
            return change(UploadFields.digest(name, bytes) ?? [])
        }
    }
}
