//! Comparison with the real b3sum 1.8.7, byte by byte.
//!
//! `cargo rivals b3sum --build-only` installs it under `target/rivals/b3sum`; without it these tests print SKIPPED.
//! Intended differences are listed in `docs/from-b3sum.md` and in the last test here.

#![cfg(unix)]

use crate::world::{Done, World, hashmill};
use hashmill_testkit::skip;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The program, if it is installed.
pub(crate) fn b3sum() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_hashmill")).ancestors().nth(2)?;
    let found = [target.join("rivals/b3sum/bin/b3sum"), PathBuf::from("b3sum")].into_iter().find(|program| {
        let version = Command::new(program).arg("--version").output();
        version.is_ok_and(|version| version.stdout == b"b3sum 1.8.7\n")
    });
    if found.is_none() {
        skip("comparison with b3sum", "no b3sum 1.8.7 here; `cargo rivals b3sum --build-only` installs it");
    }
    found
}

/// Difficult names, except those whose output cannot be equal.
fn difficult_names() -> World {
    let world = World::new();
    let names: [&[u8]; 17] = [
        b"plain",
        b"a\\b",
        b"a\nb",
        b"a\rb",
        b"\\",
        b"two  spaces",
        b" leading",
        b"trailing ",
        b"-dash",
        b"--tag",
        b"x) = y",
        b"#comment",
        b"*star",
        b"BLAKE3 (x) = y",
        "h\u{e9}".as_bytes(),
        b"inv\xff\xfealid",
        b"deep/er/file",
    ];
    for (n, name) in names.into_iter().enumerate() {
        world.write(OsStr::from_bytes(name), vec![n as u8; n * 1000]);
    }
    world.write("empty", "").write("large", vec![9; 3_000_001]);
    for size in [1, 63, 64, 65, 1023, 1024, 1025, 16383, 16384, 16385, 65535, 65536, 65537] {
        world.write(format!("size{size}"), vec![1; size]);
    }
    File::create(world.path("sparse")).and_then(|file| file.set_len(20 << 20)).expect("a sparse file");
    std::os::unix::fs::symlink("plain", world.path("link")).expect("a link");
    std::os::unix::fs::symlink("nowhere", world.path("broken")).expect("a link");
    std::os::unix::fs::symlink("circle", world.path("circle")).expect("a link");
    world
}

/// All names in the world, in a fixed order.
fn names(world: &World) -> Vec<OsString> {
    let entries = std::fs::read_dir(world.path("")).expect("the world");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    names
}

struct Pair<'a> {
    world: &'a World,
    b3sum: PathBuf,
}

impl Pair<'_> {
    /// Runs both programs and compares their output. Standard error may differ by the program's name and a hint after a
    /// semicolon.
    #[track_caller]
    fn same<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Done {
        let (actual, expected) = self.both(args, input);
        let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        assert!(actual.out == expected.out, "{args:?}:\n{}\n{}", actual.text(), expected.text());
        let plain = |line: &str| {
            let line = line.strip_prefix("hashmill: ").unwrap_or(line);
            line.split("; see --").next().unwrap_or_default().to_owned()
        };
        let extra = |line: &&str| line.contains(" no UTF-8 and cannot be checked in this list");
        let messages: Vec<_> = actual.err.lines().filter(|line| !extra(line)).map(plain).collect();
        let expected_messages: Vec<_> =
            expected.err.lines().map(|line| line.strip_prefix("b3sum: ").unwrap_or(line)).collect();
        assert_eq!(messages, expected_messages, "{args:?}");
        assert_eq!(actual.code(), expected.code(), "{args:?}");
        actual
    }

    /// As above for checks: standard error has counts by kind of failure, and names of lists and lines.
    #[track_caller]
    fn same_check<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Done {
        let (actual, expected) = self.both(args, input);
        let args: Vec<_> = args.iter().map(AsRef::as_ref).collect();
        assert_eq!((actual.text(), actual.code()), (expected.text(), expected.code()), "{args:?}");
        let failures = |done: &Done| -> u64 {
            let counts =
                done.err.lines().filter_map(|line| line.split_once("WARNING: ")?.1.split(' ').next());
            counts.filter_map(|word| word.parse::<u64>().ok()).sum()
        };
        assert_eq!(failures(&actual), failures(&expected), "{args:?}: {}{}", actual.err, expected.err);
        actual
    }

    fn both<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> (Done, Done) {
        let sum: Vec<&OsStr> =
            [OsStr::new("sum")].into_iter().chain(args.iter().map(AsRef::as_ref)).collect();
        (self.world.run(&hashmill(), sum, input), self.world.run(&self.b3sum, args, input))
    }
}

