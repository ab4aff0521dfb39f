import Glibc
import TestSupport
import Testing
import WaybillCore

@testable import WaybillCLI

@Suite struct OutputFileTests {
    private let bytes = Array("whole".utf8)

    @Test(arguments: [false, true]) func `a committed file has its content and mode, and no temporary file remains`(
        _ isNamed: Bool
    ) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("a")
        try OutputFile(path, replaces: false, mode: .exactly(0o644), isNamed: isNamed).commit(bytes)
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o777 == 0o644)
        #expect(try folder.read("a") == bytes)
        #expect(try folder.names() == ["a"])
    }

    @Test(arguments: [false, true]) func `a replaced file keeps its permissions`(_ isNamed: Bool) throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("a", "old")
        for mode in [0o644, 0o664, 0o400] as [mode_t] {
            #expect(unsafe chmod(path, mode) == 0)
            try OutputFile(path, replaces: true, isNamed: isNamed).commit(bytes)
            var status = stat()
            #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o7777 == mode)
            #expect(try folder.read("a") == bytes)
        }
    }

    @Test(arguments: [false, true]) func `an uncommitted file leaves nothing`(_ isNamed: Bool) throws {
        let folder = try TemporaryDirectory()
        do {
            let file = try OutputFile(folder.path("a"), replaces: true, isNamed: isNamed)
            // The temporary file has no name where the file system supports that (`O_TMPFILE`), and otherwise not the
            // final one.
            #expect(try folder.names().count == (isNamed ? 1 : 0) && folder.names() != ["a"])
            withExtendedLifetime(file) {}
        }
        #expect(try folder.names().isEmpty)
    }

    @Test(arguments: [false, true]) func `a file created meanwhile by another process is kept`(_ isNamed: Bool) throws {
        let folder = try TemporaryDirectory()
        do {
            let file = try OutputFile(folder.path("a"), replaces: false, isNamed: isNamed)
            try folder.write("a", "somebody else's")
            let failure = #expect(throws: CommandFailure.self) { try file.commit(bytes) }
            #expect(failure?.code == .fileExists)
        }
        #expect(try folder.read("a") == Array("somebody else's".utf8))
        #expect(try folder.names() == ["a"])
    }

    @Test(arguments: [false, true]) func `a symbolic link is replaced and not followed`(_ isNamed: Bool) throws {
        let folder = try TemporaryDirectory()
        try folder.write("target", "kept")
        #expect(unsafe symlink("target", folder.path("link")) == 0)
        #expect(throws: CommandFailure.self) { try OutputFile(folder.path("link"), replaces: false, isNamed: isNamed) }
        try OutputFile(folder.path("link"), replaces: true, isNamed: isNamed).commit(bytes)
        #expect(try folder.read("target") == Array("kept".utf8))
        #expect(try folder.read("link") == bytes)
        #expect(try folder.names() == ["link", "target"])
    }
}
