//! Hints for flags and commands of other programs, which people type from habit.
//!
//! Each hint follows the message that the word is unknown. A test checks that no word of these tables is a flag or command here.

/// A word of another program, and the hint.
pub(super) type ForeignName = (&'static str, &'static str);

/// The hint for a flag of another program, for the command with this path.
pub(super) fn hint_for_flag(path: &str, typed: &str) -> Option<&'static str> {
    let tables: &[&[ForeignName]] = match path {
        "sum" => &[SUM, WALK, ALL],
        "compare" => &[COMPARE, WALK, ALL],
        _ if path.starts_with("password") => &[PASSWORD, ALL],
        _ if path.starts_with("doc") => &[DOC, ALL],
        _ => &[ALL],
    };
    find(tables, typed)
}

/// The hint for an unknown command below this path.
pub(super) fn hint_for_command(path: &str, typed: &str) -> Option<&'static str> {
    find(&[foreign_commands(path)], typed)
}

/// Commands of other programs below this path.
pub(super) fn foreign_commands(path: &str) -> &'static [ForeignName] {
    match path {
        "" => COMMANDS,
        "password" => PASSWORD_COMMANDS,
        "doc" => DOC_COMMANDS,
        _ => &[],
    }
}

fn find(tables: &[&[ForeignName]], typed: &str) -> Option<&'static str> {
    tables.iter().copied().flatten().find(|(word, _)| *word == typed).map(|(_, here)| *here)
}

/// hashdeep and md5deep, cksum and shasum, rclone's hashsum, rhash.
const SUM: &[ForeignName] = &[
    ("-a", "an audit is '--audit LIST', a function '--algorithm NAME'"),
    ("-k", "the list of known files is '--audit LIST'"),
    ("-m", "matching files are printed by '--audit LIST --verbose'"),
    ("-M", "matching files are printed by '--audit LIST --verbose'"),
    ("-X", "unlisted files are printed by '--audit LIST'"),
    ("-e", "a progress bar is shown by default"),
    ("-d", "for programs there is '--json'"),
    ("-W", "the file to write is '--output FILE'"),
    ("-f", "the file with names is '--files-from FILE'"),
    ("-s", "without OK lines is '--quiet', with no line at all '--status'"),
    ("-b64", "digests are written in hexadecimal digits; lists in base64 are read"),
    ("-C", "a list is checked with '--check LIST'"),
    ("-R", "directories are '-r', '--recursive'"),
    ("-0", "NUL at the end of lines is '-z', '--zero'"),
    ("-i", "sizes choose no files; patterns do: '--include GLOB', '--exclude GLOB'"),
    ("-I", "sizes choose no files; patterns do: '--include GLOB', '--exclude GLOB'"),
    ("-p", "files are hashed whole; hashdeep hashes them piecewise"),
    ("-u", "a list is updated with '--update LIST'"),
    ("--audit-mode", "that is '--audit LIST'"),
    ("--known", "the list of known files is '--audit LIST'"),
    ("--base64", "digests are written in hexadecimal digits; lists in base64 are read"),
    ("--untagged", "lines are so without '--tag'"),
    ("--bsd", "that is '--tag'"),
    ("--bsd-style", "that is '--tag'"),
    ("--checkfile", "a list is checked with '--check LIST'"),
    ("--checksum", "a list is checked with '--check LIST'"),
    ("--verify", "a list is checked with '--check LIST', one digest with '--expect HEX'"),
    ("--skip-ok", "without OK lines is '--quiet'"),
    ("--silent", "without OK lines is '--quiet', with no line at all '--status'"),
    ("--output-file", "the file to write is '--output FILE'"),
    ("--download", "files are always read"),
    ("--ignore-nonexistent", "that is '--ignore-missing'"),
    ("--missing-ok", "that is '--ignore-missing'"),
    ("--blake3", "that is the default"),
    ("--b3", "that is the default"),
    ("--sha256", "functions are '--algorithm sha256'"),
    ("--sha512", "functions are '--algorithm sha512'"),
    ("--sha1", "functions are '--algorithm sha1'"),
    ("--md5", "functions are '--algorithm md5'"),
    ("--hash", "a function is '--algorithm NAME', a digest to compare with '--expect HEX'"),
    ("--function", "that is '--algorithm NAME'"),
    ("--type", "a function is '--algorithm NAME'"),
    ("--key", "the key of '--keyed' is read from standard input"),
    ("--key-file", "the key of '--keyed' is read from standard input: '--keyed FILE <KEY'"),
    ("--context", "that is '--derive-key CONTEXT'"),
    ("--dups", "that is '--duplicates'"),
    ("--dedupe", "that is '--duplicates'"),
    ("--null", "NUL at the end of lines is '-z', '--zero'"),
    ("--print0", "NUL at the end of lines is '-z', '--zero'"),
    ("--hex", "digests are in hexadecimal digits unless they are '--raw'"),
    ("--mmap", "that is '--strategy mmap'"),
    ("--directory", "one digest for a directory is '--tree'"),
    ("--diff", "two trees or lists are compared by 'hashmill compare A B'"),
];

