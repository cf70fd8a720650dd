//! Hashing of files, pipes and trees: formats, functions, order of files. Flags that select files are tested in `walks.rs`.

use crate::world::{World, digest, finish, hashmill};
use hashmill_hash::blake3::{self, Hasher};
use hashmill_testkit::{hex, wait};
use std::process::{Command, Stdio};

const STRATEGIES: [&str; 6] = ["auto", "read", "pread", "mmap", "mmap-parallel", "direct"];

#[test]
fn hashes_files_and_standard_input() {
    let world = World::new();
    world.write("f", "foo").write("g", "");
    assert_eq!(world.sum(["f", "g"]).quiet_success(), format!("{}  f\n{}  g\n", digest(b"foo"), digest(b"")));
    let foo = digest(b"foo");
    assert_eq!(world.sum_with(["-"], b"foo").quiet_success(), format!("{foo}  -\n"));
    assert_eq!(world.sum_with([""; 0], b"foo").quiet_success(), format!("{foo}  -\n"));
    assert_eq!(world.sum_with(["--tag", "-"], b"foo").quiet_success(), format!("BLAKE3 (-) = {foo}\n"));
    assert_eq!(world.sum_with(["--no-names", "f", "-"], b"foo").quiet_success(), format!("{foo}\n{foo}\n"));
    let empty = digest(b"");
    assert_eq!(
        world.sum_with(["-", "f", "-"], b"foo").quiet_success(),
        format!("{foo}  -\n{foo}  f\n{empty}  -\n"),
        "the first mention of standard input takes all of it"
    );
}

#[test]
fn pipe_digest_is_independent_of_thread_count() {
    let world = World::new();
    let bytes: Vec<u8> = (0..5_000_001u32).map(|i| (i % 251) as u8).collect();
    // Too many to start them all, which would block the machine for minutes.
    for threads in ["0", "1", "2", "5", "60000"] {
        let done = world.sum_with(["--num-threads", threads], &bytes);
        assert_eq!(done.quiet_success(), format!("{}  -\n", digest(&bytes)), "{threads} threads");
    }
}

#[test]
fn hashes_rest_of_file_on_standard_input() {
    use std::io::{Read, Seek, SeekFrom};
    let world = World::new();
    let bytes: Vec<u8> = (0..3_000_001u32).map(|i| (i % 251) as u8).collect();
    world.write("f", &bytes).write("small", "foo");
    for strategy in STRATEGIES {
        for start in [0, 1, 1 << 20, 3_000_001] {
            let mut file = std::fs::File::open(world.path("f")).expect("a file");
            file.seek(SeekFrom::Start(start)).expect("a file");
            let mut command = Command::new(hashmill());
            command.args(["sum", "--strategy", strategy, "-", "small", "-"]).current_dir(world.path(""));
            command.stdin(file.try_clone().expect("a file")).stdout(Stdio::piped());
            let child = wait::start(&mut command);
            let expected = format!(
                "{}  -\n{}  small\n{}  -\n",
                digest(&bytes[start as usize..]),
                digest(b"foo"),
                digest(b"")
            );
            assert_eq!(
                finish(child.expect("it starts")).quiet_success(),
                expected,
                "{strategy} from {start}"
            );
            assert_eq!(file.read(&mut [0; 10]).expect("a file"), 0, "all of it was consumed");
        }
    }
}

#[test]
fn strategies_and_kernels_agree() {
    let world = World::new();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    world.write("f", &bytes).write("small", "x").write("empty", "");
    let expected = format!("{}  f\n{}  small\n{}  empty\n", digest(&bytes), digest(b"x"), digest(b""));
    for strategy in STRATEGIES {
        let done = world.sum(["--strategy", strategy, "f", "small", "empty"]);
        assert_eq!(done.quiet_success(), expected, "{strategy}");
    }
    for kernel in blake3::Kernel::all() {
        let done = world.sum(["--kernel", kernel.name(), "--engine", "cpu", "f", "small", "empty"]);
        assert_eq!(done.quiet_success(), expected, "{kernel:?}");
    }
}

/// Printed once for any number of files; not a failure.
#[cfg(target_os = "linux")]
#[test]
fn notes_failed_direct_reads() {
    let path = "/sys/kernel/notes";
    let Ok(bytes) = std::fs::read(path) else {
        return hashmill_testkit::skip("a file system that refuses direct reads", &format!("no {path} here"));
    };
    let world = World::new();
    let line = format!("{}  {path}\n", digest(&bytes));
    let message = "hashmill: --strategy direct: some reads went through the system's cache: Invalid argument (os error 22)\n";
    let done = world.sum(["--strategy", "direct", path, path]);
    assert_eq!((done.code(), done.text(), &*done.err), (0, line.repeat(2), message));
    world.write("list", &line);
    let done = world.sum(["--strategy", "direct", "--check", "list"]);
    assert_eq!((done.code(), done.text(), &*done.err), (0, format!("{path}: OK\n"), message));
    let done = world.sum(["--strategy", "pread", path]);
    assert_eq!(done.quiet_success(), line);
}

