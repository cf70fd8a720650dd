//! Commands of `hashmill doc`.

use crate::world::{Done, World, hashmill};
use hashmill_doc::sync::{State, SyncDoc as _};
use hashmill_doc::{Document, ROOT, Transactable as _};
use std::fs;

impl World {
    fn doc<const N: usize>(&self, args: [&str; N]) -> Done {
        self.doc_with(args, b"")
    }

    fn doc_with<const N: usize>(&self, args: [&str; N], input: &[u8]) -> Done {
        self.run(&hashmill(), ["doc"].into_iter().chain(args), input)
    }

    /// A document with values of all types.
    fn note(&self) -> &World {
        let json = br#"{"title":"Hi","body":{"__type":"text","value":"one two"},"list":[1,{"a":null}],"n":{"__type":"counter","value":3}}"#;
        self.doc_with(["import", "-", "-o", "note.amrg", "--tagged"], json).quiet_success();
        self
    }

    fn export(&self, file: &str) -> String {
        self.doc(["export", file]).quiet_success()
    }
}

#[test]
fn edits_and_reads_a_document() {
    let world = World::new();
    world.doc(["new", "n.amrg"]).quiet_success();
    assert_eq!(world.export("n.amrg"), "{}\n");
    let flags = ["-m", "a title", "--actor", "ab", "--time", "1"];
    let [m, message, a, actor, t, time] = flags;
    world.doc(["put", "n.amrg", "/title", "\"Hi\"", m, message, a, actor, t, time]).quiet_success();
    world.doc(["put", "n.amrg", "/body", "Hello", "--text"]).quiet_success();
    world.doc(["splice", "n.amrg", "/body", "5", "0", ", wörld"]).quiet_success();
    world.doc(["splice", "n.amrg", "/body", "0", "1", "--", "-h"]).quiet_success();
    world.doc(["mark", "n.amrg", "/body", "0", "3", "bold"]).quiet_success();
    world.doc(["put", "n.amrg", "/list", "[1, 2]"]).quiet_success();
    world.doc(["put", "n.amrg", "/list/-", "-3"]).quiet_success();
    world.doc(["put", "n.amrg", "/list/1", "9"]).quiet_success();
    world.doc(["put", "n.amrg", "/list/0", "-- x", "--string", "--insert"]).quiet_success();
    let all = r#"{"body":"-hello, wörld","list":["-- x",1,9,-3],"title":"Hi"}"#;
    assert_eq!(world.export("n.amrg"), format!("{all}\n"));
    assert_eq!(world.doc(["get", "n.amrg", ""]).quiet_success(), format!("{all}\n"));
    assert_eq!(world.doc(["get", "n.amrg", "/list/2"]).quiet_success(), "9\n");
    assert_eq!(world.doc(["get", "n.amrg", "/body", "--raw"]).quiet_success(), "-hello, wörld");
    world.doc(["delete", "n.amrg", "/list/1"]).quiet_success();
    assert_eq!(world.doc(["get", "n.amrg", "/list"]).quiet_success(), "[\"-- x\",9,-3]\n");

    let log = world.doc(["log", "n.amrg"]).quiet_success();
    let first = log.lines().last().expect("changes");
    assert!(first.ends_with("  1970-01-01T00:00:01Z  ab/1  1 operation  a title"), "{first}");
    let json = world.doc(["log", "n.amrg", "--json"]).quiet_success();
    let changes: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(changes.len(), log.lines().count());
    let first = changes.last().expect("changes");
    assert_eq!(
        (&first["actor"], &first["time"], &first["message"]),
        (&"ab".into(), &1.into(), &"a title".into())
    );
    let hash = first["hash"].as_str().expect("a hash");
    assert_eq!(world.doc(["export", "n.amrg", "--at", &hash[..12]]).quiet_success(), "{\"title\":\"Hi\"}\n");
    let shown = world.doc(["show", "n.amrg", "--at", hash]).quiet_success();
    assert!(shown.contains("\nhead      ") && shown.ends_with("\n{\n  \"title\": \"Hi\"\n}\n"), "{shown}");
    let shown: serde_json::Value =
        serde_json::from_str(&world.doc(["show", "n.amrg", "--json"]).quiet_success()).expect("JSON");
    assert_eq!(shown["changes"], changes.len());
    assert_eq!((&shown["path"], &shown["value"]["list"][1]), (&"n.amrg".into(), &9.into()));
    assert_eq!(shown["heads"].as_array().map(Vec::len), Some(1));
}