/// Programs that walk directories: rclone, rsync, ripgrep, find.
const WALK: &[ForeignName] = &[
    ("-R", "everything below directories is '-r', '--recursive'"),
    ("-P", "a progress bar is shown by default"),
    ("--recurse", "that is '-r', '--recursive'"),
    ("--copy-links", "symbolic links are followed with '--follow'"),
    ("--dereference", "symbolic links are followed with '--follow'"),
    ("--follow-links", "symbolic links are followed with '--follow'"),
    ("--follow-symlinks", "symbolic links are followed with '--follow'"),
    ("--no-ignore", "nothing is ignored without '--ignore-files'"),
    ("--gitignore", "that is '--ignore-files'"),
    ("--hidden", "names that start with a dot are included without '--no-hidden'"),
    ("--exclude-from", "patterns are '--exclude GLOB', or lines of .gitignore with '--ignore-files'"),
    ("--include-from", "patterns are '--include GLOB'"),
    ("--filter", "patterns are '--include GLOB' and '--exclude GLOB'"),
    ("--glob", "patterns are '--include GLOB' and '--exclude GLOB'"),
    ("--xdev", "that is '-x', '--one-file-system'"),
    ("--mount", "that is '-x', '--one-file-system'"),
    ("--files0-from", "that is '--files-from FILE', with names that end with NUL too"),
    ("--file-list", "that is '--files-from FILE'"),
    ("--checkers", "threads are '-j', '--num-threads NUM'"),
    ("--transfers", "threads are '-j', '--num-threads NUM'"),
    ("--jobs", "threads are '-j', '--num-threads NUM'"),
    ("--parallel", "threads are '-j', '--num-threads NUM'"),
    ("--percents", "a progress bar is shown by default"),
];

const COMPARE: &[ForeignName] = &[
    ("-r", "everything below directories is compared anyway"),
    ("-c", "contents are compared anyway"),
    ("--recursive", "everything below directories is compared anyway"),
    ("--checksum", "contents are compared anyway"),
    ("--brief", "only numbers are left out, with '--quiet'; a file that differs has one line"),
    ("-rq", "everything below directories is compared anyway, and a file that differs has one line"),
    ("--check", "a list is checked by 'hashmill sum --check LIST'"),
];

/// The program argon2, PHP, Python's libraries, htpasswd, mkpasswd.
const PASSWORD: &[ForeignName] = &[
    ("--password", "passwords are never arguments, as other users could see them: use standard input"),
    ("--pass", "passwords are never arguments, as other users could see them: use standard input"),
    ("--stdin", "standard input is read without a flag"),
    ("--password-stdin", "standard input is read without a flag"),
    ("--password-file", "the password is on standard input, '<FILE', or on '--password-fd FD'"),
    ("--salt", "every hash has a salt of its own; 'hashmill password kdf SALT' takes one"),
    ("--pepper", "that is '--secret-fd FD'"),
    ("--secret", "secrets are never arguments, as other users could see them: '--secret-fd FD'"),
    ("--time-cost", "passes are '-t', '--passes N'"),
    ("--iterations", "passes are '-t', '--passes N'"),
    ("--rounds", "passes are '-t', '--passes N'"),
    ("--memory-cost", "that is '-m', '--memory SIZE'"),
    ("--parallelism", "lanes are '-p', '--lanes N'"),
    ("--threads", "lanes are '-p', '--lanes N'"),
    ("--type", "that is '--variant NAME'"),
    ("-id", "that is '--variant argon2id'"),
    ("--hash-len", "that is '-l', '--tag-len N'"),
    ("--max-mem", "that is '--max-memory SIZE'"),
];

