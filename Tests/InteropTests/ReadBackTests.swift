import TestSupport
import Testing
import WaybillMultipart

/// Our forms, read by other people's programs.
@Suite(.timeLimit(.minutes(3)))
struct ReadBackTests {
    @Test(arguments: ForeignReader.all)
    func `a foreign reader reads what was meant, but for the known differences`(reader: ForeignReader) async throws {
        let batch = try await ReaderBatch.shared()
        let reading = try await reader.read(batch)
        let comparison = Comparison(batch, reading, reader.habits)
        let known = KnownDifferences.of(reader.name)
        #expect(comparison.faults.isEmpty, "\(reading.version)\n\(comparison.faults.joined(separator: "\n"))")
        let new = comparison.differences.subtracting(known).map(\.description).sorted()
        #expect(new.isEmpty, "\(reading.version) differs, and no row says so:\n\(new.joined(separator: "\n"))")
        let gone = known.subtracting(comparison.differences).map(\.description).sorted()
        #expect(gone.isEmpty, "\(reading.version) no longer differs; take the row out:\n\(gone.joined(separator: "\n"))")
    }
}