#[test]
fn supports_length_and_seek() {
    let world = World::new();
    world.write("f", "foo");
    let mut output = vec![0; 5000];
    Hasher::new().update(b"foo").finalize_xof().fill(&mut output);
    for length in [0, 1, 31, 32, 33, 64, 131, 4000] {
        for seek in [0, 1, 63, 64, 65, 900] {
            let (l, s) = (length.to_string(), seek.to_string());
            let expected = &output[seek..seek + length];
            let raw = world.sum(["--raw", "-l", &l, "--seek", &s, "f"]);
            assert_eq!((raw.code(), &raw.out[..]), (0, expected), "{length} bytes from {seek}");
            let hex = hex::encode(expected);
            let plain = world.sum(["--length", &l, "--seek", &s, "f"]);
            assert_eq!(plain.quiet_success(), format!("{hex}  f\n"));
        }
    }
}

#[test]
fn supports_keys_and_contexts() {
    let world = World::new();
    world.write("f", "foo");
    let key = [42; 32];
    let keyed = blake3::keyed_hash(&key, b"foo");
    assert_eq!(world.sum_with(["--keyed", "f"], &key).quiet_success(), format!("{keyed}  f\n"));
    let derived = blake3::Hash::from_bytes(blake3::derive_key("a context", b"foo"));
    let done = world.sum(["--derive-key", "a context", "--no-names", "f"]);
    assert_eq!(done.quiet_success(), format!("{derived}\n"));
    assert_eq!(
        world.sum_with(["--derive-key", "a context", "--no-names"], b"foo").quiet_success(),
        format!("{derived}\n")
    );

    // Standard input had the key, so it cannot be hashed; all other files are.
    let out = world.sum_with(["--keyed", "-", "f"], &key).failure(1, &["-: Cannot open `-` in keyed mode"]);
    assert_eq!(out, format!("{keyed}  f\n"));
}

#[test]
fn supports_sha256() {
    let world = World::new();
    world.write("f", "abc");
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(world.sum(["--algorithm", "sha256", "f"]).quiet_success(), format!("{abc}  f\n"));
    assert_eq!(
        world.sum(["--algorithm", "sha256", "--tag", "f"]).quiet_success(),
        format!("SHA256 (f) = {abc}\n")
    );
    world.write("list", format!("{abc}  f\nSHA256 (f) = {abc}\n{abc} *f\n"));
    for flags in [&["--algorithm", "sha256", "--check"][..], &["--check"]] {
        let done = world.sum([flags, &["list"]].concat());
        assert_eq!((done.code(), &*done.text()), (0, "f: OK\nf: OK\nf: OK\n"));
    }
}

#[test]
fn sorts_directories_by_path_bytes() {
    let world = World::new();
    let names = ["t/a-b", "t/a.txt", "t/a/sub/y", "t/a/x", "t/b", "t/é"];
    for name in names {
        world.write(name, name);
    }
    let expected: String =
        names.iter().map(|name| format!("{}  {name}\n", digest(name.as_bytes()))).collect();
    assert_eq!(world.sum(["-r", "t"]).quiet_success(), expected);
    assert_eq!(world.sum(["--recursive", "t/a", "t/b"]).quiet_success(), {
        let line = |name: &str| format!("{}  {name}\n", digest(name.as_bytes()));
        line("t/a/sub/y") + &line("t/a/x") + &line("t/b")
    });
}

#[cfg(unix)]
#[test]
fn skips_links_and_special_files() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    world.write("t/f", "f").write("elsewhere/g", "g");
    symlink("../elsewhere", world.path("t/link")).expect("a link");
    symlink("f", world.path("t/to-f")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("t/s")).expect("a socket");
    let special = "t/s: skipped: neither a file nor a directory";
    let out = world.sum(["-r", "t"]).failure(0, &[special]);
    assert_eq!(out, format!("{}  t/f\n", digest(b"f")));
    let out = world.sum(["-rL", "t"]).failure(0, &[special]);
    assert_eq!(out, format!("{0}  t/f\n{1}  t/link/g\n{0}  t/to-f\n", digest(b"f"), digest(b"g")));

    symlink(".", world.path("elsewhere/again")).expect("a link");
    let loops = "t/link/again: symbolic link to a directory that contains it";
    world.sum(["-rL", "t"]).failure(1, &[loops, special]);
}