/// git, jq, the tools of Automerge.
const DOC: &[ForeignName] = &[
    ("--out", "the file to write is '-o', '--output FILE'"),
    ("--heads", "a version is '--at HASH'"),
    ("--commit", "a version is '--at HASH'"),
    ("--oneline", "the log has a line for each change"),
    ("--patch", "the effect of a change is shown by 'hashmill doc diff FILE --to HASH'"),
    ("--compact", "JSON is on one line without '--pretty'"),
    ("--author", "the author is '--actor HEX'"),
];

const ALL: &[ForeignName] = &[
    ("-?", "help is '-h', all of it '--help'"),
    ("--usage", "help is '-h', all of it '--help'"),
    ("--no-color", "that is '--color never'"),
    ("--no-colour", "that is '--color never'"),
    ("--output-json", "that is '--json'"),
    ("--format", "for programs there is '--json'"),
];

const COMMANDS: &[ForeignName] = &[
    ("passwd", "that is 'hashmill password'"),
    ("pw", "that is 'hashmill password'"),
    ("argon2", "'hashmill password hash' makes hashes, 'hashmill password kdf' takes the flags of argon2"),
    ("check", "lists are checked by 'hashmill sum --check LIST'"),
    ("verify", "lists are checked by 'hashmill sum --check LIST', passwords by 'hashmill password verify'"),
    ("hash", "files are hashed by 'hashmill sum', passwords by 'hashmill password hash'"),
    ("hashsum", "that is 'hashmill sum'"),
    ("checksum", "that is 'hashmill sum'"),
    ("b3sum", "that is 'hashmill sum'"),
    ("blake3", "that is 'hashmill sum'"),
    ("sha256sum", "that is 'hashmill sum --algorithm sha256'"),
    ("sha512sum", "that is 'hashmill sum --algorithm sha512'"),
    ("sha1sum", "that is 'hashmill sum --algorithm sha1'"),
    ("md5sum", "that is 'hashmill sum --algorithm md5'"),
    ("audit", "that is 'hashmill sum --audit LIST'"),
    ("update", "that is 'hashmill sum --update LIST'"),
    ("duplicates", "that is 'hashmill sum --duplicates'"),
    ("dedupe", "that is 'hashmill sum --duplicates'"),
    ("tree", "that is 'hashmill sum --tree DIRECTORY'"),
    ("diff", "trees and lists are compared by 'hashmill compare', documents by 'hashmill doc diff'"),
    ("docs", "that is 'hashmill doc'"),
    ("document", "that is 'hashmill doc'"),
    ("automerge", "that is 'hashmill doc'"),
    ("sync", "that is 'hashmill doc sync'"),
    ("merge", "that is 'hashmill doc merge'"),
    ("bench", "that is 'hashmill lab run', for passwords 'hashmill password bench'"),
    ("benchmark", "that is 'hashmill lab run'"),
    ("calibrate", "that is 'hashmill password calibrate'"),
    ("completions", "that is 'hashmill generate DIR'"),
    ("completion", "that is 'hashmill generate DIR'"),
    ("man", "that is 'hashmill generate DIR'"),
    ("version", "that is 'hashmill --version'"),
    ("cpu", "that is 'hashmill info'"),
];

const PASSWORD_COMMANDS: &[ForeignName] = &[
    ("check", "that is 'hashmill password verify'"),
    ("test", "that is 'hashmill password verify'"),
    ("create", "that is 'hashmill password hash'"),
    ("new", "that is 'hashmill password hash'"),
    ("rehash", "'hashmill password needs-rehash' asks, 'hashmill password upgrade' does it"),
    ("update", "that is 'hashmill password upgrade'"),
    ("derive", "that is 'hashmill password kdf'"),
    ("tune", "that is 'hashmill password calibrate'"),
];