#[test]
fn hashes_alike_with_every_flag() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let pair = Pair { world: &world, b3sum };
    let names = names(&world);
    let all = |flags: &[&str]| -> Vec<OsString> {
        let flags = flags.iter().map(OsString::from);
        flags
            .chain(["--".into(), "none".into(), "/proc/version".into()])
            .chain(names.iter().cloned())
            .collect()
    };
    for flags in [
        &[][..],
        &["--no-names"],
        &["--tag"],
        &["--no-mmap"],
        &["--num-threads", "1"],
        &["--num-threads=3"],
        &["--num-threads", "0"],
        &["--derive-key", "a context"],
        &["--derive-key="],
        &["--length", "0"],
        &["-l1"],
        &["-l", "31"],
        &["-l=33"],
        &["--length=64", "--seek=64"],
        &["--length", "131", "--seek", "1099511627777"],
        &["--seek", "1"],
        &["--length", "100000", "--seek", "12345678901"],
        &["--tag", "--seek", "63", "--length", "2", "--derive-key", "x", "--no-mmap"],
        &["--tag", "--no-names"],
    ] {
        pair.same(&all(flags), b"");
    }
    for key in [[0; 32], *b"whats the Elvish word for friend"] {
        pair.same(&all(&["--keyed"]), &key);
        pair.same(&all(&["--keyed", "--tag", "--length", "100"]), &key);
    }
    pair.same(&["--keyed", "-", "plain"], &[7; 32]);
}

#[test]
fn prints_alike_raw_and_from_standard_input() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let pair = Pair { world: &world, b3sum };
    for flags in [&["--raw"][..], &["--raw", "--tag"], &["--raw", "--no-names", "-l", "1000", "--seek", "3"]]
    {
        for file in ["plain", "empty", "large", "none", "deep"] {
            pair.same(&[flags, &[file]].concat(), b"");
        }
    }
    for input in [&b""[..], b"x", &[5; 300_000], &[6; 2_000_000]] {
        for args in [
            &[][..],
            &["-"],
            &["-", "plain", "-"],
            &["--tag"],
            &["--no-names"],
            &["--raw"],
            &["--derive-key", "c"],
        ] {
            pair.same(args, input);
        }
    }
}

#[test]
fn hashes_named_pipes_alike() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let path = world.path("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
    // One program after the other: opening for writing must not race with a leaving reader.
    let read = |program: &Path, args: &[&str]| {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut pipe = File::options().write(true).open(&path).expect("a reader at the other end");
                pipe.write_all(&[3; 1_000_000]).expect("a reader at the other end");
            });
            world.run(program, args, b"").quiet_success()
        })
    };
    let expected = read(&b3sum, &["plain", "pipe", "large"]);
    assert_eq!(read(&hashmill(), &["sum", "plain", "pipe", "large"]), expected);
}

