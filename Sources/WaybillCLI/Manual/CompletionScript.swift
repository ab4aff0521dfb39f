/// Completion scripts for shells, as `--generate-completion-script` prints them.
///
/// ArgumentParser completes whole words. Completing a path inside a word, as in `-F name=@path`, needs a shell
/// function, because paths must follow the shell's own rules for quotes and special characters. File names never become
/// shell code.
enum CompletionScript {
    /// Returns the text printed by ArgumentParser, and adds completion of paths inside words to a completion script.
    static func completingPathsInWords(_ text: String) -> String {
        if text.hasPrefix("#!/bin/bash\n") {
            return inserting(bashCall, in: text) + "\n" + bashFunction
        }
        if text.hasPrefix("#compdef ") { return inserting(zshCall, in: text) }
        return text.hasPrefix("function __waybill") ? text + "\n" + fishFunction : text
    }

    /// Inserts lines at the beginning of the function that completes the command.
    private static func inserting(_ lines: String, in script: String) -> String {
        script.replacing("\n_waybill() {\n", with: "\n_waybill() {\n\(lines)", maxReplacements: 1)
    }

    private static let bashCall = "    __waybill_path_in_word \"${2}\" && return\n"

    /// Reads the whole line, because bash splits words at `=`, `@` and `<`, except inside quotes. The argument is the
    /// word that bash replaces: a suffix of the shell word.
    private static let bashFunction = #"""
        # Completes the path in NAME=@PATH, NAME=<PATH and @PATH, in quotes or without.
        __waybill_path_in_word() {
            local -r line="${COMP_LINE:0:COMP_POINT}" replaced="${1}"
            local -r pattern=$'^.*[[:space:]](["\']?)([^[:space:]"\']*=[@<]|@)(.*)$'
            [[ "${line}" =~ ${pattern} ]] || return 1
            local -r quote="${BASH_REMATCH[1]}" name="${BASH_REMATCH[2]}"
            local path="${BASH_REMATCH[3]}"
            [[ "${name}${path}" = *"${replaced}" ]] || return 1
            local kept="${name}${path}"
            kept="${kept%"${replaced}"}"
            if [[ -n "${quote}" ]]; then
                [[ "${path}" != *"${quote}"* ]] || return 1
            else
                # A space or a quote without a backslash: the word has ended, or is quoted in parts.
                [[ "${path//\\?/}" != *[[:space:]\"\']* ]] || return 1
                path="${path//\\/}"
                kept="${kept//\\/}"
                # Readline does not quote every special character of such a word.
                compopt +o filenames 2>/dev/null
            fi
            COMPREPLY=()
            local match
            while IFS='' read -r match; do
                if [[ -d "${match}" ]]; then
                    match="${match}/"
                    compopt -o nospace 2>/dev/null
                fi
                match="${name}${match}"
                match="${match#"${kept}"}"
                [[ -n "${quote}" ]] || printf -v match %q "${match}"
                COMPREPLY+=("${match}")
            done < <(compgen -f -- "${path}")
            return 0
        }
        """#

    private static let zshCall = """
            # Completes the path in NAME=@PATH, NAME=<PATH and @PATH.
            if compset -P '(*=[@<]|@)'; then
                _files
                return
            fi

        """

    private static let fishFunction = #"""
        # Completes the path in NAME=@PATH, NAME=<PATH and @PATH.
        function __waybill_path_in_word
            set -l parts (string match -r -- '^["\']?([^=]*=[@<]|@)(.*)$' (commandline -ct)); or return
            set -l path (string unescape -- $parts[3]; or printf '%s\n' $parts[3])
            for match in $path*
                test -d $match; and set match $match/
                printf '%s%s\n' $parts[2] $match
            end
        end
        complete -c 'waybill' -n '__fish_seen_subcommand_from post build' -s 'F' -l 'form' -rfa '(__waybill_path_in_word)'
        complete -c 'waybill' -n '__fish_seen_subcommand_from post put' -s 'H' -l 'header' -rfa '(__waybill_path_in_word)'
        complete -c 'waybill' -n '__fish_seen_subcommand_from run' -l 'credential' -rfa '(__waybill_path_in_word)'
        """#
}
