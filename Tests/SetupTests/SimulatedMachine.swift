import Foundation
import TestSupport

/// A simulated machine for `Scripts/setup`: its `PATH` contains small scripts in place of `apt-get` and the like, and
/// the text tools that setup uses. Setup cannot change anything outside its directory.
struct SimulatedMachine {
    /// The packages that `Scripts/setup build` needs.
    static let buildPackages = ["libcurl4-openssl-dev", "libjpeg-dev", "libstdc++-12-dev", "binutils", "git"]
    /// The packages that `Scripts/setup` needs in addition, without the browser.
    static let testPackages = [
        "libsqlite3-dev", "libpng-dev", "libwebp-dev", "libheif-examples", "libpq-dev", "postgresql",
        "pgbouncer", "curl", "ca-certificates", "openssl", "stunnel4", "nginx", "tinyproxy-bin", "microsocks",
        "haproxy", "caddy", "apache2-bin", "strace", "e2fsprogs",
        "util-linux", "mount", "python3-venv", "python3-psycopg", "nodejs", "golang-go", "php-cli",
    ]
    static let browserPackages = ["chromium", "chromium-driver"]
    static let debian = buildPackages + testPackages + browserPackages

    /// The packages that are installed.
    var installed: [String] = []
    /// The packages that the mirror has; `nil` without a network.
    var mirror: [String]? = debian
    /// The packages of the local lists; `nil` without lists.
    var lists: [String]? = debian
    /// Programs that are present and do nothing.
    var programs: [String] = []
    /// The headers that the C compiler finds.
    var headers = ["curl/curl.h", "stdio.h", "jpeglib.h", "vector", "sqlite3.h", "png.h", "webp/demux.h", "libpq-fe.h"]
    var swiftVersion: String? = "6.2"
    var isRoot = true
    var hasSudo = true
    var isDebian = true
    /// Packages that `apt-get install` accepts and does not install.
    var lost: [String] = []
    /// Packages that `apt-get install` fails for.
    var refused: [String] = []
    var environment: [String: String] = [:]

    /// The result of a run of setup.
    struct Run {
        let exit: ChildProcess.Exit
        let text: String
        let errorText: String
        /// The calls of the stand-ins, in order.
        let calls: [String]

        /// The packages of `apt-get install`, sorted; empty if it was not called.
        var requested: [String] {
            let call = calls.first { $0.hasPrefix("apt-get install") && !$0.contains("--simulate") } ?? ""
            return call.split(separator: " ").dropFirst(2).filter { !$0.hasPrefix("-") }.map(String.init).sorted()
        }

        func called(_ start: String) -> Bool { calls.contains { $0.hasPrefix(start) } }
    }

    /// Runs setup on this machine.
    func run(_ arguments: String...) async throws -> Run {
        let machine = try TemporaryDirectory()
        try write(to: machine)
        var environment = environment
        environment["PATH"] = machine.path("bin")
        environment["TMPDIR"] = machine.path
        environment["MACHINE"] = machine.path
        let run = try await ChildProcess.run(machine.path("Scripts/setup"), arguments, environment: environment)
        let calls = String(decoding: try machine.read("calls"), as: UTF8.self).split(separator: "\n").map(String.init)
        return Run(exit: run.exit, text: run.text, errorText: run.errorText, calls: calls)
    }

    private func write(to machine: TemporaryDirectory) throws {
        let files = FileManager.default
        for name in ["bin", "Scripts"] {
            try files.createDirectory(atPath: machine.path(name), withIntermediateDirectories: true)
        }
        try files.copyItem(atPath: ProjectRoot.file("Scripts/setup"), toPath: machine.path("Scripts/setup"))
        for tool in [
            "bash", "cat", "cp", "dirname", "env", "grep", "head", "mktemp", "paste", "rm", "sed", "sort", "tail",
        ] {
            try files.createSymbolicLink(atPath: machine.path("bin/\(tool)"), withDestinationPath: "/usr/bin/\(tool)")
        }
        try machine.write("calls", "")
        try machine.write("installed", Self.lines(installed))
        try machine.write("headers", Self.lines(headers))
        try machine.write("lost", Self.lines(lost))
        try machine.write("refused", Self.lines(refused))
        if let lists { try machine.write("lists", Self.lines(lists)) }
        if let mirror { try machine.write("mirror", Self.lines(mirror)) }

        try script("Scripts/readers", "", in: machine)
        for name in programs + ["systemctl", "service"] { try script("bin/\(name)", "", in: machine) }
        try script("bin/id", "echo \(isRoot ? 0 : 1_000)", in: machine)
        try script("bin/clang", Self.clang, in: machine)
        if let swiftVersion {
            try script("bin/swift", "echo 'Swift version \(swiftVersion) (swift-\(swiftVersion)-RELEASE)'", in: machine)
        }
        if hasSudo { try script("bin/sudo", "while [[ $1 == --* ]]; do shift; done; exec \"$@\"", in: machine) }
        guard isDebian else { return }
        try script(
            "bin/dpkg-query", "sed 's/^/installed /' \"$MACHINE/installed\"; echo 'config-files removed'", in: machine)
        try script("bin/apt-cache", Self.aptCache, in: machine)
        try script("bin/apt-get", Self.aptGet, in: machine)
    }

    private func script(_ path: String, _ body: String, in machine: TemporaryDirectory) throws {
        let name = path.split(separator: "/").last ?? ""
        try machine.write(path, "#!/usr/bin/env bash\necho \"\(name) $*\" >>\"$MACHINE/calls\"\n\(body)\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: machine.path(path))
    }

    private static func lines(_ names: [String]) -> String { names.map { "\($0)\n" }.joined() }

    /// Compiles if all headers of its input exist.
    private static let clang = """
        while read -r _ header; do grep -qxF "${header:1:-1}" "$MACHINE/headers" || exit 1; done
        """

    /// Knows the packages in the lists and, like the real program, the installed ones.
    private static let aptCache = """
        cd "$MACHINE"
        for last in "$@"; do :; done
        if [[ "$*" == *search* ]]; then
            [[ ! -e lists ]] || grep -E "$last" lists | sed 's/$/ - a package/'
        elif cat lists installed 2>/dev/null | grep -qxF "$last"; then
            echo "Package: $last"
        else
            exit 100
        fi
        """

    /// Updates the lists from the mirror, and installs the packages that both contain.
    private static let aptGet = """
        cd "$MACHINE"
        case "$1" in
        update)
            [[ -e mirror ]] || { echo "E: Failed to fetch http://mirror.invalid/InRelease" >&2; exit 100; }
            cp mirror lists
            ;;
        indextargets) [[ ! -e lists ]] || echo "$MACHINE/lists" ;;
        install)
            shift
            for name in "$@"; do
                [[ "$name" != -* ]] || continue
                grep -qxF -e "$name" lists || { echo "E: Unable to locate package $name" >&2; exit 100; }
                [[ ! -e mirror ]] || grep -qxF -e "$name" mirror || { echo "E: 404 Not Found: $name" >&2; exit 100; }
                if [[ "$*" == *--simulate* ]]; then
                    echo "Inst $name (1.0)"
                    echo "Inst $name-dependency (1.0)"
                elif grep -qxF -e "$name" refused; then
                    echo "E: $name has unmet dependencies" >&2
                    exit 100
                elif ! grep -qxF -e "$name" lost; then
                    echo "$name" >>installed
                fi
            done
            ;;
        *) exit 100 ;;
        esac
        """
}
