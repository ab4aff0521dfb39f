import Testing

@testable import WaybillPostgres

@Suite struct PostgresErrorTests {
    @Test(
        arguments: [
            (nil, .connectionLost), ("08006", .connectionLost), ("57P01", .connectionLost), ("57P03", .connectionLost),
            ("40001", .conflict), ("40P01", .conflict), ("23505", .uniqueViolation), ("53100", .serverExhausted),
            ("53300", .serverExhausted), ("25006", .readOnly), ("42P01", .wrongSchema), ("42703", .wrongSchema),
            ("3F000", .wrongSchema), ("42883", .wrongSchema),
            ("57014", .timeLimit), ("0A000", .rejected), ("28P01", .rejected), ("42601", .rejected),
        ] as [(String?, PostgresError.Kind)])
    func `the code of the server determines the reaction`(_ code: String?, _ kind: PostgresError.Kind) {
        #expect(PostgresError(sqlState: code, message: "a").kind == kind)
    }

    @Test func `a plan that the schema invalidated is repeated with a new preparation`() {
        let error = PostgresError(sqlState: "0A000", message: "a", function: "RevalidateCachedQuery")
        #expect(error.kind == .conflict && error.invalidatesPrepared)
    }

    @Test func `the code is read from libpq's message of a failed connection`() {
        let error = PostgresError(
            connecting: """
                connection to server on socket "/tmp/.s.PGSQL.5432" failed: FATAL:  3D000: database "a" does not exist
                LOCATION:  InitPostgres, postinit.c:885

                """)
        #expect(error.sqlState == "3D000" && error.kind == .rejected)
        #expect(error.message == "Could not connect to PostgreSQL: database \"a\" does not exist.")
        let unasked = PostgresError(connecting: "connection to server failed: fe_sendauth: no password supplied\n")
        #expect(unasked.kind == .rejected && unasked.sqlState == "28P01" && unasked.message.contains("no password"))
        let refused = PostgresError(
            connecting: "connection to server at \"a\", port 1 failed: Connection refused\n\tIs it?\n")
        #expect(refused.kind == .connectionLost && refused.message.hasSuffix("failed: Connection refused."))
    }
}
