//! `--check` of lists as they are found: of other functions, of directories, of nothing at all.

use crate::world::{Done, World, digest};

const MISMATCH: &str = "WARNING: 1 computed checksum did NOT match";

/// `count` files, with a list by BLAKE3 and one by SHA-256.
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
fn lists_of_sha256_are_known_by_name_or_by_trying() {
    // More than are asked one by one, and more than one group of them.
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
fn a_list_of_blake3_is_one_whatever_it_is_called() {
    let (world, blake3, _) = world(40);
    for name in ["list", "SHA256SUMS"] {
        world.write(name, &blake3);
        assert_eq!(world.sum(["-c", name]).quiet_success(), ok(40));
    }
}

/// A wrong file is wrong by either function, wherever it stands, and no right one is called wrong for it.
#[test]
fn what_matches_by_no_function_has_failed() {
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
        // Nothing left that could tell.
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
fn lists_of_both_kinds() {
    let (world, blake3, sha256) = world(100);
    let mixed: String = blake3.lines().zip(sha256.lines()).map(|(a, b)| format!("{a}\n{b}\n")).collect();
    world.write("mixed", &mixed);
    let out =
        world.sum(["-c", "mixed"]).failure(0, &["mixed: 100 of its digests are BLAKE3, 100 are SHA-256"]);
    assert_eq!(out.lines().filter(|line| line.ends_with(": OK")).count(), 200);
    // Tags say it, so there is nothing to be found out.
    let tagged = |algorithm| world.sum(["--tag", "--algorithm", algorithm, "d/0", "d/1"]).quiet_success();
    world.write("tagged", tagged("sha256") + &tagged("blake3"));
    assert_eq!(world.sum(["-c", "tagged"]).quiet_success(), ok(2).repeat(2));
    // A tag is no guess: the right digest by the other function is wrong.
    world.write("tagged", tagged("sha256").replace("SHA256", "BLAKE3"));
    let done = world.sum(["-c", "tagged"]);
    assert_eq!((done.code(), done.text()), (1, ok(2).replace("OK", "FAILED")));
}

#[test]
fn what_the_user_said_is_the_last_word() {
    let (world, blake3, sha256) = world(30);
    for (list, said, other) in [(&sha256, "blake3", "SHA-256"), (&blake3, "sha256", "BLAKE3")] {
        world.write("list", list);
        let hint = format!("list:1: matches as {other}; see --algorithm");
        let out = world
            .sum(["-c", "--algorithm", said, "list"])
            .failure(1, &[&hint, "WARNING: 30 computed checksums did NOT match"]);
        assert_eq!(out, ok(30).replace("OK", "FAILED"));
    }
    world.write("list", world.sum(["--tag", "d/0"]).text());
    world
        .sum(["-c", "--algorithm", "sha256", "list"])
        .failure(1, &["list:1: tagged BLAKE3; see --algorithm", "WARNING: 1 line is no checksum"]);
}

#[test]
fn standard_input_is_there_once() {
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
fn digests_of_other_programs_are_named() {
    let (world, ..) = world(1);
    for (digits, name, program) in [
        (32, "MD5", "md5sum"),
        (40, "SHA-1", "sha1sum"),
        (56, "SHA-224", "sha224sum"),
        (96, "SHA-384", "sha384sum"),
        (128, "SHA-512", "sha512sum"),
    ] {
        let line = format!("{}  d/0\n", "ab".repeat(digits / 2));
        world.write("list", line.repeat(50));
        world.sum(["-c", "list"]).failure(
            1,
            &[&format!("list: a list of {name} digests, which are not known here; see {program}")],
        );
        world.write("list", line);
        let done = world.sum(["-c", "list"]);
        assert!(done.err.contains(&format!("{name} (see {program})")), "{}", done.err);
    }
    world.write("list", world.sum(["--json", "d/0"]).out);
    world.sum(["-c", "list"]).failure(
        1,
        &[
            "list:1: JSON, which cannot be checked; make lists without --json",
            "WARNING: 1 line is no checksum",
        ],
    );
}

#[test]
fn a_file_that_is_no_list_is_said_to_be_none() {
    let (world, blake3, _) = world(3);
    let mut noise = Vec::new();
    for n in 0..200_000_u32 {
        noise.extend(n.wrapping_mul(2_654_435_761).to_le_bytes());
    }
    world.write("large.iso", noise).write("list", &blake3);
    world.write("poem", "roses are red\n".repeat(1000));
    let none = |done: Done, name: &str| {
        assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{}", done.err);
        let start =
            format!("hashmill: {name}: no list of checksums: not one of its first 10 lines is one; line 1: ");
        assert!(done.err.starts_with(&start), "{}", done.err);
        done.text()
    };
    assert_eq!(none(world.sum(["-c", "large.iso", "list"]), "large.iso"), ok(3), "the others are checked");
    assert_eq!(none(world.sum(["-c", "--json", "poem"]), "poem"), "");
    // Nothing but odd lines at the beginning does not make a list none.
    let comments = "# a word\n\n".repeat(50);
    world.write("long", format!("{comments}{}{blake3}", "oops\n".repeat(9)));
    let done = world.sum(["-c", "long"]);
    assert_eq!((done.code(), done.text()), (1, ok(3)));
    assert_eq!(done.err.matches("neither `DIGEST").count(), 9, "{}", done.err);
    // Nor does a list that goes on as something else fill the screen.
    world.write("tail", format!("{blake3}{}", "roses are red\n".repeat(1000)));
    let done = world.sum(["-c", "tail"]);
    assert_eq!((done.code(), done.text()), (1, ok(3)));
    assert_eq!(done.err.lines().count(), 22, "{}", done.err);
    assert!(done.err.contains("tail: further lines that are no checksums are only counted\n"));
    assert!(done.err.ends_with("hashmill: WARNING: 1000 lines are no checksums\n"), "{}", done.err);
}

#[test]
fn kinds_of_failure_are_counted_apart() {
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
            "WARNING: 1 line is no checksum",
            "WARNING: 1 line was refused",
        ],
    );
    // Over all lists together, and each of them has its hints.
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
            "WARNING: 2 lines are no checksums",
        ],
    );
    assert_eq!(world.sum(["-c", "--status", "list"]).failure(1, &[]), "");
}
