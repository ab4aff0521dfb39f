/// The hosts or groups that have uploads, by number. An upload refers to them by number, because copies and comparisons
/// of numbers cost nothing. A number is used again after the last upload has left.
struct AdmissionTable: Sendable {
    /// A host or a group, and the capacity that it uses.
    struct Usage: Sendable {
        var name: String
        var ahead = 0
        var running = 0
        var members = 0

        func freeCapacity(under limit: Int) -> Int { max(0, limit - running) }
        /// Returns how many of the uploads ahead exceed the capacity.
        func blocked(under limit: Int) -> Int { max(0, ahead - freeCapacity(under: limit)) }
    }

    private var numbers: [String: Int] = [:]
    private var usages: [Usage] = []
    private var unused: [Int] = []

    /// The numbers in use.
    var all: some Collection<Int> { numbers.values }

    subscript(number: Int) -> Usage { usages[number] }

    /// Returns the number of a name, if it has uploads.
    func number(of name: String) -> Int? { numbers[name] }

    /// Adds an upload, and returns the number of its host or group.
    mutating func join(_ name: String) -> Int {
        if let number = numbers[name] {
            usages[number].members += 1
            return number
        }
        var usage = Usage(name: name)
        usage.members = 1
        guard let number = unused.popLast() else {
            numbers[name] = usages.count
            usages.append(usage)
            return usages.count - 1
        }
        numbers[name] = number
        usages[number] = usage
        return number
    }

    /// Removes an upload.
    mutating func leave(_ number: Int) {
        usages[number].members -= 1
        guard usages[number].members == 0 else { return }
        numbers[usages[number].name] = nil
        unused.append(number)
    }

    mutating func count(_ number: Int, ahead: Int, running: Int) {
        usages[number].ahead += ahead
        usages[number].running += running
    }

    /// Forgets the capacity that is used, for a group without a limit.
    mutating func resetCounts(of number: Int) {
        usages[number].ahead = 0
        usages[number].running = 0
    }
}
