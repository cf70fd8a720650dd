//! Directories with difficult names: GNU's programs and hashdeep as oracles.

#![cfg(unix)]

use crate::world::{Done, World, hashmill, is_gnus};
use hashmill_testkit::skip;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::Command;

/// Names that look like lines, flags, comments, patterns and columns, or have bytes that are special to terminals and lists.
const NAMES: [&[u8]; 26] = [
    b"plain",
    b"two  spaces",
    b" leading",
    b"trailing ",
    b"back\\slash",
    b"back\\n",
    b"\\",
    b"car\rriage",
    b"tab\tbed",
    b"esc\x1b[31m",
    b"-dash",
    b"--check",
    b"*star",
    b"?",
    b"#hash",
    b"## hash",
    b"%%%% HASHDEEP-1.0",
    b"a, b",
    b"1,2,3,4",
    b"quo'te",
    b"quo\"te",
    b"x) = y",
    b"SHA256 (x) = y",
    b".hidden",
    b"inv\xff\xfealid",
    "gr\u{fc}\u{df}e \u{6587}\u{4ef6}".as_bytes(),
];

/// Names that hashdeep's files cannot represent, as it does not escape.
const LINES: [&[u8]; 3] = [b"line\nend", b"\n", b"at the end\r"];

/// A directory with the names, some as directories, with files of many sizes, equal files, and special files.
fn difficult_names(names: &[&[u8]]) -> World {
    let world = World::new();
    for (n, name) in names.iter().enumerate() {
        let name = OsStr::from_bytes(name);
        world.write(world.path("d").join(name), vec![n as u8; n * n * 100]);
        world.write(world.path("d/deep").join(name).join(name), vec![n as u8; 3 * n]);
    }
    world.write("d/empty", "").write("d/empty too", "").write("d/large", vec![9; 2_000_001]);
    fs::create_dir(world.path("d/no files")).expect("a directory");
    for (link, target) in [("link", "plain"), ("broken", "nowhere"), ("up", "..")] {
        std::os::unix::fs::symlink(target, world.path("d").join(link)).expect("a link");
    }
    world
}

/// Every regular file of the tree, in byte order.
fn files(world: &World) -> Vec<OsString> {
    let found = world.run("find".as_ref(), ["d", "-type", "f", "-print0"], b"").out;
    let mut names: Vec<Vec<u8>> =
        found.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    names.sort();
    names.into_iter().map(OsString::from_vec).collect()
}

fn here(program: &str, flag: &str) -> bool {
    let there = Command::new(program).arg(flag).output().is_ok();
    if !there {
        skip("a nasty tree beside other programs", &format!("no {program} here"));
    }
    there
}

/// Lists are equal byte by byte in every form, and each program checks those of the other.
#[test]
fn matches_gnu_programs_on_difficult_names() {
    let world = difficult_names(&[&NAMES[..], &LINES].concat());
    let names = files(&world);
    assert!(names.len() > 50, "{names:?}");
    for (program, function) in
        [("sha256sum", "sha256"), ("sha512sum", "sha512"), ("sha1sum", "sha1"), ("md5sum", "md5")]
    {
        if !is_gnus(program) {
            skip("a nasty tree beside GNU's programs", &format!("no {program} of GNU's here"));
            return;
        }
        let link = world.path(program);
        std::os::unix::fs::symlink(hashmill(), &link).expect("a link");
        for flags in [&[][..], &["--zero"], &["--tag"]] {
            let args: Vec<&OsStr> = flags.iter().map(OsStr::new).chain(names.iter().map(|n| &**n)).collect();
            let expected = world.run(program.as_ref(), args, b"");
            let actual = world.sum([&["-r", "--algorithm", function, "d"], flags].concat());
            assert!(
                actual.out == expected.out,
                "{program} {flags:?}:\n{}\n{}",
                actual.text(),
                expected.text()
            );
            assert_eq!((actual.code(), expected.code()), (0, 0), "{}{}", actual.err, expected.err);
            if flags == ["--zero"] {
                // GNU's programs do not check these.
                continue;
            }
            world.write("list", &actual.out);
            let both = || {
                let expected = world.run(program.as_ref(), ["--check", "list"], b"");
                let same = world.run(&link, ["--check", "list"], b"");
                assert_eq!(
                    (same.text(), same.err),
                    (expected.text(), expected.err.clone()),
                    "{program} {flags:?}"
                );
                let actual = world.sum(["--check", "--algorithm", function, "list"]);
                assert_eq!(
                    (actual.code(), same.status),
                    (expected.code(), expected.status),
                    "{program} {flags:?}"
                );
                (actual.text().matches(": OK\n").count(), expected.text().matches(": OK\n").count())
            };
            assert_eq!(both(), (names.len(), names.len()));
            let moved = world.path("d/line\nend");
            fs::rename(&moved, world.path("elsewhere")).expect("our own file");
            world.write("d/-dash", "changed");
            assert_eq!(both(), (names.len() - 2, names.len() - 2));
            fs::rename(world.path("elsewhere"), moved).expect("our own file");
            world.write("d/-dash", vec![10; 10 * 10 * 100]);
        }
    }
}

