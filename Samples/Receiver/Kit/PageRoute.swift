/// The routes of the page.
enum PageRoute: Equatable {
    case page
    /// A file of the page.
    case asset(String)
    case events(key: String)
    case arrival(key: String, id: String, file: Int, view: View)

    enum View: String {
        case facts = "facts.json"
        case arrived = "arrived.jpg"
        case small = "small.jpg"
        case file
    }

    /// Parses a path; `nil` if there is no such route.
    init?(path: String) {
        let steps = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        switch (steps.first, steps.count) {
        case (nil, 0):
            self = .page
        case ("page", 2):
            self = .asset(steps[1])
        case ("watch", 3) where steps[2] == "events":
            self = .events(key: steps[1])
        case ("watch", 6) where steps[2] == "arrivals":
            guard let file = Int(steps[4]), let view = View(rawValue: steps[5]) else { return nil }
            self = .arrival(key: steps[1], id: steps[3], file: file, view: view)
        default:
            return nil
        }
    }
}
