import TestSupport
import Testing

/// `Scripts/setup` on Debian and Ubuntu.
@Suite(.timeLimit(.minutes(2 * Slowness.factor))) struct DebianSetupTests {
    private typealias Machine = SimulatedMachine

    @Test func `the build needs five packages`() async throws {
        let run = try await Machine().run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.requested == Machine.buildPackages.sorted())
    }

    @Test func `the tests need all packages and the form readers`() async throws {
        let run = try await Machine().run()
        // Node, Go and PHP are looked up as programs, which the stand-in for a package does not provide.
        #expect(run.requested == Machine.debian.sorted())
        #expect(run.errorText.contains("still missing after the installation: nodejs golang-go php-cli."))
        let complete = try await Machine(programs: ["node", "go", "php", "chromium", "chromedriver"]).run()
        #expect(complete.exit == .status(0), "\(complete.errorText)")
        #expect(complete.called("readers"))
        #expect(complete.text.hasSuffix("setup: done (Swift 6.2)\n"))
    }

    @Test func `a complete machine is not changed`() async throws {
        var machine = Machine(installed: Machine.debian, programs: ["node", "go", "php", "chromium", "chromedriver"])
        machine.isRoot = false
        let run = try await machine.run()
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.text == "setup: nothing to do: all packages are installed (Swift 6.2)\n")
        #expect(!run.called("sudo") && !run.called("apt-get") && !run.called("apt-cache"))
    }

    @Test func `missing package lists are fetched before they are read`() async throws {
        let run = try await Machine(lists: nil).run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.requested == Machine.buildPackages.sorted())
        let update = try #require(run.calls.firstIndex { $0.hasPrefix("apt-get update") })
        let look = try #require(run.calls.firstIndex { $0.hasPrefix("apt-cache") })
        #expect(update < look)
    }

    @Test func `stale lists are updated before a name is taken from them`() async throws {
        let mirror = Machine.debian.filter { $0 != "libstdc++-12-dev" } + ["libstdc++-9-dev", "libstdc++-14-dev"]
        let run = try await Machine(mirror: mirror).run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.requested.contains("libstdc++-14-dev"))
    }

    @Test func `any version of the C++ library is accepted`() async throws {
        let run = try await Machine(
            installed: Machine.buildPackages.filter { $0 != "libstdc++-12-dev" } + ["libstdc++-11-dev"]
        )
        .run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(!run.called("apt-get"))
    }

    @Test func `the number of packages including dependencies is printed`() async throws {
        let run = try await Machine().run("build")
        #expect(run.text.contains(": 10 packages with all that they need (apt-get install)\n"))
    }

    @Test func `a package that the archive lacks is named`() async throws {
        let run = try await Machine(mirror: Machine.debian.filter { $0 != "libjpeg-dev" }).run("build")
        #expect(run.exit == .status(1))
        #expect(run.errorText.contains("setup: the package lists do not have: libjpeg-dev. Check "))
        #expect(!run.called("apt-get install"))
    }

    @Test func `without sudo, a user gets the command to run as root`() async throws {
        var machine = Machine(installed: ["git"])
        machine.isRoot = false
        machine.hasSudo = false
        let run = try await machine.run("build")
        #expect(run.exit == .status(1))
        #expect(
            run.errorText.contains(
                "As root, run: apt-get update && apt-get install libcurl4-openssl-dev libjpeg-dev binutils g++\n"))
        #expect(!run.called("apt-get"))
    }

    @Test func `a user without a terminal is not asked for a password`() async throws {
        var machine = Machine()
        machine.isRoot = false
        let run = try await machine.run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.called("sudo --non-interactive apt-get update"))
        #expect(run.called("sudo --non-interactive env DEBIAN_FRONTEND=noninteractive apt-get install"))
    }

    @Test func `without a network, the local lists are used`() async throws {
        let run = try await Machine(mirror: nil).run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(run.errorText.contains("apt-get update failed (E: Failed to fetch http://mirror.invalid/InRelease)."))
        #expect(run.requested == Machine.buildPackages.sorted())
    }

    @Test func `without network and lists, the message names both`() async throws {
        let run = try await Machine(mirror: nil, lists: nil).run("build")
        #expect(run.exit == .status(1))
        #expect(run.errorText.contains("apt-get update failed, and without package lists these are not found:"))
        #expect(run.errorText.contains("Check the network and /etc/apt/sources.list"))
        #expect(!run.called("apt-get install"))
    }

    @Test func `the error output of apt-get is printed`() async throws {
        let run = try await Machine(refused: ["binutils"]).run("build")
        #expect(run.exit == .status(1))
        #expect(run.errorText.contains("E: binutils has unmet dependencies\n"))
        #expect(
            run.errorText.contains("setup: apt-get could not install: libcurl4-openssl-dev libjpeg-dev binutils git"))
    }

    @Test func `a package still missing after the installation is an error`() async throws {
        let run = try await Machine(lost: ["binutils"]).run("build")
        #expect(run.exit == .status(1))
        #expect(run.errorText.contains("still missing after the installation: binutils."))
    }

    @Test(arguments: ["nginx", "haproxy", "caddy", "postgresql", "pgbouncer"])
    func `a service that setup has installed is stopped, and one that was installed before is not`(
        _ service: String
    ) async throws {
        for isInstalled in [false, true] {
            let run = try await Machine(
                installed: isInstalled ? [service] : [],
                programs: ["node", "go", "php", "chromium", "chromedriver"]
            ).run()
            #expect(run.exit == .status(0), "\(run.errorText)")
            #expect(run.called("systemctl --quiet disable --now \(service).service") != isInstalled)
            #expect(run.called("service \(service) stop") != isInstalled)
        }
    }

    @Test func `the build accepts the GnuTLS variant of libcurl and prints a notice`() async throws {
        let run = try await Machine(installed: ["libcurl4-gnutls-dev"]).run("build")
        #expect(run.exit == .status(0), "\(run.errorText)")
        #expect(
            run.text.split(separator: "\n").count { $0.hasPrefix("setup: libcurl4-gnutls-dev is installed and used;") }
                == 1)
        #expect(run.requested == Machine.buildPackages.filter { $0 != "libcurl4-openssl-dev" }.sorted())
    }

    @Test func `the tests refuse the GnuTLS variant, and nothing is removed`() async throws {
        let run = try await Machine(installed: ["libcurl4-gnutls-dev"]).run()
        #expect(run.exit == .status(1))
        #expect(
            run.errorText.contains(
                "libcurl4-gnutls-dev is installed, and libcurl4-openssl-dev can't be installed beside it."))
        #expect(run.errorText.contains("Setup removes nothing."))
        #expect(!run.called("apt-get"))
    }
}