/// Files that report a size of zero, or cannot be read.
#[cfg(target_os = "linux")]
#[test]
fn hashes_files_with_wrong_sizes_alike() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let pair = Pair { world: &world, b3sum };
    pair.same(&["/dev/null", "/proc/version", "/proc/filesystems"], b"");
    pair.same(&["/sys/kernel/mm", "/proc/self/fd/99", "plain/below", "plain"], b"");
    // Our message has the offset.
    let (actual, expected) = pair.both(&["/proc/self/mem", "plain"], b"");
    assert_eq!((actual.text(), actual.code()), (expected.text(), expected.code()));
    assert!(actual.err.contains("/proc/self/mem: unreadable at offset 0: "), "{}", actual.err);
    pair.same(&["/dev/stdin", "/proc/self/fd/0"], b"standard input by another name");
}

#[test]
fn reports_missing_permission_alike() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    world.write("locked", "secret");
    std::fs::set_permissions(world.path("locked"), std::fs::Permissions::from_mode(0o000))
        .expect("our own file");
    if std::fs::read(world.path("locked")).is_ok() {
        skip("files without permission to read beside b3sum", "this user may read everything");
    }
    Pair { world: &world, b3sum }.same(&["locked", "plain"], b"");
}

#[test]
fn usage_errors_match() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let pair = Pair { world: &world, b3sum };
    for args in [
        &["--nonsense", "plain"][..],
        &["--length", "x", "plain"],
        &["--length", "-1", "plain"],
        &["--seek", "18446744073709551616", "plain"],
        &["--num-threads", "x", "plain"],
        &["--quiet", "plain"],
        &["--check", "--tag", "plain"],
        &["--check", "--raw", "plain"],
        &["--check", "--no-names", "plain"],
        &["--keyed", "--derive-key", "x", "plain"],
        &["--keyed"],
        &["plain", ""],
    ] {
        let (actual, expected) = pair.both(args, b"");
        assert_eq!((actual.code(), expected.code()), (2, 2), "{args:?}: {}{}", actual.err, expected.err);
        assert_eq!((actual.out.len(), actual.err.lines().count()), (0, 1), "{args:?}: {}", actual.err);
    }
}

#[test]
fn checks_alike_with_every_flag() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let pair = Pair { world: &world, b3sum };
    // Names that lose bytes, or that b3sum cannot read back, have separate tests.
    let names: Vec<_> = names(&world)
        .into_iter()
        .filter(|name| {
            name.to_str().is_some()
                && !["broken", "circle", "deep", "two  spaces"].iter().any(|odd| name == odd)
        })
        .collect();
    for style in [&[][..], &["--tag"]] {
        let args: Vec<OsString> =
            style.iter().map(OsString::from).chain(["--".into()]).chain(names.iter().cloned()).collect();
        let (actual, expected) = pair.both(&args, b"");
        assert!(actual.out == expected.out);
        world.write("good.list", &actual.out);

        // Some lines are wrong: another digest, a missing file, a directory.
        let mut text = actual.text().replacen("af1349b9", "af1349b8", 1);
        text += &text.lines().take(2).map(|line| line.replace("plain", "none") + "\n").collect::<String>();
        text += &format!("{}  gone\n{}  deep\r\n", "ab".repeat(32), "cd".repeat(32));
        world.write("bad.list", &text).write("crlf.list", actual.text().replace('\n', "\r\n"));
        for flags in
            [&["--check"][..], &["-c", "--quiet"], &["--check", "--num-threads", "1"], &["-c", "--no-mmap"]]
        {
            for list in ["good.list", "bad.list", "crlf.list"] {
                pair.same_check(&[flags, &[list]].concat(), b"");
            }
            pair.same_check(&[flags, &["good.list", "bad.list", "good.list"]].concat(), b"");
            pair.same_check(flags, text.as_bytes());
            pair.same_check(&[flags, &["-"]].concat(), text.as_bytes());
        }
        std::fs::remove_file(world.path("good.list")).expect("our own file");
    }
    // Lists made with --seek are checked with --seek.
    let list = pair.same(&["--seek", "9", "plain", "empty"], b"").out;
    assert_eq!(pair.same_check(&["--check", "--seek", "9"], &list).code(), 0);
    assert_eq!(pair.same_check(&["--check"], &list).code(), 1);
    assert_eq!(pair.same_check(&["--check", "--seek", "8"], &list).code(), 1);
}

