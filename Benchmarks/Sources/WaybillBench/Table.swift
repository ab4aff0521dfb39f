import Waybill

/// A text table with left-aligned names and right-aligned figures.
struct Table {
    private var rows: [[String]] = []

    init(_ heading: [String]) { rows.append(heading) }

    mutating func add(_ cells: [String]) { rows.append(cells) }

    var text: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 ? cell + padding : padding + cell
            }.joined(separator: "   ")
        }.joined(separator: "\n")
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension Double {
    func fixed(_ digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let whole = Int((magnitude * scale).rounded())
        let fraction = String(whole % Int(scale))
        let sign = self < 0 && whole > 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(whole)" }
        return "\(sign)\(whole / Int(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}

extension Array where Element == Double {
    /// The median; for an even count the lower of the two middle values.
    var median: Double { isEmpty ? .nan : sorted()[(count - 1) / 2] }
}
