//! `--check` of foreign lists: other hash functions, directories, and files that are not lists.

use crate::world::{Done, World, digest, is_gnus};

const MISMATCH: &str = "WARNING: 1 computed checksum did NOT match";

/// `count` files, with a list of BLAKE3 and one of SHA-256.
fn world(count: usize) -> (World, String, String) {
    let world = World::new();
    let names: Vec<String> = (0..count).map(|n| format!("d/{n}")).collect();
    for name in &names {
        world.write(name, name);
    }
    let list = |algorithm: &str| {
        let flags = ["--algorithm", algorithm].map(str::to_owned);
        world.sum(flags.iter().chain(&names)).quiet_success()
    };
    let (blake3, sha256) = (list("blake3"), list("sha256"));
    (world, blake3, sha256)
}

fn ok(count: usize) -> String {
    (0..count).map(|n| format!("d/{n}: OK\n")).collect()
}

#[test]
fn detects_sha256_lists() {
    // More files than are checked one by one, and more than one batch.
    for count in [1, 3, 200] {
        let (world, _, sha256) = world(count);
        for name in ["SHA256SUMS", "list", "B3SUMS"] {
            world.write(name, &sha256);
            let out = world.sum(["-c", name]).failure(0, &[&format!("{name}: its digests are SHA-256")]);
            assert_eq!(out, ok(count));
            world.sum(["-c", "--quiet", name]).failure(0, &[]);
            assert_eq!(world.sum(["-c", "--algorithm", "sha256", name]).quiet_success(), ok(count));
        }
        let out = world.sum_with(["-c"], sha256.as_bytes()).failure(0, &["-: its digests are SHA-256"]);
        assert_eq!(out, ok(count));
        let text = world.sum(["-c", "--json", "list"]).text();
        assert!(text.lines().all(|line| line.contains(r#""status":"ok","algorithm":"sha256""#)), "{text}");
    }
}

#[test]
fn detects_blake3_lists_with_any_name() {
    let (world, blake3, _) = world(40);
    for name in ["list", "SHA256SUMS"] {
        world.write(name, &blake3);
        assert_eq!(world.sum(["-c", name]).quiet_success(), ok(40));
    }
}

/// As rclone writes with `--base64`, and coreutils' `cksum` with the other alphabet. Each list has one function.
#[test]
fn reads_base64_lists() {
    let world = World::new();
    world.write("f", "foo").write("a  b", "foo");
    for (digest, what) in [
        ("LCa0a2j_xo_5m0U8HTBBNBNCLXBkg7-g-YpeiGJm564=", "SHA-256"),
        ("LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564=", "SHA-256"),
        (
            "9_u6bgY2-JDlb7vzKD5STG-jIErimDgtYkdB0NxmODJuKCxBvl5CVNiCB3LFUYosWowMf37aGVlKfrU5RT4e1w==",
            "SHA-512",
        ),
        (
            "C-7Hteo_D9vJXQ3UfzxbwnXaijM=",
            "SHA-1; SHA-1 detects accidental changes, but an attacker can make files that match",
        ),
        (
            "rL0Y20zC-Fzt72VPzMSk2A==",
            "MD5; MD5 detects accidental changes, but an attacker can make files that match",
        ),
    ] {
        world.write("list", format!("{digest}  f\n{digest}  a  b\n"));
        for flags in [&["-c", "list"][..], &["-c", "--strict", "list"]] {
            let out = world.sum(flags).failure(0, &[&format!("list: its digests are {what}")]);
            assert_eq!(out, "f: OK\na  b: OK\n", "{digest}");
        }
        world.write("f", "other");
        let done = world.sum(["-c", "list"]);
        assert_eq!((done.code(), &*done.text()), (1, "f: FAILED\na  b: OK\n"), "{digest}");
        world.write("f", "foo");
    }
    let cut = "LCa0a2j_xo_5m0U8HTBBNBNCLXBkg7-g-YpeiGJm5w==  f\n";
    let neither = "-:1: neither `DIGEST  NAME` nor `ALGORITHM (NAME) = DIGEST`";
    world.sum_with(["-c"], cut.as_bytes()).failure(1, &[neither, "WARNING: 1 line is malformed"]);
}

/// A wrong file fails by either function at any position, and no right file fails because of it.
#[test]
fn file_without_a_match_fails() {
    let (world, blake3, sha256) = world(100);
    for list in [&blake3, &sha256] {
        for wrong in [0, 1, 50, 99] {
            world.write("list", list).write(format!("d/{wrong}"), "changed");
            let done = world.sum(["-c", "list"]);
            let expected = ok(100).replace(&format!("d/{wrong}: OK"), &format!("d/{wrong}: FAILED"));
            assert_eq!((done.code(), done.text()), (1, expected));
            assert!(done.err.ends_with(&format!("hashmill: {MISMATCH}\n")), "{}", done.err);
            world.write(format!("d/{wrong}"), format!("d/{wrong}"));
        }
        // No evidence is left.
        for n in 0..100 {
            world.write(format!("d/{n}"), "changed");
        }
        let out = world.sum(["-c", "list"]).failure(1, &["WARNING: 100 computed checksums did NOT match"]);
        assert_eq!(out, ok(100).replace("OK", "FAILED"));
        for n in 0..100 {
            world.write(format!("d/{n}"), format!("d/{n}"));
        }
    }
}

#[test]
fn reads_mixed_lists() {
    let (world, blake3, sha256) = world(100);
    let mixed: String = blake3.lines().zip(sha256.lines()).map(|(a, b)| format!("{a}\n{b}\n")).collect();
    world.write("mixed", &mixed);
    let out =
        world.sum(["-c", "mixed"]).failure(0, &["mixed: 100 of its digests are BLAKE3, 100 are SHA-256"]);
    assert_eq!(out.lines().filter(|line| line.ends_with(": OK")).count(), 200);
    // Tags name the function, so nothing is detected.
    let tagged = |algorithm| world.sum(["--tag", "--algorithm", algorithm, "d/0", "d/1"]).quiet_success();
    world.write("tagged", tagged("sha256") + &tagged("blake3"));
    assert_eq!(world.sum(["-c", "tagged"]).quiet_success(), ok(2).repeat(2));
    // A tag is binding: the right digest by the other function is wrong.
    world.write("tagged", tagged("sha256").replace("SHA256", "BLAKE3"));
    let done = world.sum(["-c", "tagged"]);
    assert_eq!((done.code(), done.text()), (1, ok(2).replace("OK", "FAILED")));
}

#[test]
fn requested_function_overrides_detection() {
    let (world, blake3, sha256) = world(30);
    for (list, requested, other) in [(&sha256, "blake3", "SHA-256"), (&blake3, "sha256", "BLAKE3")] {
        world.write("list", list);
        let hint = format!("list:1: matches as {other}; see --algorithm");
        let out = world
            .sum(["-c", "--algorithm", requested, "list"])
            .failure(1, &[&hint, "WARNING: 30 computed checksums did NOT match"]);
        assert_eq!(out, ok(30).replace("OK", "FAILED"));
    }
    world.write("list", world.sum(["--tag", "d/0"]).text());
    world
        .sum(["-c", "--algorithm", "sha256", "list"])
        .failure(1, &["list:1: tagged BLAKE3; see --algorithm", "WARNING: 1 line is malformed"]);
}

#[test]
fn standard_input_is_read_once() {
    let (world, ..) = world(1);
    let list = world.sum_with(["--algorithm", "sha256", "-"], b"x").quiet_success();
    world.write("SHA256SUMS", &list).write("list", &list);
    world.sum_with(["-c", "SHA256SUMS"], b"x").failure(0, &["SHA256SUMS: its digests are SHA-256"]);
    let hint = "list: standard input was taken as BLAKE3; see --algorithm";
    assert_eq!(world.sum_with(["-c", "list"], b"x").failure(1, &[hint, MISMATCH]), "-: FAILED\n");
    let tagged = world.sum_with(["--algorithm", "sha256", "--tag", "-"], b"x").quiet_success();
    world.write("list", tagged);
    assert_eq!(world.sum_with(["-c", "list"], b"x").quiet_success(), "-: OK\n");
}

#[test]
fn names_unsupported_digests() {
    let (world, ..) = world(1);
    for (digits, name, program) in [(56, "SHA-224", "sha224sum"), (96, "SHA-384", "sha384sum")] {
        let line = format!("{}  d/0\n", "ab".repeat(digits / 2));
        world.write("list", line.repeat(50));
        world.sum(["-c", "list"]).failure(
            1,
            &[&format!("list: a list of {name} digests, which are not supported; see {program}")],
        );
        world.write("list", line);
        let done = world.sum(["-c", "list"]);
        assert!(done.err.contains(&format!("{name} (see {program})")), "{}", done.err);
    }
    world.write("list", "RMD160 (d/0) = 00\n");
    let reason = "list:1: a digest of RIPEMD-160, which is not known here; see rhash";
    world.sum(["-c", "list"]).failure(1, &[reason, "WARNING: 1 line is malformed"]);
    // Two more functions have as many digits as SHA-512.
    world.write("list", format!("{}  d/0\n", "ab".repeat(64)));
    let done = world.sum(["-c", "list"]);
    assert!(done.err.contains("taken as SHA-512; digests of BLAKE2b (see b2sum)"), "{}", done.err);
}

/// The programs that write such lists are the oracle.
#[test]
fn checks_gnu_lists_of_every_function() {
    for (program, flag, name) in
        [("sha512sum", "sha512", "SHA-512"), ("sha1sum", "sha1", "SHA-1"), ("md5sum", "md5", "MD5")]
    {
        // More than one batch of files, and a file that is read in pieces.
        let (world, ..) = world(100);
        world.write("d/large", vec![7; 3_000_000]);
        let names: Vec<String> = (0..100).map(|n| format!("d/{n}")).chain(["d/large".to_owned()]).collect();
        if !is_gnus(program) {
            hashmill_testkit::skip("lists of GNU's programs", &format!("no {program} of GNU's here"));
            return;
        }
        let list = world.run(program.as_ref(), &names, b"").quiet_success();
        let tagged = world.run(program.as_ref(), ["--tag", "d/1"], b"").quiet_success();
        assert_eq!(
            world.sum(["--algorithm", flag].into_iter().chain(names.iter().map(|n| &**n))).quiet_success(),
            list
        );
        assert_eq!(world.sum(["--algorithm", flag, "--tag", "d/1"]).quiet_success(), tagged);
        world.write("list", &list).write("tagged", tagged);
        let weak = format!("{name} detects accidental changes, but an attacker can make files that match");
        let broken = name != "SHA-512";
        let message = if broken {
            format!("list: its digests are {name}; {weak}")
        } else {
            format!("list: its digests are {name}")
        };
        let out = world.sum(["-c", "list"]).failure(0, &[&message]);
        assert_eq!(out, ok(100) + "d/large: OK\n");
        assert_eq!(world.sum(["-c", "--algorithm", flag, "list"]).quiet_success(), out);
        let warning = format!("tagged: {weak}");
        let messages: &[&str] = if broken { &[&warning] } else { &[] };
        assert_eq!(world.sum(["-c", "tagged"]).failure(0, messages), "d/1: OK\n");
        // Both kinds of failure.
        world.write("d/7", "changed");
        std::fs::remove_file(world.path("d/8")).expect("our own file");
        let done = world.sum(["-c", "-q", "list"]);
        assert_eq!(done.code(), 1);
        assert!(done.text().starts_with("d/7: FAILED\nd/8: FAILED ("), "{}", done.text());
    }
}

#[test]
fn checks_its_own_output() {
    let world = World::new();
    world.write("f", "foo").write("d/g", vec![1; 300_000]).write("d/sub/h", "").write("key", [7; 32]);
    let key = [7; 32];
    // Parameters in the list that the flags of the check do not repeat.
    for (function, checked) in [
        (&["-l", "64"][..], &["-l", "64"][..]),
        (&["-l", "20"], &["-l", "20"]),
        (&["-l", "1000", "--seek", "5"], &["-l", "1000", "--seek", "5"]),
        (&["--derive-key", "c"], &["--derive-key", "c"]),
        (&["--keyed"], &["--keyed"]),
        (&["--keyed", "-l", "40"], &["--keyed", "-l", "40"]),
        (&["--algorithm", "sha256"], &[]),
        (&["--algorithm", "sha512"], &[]),
    ] {
        let input = |flags: &[&str]| if flags.contains(&"--keyed") { &key[..] } else { b"" };
        for form in [&[][..], &["--tag"], &["--json"], &["-z"]] {
            let list = world.sum_with([function, form, &["f", "d/g"]].concat(), input(function));
            assert_eq!(list.code(), 0, "{}", list.err);
            world.write("list", &list.out);
            let zero: &[&str] = if form == ["-z"] { &["-z"] } else { &[] };
            let done = world.sum_with([&["-c", "list"], checked, zero].concat(), input(checked));
            let expected = if zero.is_empty() { "f: OK\nd/g: OK\n" } else { "f: OK\0d/g: OK\0" };
            assert_eq!((done.code(), &*done.text()), (0, expected), "{function:?} {form:?}: {}", done.err);
            world.write("f", "bar");
            let done = world.sum_with([&["-c", "list"], checked, zero].concat(), input(checked));
            assert_eq!(done.code(), 1, "{function:?} {form:?}");
            assert!(done.text().contains("f: FAILED"), "{}", done.text());
            world.write("f", "foo");
            if !checked.is_empty() {
                let plain = world.sum([&["-c", "list"], zero].concat());
                assert_eq!(plain.code(), 1, "{function:?} {form:?} without the flags");
            }
        }
    }
    for form in [&[][..], &["--tag"], &["--json"], &["-z"]] {
        let list = world.sum([&["--tree", "d", "f"], form].concat());
        world.write("list", list.quiet_success());
        let zero: &[&str] = if form == ["-z"] { &["-z"] } else { &[] };
        let done = world.sum([&["-c", "list"], zero].concat());
        assert_eq!((done.code(), &*done.err), (0, ""), "{form:?}");
        world.write("d/sub/h", "x");
        assert_eq!(world.sum([&["-c", "list"], zero].concat()).code(), 1);
        world.write("d/sub/h", "");
    }
}

#[test]
fn json_lists_name_their_parameters() {
    let world = World::new();
    world.write("f", "foo");
    let broken = "WARNING: 1 line is malformed";
    for (args, reason) in [
        (&["-l", "64"][..], "the digest has 128 hex digits, not 64"),
        (&["--seek", "9"], "output from byte 9 on; see --seek"),
        (&["--derive-key", "c"], "a derived key; see --derive-key"),
    ] {
        let list = world.sum([args, &["--json", "f"]].concat()).quiet_success();
        world.write("list", list);
        world.sum(["-c", "list"]).failure(1, &[&format!("list:1: {reason}"), broken]);
    }
    // A file that could not be hashed then is ignored now.
    let list = world.sum(["--json", "f", "none"]);
    world.write("list", list.out);
    let accepted = "list: WARNING: accepted file that could not be hashed: 1; see --warn and --strict";
    assert_eq!(world.sum(["-c", "list"]).failure(0, &[accepted]), "f: OK\n");
    world.write("list", "{\"status\": \"ok\"}\n");
    let json = "list:1: JSON, but no object with path, algorithm and digest as --json writes it";
    world.sum(["-c", "list"]).failure(1, &[json, broken]);
}

#[test]
fn signed_lists_are_checked_without_trust() {
    let (world, blake3, _) = world(3);
    let signed = format!(
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{blake3}\n-----BEGIN PGP SIGNATURE-----\n\n\
         iQIzBAEBCgAdFiEE\n=abcd\n-----END PGP SIGNATURE-----\n"
    );
    world.write("list.asc", &signed);
    let messages = [
        "list.asc: the signature was not verified; see gpg --verify",
        "list.asc: WARNING: accepted blank line: 1; see --warn and --strict",
    ];
    assert_eq!(world.sum(["-c", "list.asc"]).failure(0, &messages), ok(3));
    world.write("d/1", "changed");
    assert_eq!(world.sum(["-c", "list.asc"]).code(), 1);
}

#[cfg(unix)]
#[test]
fn reads_non_utf8_names_as_gnu_writes_them() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let names = [&b"a\xffb"[..], b"\xfe\n\\", b"d/\x80"].map(std::ffi::OsStr::from_bytes);
    for name in names {
        world.write(name, name.as_bytes());
    }
    if !is_gnus("sha256sum") {
        hashmill_testkit::skip("names as GNU writes them", "no sha256sum of GNU's here");
        return;
    }
    let expected = world.run("sha256sum".as_ref(), names, b"");
    let actual = world.sum(["--algorithm", "sha256"].map(std::ffi::OsStr::new).into_iter().chain(names));
    assert_eq!((actual.code(), &*actual.err), (0, ""));
    assert_eq!(actual.out, expected.out);
    world.write("SUMS", &actual.out);
    let done = world.sum(["-c", "--algorithm", "sha256", "SUMS"]);
    assert_eq!((done.code(), &*done.err), (0, ""));
    assert_eq!(done.out.iter().filter(|byte| **byte == b'\n').count(), 3);
}

#[test]
fn reports_files_that_are_not_lists() {
    let (world, blake3, _) = world(3);
    let mut noise = Vec::new();
    for n in 0..200_000_u32 {
        noise.extend(n.wrapping_mul(2_654_435_761).to_le_bytes());
    }
    world.write("large.iso", noise).write("list", &blake3);
    world.write("poem", "roses are red\n".repeat(1000));
    let none = |done: Done, name: &str| {
        assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{}", done.err);
        let start = format!(
            "hashmill: {name}: not a checksum list: none of its first 10 lines is a checksum; line 1: "
        );
        assert!(done.err.starts_with(&start), "{}", done.err);
        done.text()
    };
    assert_eq!(none(world.sum(["-c", "large.iso", "list"]), "large.iso"), ok(3), "the others are checked");
    assert_eq!(none(world.sum(["-c", "--json", "poem"]), "poem"), "");
    // Unusual lines at the start do not disqualify a list.
    let comments = "# a word\n\n".repeat(50);
    world.write("long", format!("{comments}{}{blake3}", "oops\n".repeat(9)));
    let done = world.sum(["-c", "long"]);
    assert_eq!((done.code(), done.text()), (1, ok(3)));
    assert_eq!(done.err.matches("neither `DIGEST").count(), 9, "{}", done.err);
    // A list that continues as something else prints a limited number of lines.
    world.write("tail", format!("{blake3}{}", "roses are red\n".repeat(1000)));
    let done = world.sum(["-c", "tail"]);
    assert_eq!((done.code(), done.text()), (1, ok(3)));
    assert_eq!(done.err.lines().count(), 22, "{}", done.err);
    assert!(done.err.contains("tail: further malformed lines are only counted\n"));
    assert!(done.err.ends_with("hashmill: WARNING: 1000 lines are malformed\n"), "{}", done.err);
}

#[test]
fn counts_failures_by_kind() {
    let (world, blake3, _) = world(2);
    world.write("dir/x", "");
    let (foo, upper) = (digest(b"foo"), digest(b"d/1").to_uppercase());
    world.write(
        "list",
        format!("{blake3}{foo}  d/0\n{foo}  none\n{foo}  gone\n{foo}  dir\nhello\n{upper}  d/1\n"),
    );
    let directory = "list: 1 entry is a directory; for a list made with --tree, see --tree";
    let form = "list:7: neither `DIGEST  NAME` nor `ALGORITHM (NAME) = DIGEST`";
    let done = world.sum(["-c", "--strict", "list"]);
    done.failure(
        1,
        &[
            form,
            "list:8: uppercase digest (--strict)",
            directory,
            MISMATCH,
            "WARNING: 2 listed files do not exist",
            "WARNING: 1 listed file could not be read",
            "WARNING: 1 line is malformed",
            "WARNING: 1 line was refused",
        ],
    );
    // Counts cover all lists; hints are per list.
    let done = world.sum(["-c", "list", "list", "--ignore-missing"]);
    let accepted = "list: WARNING: accepted uppercase digest: 1; see --warn and --strict";
    done.failure(
        1,
        &[
            form,
            directory,
            accepted,
            form,
            directory,
            accepted,
            "WARNING: 2 computed checksums did NOT match",
            "WARNING: 2 listed files could not be read",
            "WARNING: 2 lines are malformed",
        ],
    );
    assert_eq!(world.sum(["-c", "--status", "list"]).failure(1, &[]), "");
}
