import TestSupport
import Testing

/// `Scripts/setup` on systems without apt-get, and its search for Swift.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct OtherSetupTests {
    @Test(arguments: [
        ("dnf", "dnf install libcurl-devel libjpeg-turbo-devel gcc-c++ binutils git"),
        ("zypper", "zypper install libcurl-devel libjpeg8-devel gcc-c++ binutils git"),
        ("pacman", "pacman -S --needed curl libjpeg-turbo gcc binutils git"),
        ("apk", "apk add curl-dev libjpeg-turbo-dev g++ binutils git"),
    ])
    func `packages of other systems are listed and not installed`(_ manager: String, _ command: String) async throws {
        var machine = SimulatedMachine(programs: [manager])
        machine.isDebian = false
        let run = try await machine.run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text.contains("\n    \(command)\n"))
        #expect(!run.called(manager) && !run.called("sudo"))
    }

    @Test(arguments: [
        ("dnf", "git sqlite-devel libpng-devel libwebp-devel libpq-devel\n"),
        ("zypper", "git sqlite3-devel libpng16-devel libwebp-devel postgresql-devel\n"),
        ("pacman", "git sqlite libpng libwebp postgresql-libs\n"),
        ("apk", "git sqlite-dev libpng-dev libwebp-dev libpq-dev\n"),
    ])
    func `the tests need SQLite on other systems too`(_ manager: String, _ end: String) async throws {
        var machine = SimulatedMachine(programs: [manager])
        machine.isDebian = false
        let run = try await machine.run()
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text.contains(end))
        #expect(run.text.contains("the tests also run curl, openssl, stunnel, nginx,"))
        #expect(run.called("readers"))
    }

    @Test(arguments: [
        ("curl/curl.h", "curl/curl.h"), ("jpeglib.h", "jpeglib.h"), ("sqlite3.h", "sqlite3.h"),
        ("png.h", "png.h"), ("webp/demux.h", "webp/demux.h"), ("libpq-fe.h", "libpq-fe.h"),
        ("vector", "C++ (vector)"),
    ])
    func `a missing header is an error on other systems`(_ header: String, _ shown: String) async throws {
        var machine = SimulatedMachine(programs: ["dnf"])
        machine.isDebian = false
        machine.headers.removeAll { $0 == header }
        let run = try await machine.run()
        #expect(run.exit == .status(1))
        #expect(run.errorText.contains("setup: the compiler does not find \(shown). Install the packages above"))
    }

    @Test func `the build needs no header of SQLite`() async throws {
        var machine = SimulatedMachine(programs: ["dnf"])
        machine.isDebian = false
        machine.headers.removeAll { $0 == "sqlite3.h" }
        #expect(try await machine.run("build").exit == .status(0))
    }

    @Test func `an unknown system is given a description of the packages`() async throws {
        var machine = SimulatedMachine(headers: [])
        machine.isDebian = false
        let run = try await machine.run("build")
        #expect(run.exit == .status(1))
        #expect(run.text.contains("install the headers of libcurl (7.87 or later) and libjpeg-turbo, a C++ compiler"))
    }

    @Test func `a missing Swift is an error with a URL`() async throws {
        let run = try await SimulatedMachine(swiftVersion: nil).run("build")
        #expect(run.exit == .status(1))
        #expect(
            run.errorText.contains(
                "Swift was not found. Waybill needs Swift 6.2 or later: https://www.swift.org/install/"))
        #expect(!run.called("apt-get"))
    }

    @Test(arguments: [("6.1.2", false), ("5.10", false), ("6.2", true), ("6.2.1", true), ("6.10", true), ("7.0", true)])
    func `Swift must be 6.2 or later`(_ version: String, _ isAccepted: Bool) async throws {
        let run = try await SimulatedMachine(installed: SimulatedMachine.buildPackages, swiftVersion: version).run(
            "build")
        #expect((run.exit == .status(0)) == isAccepted, "\(run.errorText)")
        #expect(run.errorText.contains("Swift \(version) is too old.") == !isAccepted)
    }

    @Test func `an unknown purpose is an error`() async throws {
        let run = try await SimulatedMachine().run("demo")
        #expect(run.exit == .status(1))
        #expect(run.errorText == "setup: \"demo\" is not a purpose. Use: Scripts/setup, or Scripts/setup build.\n")
        #expect(run.calls.isEmpty)
    }
}
