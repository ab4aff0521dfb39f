#if Shared
    import Testing

    @testable import WaybillPostgres

    @Suite struct PostgresAddressTests {
        @Test(arguments: [
            ("postgresql://jo:s3cret@db.example:6432/queue", "postgresql://jo:<redacted>@db.example:6432/queue"),
            ("postgres://db/queue?password=s3cret&sslpassword=s3cret", "postgresql://db/queue"),
            ("postgresql://jo@/queue?host=/run/pg&port=1", "postgresql://jo@/queue?host=/run/pg&port=1"),
        ])
        func `a URL is printed without its passwords`(_ url: String, _ printed: String) throws {
            let configuration = PostgresConfiguration(try PostgresAddress(url))
            #expect(configuration.address.description == printed)
            var dumped = ""
            dump(configuration, to: &dumped)
            for text in ["\(configuration)", String(reflecting: configuration), dumped] {
                #expect(!text.contains("s3cret"))
            }
        }

        @Test(arguments: [
            "", "queue", "mysql://db/queue", "postgresql://jo:s3cret@db:nan", "postgresql://jo:s3%zzcret@db/queue",
            "postgresql://jo:p@s3cret@db/queue", "postgresql://jo:s3cret@db/queue?unknown=1", "host=db password=s3cret",
            "postgresql://[::1/queue", "postgresql://db/que\0ue",
        ])
        func `an invalid URL is an error that does not quote it`(_ url: String) {
            let error = #expect(throws: PostgresError.self) { try PostgresAddress(url) }
            #expect(error?.kind == .invalidURL)
            #expect(error?.message.contains("s3cret") == false)
        }
    }
#endif