#[cfg(unix)]
#[test]
fn prints_names_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xff\n");
    world.write(name, "x");
    let x = digest(b"x");
    let done = world.sum(["-z".as_ref(), name]);
    assert_eq!(done.out, [x.as_bytes(), b"  a\xff\n\0"].concat());
    let done = world.sum(["--tag".as_ref(), name]);
    let warning = "WARNING: 1 name is no UTF-8 and cannot be checked in this list, the first is a\u{fffd}\\n; see --zero";
    assert_eq!(done.failure(0, &[warning]), format!("\\BLAKE3 (a\u{fffd}\\n) = {x}\n"));
    let other = std::ffi::OsStr::from_bytes(b"\xfe");
    world.write(other, "x");
    let warning = warning.replace("1 name is", "2 names are");
    assert_eq!(world.sum([name, other]).failure(0, &[&warning]).lines().count(), 2);
    world.sum(["--no-names".as_ref(), name]).quiet_success();
    let done = world.sum(["--json".as_ref(), name]);
    let object: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
    assert_eq!((&object["path"], &object["path_hex"]), (&"a\u{fffd}\n".into(), &"61ff0a".into()));
}

#[test]
fn json_has_documented_fields() {
    let world = World::new();
    world.write("f", "foo");
    let done = world.sum(["--json", "--length", "40", "--seek", "3", "f", "none"]);
    assert_eq!(done.code(), 1);
    let text = done.text();
    let objects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let mut output = [0; 43];
    Hasher::new().update(b"foo").finalize_xof().fill(&mut output);
    let digest = hex::encode(&output[3..]);
    let expected = serde_json::json!({
        "path": "f", "algorithm": "blake3", "mode": "hash", "size": 3, "seek": 3, "length": 40, "digest": digest,
    });
    assert_eq!(objects[0], expected);
    assert_eq!(
        objects[1],
        serde_json::json!({ "path": "none", "error": "No such file or directory (os error 2)" })
    );
}

#[test]
fn prints_tree_digests() {
    let world = World::new();
    world.write("a/f", "1").write("a/d/g", "2").write("b/f", "1").write("b/d/g", "2");
    let text = world.sum(["--tree", "--no-names", "a", "b"]).quiet_success();
    let digests: Vec<&str> = text.lines().collect();
    assert_eq!(digests[0], digests[1], "the same names and contents");
    world.write("b/d/g", "3");
    let changed = world.sum(["--tree", "--no-names", "b"]).quiet_success();
    assert_ne!(changed.trim(), digests[1]);
    world.write("b/d/g", "2").write("b/d/h", "");
    assert_ne!(world.sum(["--tree", "--no-names", "b"]).quiet_success().trim(), digests[1]);

    // The digest of a directory is marked, so that it is not taken for that of a file.
    let (plain, tagged) = (world.sum(["--tree", "a"]).quiet_success(), world.sum(["--tree", "--tag", "a/"]));
    assert_eq!(plain, format!("{}  a/\n", digests[0]));
    assert_eq!(tagged.quiet_success(), format!("BLAKE3 (a/) = {}\n", digests[0]));
    let file = world.sum(["a/f"]).quiet_success();
    assert_eq!(world.sum(["--tree", "a/f"]).quiet_success(), file, "the tree of a file is the file");
    for (list, name) in [(plain.clone(), "a/"), (tagged.text(), "a/"), (plain.replace("a/", "a"), "a")] {
        world.write("list", &list).write("a/d/g", "2");
        assert_eq!(world.sum(["--tree", "--check", "list"]).quiet_success(), format!("{name}: OK\n"));
        world.write("a/d/g", "4");
        let mismatch = ["WARNING: 1 computed checksum did NOT match"];
        assert_eq!(world.sum(["--tree", "-c", "list"]).failure(1, &mismatch), format!("{name}: FAILED\n"));
    }
    // Also among digests of files.
    world.write("a/d/g", "2").write("list", format!("{file}{plain}{file}"));
    assert_eq!(world.sum(["--check", "list"]).quiet_success(), "a/f: OK\na/: OK\na/f: OK\n");
    let zero = world.sum(["--tree", "-z", "a"]).out;
    assert_eq!(world.sum_with(["-c", "-z"], &zero).quiet_success(), "a/: OK\0");
    // Lists without the slash, as earlier versions wrote, need the flag.
    world.write("list", plain.replace("a/", "a"));
    let out = world.sum(["--check", "list"]).failure(
        1,
        &[
            "list: 1 entry is a directory; for a list made with --tree, see --tree",
            "WARNING: 1 listed file could not be read",
        ],
    );
    assert_eq!(out, "a: FAILED (Is a directory (os error 21))\n");
    world.write("list", format!("SHA256 (a/) = {}\n", digests[0]));
    world
        .sum(["-c", "list"])
        .failure(1, &["list:1: the digest of a directory is BLAKE3", "WARNING: 1 line is malformed"]);
    world.sum(["--tree", "none"]).failure(1, &["none: No such file or directory (os error 2)"]);
}

#[test]
fn prints_version() {
    let world = World::new();
    for flag in ["--version", "-V"] {
        let expected = format!("hashmill-sum {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(world.sum([flag]).quiet_success(), expected);
    }
}
