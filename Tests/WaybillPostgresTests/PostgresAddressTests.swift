#if Shared
    import Testing
    import WaybillCore

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

        @Test func `pooler=transaction is removed before libpq reads the URL`() throws {
            for url in [
                "postgresql://jo:a?b@db/queue?pooler=transaction",
                "postgres://db/queue?pooler=transaction&sslmode=require",
            ] {
                let address = try PostgresAddress(url)
                #expect(address.usesPooler && !address.url.value.contains("pooler"))
                #expect(!PostgresConfiguration(address).preparesStatements)
            }
            let address = try PostgresAddress("postgresql://db/queue?sslmode=require&pooler=transaction&port=1")
            #expect(address.url.value == "postgresql://db/queue?sslmode=require&port=1")
            #expect(try !PostgresAddress("postgresql://db/queue").usesPooler)
            let error = #expect(throws: PostgresError.self) { try PostgresAddress("postgresql://db/q?pooler=session") }
            #expect(error?.kind == .invalidURL && error?.message.contains("must be transaction") == true)
        }

        @Test func `each host of a URL has its address and port`() throws {
            let many = try PostgresAddress("postgresql://a:1,b:2/queue").hosts.map(\.parameters)
            #expect(many == [["host": "a", "port": "1"], ["host": "b", "port": "2"]])
            let shared = try PostgresAddress("postgresql:///queue?host=/x,/y&port=7").hosts.map(\.parameters)
            #expect(shared == [["host": "/x", "port": "7"], ["host": "/y", "port": "7"]])
            #expect(try PostgresAddress("postgresql:///queue").hosts.map(\.parameters) == [[:]])
            let error = #expect(throws: PostgresError.self) { try PostgresAddress("postgresql://a,b,c/q?port=1,2") }
            #expect(error?.kind == .invalidURL)
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
