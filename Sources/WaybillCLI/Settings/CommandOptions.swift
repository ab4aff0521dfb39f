/// The options and flags of each command, in the order of ArgumentParser. A test compares the table with
/// ArgumentParser's description.
///
/// An option is written as its long and short names, separated by commas, with markers at its end: `=` takes a value,
/// `*` may be repeated, `~` is not shown in the help.
enum CommandOptions {
    /// Returns the options of a command, or `nil` for one that is not listed.
    static func options(of path: String) -> [CommandTree.Option]? {
        texts[path]?.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.map(option)
    }

    private static func option(_ text: Substring.UTF8View) -> CommandTree.Option {
        let names = text.prefix { !markers.contains($0) }
        let marks = text[names.endIndex...]
        let words = names.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }
        return CommandTree.Option(
            isFlag: !marks.contains(UInt8(ascii: "=")), isRepeating: marks.contains(UInt8(ascii: "*")),
            shouldDisplay: !marks.contains(UInt8(ascii: "~")), longNames: words.filter { $0.utf8.count > 1 },
            letters: words.filter { $0.utf8.count == 1 }.compactMap(\.first))
    }

    private static let markers = Array("=*~".utf8)

    /// Returns the text of an option.
    static func text(of option: CommandTree.Option) -> String {
        (option.longNames + option.letters.map(String.init)).joined(separator: ",")
            + (option.isFlag ? "" : "=") + (option.isRepeating ? "*" : "") + (option.shouldDisplay ? "" : "~")
    }

    private static let texts = [
        "post": """
        form,F=* form-string=* max-bytes=* quality=* min-side=* heic each=* each-from= null,0 parallel= fail-early
        header,H=* request,X= user,u= digest insecure,k resumable= cacert= proxy,x= resolve=* proxy-user,U= noproxy=
        cert,E= cert-type= key= pass= pinnedpubkey= ipv4,4 ipv6,6 unix-socket= http2 redirect= location-trusted
        limit-rate= connect-timeout= stall-timeout= response-timeout= max-filesize= max-time,m= retry= queue
        outbox= idempotency= idempotency-window= on-unknown= if-changed= snapshot pin priority= batch= tag=* dedupe=
        duplicates= dedupe-for= delay= deadline= attempts= credential= dry-run output,o= include,i dump-header,D= json verbose,v
        silent,q,s progress-interval= help,h
        """,
        "put": """
        recursive,r parallel,j= include=* exclude=* dry-run,n skip-same fail-early endpoint= up-host=* rs-host= region= profile=
        sign-version= allow-http no-resume records= part-size= parts-at-once= checksum= content-type= meta=* acl=
        storage-class= forbid-overwrite header,H=* insecure,k cacert= proxy,x= resolve=* proxy-user,U= noproxy=
        cert,E= cert-type= key= pass= pinnedpubkey= ipv4,4 ipv6,6 unix-socket= http2 redirect= location-trusted
        limit-rate= connect-timeout= stall-timeout= response-timeout= max-filesize= max-time,m= retry= queue
        outbox= idempotency= idempotency-window= on-unknown= if-changed= snapshot pin priority= batch= tag=* dedupe=
        duplicates= dedupe-for= delay= deadline= attempts= credential= json verbose,v silent,q,s progress-interval= help,h
        """,
        "outbox run": """
        outbox= until-idle credential=* parallel,j= per-lane= drain= on-end= insecure,k cacert= proxy,x= resolve=*
        proxy-user,U= noproxy= cert,E= cert-type= key= pass= pinnedpubkey= ipv4,4 ipv6,6 unix-socket= http2
        redirect= location-trusted limit-rate= connect-timeout= stall-timeout= response-timeout= max-filesize=
        max-time,m= json verbose,v silent,q,s progress-interval= help,h
        """,
        "outbox ls": """
        batch= tag= lane= state=* failed all outbox= json help,h
        """,
        "outbox show": """
        outbox= json help,h
        """,
        "outbox watch": """
        outbox= batch= json verbose,v silent,q,s progress-interval= help,h
        """,
        "outbox pause": """
        batch= tag= lane= state=* failed all outbox= json help,h
        """,
        "outbox resume": """
        batch= tag= lane= state=* failed all outbox= json help,h
        """,
        "outbox cancel": """
        batch= tag= lane= state=* failed all outbox= json help,h
        """,
        "outbox retry": """
        batch= tag= lane= state=* failed all outbox= json doubtful help,h
        """,
        "outbox verify": """
        batch= tag= lane= state=* failed all outbox= json help,h
        """,
        "outbox lanes": """
        outbox= json help,h
        """,
        "outbox rate": """
        outbox= json help,h
        """,
        "outbox limit": """
        outbox= json help,h
        """,
        "outbox ack": """
        through= keep outbox= json silent,q,s help,h
        """,
        "outbox purge": """
        older-than= outbox= json help,h
        """,
        "outbox backup": """
        outbox= json help,h
        """,
        "outbox check": """
        outbox= json help,h
        """,
        "form build": """
        form,F=* form-string=* max-bytes=* quality=* min-side=* heic boundary= output,o= force preview help,h
        """,
        "form parse": """
        content-type= extract= max-parts= max-field= max-total= help,h
        """,
        "shrink": """
        output,o= max-bytes= quality= max-pixels= max-side= min-side= mode= document salvage heic report= force json help,h
        """,
        "doctor": """
        endpoint= region= profile= allow-http cacert= json help,h
        """,
        "manual": """
        help,h
        """,
    ]
}