const DOC_COMMANDS: &[ForeignName] = &[
    ("create", "that is 'hashmill doc new'"),
    ("init", "that is 'hashmill doc new'"),
    ("cat", "that is 'hashmill doc show'"),
    ("status", "that is 'hashmill doc show'"),
    ("dump", "that is 'hashmill doc export'"),
    ("json", "that is 'hashmill doc export'"),
    ("set", "that is 'hashmill doc put'"),
    ("add", "that is 'hashmill doc put FILE /LIST/- VALUE'"),
    ("insert", "that is 'hashmill doc put --insert', in a text 'hashmill doc splice'"),
    ("rm", "that is 'hashmill doc delete'"),
    ("remove", "that is 'hashmill doc delete'"),
    ("history", "that is 'hashmill doc log'"),
    ("changes", "that is 'hashmill doc log', or 'hashmill doc export --changes'"),
    ("clone", "that is 'hashmill doc fork'"),
    ("copy", "that is 'hashmill doc fork'"),
    ("branch", "that is 'hashmill doc fork'"),
    ("checkout", "that is 'hashmill doc at'"),
    ("revert", "that is 'hashmill doc undo'"),
    ("annotate", "that is 'hashmill doc blame'"),
    ("apply", "that is 'hashmill doc patch'"),
    ("compact", "files are compact anyway; 'hashmill doc squash' leaves the history out"),
    ("pull", "that is 'hashmill doc sync', for files 'hashmill doc merge'"),
    ("push", "that is 'hashmill doc sync'"),
    ("verify", "that is 'hashmill doc check'"),
    ("repair", "that is 'hashmill doc rescue'"),
];

#[cfg(all(test, feature = "doc", feature = "generate", feature = "lab"))]
mod tests {
    use super::super::definition;
    use super::*;
    use clap::Command;

    fn has(command: &Command, typed: &str) -> bool {
        command.get_arguments().any(|arg| match typed.strip_prefix("--") {
            Some(long) => {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(long) || aliases.contains(&long)
            }
            None => arg.get_short().is_some_and(|short| typed == format!("-{short}")),
        })
    }

    /// Every flag and command that a hint names exists.
    #[test]
    fn hints_name_existing_flags() {
        let definition = definition();
        let sum = definition.find_subcommand("sum").expect("sum");
        let groups = [
            ("sum", &[SUM, WALK, ALL][..]),
            ("compare", &[COMPARE][..]),
            ("password", &[PASSWORD][..]),
            ("doc", &[DOC][..]),
        ];
        for (name, tables) in groups {
            let command = definition.find_subcommand(name).expect("a command");
            let owners: Vec<&Command> =
                command.get_subcommands().chain([command, sum, &definition]).collect();
            for (_, here) in tables.iter().copied().flatten() {
                let words = here.split(['\'', ' ', '=']).filter(|word| word.starts_with("--"));
                for flag in words.filter(|flag| !["--help", "--version"].contains(flag)) {
                    assert!(owners.iter().any(|owner| has(owner, flag)), "{name}: {flag}: {here}");
                }
            }
        }
        for (_, here) in [SUM, COMPARE, PASSWORD, DOC, COMMANDS, PASSWORD_COMMANDS, DOC_COMMANDS].concat() {
            let calls = here.split('\'').filter_map(|span| span.strip_prefix("hashmill "));
            for call in calls.filter(|call| !call.starts_with("lab")) {
                let mut command = &definition;
                for word in call.split(' ') {
                    match command.find_subcommand(word) {
                        Some(inner) => command = inner,
                        None if word.starts_with("--") => {
                            assert!(word == "--version" || has(command, word), "{here}");
                        }
                        None => assert!(!command.has_subcommands(), "{here}"),
                    }
                }
            }
        }
    }

    /// A foreign name that is a flag or command here would never be used.
    #[test]
    fn foreign_names_are_unknown_here() {
        let definition = definition();
        let of = |name: &str| definition.find_subcommand(name).expect("a command");
        for (name, table) in [("sum", SUM), ("sum", WALK), ("compare", COMPARE), ("sum", ALL)] {
            for (word, _) in table {
                assert!(!has(of(name), word) && !has(&definition, word), "{name} has {word}");
            }
        }
        for (command, table) in
            [(&definition, COMMANDS), (of("password"), PASSWORD_COMMANDS), (of("doc"), DOC_COMMANDS)]
        {
            for (word, _) in table {
                assert!(command.find_subcommand(word).is_none(), "{word}");
            }
        }
    }
}
