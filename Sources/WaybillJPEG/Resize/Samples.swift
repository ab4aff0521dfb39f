/// A fixed run of plain values that C may write into. Not initialised: whoever makes one fills it.
@safe final class Samples<Element: BitwiseCopyable>: @unchecked Sendable {
    let count: Int
    let start: UnsafeMutablePointer<Element>

    init(count: Int) {
        self.count = count
        unsafe start = .allocate(capacity: max(1, count))
    }

    init(repeating value: Element, count: Int) {
        self.count = count
        unsafe start = .allocate(capacity: max(1, count))
        unsafe start.initialize(repeating: value, count: count)
    }

    deinit { unsafe start.deallocate() }

    subscript(index: Int) -> Element {
        get {
            precondition(index >= 0 && index < count)
            return unsafe start[index]
        }
        set {
            precondition(index >= 0 && index < count)
            unsafe start[index] = newValue
        }
    }
}
