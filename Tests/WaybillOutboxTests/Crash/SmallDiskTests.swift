import TestSupport
import Testing

@testable import WaybillOutbox

/// A real disk that is full, or read-only: file systems in memory, in a private mount namespace.
@Suite(.serialized, .timeLimit(.minutes(2 * Slowness.factor))) struct SmallDiskTests {
    @Test func `a full disk refuses new items, sends nothing, and recovers when there is space`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200, body: String(repeating: "r", count: 2_000)))
        let script = """
            head -c 1000000 /dev/zero > "$1/ballast"
            "$2" full "$1/outbox" "$3" "$1/ballast" || echo "ended with $?"
            echo requests
            "$2" list "$1/outbox"
            echo "spool $(ls "$1/outbox/spool" | wc -l)"
            """
        guard let run = try await onDisk("size=3m", script, server.url("/u")) else { return }
        let lines = run.completeLines.map(String.init)
        let reportedIDs = run.reportedIDs
        // Twice before anything was removed: first the staged bytes did not fit, then the queue itself.
        #expect(lines.prefix { $0 != "nothing leased" }.count { $0 == "! diskFull" } == 2, "\(run.text)")
        #expect(Set(run.errorCodes) == ["diskFull"] && !lines.contains { $0.hasPrefix("ended") }, "\(run.text)")
        #expect(reportedIDs.count > 20 && Set(reportedIDs).count == reportedIDs.count)
        let listed = lines.drop { $0 != "requests" }.dropFirst()
        #expect(listed.dropLast(2).elementsEqual(reportedIDs.sorted().map { "\($0) done" }), "\(run.text)")
        #expect(listed.suffix(2) == ["ok", "spool 0"], "\(run.text)")
        #expect(server.requests.count == reportedIDs.count && server.requests.allSatisfy(\.isComplete))
    }

    @Test func `a queue on a full disk can be read, and enqueuing fails as diskFull`() async throws {
        let script = """
            "$2" stage "$1/outbox" "$3" 2
            head -c 9000000 /dev/zero > "$1/ballast" || true
            "$2" list "$1/outbox"
            "$2" stage "$1/outbox" "$3" 1 || echo "ended with $?"
            """
        guard let run = try await onDisk("size=3m", script, "http://127.0.0.1:1/u") else { return }
        #expect(
            run.completeLines.dropFirst(3).prefix(3) == ["1 ready", "2 ready", "ok"], "\(run.text)\(run.errorText)")
        #expect(Set(run.errorCodes) == ["diskFull"], "\(run.text)")
    }

    @Test func `a read-only disk is reported, and no item is lost`() async throws {
        let server = try LoopbackServer(otherwise: .respond(200))
        let script = """
            "$2" stage "$1/outbox" "$3" 2
            mount -o remount,ro "$1"
            "$2" stage "$1/outbox" "$3" 1 || echo "ended with $?"
            "$2" idle "$1/outbox" || echo "ended with $?"
            mount -o remount,rw "$1"
            "$2" stage "$1/outbox" "$3" 1
            "$2" idle "$1/outbox"
            "$2" list "$1/outbox"
            """
        guard let run = try await onDisk("size=8m", script, server.url("/u")) else { return }
        let lines = run.completeLines
        #expect(lines.count { $0 == "ended with 3" } == 2, "\(run.text)")
        #expect(run.errorCodes.count == 2 && Set(run.errorCodes).isSubset(of: ["storageFailed", "directoryUnusable"]))
        #expect(lines.suffix(4) == ["1 done", "2 done", "3 done", "ok"], "\(run.text)")
        #expect(server.requests.count == 3)
    }

    /// Runs a script with its own file system: `$1` is the mount point, `$2` the worker, `$3` a URL.
    ///
    /// - Returns: `nil` if this machine does not permit it; the reason is printed.
    private func onDisk(_ options: String, _ script: String, _ url: String) async throws -> ChildProcess.Finished? {
        let directory = try TemporaryDirectory()
        let mount = "mount -t tmpfs -o mode=700,\(options) waybill \"$1\" || exit 77\necho mounted"
        let run = try await ChildProcess.run(
            "unshare",
            [
                "--mount", "--propagation", "private", "sh", "-euc", "\(mount)\n\(script)", "sh", directory.path,
                KillRun.worker, url,
            ])
        guard run.completeLines.first == "mounted" else {
            print(
                "a disk of our own was not tried: \(run.errorText.split(separator: "\n").last ?? "no reason was given")"
            )
            return nil
        }
        #expect(run.exit == .status(0), "\(run.text)\(run.errorText)")
        return run
    }
}
