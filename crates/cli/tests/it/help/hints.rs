//! Suggestions for unknown flags and commands, on one line.

use crate::world::{World, hashmill};

#[test]
fn suggests_on_one_line() {
    let world = World::new();
    let unknown = |what: &str, hint: &str| format!("unexpected argument '{what}' found; {hint} (see --help)");
    let no_command =
        |what: &str, hint: &str| format!("unrecognized subcommand '{what}'; {hint} (see --help)");
    let near = |name: &str| format!("a similar argument exists: '{name}'");
    let near_command = |name: &str| format!("a similar subcommand exists: '{name}'");
    let audit = "an audit is '--audit LIST', a function '--algorithm NAME'";
    for (line, message) in [
        // Typing errors, prefixes and longer words.
        ("sum --recursve d", unknown("--recursve", &near("--recursive"))),
        ("sum --check-list SUMS", unknown("--check-list", &near("--check"))),
        ("sum --dup", unknown("--dup", &near("--duplicates"))),
        ("sum --exlude=*.tmp -r d", unknown("--exlude", &near("--exclude"))),
        ("sum --no-progres f", unknown("--no-progres", &near("--no-progress"))),
        ("sum f --colr never", unknown("--colr", &near("--color"))),
        ("password verify --pasword-fd 3", unknown("--pasword-fd", &near("--password-fd"))),
        ("summ", no_command("summ", &near_command("sum"))),
        ("sun f", no_command("sun", &near_command("sum"))),
        ("hlep", no_command("hlep", &near_command("help"))),
        ("password hsh", no_command("hsh", &near_command("hash"))),
        // Names in other programs.
        ("passwd hash", no_command("passwd", "that is 'hashmill password'")),
        ("sum -a -k known -r d", unknown("-a", audit)),
        ("sum -k known d", unknown("-k", "the list of known files is '--audit LIST'")),
        ("sum --checkfile SUMS", unknown("--checkfile", "a list is checked with '--check LIST'")),
        ("sum --copy-links d", unknown("--copy-links", "symbolic links are followed with '--follow'")),
        ("sum --sha256 f", unknown("--sha256", "functions are '--algorithm sha256'")),
        (
            "sum --silent f",
            unknown("--silent", "without OK lines is '--quiet', with no line at all '--status'"),
        ),
        ("compare -r a b", unknown("-r", "everything below directories is compared anyway")),
        ("password hash --stdin", unknown("--stdin", "standard input is read without a flag")),
        ("sha256sum f", no_command("sha256sum", "that is 'hashmill sum --algorithm sha256'")),
        // File names that start with a dash, even if their first letter is a flag elsewhere.
        ("sum -dash", unknown("-d", "write a file of that name as './-dash', or after '--'")),
        ("sum a -report.txt b", unknown("-e", "write a file of that name as './-report.txt', or after '--'")),
        ("sum -d f", unknown("-d", "for programs there is '--json'")),
        ("sum -r -- -x -dash --y", String::new()),
        // Before the command that has the flag.
        ("--check SUMS", unknown("--check", "'sum --check' has it")),
        ("f.iso", no_command("f.iso", "files are for 'hashmill sum', documents for 'hashmill doc show'")),
        // Without a near name there is no suggestion.
        ("sum --foo", "unexpected argument '--foo' found (see --help)".to_owned()),
        ("frobnicate", "unrecognized subcommand 'frobnicate' (see --help)".to_owned()),
        ("sum -y", unknown("-y", "to pass '-y' as a value, use '-- -y'")),
    ] {
        let done = world.run(&hashmill(), line.split(' '), b"");
        if message.is_empty() {
            assert_eq!(done.code(), 1, "the files are missing, and that is all: {done:?}");
            continue;
        }
        assert_eq!(done.failure(2, &[&message]), "", "{line}");
    }
}

/// GNU's flags for checks exist, and name what they need.
#[test]
fn check_flags_mention_check() {
    let world = World::new();
    for flag in ["--ignore-missing", "--strict", "--warn", "--status"] {
        let message = "the following required arguments were not provided: --check (see --help)";
        world.sum([flag, "f"]).failure(2, &[message]);
    }
}

#[cfg(feature = "doc")]
#[test]
fn suggests_commands_for_names_of_other_tools() {
    let world = World::new();
    for (verb, hint) in [
        ("rm", "that is 'hashmill doc delete'"),
        ("histroy", "that is 'hashmill doc log'"),
        ("n.amrg", "documents follow a command: 'hashmill doc show'"),
        ("lgo", "a similar subcommand exists: 'log'"),
    ] {
        let message = format!("unrecognized subcommand '{verb}'; {hint} (see --help)");
        world.run(&hashmill(), ["doc", verb, "n.amrg"], b"").failure(2, &[&message]);
    }
}
