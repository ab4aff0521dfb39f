import Glibc

extension ProcessGroup {
    /// Starts a program in a process group of its own, so that its descendants can be killed with it, and a signal from
    /// the terminal does not reach it.
    ///
    /// - Parameters:
    ///   - words: The absolute path of the program, and its arguments.
    ///   - input: Its standard input; `nil` for an empty one.
    ///   - output: The descriptor that becomes its standard output.
    ///   - errors: The descriptor that becomes its standard error; `nil` to discard it.
    /// - Returns: The number of the child, for ``init(_:output:)``.
    /// - Throws: ``SystemError`` if it can't be started.
    package static func start(
        _ words: [String], input: Int32?, output: Int32, errors: Int32?
    ) throws(SystemError) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        if let errors {
            unsafe posix_spawn_file_actions_adddup2(&actions, errors, 2)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        // The waiting thread blocks signals; reset the mask for the program.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        var child: Int32 = 0
        let code = unsafe posix_spawn(&child, words[0], &actions, &attributes, &pointers, environ)
        guard code == 0 else { throw SystemError(code) }
        return child
    }
}
