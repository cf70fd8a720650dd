//! Personalities: links named as other programs, compared with those programs byte by byte.

#![cfg(unix)]

use crate::world::{Done, World, hashmill, is_gnus};
use hashmill_testkit::{size, skip};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A world with links to the program.
fn world() -> World {
    let world = World::new();
    for name in ["b3sum", "sha256sum", "sha512sum", "sha1sum", "md5sum"] {
        std::os::unix::fs::symlink(hashmill(), world.path(format!("bin/{name}"))).unwrap_or_else(|_| {
            std::fs::create_dir(world.path("bin")).expect("a directory");
            std::os::unix::fs::symlink(hashmill(), world.path(format!("bin/{name}"))).expect("a link");
        });
    }
    world.write("f", "foo").write("g", "bar").write("d/x", "").write("a\nb", "odd").write("two  spaces", "x");
    world
}

fn same(actual: &Done, expected: &Done, what: &str) {
    assert_eq!((actual.text(), &actual.err), (expected.text(), &expected.err), "{what}");
    assert_eq!(actual.code(), expected.code(), "{what}");
}

#[test]
fn gnu_links_match_gnu_programs() {
    let world = world();
    for name in ["sha256sum", "sha512sum", "sha1sum", "md5sum"] {
        // By its name, as messages contain it; our directory is not on the search path.
        if !is_gnus(name) {
            skip("links named as GNU's programs", &format!("no {name} of GNU's here"));
            return;
        }
        let both = |args: &[&str]| {
            let actual = world.run(&world.path(format!("bin/{name}")), args, b"");
            let expected = world.run(name.as_ref(), args, b"");
            same(&actual, &expected, &format!("{name} {args:?}"));
            expected.text()
        };
        let good = both(&["f", "g", "a\nb", "two  spaces"]);
        both(&["--tag", "f", "a\nb"]);
        both(&["-z", "f", "a\nb"]);
        both(&["-b", "f"]);
        both(&["-t", "f"]);
        both(&["none", "d", "f"]);
        world.write("good", &good).write("empty", "").write("poem", "roses\n");
        let zeros = "0".repeat(good.find(' ').expect("a digest"));
        world.write("bad", format!("{good}\n# a comment\nhello\n{zeros}  none\n{zeros}  f\n"));
        world.write("gone", format!("{zeros}  none\n"));
        let flags = [
            &[][..],
            &["--quiet"],
            &["--status"],
            &["--warn"],
            &["--strict"],
            &["--ignore-missing"],
            &["--status", "--ignore-missing"],
        ];
        // The functions share the code that reads flags.
        let flags = if name == "sha256sum" { &flags[..] } else { size::of(&flags[..1], &flags) };
        for list in ["good", "bad", "empty", "poem", "gone", "nolist"] {
            for &flags in flags {
                both(&[&["-c", list], flags].concat());
                both(&[&["-c", list, "good"], flags].concat());
            }
        }
        let signed = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\n";
        world.write(
            "signed",
            format!("{signed}{good}-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n"),
        );
        both(&["-c", "signed"]);
        let usage = world.run(&world.path(format!("bin/{name}")), ["--unknown"], b"");
        assert_eq!(usage.code(), 1);
        assert!(usage.err.starts_with(&format!("{name}: ")), "{}", usage.err);
    }
}