/// Four counts of `hashdeep -a -vv`: unchanged, moved, unknown, and missing files.
fn audited(done: &Done) -> [u64; 4] {
    ["Files matched", "Files moved", "New files found", "Known files not found"].map(|what| {
        let line = done.text().lines().find(|line| line.trim_start().starts_with(what)).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("no {what:?} in {done:?}"));
        line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    })
}

/// We read all names of its files, and our audit agrees with its own.
#[test]
fn matches_hashdeep_on_difficult_names() {
    if !here("hashdeep", "-V") {
        return;
    }
    for functions in ["md5", "sha1", "sha256", "md5,sha1,sha256,tiger,whirlpool"] {
        let world = difficult_names(&NAMES);
        let count = files(&world).len() as u64;
        let walk = ["-r", "-l", "-o", "f", "-c", functions];
        world.write("known", world.run("hashdeep".as_ref(), [&walk[..], &["d"]].concat(), b"").out);
        let both = || {
            let audit = [&walk[..], &["-a", "-vv", "-k", "known", "d"]].concat();
            let expected = world.run("hashdeep".as_ref(), audit, b"");
            let actual = world.sum(["--audit", "known", "--json", "d"]);
            let last = actual.text().lines().last().map(str::to_owned).unwrap_or_default();
            let summary: serde_json::Value = serde_json::from_str(&last).expect("JSON");
            let of =
                |what: &str| summary["summary"][what].as_u64().unwrap_or_else(|| panic!("{what}: {last}"));
            // hashdeep counts a changed file as one new and one missing file.
            let numbers = [of("same"), of("moved"), of("new") + of("changed"), of("gone") + of("changed")];
            assert_eq!(numbers, audited(&expected), "{functions}: {actual:?}\n{expected:?}");
            assert_eq!(actual.code() == 0, expected.code() == 0, "{functions}");
            numbers
        };
        assert_eq!(both(), [count, 0, 0, 0]);
        let checked = world.sum(["--check", "--quiet", "known"]);
        assert_eq!((checked.code(), &*checked.text()), (0, ""), "{functions}: {}", checked.err);
        if functions.contains("sha256") && is_gnus("sha256sum") {
            let list = world.run("sha256sum".as_ref(), files(&world), b"").out;
            let expected = world.sum(["--audit", "known", "d"]).quiet_success();
            world.write("list", list);
            assert_eq!(world.sum(["--audit", "list", "d"]).quiet_success(), expected);
        }
        world.write("d/--check", "changed").write("d/a, b", "changed, too").write("d/new\\n", "new");
        let inside = |name: &[u8]| world.path("d").join(OsStr::from_bytes(name));
        fs::rename(inside(b"inv\xff\xfealid"), inside(b"deep/1,2,3,4/\xff\xff")).expect("our own file");
        fs::rename(inside(b"%%%% HASHDEEP-1.0"), inside(b"no files/## ,")).expect("our own file");
        fs::remove_file(inside(b"x) = y")).expect("our own file");
        assert_eq!(both(), [count - 5, 2, 3, 3]);
    }
}