#[test]
fn forks_and_merges() {
    let world = World::new();
    world.note();
    fs::copy(world.path("note.amrg"), world.path("copy.amrg")).expect("a copy");
    world.doc(["put", "note.amrg", "/title", "1", "--actor", "aa"]).quiet_success();
    world.doc(["put", "copy.amrg", "/title", "2", "--actor", "bb"]).quiet_success();
    world.doc(["splice", "copy.amrg", "/body", "7", "0", " three"]).quiet_success();
    let before = fs::read(world.path("note.amrg")).expect("a file");
    world.doc(["merge", "note.amrg", "copy.amrg", "-o", "both.amrg"]).quiet_success();
    assert_eq!(fs::read(world.path("note.amrg")).expect("a file"), before);
    world.doc(["merge", "note.amrg", "copy.amrg"]).quiet_success();
    assert_eq!(world.export("both.amrg"), world.export("note.amrg"));
    assert_eq!(world.doc(["get", "note.amrg", "/title"]).quiet_success(), "2\n");
    assert_eq!(world.doc(["get", "note.amrg", "/title", "--all"]).quiet_success(), "1\n2\n");
    assert_eq!(world.doc(["get", "note.amrg", "/body", "-r"]).quiet_success(), "one two three");
}

#[test]
fn undo_keeps_other_changes() {
    let world = World::new();
    world.note();
    world.doc(["fork", "note.amrg", "copy.amrg"]).quiet_success();
    world.doc(["put", "note.amrg", "/title", "\"Bye\""]).quiet_success();
    world.doc(["splice", "copy.amrg", "/body", "0", "3", "1"]).quiet_success();
    world.doc(["merge", "note.amrg", "copy.amrg"]).quiet_success();
    world.doc(["put", "note.amrg", "/n", "0"]).quiet_success();
    let log = world.doc(["log", "note.amrg", "--json"]).quiet_success();
    let hashes: Vec<String> = log
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["hash"].as_str().map(str::to_owned)
        })
        .collect::<Option<_>>()
        .expect("hashes");
    // The newest comes first; the order of the two before it is not fixed.
    world.doc(["undo", "note.amrg", "-m", "no"]).quiet_success();
    assert_eq!(world.doc(["get", "note.amrg", "/n"]).quiet_success(), "3\n");
    world.doc(["undo", "note.amrg", &hashes[1], &hashes[2]]).quiet_success();
    assert_eq!(world.doc(["get", "note.amrg", "/title"]).quiet_success(), "\"Hi\"\n");
    assert_eq!(world.doc(["get", "note.amrg", "/body", "-r"]).quiet_success(), "one two");
    world.doc(["undo", "note.amrg"]).quiet_success();
    assert_eq!(world.doc(["get", "note.amrg", "/title"]).quiet_success(), "\"Bye\"\n");
    assert_eq!(world.doc(["get", "note.amrg", "/body", "-r"]).quiet_success(), "1 two");

    world.doc(["put", "note.amrg", "/title", "\"Bye\""]).quiet_success();
    world.doc(["put", "note.amrg", "/title", "\"Again\""]).quiet_success();
    let before = fs::read(world.path("note.amrg")).expect("a file");
    let done = world.doc(["undo", "note.amrg", &hashes[0]]);
    assert_eq!(done.code(), 0, "{}", done.err);
    assert!(done.err.contains("no visible effect any more"), "{}", done.err);
    assert_eq!(fs::read(world.path("note.amrg")).expect("a file"), before);
    world.doc(["new", "empty.amrg"]).quiet_success();
    assert_eq!(world.doc(["undo", "empty.amrg"]).code(), 1);
    assert_eq!(world.doc(["fork", "note.amrg", "copy.amrg"]).code(), 1);
    world.doc(["fork", "note.amrg", "then.amrg", "--at", hashes.last().expect("one")]).quiet_success();
    assert_eq!(world.doc(["get", "then.amrg", "/title"]).quiet_success(), "\"Hi\"\n");
}