/// Names that need quoting, conflicting flags, and nearly malformed lines.
#[test]
fn gnu_messages_for_odd_input() {
    let world = world();
    if !is_gnus("sha256sum") {
        skip("what GNU's programs say of odd things", "no sha256sum of GNU's here");
        return;
    }
    let both = |args: &[&OsStr], input: &[u8]| {
        let actual = world.run(&world.path("bin/sha256sum"), args, input);
        let expected = world.run("sha256sum".as_ref(), args, input);
        same(&actual, &expected, &format!("{args:?} {}", String::from_utf8_lossy(input)));
        expected
    };
    let names: [&[u8]; 32] = [
        b"a b",
        b"a\nb",
        b"a'b",
        b"'",
        b"a' b",
        b"a'\nb",
        b"it's \x01 9",
        b"a\"b",
        b"a:b",
        b"a'b:",
        b"a\\b",
        b"~a",
        b"a~",
        b"#a",
        b"a#",
        b"$a",
        b"a*",
        b"[a",
        b"a]",
        b"{a}",
        b"{",
        b"a=b",
        b"a!b",
        b"a@b",
        b"a^b",
        b"(a)",
        b"a|b",
        b"a\tb",
        b"a\x1bb",
        b"\xff\xfe",
        "h\u{e9}".as_bytes(),
        "h\u{85}".as_bytes(),
    ];
    for name in names {
        both(&[OsStr::from_bytes(name)], b"");
        both(&["-c".as_ref(), OsStr::from_bytes(name)], b"");
    }
    for line in [
        "--foo",
        "-y",
        "--foo=3",
        "--check=3",
        "--strict f",
        "--status f",
        "--ignore-missing f",
        "--quiet f",
        "-w f",
        "--ignore f",
        "--tag -c f",
        "-b -c f",
        "-zc f",
        "--tag --text f",
        "--s",
        "--s f",
        "--chec f",
        "-q f",
        "-by",
        "f --ta",
        "-c d",
        "-bt f",
        "-tb f",
        "--text --tag f",
        "-t -b --tag f",
        "--tag -t -b f",
        "--tag -b -t f",
        "--tag --text -c f",
        "--tag -bc f",
        "-z --tag -c f",
        "-tc f",
        "-b -b f",
        "-zz f",
        "-wcc f",
        "--tag --tag f",
        "--status --quiet f",
        "--strict -w f",
        "--ignore-missing --status f",
        "--binary=x f",
        "--help=3",
        "--warn -- --check",
    ] {
        let words: Vec<&OsStr> = line.split(' ').map(OsStr::new).collect();
        both(&words, b"");
    }
    let good = both(&["f".as_ref()], b"").text();
    let digest = &good[..64];
    let zeros = "0".repeat(64);
    for list in [
        format!("  {good}"),
        format!("\u{feff}{good}"),
        format!("SHA1 (f) = {}\n", &digest[..40]),
        format!("{digest}  -\n"),
        format!("{digest} f\n"),
        format!("{zeros}  f\n{digest}  none\njunk\n"),
        format!("{digest}  no ne\n{digest}  x:y\n"),
        format!("\\{digest}  f\\q\n"),
        format!("{digest}  d\n"),
        format!("\n#\n{good}"),
        "junk\njunk\n".to_owned(),
        String::new(),
        good.replace('\n', "\r\n"),
        good.to_uppercase(),
        format!("{}A=  f\n{good}", "A".repeat(42)),
    ] {
        world.write("list", &list);
        let flags = [
            "",
            "--warn --strict --quiet",
            "--ignore-missing",
            "--strict",
            "-w",
            "--quiet",
            "--status",
            "--quiet -w",
        ];
        for flags in size::of(&flags[..3], &flags) {
            let flags = flags.split(' ').filter(|flag| !flag.is_empty()).map(OsStr::new);
            let args: Vec<&OsStr> = [OsStr::new("-c")].into_iter().chain(flags).collect();
            both(&[&args[..], &["list".as_ref(), "list".as_ref()]].concat(), b"from standard input");
            both(&args, list.as_bytes());
        }
    }
}

/// Flags that only we have get our messages, with the exit code of GNU's programs.
#[test]
fn usage_errors_of_own_flags_under_gnu_names() {
    let world = world();
    for (line, message) in [
        ("--keyed f", "--keyed is for BLAKE3 and cannot be used with --algorithm sha256"),
        ("-l x f", "invalid value 'x' for '--length <LEN>': invalid digit found in string (see --help)"),
        ("--json --tag f", "the argument '--json' cannot be used with '--tag' (see --help)"),
        ("-c --raw f", "the argument '--check' cannot be used with '--raw' (see --help)"),
        ("--paranoid f", "the following required arguments were not provided: --update <LIST> (see --help)"),
        ("--no-hidden f", "--no-hidden applies below directories; see --recursive"),
    ] {
        let done = world.run(&world.path("bin/sha256sum"), line.split(' '), b"");
        assert_eq!(done.code(), 1, "{line}: {done:?}");
        assert_eq!(done.err.lines().next(), Some(&*format!("sha256sum: {message}")), "{line}");
    }
    let done = world.run(&world.path("bin/sha256sum"), ["-q", "--duplicates", "d"], b"");
    assert_eq!(done.quiet_success(), "");
}

