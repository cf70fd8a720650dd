//! `--check`: accepted and refused lines, and messages.

use crate::world::{World, digest};

/// A world with files `f` ("foo") and `g` ("bar") and their digests.
fn world() -> (World, String, String) {
    let world = World::new();
    world.write("f", "foo").write("g", "bar");
    (world, digest(b"foo"), digest(b"bar"))
}

const MISMATCH: &str = "WARNING: 1 computed checksum did NOT match";

#[test]
fn reads_every_written_format() {
    let (world, ..) = world();
    let names = ["f", "g", "a  b", "x) = y", " ", "#", "*s", "-f"];
    for name in names {
        world.write(name, name);
    }
    for style in [&[][..], &["--tag"], &["-z"], &["--tag", "-z"]] {
        let list = world.sum(style.iter().chain(&["--"]).chain(&names));
        assert_eq!(list.code(), 0);
        let zero: &[&str] = if style.contains(&"-z") { &["-z"] } else { &[] };
        let checked = world.sum_with(zero.iter().chain(&["--check"]), &list.out);
        let end = if zero.is_empty() { "\n" } else { "\0" };
        let expected: String = names.iter().map(|name| format!("{name}: OK{end}")).collect();
        assert_eq!(checked.quiet_success(), expected, "{style:?}");
    }
}

#[test]
fn reports_mismatches_and_missing_files() {
    let (world, foo, _) = world();
    world.write("list", format!("{foo}  f\n{foo}  g\n{foo}  none\n{foo}  f\n"));
    let warnings = [MISMATCH, "WARNING: 1 listed file does not exist"];
    let missing = "none: FAILED (No such file or directory (os error 2))\n";
    let out = world.sum(["--check", "list"]).failure(1, &warnings);
    assert_eq!(out, format!("f: OK\ng: FAILED\n{missing}f: OK\n"));
    let out = world.sum(["--check", "--quiet", "list"]).failure(1, &warnings);
    assert_eq!(out, format!("g: FAILED\n{missing}"));
    assert_eq!(world.sum(["--check", "--status", "list"]).failure(1, &[]), "");
    let out = world.sum(["--check", "--ignore-missing", "list"]).failure(1, &[MISMATCH]);
    assert_eq!(out, "f: OK\ng: FAILED\nf: OK\n");
}

#[test]
fn continues_after_unreadable_lists() {
    let (world, foo, bar) = world();
    world.write("l", format!("{foo}  f\n")).write("m", format!("{bar}  g\n"));
    assert_eq!(world.sum(["-c", "l", "m"]).quiet_success(), "f: OK\ng: OK\n");
    let out =
        world.sum(["-c", "l", "none", "m"]).failure(1, &["none: No such file or directory (os error 2)"]);
    assert_eq!(out, "f: OK\ng: OK\n");
    world.write("d/x", "");
    let out = world.sum(["-c", "d", "m"]).failure(1, &["d: Is a directory (os error 21)"]);
    assert_eq!(out, "g: OK\n");
}

#[test]
fn empty_list_is_a_failure() {
    let (world, foo, _) = world();
    world.write("empty", "").write("comments", "# nothing\n\n").write("l", format!("{foo}  f\n"));
    assert_eq!(world.sum(["-c", "empty"]).failure(1, &["empty: no checksum lines found"]), "");
    let out = world.sum(["-c", "none", "empty", "l", "comments"]).failure(
        1,
        &[
            "none: No such file or directory (os error 2)",
            "empty: no checksum lines found",
            "comments: no checksum lines found",
            "comments: WARNING: accepted comment: 1, blank line: 1; see --warn and --strict",
        ],
    );
    assert_eq!(out, "f: OK\n");
}

#[test]
fn ignoring_all_files_is_a_failure() {
    let (world, foo, _) = world();
    world.write("list", format!("{foo}  none\n"));
    let out = world.sum(["-c", "--ignore-missing", "list"]).failure(1, &["list: no file was verified"]);
    assert_eq!(out, "");
}

#[test]
fn handles_unusual_lines_by_flags() {
    let (world, foo, bar) = world();
    let upper = foo.to_uppercase();
    let list = format!("# made by hand\n\n{upper}  f\n{bar} *g\r\n{foo} f\nBLAKE3 (g) = {bar}\n");
    world.write("list", list);
    let done = world.sum(["-c", "list"]);
    let out = done.failure(
        0,
        &["list: WARNING: accepted comment: 1, blank line: 1, uppercase digest: 1, \
           binary mark (*) before the name: 1, one space before the name: 1; see --warn and --strict"],
    );
    assert_eq!(out, "f: OK\ng: OK\nf: OK\ng: OK\n");
    let out = world.sum(["-c", "--warn", "list"]).failure(
        0,
        &[
            "list:1: WARNING: comment",
            "list:2: WARNING: blank line",
            "list:3: WARNING: uppercase digest",
            "list:4: WARNING: binary mark (*) before the name",
            "list:5: WARNING: one space before the name",
        ],
    );
    assert_eq!(out, "f: OK\ng: OK\nf: OK\ng: OK\n");
    let out = world.sum(["-c", "--strict", "list"]).failure(
        1,
        &[
            "list:1: comment (--strict)",
            "list:2: blank line (--strict)",
            "list:3: uppercase digest (--strict)",
            "list:4: binary mark (*) before the name (--strict)",
            "list:5: one space before the name (--strict)",
            "WARNING: 5 lines were refused",
        ],
    );
    assert_eq!(out, "g: OK\n", "only the line that a sum program writes");
    assert_eq!(world.sum(["-c", "--strict", "--status", "list"]).failure(1, &[]), "");
}

