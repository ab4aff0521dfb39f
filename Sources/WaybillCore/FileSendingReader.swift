/// A reader of bytes that lie in files, which the kernel can send without anybody copying them.
///
/// It is asked beside ``BodyReader/read(into:)``, on the same thread, whenever the one who sends has a socket of its own for
/// the plain bytes. Whoever looks at the bytes on their way, for a checksum say, is no such reader, and all are read.
package protocol FileSendingReader: BodyReader {
    /// Sends what comes next out of its file into a socket that does not block (`sendfile(2)`). It waits for neither of them.
    ///
    /// Until the peer acknowledges them, the kernel has no copy of these bytes, and sends what is in the file by then. So the
    /// end of a body is to be read, after that: only a read looks whether files are still what they were.
    ///
    /// - Returns: How many bytes the socket took, 0 when it takes none now, or `nil` when what comes next has to be read:
    ///   it is in no file, or not in memory, or the kernel can't do it. What is wrong with a file is told by the next read.
    func send(upTo count: Int, into socket: Int32) -> Int?
}