/// Messages that b3sum's published tests expect.
#[test]
fn b3sum_link_uses_b3sum_messages() {
    let world = world();
    let b3sum = world.path("bin/b3sum");
    let run = |args: &[&str], input: &str| world.run(&b3sum, args, input.as_bytes());
    let zeros = "0".repeat(64);
    for (line, message) in [
        (format!("{zeros}  \0"), "Null character in path"),
        (format!("{zeros}  \u{fffd}"), "Unicode replacement character in path"),
        (format!("\\{zeros}  \\a"), "Invalid backslash escape"),
        (format!("{}  f", &zeros[1..]), "Invalid hash length"),
        ("# comment".to_owned(), "Invalid check line format"),
    ] {
        let done = run(&["--check"], &line);
        assert_eq!((done.code(), &*done.text()), (1, ""));
        assert_eq!(
            done.err,
            format!("b3sum: {message}\nb3sum: WARNING: 1 computed checksum did NOT match\n")
        );
    }
    let done = run(&["none"], "");
    assert_eq!(done.err, "b3sum: none: No such file or directory (os error 2)\n");
    let list = format!("{zeros}  none\n{zeros}  f\n");
    let done = run(&["--check", "--quiet"], &list);
    assert_eq!(done.text(), "none: FAILED (No such file or directory (os error 2))\nf: FAILED\n");
    assert_eq!(done.err, "b3sum: WARNING: 2 computed checksums did NOT match\n");
    let done = run(&["--raw", "f", "g"], "");
    assert_eq!((done.code(), &*done.err), (1, "Error: Only one filename can be provided when using --raw\n"));
    let done = run(&["--keyed", "f"], "short");
    assert_eq!((done.code(), &*done.err), (1, "Error: expected 32 key bytes from stdin, found 5\n"));
    let done = run(&["--xyzzy"], "");
    let usage = "\n\nUsage: b3sum [OPTIONS] [FILE]...\n\nFor more information, try '--help'.\n";
    assert!(
        done.err.starts_with("error: unexpected argument '--xyzzy' found\n") && done.err.ends_with(usage),
        "{done:?}"
    );
    assert_eq!(done.code(), 2);
    let version = run(&["--version"], "").quiet_success();
    assert!(version.starts_with("b3sum (hashmill "), "{version}");
}

/// Compared with the real program, with standard error.
#[test]
fn b3sum_link_matches_b3sum() {
    let Some(reference) = crate::lists::b3sum::b3sum() else { return };
    let world = world();
    let b3sum_link = world.path("bin/b3sum");
    let both = |args: &[&str], input: &[u8]| -> Done {
        let (actual, expected) = (world.run(&b3sum_link, args, input), world.run(&reference, args, input));
        same(&actual, &expected, &format!("{args:?}"));
        actual
    };
    let list = both(&["f", "g", "a\nb"], b"").text();
    both(&["none", "no\nne", "d", "f"], b"");
    both(&["--tag", "f"], b"");
    both(&["--raw", "f", "g"], b"");
    both(&["--keyed", "f"], b"short");
    both(&["--keyed", "f"], &[7; 40]);
    for line in [
        "--xyzzy",
        "-y f",
        "--quiet f",
        "--check --tag f",
        "--keyed",
        "--tag --no-names -c f",
        "--xyzzy --length x",
        "--length x f",
        "--length=-1 f",
        "--seek",
        "--num-threads many f",
        "--keyed --derive-key x f",
        "--check nolist",
        "--check d",
        "--check nolist list",
        "--check",
        "--raw d",
        "-l",
    ] {
        both(&line.split(' ').collect::<Vec<_>>(), b"");
    }
    // Flags that b3sum does not have.
    let actual = world.run(&b3sum_link, ["--json", "--length", "x"], b"");
    assert!(actual.err.starts_with("error: invalid value 'x' for '--length <LEN>'"), "{actual:?}");
    let upper = format!("{}\n", list[..67].to_uppercase());
    let base64 = format!("{}A=  f\n", "A".repeat(42));
    for line in ["", "hello\n", "\n", "0  f\n", &base64, &format!("{}  f\n", "g".repeat(64)), &upper] {
        both(&["--check"], format!("{list}{line}").as_bytes());
        both(&["--check", "--quiet"], format!("{line}{list}").as_bytes());
    }
}