#[test]
fn malformed_lines_have_a_position_and_reason() {
    let (world, foo, _) = world();
    let short = &foo[..42];
    let mut list =
        format!("hello\n{short}  f\n{foo}  \n\\{foo}  a\\t\n{foo}  a\u{fffd}\nMD5 (f) = {foo}\n{foo}  f\n")
            .into_bytes();
    list.extend(b"\xff\xff\n");
    list.extend(vec![b'x'; 100_000]);
    list.extend(b"\n");
    list.extend(format!("{foo}  a\0b").as_bytes());
    world.write("list", list);
    let out = world.sum(["-c", "list"]).failure(
        1,
        &[
            "list:1: neither `DIGEST  NAME` nor `ALGORITHM (NAME) = DIGEST`",
            "list:2: the digest has 42 hex digits, as that of no function known here; see --length",
            "list:3: empty name",
            r"list:4: invalid escape in the name; valid are \\, \n and \r",
            "list:5: U+FFFD in the name stands for bytes that are lost; make the list with --zero",
            "list:6: the digest has 64 hex digits, not 32",
            "list:8: neither `DIGEST  NAME` nor `ALGORITHM (NAME) = DIGEST`",
            "list:9: longer than 65536 bytes",
            "list:10: NUL in the name",
            "WARNING: 9 lines are malformed",
        ],
    );
    assert_eq!(out, "f: OK\n");
    world.write("wide", b"\xff\xfea\0b\0");
    let no_checksum = "WARNING: 1 line is malformed";
    world.sum(["-c", "wide"]).failure(1, &["wide:1: UTF-16 text; convert the list to UTF-8", no_checksum]);
}

#[test]
fn list_on_standard_input_cannot_name_it() {
    let (world, foo, _) = world();
    let list = format!("{foo}  -\n{foo}  f\n");
    let unread = "WARNING: 1 listed file could not be read";
    let out = world.sum_with(["-c", "-"], list.as_bytes()).failure(1, &[unread]);
    assert_eq!(out, "-: FAILED (standard input is the list itself)\nf: OK\n");
    world.write("list", list);
    assert_eq!(world.sum_with(["-c", "list"], b"foo").quiet_success(), "-: OK\nf: OK\n");
}

#[test]
fn check_supports_seek() {
    let (world, ..) = world();
    let list = world.sum(["--seek", "1000", "f", "g"]).out;
    assert_eq!(world.sum_with(["-c", "--seek", "1000"], &list).quiet_success(), "f: OK\ng: OK\n");
    assert_eq!(world.sum_with(["-c", "--seek", "999"], &list).code(), 1);
    assert_eq!(world.sum_with(["-c"], &list).code(), 1);
}

#[test]
fn json() {
    let (world, foo, _) = world();
    world.write("list", format!("{foo}  f\n{foo}  g\n{foo}  none\nhello\n{foo}  .\n"));
    let done = world.sum(["-c", "--json", "list"]);
    assert_eq!(done.code(), 1);
    let objects: Vec<serde_json::Value> =
        done.text().lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let expected = serde_json::json!([
        { "list": "list", "line": 1, "path": "f", "status": "ok", "algorithm": "blake3" },
        { "list": "list", "line": 2, "path": "g", "status": "failed" },
        { "list": "list", "line": 3, "path": "none", "status": "missing", "error": "No such file or directory (os error 2)" },
        { "list": "list", "line": 4, "status": "malformed", "error": "neither `DIGEST  NAME` nor `ALGORITHM (NAME) = DIGEST`" },
        { "list": "list", "line": 5, "path": ".", "status": "unreadable", "error": "Is a directory (os error 21)" },
    ]);
    assert_eq!(serde_json::Value::from(objects), expected);
}

#[test]
fn long_lists_keep_their_order() {
    let world = World::new();
    let mut list = String::new();
    let mut expected = String::new();
    for n in 0..3000 {
        let bytes = vec![n as u8; n];
        let name = format!("d/{n}");
        world.write(&name, &bytes);
        let right = n % 7 != 0;
        list += &format!("{}  {name}\n", if right { digest(&bytes) } else { digest(b"other") });
        expected += &format!("{name}: {}\n", if right { "OK" } else { "FAILED" });
    }
    let done = world.sum_with(["--check"], list.as_bytes());
    assert_eq!(done.failure(1, &["WARNING: 429 computed checksums did NOT match"]), expected);
}

/// Names in a list are often relative to its directory.
#[test]
fn hints_at_files_beside_the_list() {
    let world = World::new();
    world.write("usb/a", "a").write("usb/b", "b");
    let line = |name: &str| format!("{}  {name}\n", digest(name.as_bytes()));
    world.write("usb/SUMS", line("a") + &line("b"));
    let hint = "usb/SUMS: its files are in the directory of the list: check it in usb";
    let done = world.sum(["-c", "usb/SUMS"]);
    assert!(done.err.contains(hint), "{}", done.err);
    // If one file exists here, there is no hint.
    world.write("b", "b");
    assert!(!world.sum(["-c", "usb/SUMS"]).err.contains("beside it"));
}