#[test]
fn tagged_export_round_trips() {
    let world = World::new();
    world.note();
    let tagged = world.doc(["export", "note.amrg", "--tagged"]).quiet_success();
    world.doc_with(["import", "-", "--output", "again.amrg", "--tagged"], tagged.as_bytes()).quiet_success();
    assert_eq!(world.doc(["export", "again.amrg", "--tagged"]).quiet_success(), tagged);
    let pretty = world.doc(["export", "note.amrg", "--pretty"]).quiet_success();
    let values = [&pretty, &world.export("note.amrg")]
        .map(|json| serde_json::from_str::<serde_json::Value>(json).expect("JSON"));
    assert_eq!(values[0], values[1]);
    assert!(pretty.starts_with("{\n  \"body\": \"one two\",\n"), "{pretty}");

    let flat = world.doc(["export", "note.amrg", "--flat", "--tagged"]).quiet_success();
    assert!(
        flat.ends_with(
            "\"/list/1/a\":null,\n\"/n\":{\"__type\":\"counter\",\"value\":3},\n\"/title\":\"Hi\"\n}\n"
        ),
        "{flat}"
    );
    let import = ["import", "-", "--output", "flat.amrg", "--flat", "--tagged"];
    world.doc_with(import, flat.as_bytes()).quiet_success();
    assert_eq!(world.doc(["export", "flat.amrg", "--tagged"]).quiet_success(), tagged);
    let import = ["import", "-", "--output", "bad.amrg", "--flat"];
    let reason = "standard input: /a has a value, and other pointers lead inside it";
    world.doc_with(import, br#"{"/a":1,"/a/b":2}"#).failure(1, &[reason]);
}

#[test]
fn diff_is_a_json_patch() {
    let world = World::new();
    world.note();
    fs::copy(world.path("note.amrg"), world.path("old.amrg")).expect("a copy");
    world.doc(["put", "note.amrg", "/title", "\"Ho\""]).quiet_success();
    world.doc(["splice", "note.amrg", "/body", "3", "4", "!"]).quiet_success();
    let last = world.doc(["diff", "note.amrg"]).quiet_success();
    assert_eq!(last, "[\n{\"op\":\"replace\",\"path\":\"/body\",\"value\":\"one!\"}\n]\n");
    let all = world.doc(["diff", "old.amrg", "note.amrg"]).quiet_success();
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&all).expect("a list").len(), 2);
    let log = world.doc(["log", "note.amrg"]).quiet_success();
    let first = log.lines().last().and_then(|line| line.split(' ').next()).expect("a hash");
    assert_eq!(world.doc(["diff", "note.amrg", "--from", first]).quiet_success(), all);
    let now = log.get(..10).expect("a hash");
    let back = world.doc(["diff", "note.amrg", "--to", first, "--from", now]).quiet_success();
    assert_eq!(world.doc(["diff", "note.amrg", "old.amrg"]).quiet_success(), back);

    world.write("all.json", &all).write("back.json", &back);
    world.doc(["patch", "old.amrg", "all.json", "-m", "the same"]).quiet_success();
    assert_eq!(world.export("old.amrg"), world.export("note.amrg"));
    world.doc(["patch", "old.amrg", "back.json"]).quiet_success();
    assert_eq!(world.doc(["get", "old.amrg", "/title"]).quiet_success(), "\"Hi\"\n");
    fs::copy(world.path("old.amrg"), world.path("third.amrg")).expect("a copy");
    let merge = world.doc(["diff", "third.amrg", "note.amrg", "--merge"]).quiet_success();
    assert_eq!(merge, "{\"body\":\"one!\",\"title\":\"Ho\"}\n");
    world.write("merge.json", &merge);
    world.doc(["patch", "third.amrg", "merge.json", "--merge"]).quiet_success();
    assert_eq!(world.export("third.amrg"), world.export("note.amrg"));
    world.doc(["put", "note.amrg", "/title", "null"]).quiet_success();
    let null = "/title became null, which a merge patch cannot express: there null means deletion";
    world.doc(["diff", "note.amrg", "--merge"]).failure(1, &[null]);
    world.write("merge.json", r#"{"title":null,"list":{"x":1}}"#);
    world.doc(["patch", "old.amrg", "merge.json", "--merge"]).quiet_success();
    assert_eq!(world.export("old.amrg"), "{\"body\":\"one two\",\"list\":{\"x\":1},\"n\":3}\n");

    // Patches are atomic.
    world.write("bad.json", r#"[{"op":"remove","path":"/n"},{"op":"remove","path":"/n"}]"#);
    let before = fs::read(world.path("old.amrg")).expect("a file");
    world.doc(["patch", "old.amrg", "bad.json"]).failure(1, &["old.amrg: step 1: there is nothing at /n"]);
    world
        .doc(["patch", "old.amrg", "merge.json"])
        .failure(1, &["merge.json: a patch must be a list of objects"]);
    assert_eq!(fs::read(world.path("old.amrg")).expect("a file"), before);
}

#[test]
fn diff_is_readable() {
    let world = World::new();
    world.note();
    world.doc(["fork", "note.amrg", "copy.amrg"]).quiet_success();
    world.doc(["put", "copy.amrg", "/title", "\"a\\u001bb\""]).quiet_success();
    world.doc(["splice", "copy.amrg", "/body", "0", "3", "1"]).quiet_success();
    world.doc(["mark", "copy.amrg", "/body", "2", "5", "bold"]).quiet_success();
    world.doc(["delete", "copy.amrg", "/list/1"]).quiet_success();
    world.doc(["put", "copy.amrg", "/list/0", "[]", "--insert"]).quiet_success();
    world.doc(["put", "copy.amrg", "/a~0~1b", "{}"]).quiet_success();
    world.doc(["delete", "copy.amrg", "/n"]).quiet_success();
    let output = world.doc(["diff", "note.amrg", "copy.amrg", "--human"]).quiet_success();
    let expected = [
        "+ /a~0~1b: {}",
        "- /n: 3",
        "~ /title: \"Hi\" → \"a\\u{1b}b\"",
        "- /body at 1: \"one\"",
        "+ /body at 0: \"1\"",
        "~ /body from 2 to 5: bold",
        "+ /list/0: []",
        "- /list/2",
    ];
    let mut lines: Vec<&str> = output.lines().collect();
    let mut all = expected.to_vec();
    lines.sort_unstable();
    all.sort_unstable();
    assert_eq!(lines, all, "{output}");
    assert_eq!(world.doc(["diff", "note.amrg", "note.amrg", "--human"]).quiet_success(), "");
}

#[test]
fn blames_text_and_reads_versions() {
    let world = World::new();
    world.note();
    world
        .doc(["splice", "note.amrg", "/body", "3", "0", "!?", "--actor", "ab", "--time", "5"])
        .quiet_success();
    let blame = world.doc(["blame", "note.amrg", "/body"]).quiet_success();
    let lines: Vec<&str> = blame.lines().collect();
    assert_eq!(lines.len(), 3, "{blame}");
    assert!(lines[1].ends_with("  1970-01-01T00:00:05Z  ab/1  3..5        \"!?\""), "{blame}");
    assert!(
        lines[0].ends_with("  0..3        \"one\"") && lines[2].ends_with("  5..9        \" two\""),
        "{blame}"
    );
    let json = world.doc(["blame", "note.amrg", "", "--json"]).quiet_success();
    let keys: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(keys.iter().map(|key| &key["key"]).collect::<Vec<_>>(), ["body", "list", "n", "title"]);
    let first = keys[0]["change"].as_str().expect("a hash");
    let single = world.doc(["blame", "note.amrg", "/title"]);
    single.failure(1, &["note.amrg: /title is a scalar, which has no parts"]);

    world.doc(["at", "note.amrg", first, "-o", "then.amrg"]).quiet_success();
    assert_eq!(world.doc(["get", "then.amrg", "/body", "-r"]).quiet_success(), "one two");
    assert_eq!(world.doc(["log", "then.amrg"]).quiet_success().lines().count(), 1);
    assert_eq!(world.doc(["at", "note.amrg", "zz", "-o", "no.amrg"]).code(), 1);
}

#[test]
fn history_round_trips_through_json() {
    let world = World::new();
    world.note();
    world.doc(["mark", "note.amrg", "/body", "0", "3", "bold", "-m", "fat"]).quiet_success();
    world.doc(["put", "note.amrg", "/title", "-1.5e300"]).quiet_success();
    world
        .doc(["mark", "note.amrg", "/body", "1", "2", "n", r#"{"__type":"counter","value":7}"#])
        .quiet_success();
    let lines = world.doc(["export", "note.amrg", "--changes"]).quiet_success();
    assert_eq!(lines.lines().count(), 4);
    world.doc_with(["import", "-", "-o", "again.amrg", "--changes"], lines.as_bytes()).quiet_success();
    let log = |file: &str| world.doc(["log", file, "--json"]).quiet_success();
    assert_eq!(log("again.amrg"), log("note.amrg"));
    assert_eq!(world.doc(["export", "again.amrg", "--changes"]).quiet_success(), lines);
    let import = |lines: &str| world.doc_with(["import", "-", "-o", "x.amrg", "--changes"], lines.as_bytes());
    let other = lines.replacen("fat", "thin", 1);
    let refused = import(&other);
    assert!(refused.err.contains("standard input: line 2: its content has the hash "), "{refused:?}");
    let last = lines.lines().last().expect("a change");
    let refused = import(last);
    assert!(refused.err.contains("standard input: 1 change is missing, "), "{refused:?}");
    assert_eq!((import("{}\n").code(), world.path("x.amrg").exists()), (1, false));
}

#[test]
fn reads_and_writes_pipes() {
    let world = World::new();
    let new = world.doc(["new", "-"]);
    assert_eq!((new.code(), &*new.err), (0, ""));
    let put = world.doc_with(["put", "-", "/a", "1"], &new.out);
    assert_eq!((put.code(), &*put.err), (0, ""));
    // Nothing changes, and the output is complete.
    let again = world.doc_with(["put", "-", "/a", "1"], &put.out);
    assert_eq!((again.code(), &again.out), (0, &put.out));
    assert_eq!(world.doc_with(["get", "-", "/a"], &again.out).quiet_success(), "1\n");
}

#[test]
fn errors_change_nothing() {
    let world = World::new();
    world.note().write("junk.amrg", b"no document").write("list.json", "[1]").write("bad.json", "{");
    let before = fs::read(world.path("note.amrg")).expect("a file");
    let one = |done: Done, code: i32, line: &str| drop(done.failure(code, &[line]));
    let put = |pointer: &str, value: &str| world.doc(["put", "note.amrg", pointer, value]);
    one(put("/list/7", "1"), 1, "note.amrg: /list is a list: '7' is not a valid index (it has 2)");
    one(put("/no/where", "1"), 1, "note.amrg: there is nothing at /no");
    one(put("/title/x", "1"), 1, "note.amrg: /title is a single value: there is nothing inside");
    one(put("/body/0", "1"), 1, "note.amrg: characters of a text are edited with 'hashmill doc splice'");
    one(
        put("", "1"),
        1,
        "note.amrg: the whole document cannot be replaced or deleted: name a key, such as /title",
    );
    one(
        put("/x", r#"{"__type":"bytes","value":"zz"}"#),
        2,
        r#"{"__type":"bytes","value":"zz"} is not a value of the type in its tag"#,
    );
    let mark = world.doc(["mark", "note.amrg", "/body", "0", "8", "bold"]);
    one(mark, 1, "note.amrg: /body has only 7 characters");
    one(
        put("/x", "foo"),
        2,
        "foo: not valid JSON: expected ident at line 1 column 2 (for a string use --string)",
    );
    let insert = world.doc(["put", "note.amrg", "/title", "1", "--insert"]);
    one(insert, 1, "note.amrg: --insert is for lists, not for a map");
    one(world.doc(["delete", "note.amrg", "/nope"]), 1, "note.amrg: there is nothing at /nope");
    one(world.doc(["delete", "note.amrg", "/list/2"]), 1, "note.amrg: there is nothing at /list/2");
    let splice = |pointer: &str, index: &str| world.doc(["splice", "note.amrg", pointer, index, "1"]);
    one(splice("/body", "7"), 1, "note.amrg: /body has only 7 characters");
    one(splice("/body", "18446744073709551615"), 1, "note.amrg: /body has only 7 characters");
    one(splice("/list", "0"), 1, "note.amrg: /list is a list, not a text");
    one(
        splice("/title", "0"),
        1,
        "note.amrg: /title is a single value, not a text (see 'hashmill doc put --text')",
    );
    let mark = world.doc(["mark", "note.amrg", "/body", "5", "3", "bold"]);
    one(mark, 1, "note.amrg: the range ends at 3, before it starts at 5");
    let mark = world.doc(["mark", "note.amrg", "/body", "0", "1", "bold", "[]"]);
    one(mark, 2, "[]: the value of a mark must be a scalar");
    one(
        world.doc(["get", "note.amrg", "/title", "--at", "zz"]),
        1,
        "note.amrg: no change has a hash that starts with 'zz' (see 'hashmill doc log')",
    );
    one(
        world.doc(["get", "note.amrg", "/list", "--raw"]),
        1,
        "note.amrg: /list is a list: --raw is for strings and texts",
    );
    one(world.doc(["new", "note.amrg"]), 1, "note.amrg: it exists already");
    one(
        world.doc(["import", "list.json", "-o", "x.amrg"]),
        1,
        "list.json: object _root: expected a map, found a list",
    );
    let magic = "junk.amrg: chunk 0, byte 0: not an Automerge document: no chunk starts here, its first bytes must be 85 6f 4a 83";
    one(world.doc(["show", "junk.amrg"]), 1, magic);
    one(world.doc(["merge", "note.amrg", "junk.amrg"]), 1, magic);
    one(
        world.doc(["import", "bad.json", "-o", "x.amrg"]),
        1,
        "bad.json: not valid JSON: EOF while parsing an object at line 1 column 1",
    );
    assert_eq!(world.doc(["get", "note.amrg", "title"]).code(), 2);
    assert_eq!(world.doc(["show", "missing.amrg"]).code(), 1);
    assert_eq!(fs::read(world.path("note.amrg")).expect("a file"), before);
    let mut names: Vec<_> = fs::read_dir(world.path(""))
        .expect("a directory")
        .map(|entry| entry.expect("a file").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["bad.json", "junk.amrg", "list.json", "note.amrg"]);
}

#[test]
fn checks_all_and_rescues() {
    let world = World::new();
    world.note();
    let whole = fs::read(world.path("note.amrg")).expect("a file");
    world.doc(["put", "note.amrg", "/more", "1"]).quiet_success();
    let mut damaged = whole.clone();
    damaged.extend_from_slice(b"and then something else");
    world.write("damaged.amrg", &damaged);
    let checked = world.doc(["check", "note.amrg", "damaged.amrg", "note.amrg"]);
    assert_eq!((checked.code(), checked.text().lines().count()), (1, 2), "{checked:?}");
    assert!(checked.err.starts_with("hashmill: damaged.amrg: chunk 1, "), "{}", checked.err);
    let json = world.doc(["check", "--json", "note.amrg", "damaged.amrg"]);
    let lines: Vec<serde_json::Value> =
        json.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((json.code(), &lines[0]["ok"], &lines[1]["ok"]), (1, &true.into(), &false.into()));
    assert_eq!((&lines[0]["changes"], json.err.as_str()), (&2.into(), ""));

    let rescued = world.doc(["rescue", "damaged.amrg", "-o", "rescued.amrg"]);
    assert_eq!((rescued.code(), rescued.err.lines().count()), (1, 1), "{rescued:?}");
    assert!(rescued.err.ends_with("nothing of it is recovered\n"), "{}", rescued.err);
    world.write("whole.amrg", &whole);
    assert_eq!(world.export("rescued.amrg"), world.export("whole.amrg"));
    world.doc(["rescue", "whole.amrg", "-o", "same.amrg"]).quiet_success();
    world.write("junk.amrg", b"no document");
    assert_eq!(world.doc(["rescue", "junk.amrg", "-o", "none.amrg"]).code(), 1);
    assert!(!world.path("none.amrg").exists());
}

#[cfg(unix)]
#[test]
fn squashes_and_anonymises() {
    let world = World::new();
    world.note();
    world.doc(["put", "note.amrg", "/title", "\"Secret\"", "-m", "secretly"]).quiet_success();
    world.doc(["mark", "note.amrg", "/body", "0", "3", "bold"]).quiet_success();
    world.doc(["squash", "note.amrg", "-o", "new.amrg", "-m", "once more"]).quiet_success();
    let tagged = |file| world.doc(["export", file, "--tagged"]).quiet_success();
    assert_eq!(tagged("new.amrg"), tagged("note.amrg"));
    let log = world.doc(["log", "new.amrg"]).quiet_success();
    assert!(log.lines().count() == 1 && log.ends_with("  once more\n"), "{log}");
    world.doc(["anonymise", "note.amrg", "-o", "masked.amrg"]).quiet_success();
    let masked = world.export("masked.amrg");
    assert!(
        masked.contains("xxxxxxx") && !masked.contains("Secret") && !masked.contains("title"),
        "{masked}"
    );
    let log = world.doc(["log", "masked.amrg"]).quiet_success();
    assert_eq!(log.lines().count(), 3);
    assert!(log.contains("  xxxxxxxx\n") && log.contains("  -   "), "{log}");
    for verb in ["squash", "anonymise"] {
        let there = "new.amrg: it exists already";
        world.doc([verb, "note.amrg", "-o", "new.amrg"]).failure(1, &[there]);
    }
}

#[test]
fn examines_files() {
    let world = World::new();
    world.note();
    let mut bytes = fs::read(world.path("note.amrg")).expect("a file");
    let whole = bytes.len();
    let text = world.doc(["examine", "note.amrg"]).quiet_success();
    assert!(text.starts_with(&format!("bytes 0 to {whole}: document, 1 change\n  ")), "{text}");
    bytes.extend(b"and more");
    world.write("more.amrg", &bytes);
    let done = world.doc(["examine", "more.amrg", "--json"]);
    assert_eq!(done.code(), 1);
    let parts: Vec<serde_json::Value> =
        done.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        (parts.len(), &parts[0]["type"], &parts[1]["type"]),
        (2, &"document".into(), &serde_json::Value::Null)
    );
    assert_eq!((&parts[1]["from"], &parts[1]["to"]), (&whole.into(), &bytes.len().into()));
    assert_eq!(
        parts[1]["error"],
        format!(
            "chunk 1, byte {whole}: not an Automerge document: no chunk starts here, its first bytes must be 85 6f 4a 83"
        )
    );
    // As in the exported history.
    let changes = world.doc(["export", "note.amrg", "--changes"]).quiet_success();
    let change: serde_json::Value = serde_json::from_str(&changes).expect("JSON");
    assert_eq!(parts[0]["changes"], serde_json::Value::Array(vec![change]));
}

#[test]
fn examines_sync_messages() {
    let world = World::new();
    let mut doc = Document::new();
    let peer = Document::new();
    doc.transact(|tx| tx.put(ROOT, "a", 1)).expect("a change");
    let (mut here, mut there) = (State::new(), State::new());
    let hello = peer.generate_sync_message(&mut there).expect("a message");
    world.write("hello", hello.encode());
    let text = world.doc(["examine-sync", "hello"]).quiet_success();
    assert!(text.starts_with("version   1\nhave      a filter of 0 bytes\nflags     "), "{text}");
    doc.receive_sync_message(&mut here, hello).expect("a message");
    let message = doc.generate_sync_message(&mut here).expect("a message");
    world.write("message", message.encode());
    let head = doc.get_heads()[0];
    let text = world.doc(["examine-sync", "message"]).quiet_success();
    assert!(
        text.contains(&format!("\nhead      {head}\n")) && text.contains("\nentry\n  bytes 0 to "),
        "{text}"
    );
    let json = world.doc(["examine-sync", "message", "--json"]).quiet_success();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["heads"][0], head.to_string());
    assert_eq!(json["changes"][0][0]["changes"][0]["ops"][0]["key"], "a");
    world.write("junk", "junk");
    let done = world.doc(["examine-sync", "junk"]);
    assert!(done.code() == 1 && done.err.starts_with("hashmill: junk: "), "{}", done.err);
}

#[test]
fn keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let world = World::new();
    world.note();
    fs::set_permissions(world.path("note.amrg"), fs::Permissions::from_mode(0o640)).expect("permissions");
    symlink("note.amrg", world.path("link.amrg")).expect("a link");
    world.doc(["put", "link.amrg", "/title", "2"]).quiet_success();
    assert!(fs::symlink_metadata(world.path("link.amrg")).expect("a link").is_symlink());
    assert_eq!(world.doc(["get", "note.amrg", "/title"]).quiet_success(), "2\n");
    let mode = fs::metadata(world.path("note.amrg")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[cfg(target_os = "linux")]
#[test]
fn reports_full_disk_and_closed_reader() {
    let world = World::new();
    world.note();
    let full = |verb: &str| {
        let script = format!("'{}' doc {verb} >/dev/full", hashmill().display());
        let done = world.run("/bin/sh".as_ref(), ["-c", &script], b"");
        assert_eq!(
            (done.code(), &*done.err),
            (1, "hashmill: standard output: No space left on device (os error 28)\n")
        );
    };
    full("export note.amrg");
    full("new -");
    let script = format!(
        "'{}' doc put note.amrg /long \"$(head -c 100000 /dev/zero | tr '\\0' x)\" --string",
        hashmill().display()
    );
    assert_eq!(world.run("/bin/sh".as_ref(), ["-c", &script], b"").code(), 0);
    let script =
        format!("('{}' doc export note.amrg; echo $? >code) | head -c 1 >/dev/null", hashmill().display());
    assert_eq!(world.run("/bin/sh".as_ref(), ["-c", &script], b"").code(), 0);
    let code = fs::read_to_string(world.path("code")).expect("a code");
    assert!(["0\n", "141\n"].contains(&&*code), "{code}");
}
