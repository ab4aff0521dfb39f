#if Shared
    import Waybill

    /// The statements that create the functions by which `waybill.enqueue` checks a form and writes its specification.
    ///
    /// The text must be that of ``DurableForm``, byte for byte: tests compare both.
    enum SQLForms {
        static let statements = [
            formFile, file, refuse, checkText, checkName, contentType, pairs, lane, target, source, part,
        ]

        private static let invalidArgument = SQLFunctions.invalidArgument
        private static let containsCredential = SQLFunctions.containsCredential

        private static let formFile = """
            CREATE TYPE waybill.form_file AS (name text, content bytea, file_name text, content_type text)
            """

        private static let file = """
            CREATE FUNCTION waybill.file(
                name text, content bytea, file_name text DEFAULT NULL, content_type text DEFAULT NULL
            ) RETURNS waybill.form_file LANGUAGE sql IMMUTABLE AS
            $$ SELECT ROW(name, content, file_name, content_type)::waybill.form_file $$
            """

        // A function, because RAISE is a statement.
        private static let refuse = """
            CREATE FUNCTION waybill.wb_refuse(code text, message text) RETURNS void LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION USING ERRCODE = $1, MESSAGE = $2; END $$
            """

        // Limits of indexes and of header lines, which the names of a part must fit into, even if all characters are escaped.
        private static let checkText = #"""
            CREATE FUNCTION waybill.wb_check_text(argument text, value text) RETURNS void
            LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$ BEGIN
                IF value = '' OR octet_length(value) > 1000 OR value ~ '[\u0001-\u001f\u007f]' THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                        '%s must have 1 to 1000 bytes and no control characters; got %s bytes. Correct it.',
                        argument, octet_length(value)));
                END IF;
            END $$
            """#

        // Other characters are escaped in the header lines of a part.
        private static let checkName = #"""
            CREATE FUNCTION waybill.wb_check_name(argument text, value text) RETURNS void
            LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$ BEGIN
                IF value IS NULL OR octet_length(value) NOT BETWEEN 1 AND 1000 THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                        '%s must have 1 to 1000 bytes; got %s. Use the name that the server expects.',
                        argument, coalesce(octet_length(value)::text, 'NULL')));
                END IF;
            END $$
            """#

        private static let contentType: String = {
            let types = ContentTypeTable.standardTypes.sorted { $0.key < $1.key }.map { "\"\($0)\":\"\($1)\"" }
            return #"""
                CREATE FUNCTION waybill.wb_content_type(file_name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
                    SELECT coalesce('{\#(types.joined(separator: ","))}'::jsonb ->> lower(
                        substring(file_name, '\.([^./]+)$') COLLATE "C"), '\#(ContentTypeTable.unknown)')
                $$
                """#
        }()

        // An object has no order of its own: an array of objects has.
        private static let pairs = #"""
            CREATE FUNCTION waybill.wb_pairs(argument text, value jsonb)
            RETURNS TABLE (pair_name text, pair_value jsonb) LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
            DECLARE
                object jsonb;
                entry record;
            BEGIN
                FOR object IN SELECT o.v FROM jsonb_array_elements(
                    CASE jsonb_typeof(value) WHEN 'array' THEN value ELSE jsonb_build_array(value) END) AS o(v)
                LOOP
                    IF jsonb_typeof(object) <> 'object' THEN
                        PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                            '%s must be a JSON object, or an array of objects; got JSON of the type %s. Use {"name": "value"}.',
                            argument, jsonb_typeof(object)));
                    END IF;
                    FOR entry IN SELECT e.key, v.v FROM jsonb_each(object) AS e(key, value), jsonb_array_elements(
                        CASE jsonb_typeof(e.value) WHEN 'array' THEN e.value ELSE jsonb_build_array(e.value) END) AS v(v)
                    LOOP
                        IF jsonb_typeof(entry.v) IN ('null', 'array') THEN
                            PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                                'The value of %s in %s is a JSON %s. Use a string, a number or a boolean, or leave it out.',
                                to_json(entry.key), argument, jsonb_typeof(entry.v)));
                        END IF;
                        pair_name := entry.key;
                        pair_value := entry.v;
                        RETURN NEXT;
                    END LOOP;
                END LOOP;
            END $$
            """#

        // Accepts the URLs that `URLText` leaves unchanged.
        private static let lane = #"""
            CREATE FUNCTION waybill.wb_lane(url text, credential text) RETURNS text
            LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
            DECLARE
                parts text[];
                host text[];
                port numeric;
            BEGIN
                IF url IS NULL OR octet_length(url) > 8192 OR url !~ '^(?:[!$&-;=?-\[\]_a-z~]|%[0-9A-Fa-f]{2})+$' THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)',
                        'url must have 1 to 8192 ASCII characters, without a fragment. Percent-encode all other characters.');
                END IF;
                parts := regexp_match(url, '^([A-Za-z]+)://([^/?]*)');
                IF parts IS NULL OR lower(parts[1] COLLATE "C") NOT IN ('http', 'https') THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)',
                        'url is not an absolute URL of http or https. Use a URL such as https://host/path.');
                END IF;
                IF parts[2] LIKE '%@%' THEN
                    PERFORM waybill.wb_refuse('\#(containsCredential)',
                        'url contains a user or a password, which must not be stored. Use the argument credential.');
                END IF;
                host := regexp_match(parts[2], '^(\[[^]]+\]|[^]:[]+)(?::([0-9]*))?$');
                IF host IS NULL THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)',
                        'url has no valid host and port. Use a URL such as https://host/path or https://[::1]:8443/path.');
                END IF;
                port := coalesce(nullif(host[2], '')::numeric,
                    CASE lower(parts[1] COLLATE "C") WHEN 'https' THEN 443 ELSE 80 END);
                IF port NOT BETWEEN 1 AND 65535 THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)', 'The port of url must be between 1 and 65535. Correct it.');
                END IF;
                RETURN lower(host[1] COLLATE "C") || ':' || port || coalesce(' as ' || credential, '');
            END $$
            """#

        // The keys of JSON objects are in the order in which Waybill writes them.
        private static let target = #"""
            CREATE FUNCTION waybill.wb_target(
                url text, method text, headers jsonb, credential text, credential_field text, idempotency_window interval
            ) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
            DECLARE
                header record;
                list text[] := '{}';
                seconds numeric := floor(extract(epoch FROM idempotency_window));
            BEGIN
                IF method !~ '^[A-Z]{1,32}$' THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)',
                        'method must consist of 1 to 32 capital letters. Use POST or PUT.');
                END IF;
                IF credential_field IS NOT NULL AND credential IS NULL THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)',
                        'credential_field requires a credential. Set the argument credential to its name.');
                END IF;
                IF seconds < 0 THEN
                    PERFORM waybill.wb_refuse('\#(invalidArgument)',
                        'idempotency_window must not be negative. Use the time for which the server honours a key.');
                END IF;
                FOR header IN SELECT p.pair_name AS name, p.pair_value #>> '{}' AS value, jsonb_typeof(p.pair_value) AS type
                    FROM waybill.wb_pairs('headers', headers) p
                    UNION ALL SELECT credential_field, '', 'credential' WHERE credential_field IS NOT NULL
                LOOP
                    IF octet_length(header.name) > 1000 OR header.name !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$' THEN
                        PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                            '%s is not a valid name of a header field. Use letters, digits and hyphens.', to_json(header.name)));
                    ELSIF lower(header.name COLLATE "C") IN ('content-length', 'transfer-encoding', 'host', 'connection',
                        'expect', 'trailer', 'content-type', 'idempotency-key')
                    THEN
                        PERFORM waybill.wb_refuse('\#(invalidArgument)',
                            format('The header field %s is set by the worker. Remove it.', header.name));
                    END IF;
                    CONTINUE WHEN header.type = 'credential';
                    IF lower(header.name COLLATE "C") IN ('authorization', 'cookie', 'proxy-authorization') THEN
                        PERFORM waybill.wb_refuse('\#(containsCredential)', format(
                            'The header field %s contains a credential, which must not be stored. Use the arguments credential '
                            'and credential_field.', header.name));
                    ELSIF header.type = 'object' OR octet_length(header.value) > 8192
                        OR header.value !~ '^(?:[!-~](?:[\t -~]*[!-~])?)?$'
                    THEN
                        PERFORM waybill.wb_refuse('\#(invalidArgument)', format(
                            'The value of the header field %s must be a string of up to 8192 printable ASCII characters, '
                            'without spaces at its ends. Correct it.', header.name));
                    END IF;
                    list := list || format('{"name":%s,"value":%s}', to_json(header.name), to_json(header.value));
                END LOOP;
                RETURN '{'
                    || CASE WHEN credential IS NULL THEN '' ELSE '"credential":{'
                        || coalesce('"field":' || to_json(credential_field) || ',', '')
                        || '"name":' || to_json(credential) || '},' END
                    || '"headers":[' || array_to_string(list, ',') || '],'
                    || coalesce('"keyWindowSeconds":' || CASE WHEN seconds > 9e15 THEN 9e15 ELSE seconds END::bigint || ',', '')
                    || '"method":' || to_json(method) || ',"url":' || to_json(url) || '}';
            END $$
            """#

        // Bytes with a NUL are encoded as Base64 although they may be valid UTF-8: PostgreSQL has no such text.
        private static let source = #"""
            CREATE FUNCTION waybill.wb_source(content bytea, body_name text) RETURNS text
            LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$ BEGIN
                IF body_name IS NOT NULL THEN
                    RETURN format('{"file":{"isStaged":true,"path":"inline/%s","stamp":{"inode":0,"modifiedNanoseconds":0,'
                        '"modifiedSeconds":0,"size":%s}}}', body_name, octet_length(content));
                END IF;
                RETURN '{"text":' || to_json(convert_from(content, 'UTF8')) || '}';
            EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
                RETURN '{"base64":"' || translate(encode(content, 'base64'), E'\n', '') || '"}';
            END $$
            """#

        private static let part = #"""
            CREATE FUNCTION waybill.wb_part(
                name text, file_name text, content_type text, is_text boolean, source text
            ) RETURNS text LANGUAGE sql IMMUTABLE AS $$
                SELECT '{' || coalesce('"contentType":' || to_json(content_type) || ',', '')
                    || coalesce('"fileName":' || to_json(file_name) || ',', '')
                    || '"headers":[],"isText":' || is_text || ',"name":' || to_json(name) || ',"source":' || source || '}'
            $$
            """#
    }
#endif