#[test]
fn malformed_lines_count_alike() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let pair = Pair { world: &world, b3sum };
    let hex = "ab".repeat(32);
    for line in [
        "hello".to_owned(),
        hex.clone(),
        format!("{}  plain", &hex[1..]),
        format!("{hex}0  plain"),
        format!("{}g  plain", &hex[1..]),
        format!("{hex}  "),
        format!("\\{hex}  a\\"),
        format!("\\{hex}  a\\x"),
        format!("{hex}  a\u{fffd}"),
        format!("{hex}  a\0"),
        format!("BLAKE3 (plain) = {}", &hex[1..]),
        format!("BLAKE3 (plain) {hex}"),
        format!("BLAKE2 (plain) = {hex}"),
        format!("BLAKE3 () = {hex}"),
    ] {
        let actual = pair.same_check(&["--check"], format!("{line}\n{line}\n").as_bytes());
        assert!(
            actual.err.ends_with("hashmill: WARNING: 2 lines are malformed\n"),
            "{line:?}: {}",
            actual.err
        );
        assert_eq!(actual.err.lines().count(), 3, "{line:?}");
    }
}

/// If one of these fails because both programs agree, `docs/from-b3sum.md` lists an outdated difference.
#[test]
fn differs_only_as_documented() {
    let Some(b3sum) = b3sum() else { return };
    let world = difficult_names();
    let pair = Pair { world: &world, b3sum };
    let codes = |args: &[&str], input: &[u8]| {
        let (actual, expected) = pair.both(args, input);
        (actual.code(), expected.code())
    };
    let sums = |args: &[&str]| world.sum(args).out;

    // Defects.
    assert_eq!(codes(&["--check"], b""), (1, 0), "a list without a line is a failure");
    let list = sums(&["--tag", "two  spaces"]);
    assert_eq!(codes(&["--check"], &list), (0, 1), "tagged names may have two spaces");

    // Lists of SHA-256 are detected.
    let list = sums(&["--algorithm", "sha256", "plain"]);
    assert_eq!(codes(&["--check"], &list), (0, 1));

    // Lines accepted with a warning.
    let list = String::from_utf8(sums(&["plain"])).expect("text");
    let (hex, _) = list.split_once(' ').expect("two words");
    for odd in [
        format!("# comment\n\n{list}"),
        format!("{}  plain\n", hex.to_uppercase()),
        format!("{hex} *plain\n"),
        format!("{hex} plain\n"),
        format!("\u{feff}{list}"),
    ] {
        assert_eq!(codes(&["--check"], odd.as_bytes()), (0, 1), "{odd:?}");
        assert_eq!(codes(&["--check", "--strict"], odd.as_bytes()), (1, 2), "{odd:?}");
    }

    // Lists of other functions are checked.
    for function in [["--length", "48"], ["--derive-key", "x"]] {
        let list = sums(&[&function[..], &["plain"]].concat());
        assert_eq!(codes(&[&["--check"][..], &function].concat(), &list), (0, 2), "{function:?}");
    }

    // Usage errors with b3sum's exit code 1 and our 2.
    assert_eq!(codes(&["--raw", "plain", "empty"], b""), (2, 1));
    assert_eq!(codes(&["--keyed", "plain"], &[0; 31]), (2, 1));
    // Output beyond the end: b3sum wraps around.
    assert_eq!(codes(&["--seek", "18446744073709551600", "plain"], b""), (2, 0));
    // An unreadable list ends b3sum; we check the others.
    let (actual, expected) = pair.both(&["--check", "none", "-"], list.as_bytes());
    assert_eq!((&*actual.text(), &*expected.text()), ("plain: OK\n", ""));
}
