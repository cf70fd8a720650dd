//! Audits, updates, comparisons and duplicates.

use crate::world::{World, digest, finish, hashmill, is_gnus};
use hashmill_testkit::skip;
use hashmill_testkit::wait::until;
use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A world with files modified long ago.
fn world() -> World {
    let world = World::new();
    for name in ["d/a", "d/b", "d/c/x", "d/c/y"] {
        world.write(name, name);
        age(&world, name);
    }
    world
}

fn age(world: &World, name: &str) {
    let file = File::options().write(true).open(world.path(name)).expect("our own file");
    let then = SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000, 5);
    file.set_modified(then).expect("our own file");
}

/// One file of each kind.
fn disturb(world: &World) {
    world.write("d/b", "changed").write("d/new", "new");
    fs::rename(world.path("d/c/x"), world.path("d/x")).expect("our own file");
    fs::remove_file(world.path("d/c/y")).expect("our own file");
}

const DISTURBED: &str = "changed   d/b\nnew       d/new\nmoved     d/c/x -> d/x\ngone      d/c/y\n\
                         1 same, 1 changed, 1 moved, 1 new, 1 gone\n";

#[test]
fn audit_reports_each_file() {
    for (args, name) in [
        (&["-r", "d"][..], "list"),
        (&["-r", "--json", "d"], "json"),
        (&["-r", "--tag", "d"], "tagged"),
        (&["-r", "--algorithm", "md5", "d"], "md5"),
        (&["-r", "--algorithm", "sha256", "d"], "unknown"),
    ] {
        let world = world();
        world.write(name, world.sum(args).quiet_success());
        let same = "4 same, 0 changed, 0 moved, 0 new, 0 gone\n";
        assert_eq!(world.sum(["--audit", name, "d"]).quiet_success(), same, "{name}");
        assert_eq!(
            world.sum(["--audit", name, "-v", "-q", "./d/"]).quiet_success().matches("same").count(),
            4
        );
        disturb(&world);
        assert_eq!(world.sum(["--audit", name, "d"]).failure(1, &[]), DISTURBED, "{name}");
        let lines = world.sum(["--audit", name, "--json", "d"]).failure(1, &[]);
        let objects: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(objects[2], serde_json::json!({ "status": "moved", "path": "d/x", "from": "d/c/x" }));
        assert_eq!(objects[4]["summary"]["gone"], 1);
        // Only files below the operand count.
        assert_eq!(
            world.sum(["--audit", name, "-q", "d/c"]).failure(1, &[]),
            "gone      d/c/x\ngone      d/c/y\n"
        );
        let none = format!("{name}: none of its names is below /usr, /etc");
        world.sum(["--audit", name, "/usr", "/etc"]).failure(2, &[&none]);
    }
}

#[test]
fn unreadable_list_is_one_line() {
    let world = world();
    let list = world.sum(["-r", "d"]).quiet_success();
    world.write("half", &list[..list.len() - 20]).write("half2", &list[..100]);
    let done = world.sum(["--audit", "half2", "d"]);
    assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{}", done.err);
    assert!(done.err.starts_with("hashmill: half2: line 2: "), "{}", done.err);
    world.sum(["--audit", "none", "d"]).failure(2, &["none: No such file or directory (os error 2)"]);
    world.sum(["--audit", "d", "d"]).failure(2, &["d: Is a directory (os error 21)"]);
    world
        .sum(["--audit", "half", "-"])
        .failure(2, &["--audit, --update and --duplicates need files, not standard input"]);
}

#[test]
fn update_hashes_only_changed_files() {
    let world = world();
    let update = |flags: &[&str]| world.sum([&["--update", "d/SUMS"], flags].concat());
    let first = "d/SUMS: 4 files, 4 hashed, 0 kept; 4 new, 0 changed, 0 gone\n";
    assert_eq!(update(&["d"]).quiet_success(), first);
    let again = "d/SUMS: 4 files, 0 hashed, 4 kept; 0 new, 0 changed, 0 gone\n";
    assert_eq!(update(&["d"]).quiet_success(), again);
    assert_eq!(world.sum(["-c", "--quiet", "d/SUMS"]).quiet_success(), "");
    // Other content with equal size and time: only `--paranoid` detects it, as corruption, and the entry stays.
    world.write("d/a", "D/A");
    age(&world, "d/a");
    assert_eq!(update(&["d"]).quiet_success(), again);
    assert_eq!(world.sum(["-c", "--quiet", "d/SUMS"]).code(), 1);
    let list = fs::read(world.path("d/SUMS")).expect("a manifest");
    let (was, is) = (digest(b"d/a"), digest(b"D/A"));
    let rotted = format!("d/a: content changed but modification time did not: BLAKE3 was {was}, is {is}");
    let paranoid = "corrupt   d/a\nd/SUMS: 4 files, 4 hashed, 0 kept; 0 new, 0 changed, 0 gone, 1 corrupt\n";
    for _ in 0..2 {
        assert_eq!(update(&["--paranoid", "d"]).failure(1, &[&rotted]), paranoid);
        assert_eq!(fs::read(world.path("d/SUMS")).expect("a manifest"), list);
    }
    assert_eq!(update(&["--paranoid", "-q", "d"]).failure(1, &[&rotted]), "corrupt   d/a\n");
    assert_eq!(
        update(&["--paranoid", "--retag", "d"]).failure(1, &[&rotted]),
        paranoid,
        "it is told once more"
    );
    assert_eq!(
        update(&["--paranoid", "d"]).quiet_success(),
        again.replace("0 hashed, 4 kept", "4 hashed, 0 kept")
    );
    assert_eq!(world.sum(["-c", "--quiet", "d/SUMS"]).quiet_success(), "");
    // Entries elsewhere stay; the time of a file modified just now is not proof.
    disturb(&world);
    let before = fs::read(world.path("d/SUMS")).expect("a manifest");
    let gone = "d/SUMS: none of its 2 files below d/c exists, as if a disk is not mounted; the list is unchanged; see \
                --allow-gone";
    assert_eq!(update(&["d/c"]).failure(1, &[gone]), "");
    assert_eq!(fs::read(world.path("d/SUMS")).expect("a manifest"), before);
    let some =
        "gone      d/c/x\ngone      d/c/y\nd/SUMS: 2 files, 0 hashed, 2 kept; 0 new, 0 changed, 2 gone\n";
    assert_eq!(update(&["--allow-gone", "d/c"]).quiet_success(), some);
    let rest = "outdated  d/b\nnew       d/new\nnew       d/x\n\
                d/SUMS: 4 files, 3 hashed, 1 kept; 2 new, 0 changed, 0 gone, 1 outdated\n";
    assert_eq!(update(&["d"]).quiet_success(), rest);
    let audit = world.sum(["--audit", "d/SUMS", "d"]).quiet_success();
    assert_eq!(audit, "4 same, 0 changed, 0 moved, 0 new, 0 gone\n");
    fs::rename(world.path("d/x"), world.path("d/y")).expect("our own file");
    let lines = update(&["--json", "d"]).quiet_success();
    let objects: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects[0], serde_json::json!({ "status": "moved", "path": "d/y", "from": "d/x" }));
    assert_eq!((&objects[1]["files"], &objects[1]["moved"]), (&4.into(), &1.into()));
    assert_eq!(update(&["-v", "-q", "d"]).quiet_success().matches("same  ").count(), 4);
    assert_eq!(fs::read_dir(world.path("d")).expect("a directory").count(), 6, "nothing is left beside it");
}

/// A file that exists is not gone because a filter leaves it out.
#[test]
fn filters_never_make_files_gone() {
    for (filter, left_out) in [
        (&["--exclude", "x"][..], "1 file"),
        (&["--exclude", "c/"], "2 files"),
        (&["--include", "a"], "3 files"),
        (&["--include", "none"], "4 files"),
        (&["--ignore-files"], "2 files"),
    ] {
        let world = world();
        world.sum(["--update", "SUMS", "d"]).quiet_success();
        if filter == ["--ignore-files"] {
            world.write("d/.gitignore", "c/\n.gitignore\n");
        } else {
            for sides in [["d", "SUMS"], ["SUMS", "d"]] {
                let done = world.run(&hashmill(), [&["compare"], filter, &sides].concat(), b"");
                assert!(done.text().ends_with(" 0 changed, 0 moved, 0 new, 0 gone\n"), "{}", done.text());
                assert_eq!(done.code(), 0, "{filter:?} {sides:?}");
            }
        }
        let run = |mode: &str| {
            let done = world.sum([&[mode, "SUMS"], filter, &["d"]].concat());
            assert!(
                done.err.contains(&format!("{left_out} of the list left out")),
                "{filter:?}: {}",
                done.err
            );
            (done.code(), done.text())
        };
        let (code, text) = run("--audit");
        assert!(code == 0 && text.ends_with(" 0 changed, 0 moved, 0 new, 0 gone\n"), "{filter:?}: {text}");
        let (code, text) = run("--update");
        assert!(code == 0 && text.ends_with("; 0 new, 0 changed, 0 gone\n"), "{filter:?}: {text}");
        let listed = || world.sum(["--check", "SUMS"]).text().matches(": OK\n").count();
        assert_eq!(listed(), 4, "{filter:?}");
        // A file that does not exist is gone in any case.
        fs::remove_file(world.path("d/c/y")).expect("our own file");
        let audit = world.sum([&["--audit", "SUMS"], filter, &["d"]].concat());
        let text = audit.text();
        assert!(audit.code() == 1 && text.starts_with("gone      d/c/y\n"), "{filter:?}: {text}");
        let text = world.sum([&["--update", "SUMS"], filter, &["d"]].concat()).text();
        assert!(text.ends_with("; 0 new, 0 changed, 1 gone\n"), "{filter:?}: {text}");
        assert_eq!(listed(), 3, "{filter:?}");
    }
}

/// An unmounted disk is an empty directory.
#[test]
fn empty_mount_point_keeps_the_list() {
    let world = world();
    world.write("e/z", "z");
    let summary = "SUMS: 5 files, 5 hashed, 0 kept; 5 new, 0 changed, 0 gone\n";
    assert_eq!(world.sum(["--update", "SUMS", "d", "e"]).quiet_success(), summary);
    let list = fs::read(world.path("SUMS")).expect("a manifest");
    fs::rename(world.path("d"), world.path("away")).expect("our own directory");
    fs::create_dir(world.path("d")).expect("room");
    for args in [&["d", "e"][..], &["d"], &["-q", "d"], &["--json", "d"], &["--paranoid", "e", "d"]] {
        let done = world.sum([&["--update", "SUMS"], args].concat());
        assert_eq!(
            (done.code(), done.err.matches("see --allow-gone").count()),
            (1, 1),
            "{args:?}: {}",
            done.err
        );
        assert_eq!(fs::read(world.path("SUMS")).expect("a manifest"), list, "{args:?}");
    }
    let done = world.sum(["--update", "SUMS", "--allow-gone", "d", "e"]);
    let gone = done.quiet_success();
    assert!(gone.ends_with("SUMS: 1 file, 1 hashed, 0 kept; 0 new, 0 changed, 4 gone\n"), "{gone}");
    let names: Vec<_> = fs::read_dir(world.path(""))
        .expect("a directory")
        .map(|entry| entry.expect("it").file_name())
        .collect();
    assert_eq!(names.len(), 4, "nothing is left beside it: {names:?}");
}

/// Differences and unreadable files have different exit codes, as in diff.
#[cfg(unix)]
#[test]
fn errors_and_differences_have_own_exit_codes() {
    let world = world();
    let list = world.sum(["-r", "d"]).quiet_success();
    world.write("LIST", &list);
    let compare = |args: &[&str]| world.run(&hashmill(), [&["compare"], args].concat(), b"").code();
    let audit = |name: &str| world.sum(["--audit", name, "d"]).code();
    assert_eq!((audit("LIST"), compare(&["LIST", "d"]), compare(&["d", "d"])), (0, 0, 0));
    assert_eq!((audit("none"), compare(&["none", "d"]), compare(&["d", "none"])), (2, 2, 2));
    // A link to itself exists and cannot be read, even by root.
    std::os::unix::fs::symlink("loop", world.path("loop")).expect("a link");
    assert_eq!(world.sum(["--audit", "LIST", "d", "loop"]).code(), 2);
    world.write("d/a", "other");
    assert_eq!((audit("LIST"), compare(&["LIST", "d"])), (1, 1));
    assert_eq!(world.sum(["--audit", "LIST", "d", "loop"]).code(), 2);
}

/// Where directories are meant, the default is the current one.
#[test]
fn default_directory_is_the_current_one() {
    let world = World::new();
    world.write("a", "x").write("b/c", "x");
    let expected = world.sum(["-r", "."]).quiet_success();
    assert_eq!(expected.lines().count(), 2);
    for args in [&["-r"][..], &["--tree"], &["--duplicates"], &["--xattr", "-r", "--dry-run"]] {
        let (alone, named) = (world.sum(args), world.sum([args, &["."]].concat()));
        assert_eq!(
            (alone.code(), alone.text(), alone.err),
            (named.code(), named.text(), named.err),
            "{args:?}"
        );
    }
    assert_eq!(world.sum(["-r"]).quiet_success(), expected);
}

#[test]
fn update_keeps_the_hash_function() {
    let world = world();
    world.write("SUMS", world.sum(["-r", "--algorithm", "sha256", "d"]).quiet_success());
    let line = "SUMS: 4 files, 4 hashed, 0 kept; 0 new, 0 changed, 0 gone\n";
    assert_eq!(world.sum(["--update", "SUMS", "d"]).quiet_success(), line);
    if is_gnus("sha256sum") {
        let done = world.run("sha256sum".as_ref(), ["-c", "--strict", "--quiet", "SUMS"], b"");
        assert_eq!((done.code(), &*done.err), (0, ""));
    } else {
        skip("lists of an update checked by GNU's program", "no sha256sum of GNU's here");
    }
    let other = "SUMS: its digests are SHA-256";
    world.sum(["--update", "SUMS", "--algorithm", "md5", "d"]).failure(1, &[other]);
    let text = format!("{}hello\n", fs::read_to_string(world.path("SUMS")).expect("a manifest"));
    world.write("SUMS", &text);
    let done = world.sum(["--update", "SUMS", "d"]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{}", done.err);
    assert_eq!(fs::read_to_string(world.path("SUMS")).expect("a manifest"), text, "as it was");
}

/// A run that waits for a pipe is killed; before that a second one is refused.
#[cfg(unix)]
#[test]
fn resumes_an_interrupted_update() {
    let world = world();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, world.path("pipe"), rustix::fs::FileType::Fifo, mode, 0)
        .expect("a pipe");
    let mut child = world.start(Command::new(hashmill()).args(["sum", "--update", "SUMS", "d", "pipe"]));
    let journal = world.path(".SUMS.journal");
    // All digests but that of the pipe are recorded.
    until("four lines in the journal", || {
        assert!(child.try_wait().expect("our own child").is_none(), "it waits for the pipe");
        fs::read_to_string(&journal).unwrap_or_default().matches("  d/").count() == 4
    });
    world.sum(["--update", "SUMS", "d"]).failure(1, &["SUMS: another run is at work on it"]);
    child.kill().expect("it runs");
    let _ = finish(child);
    assert!(!world.path("SUMS").exists());
    let line = "SUMS: 4 files, 0 hashed, 4 kept; 4 new, 0 changed, 0 gone\n";
    assert_eq!(world.sum(["--update", "SUMS", "d"]).quiet_success(), line);
    assert!(!journal.exists());
    assert_eq!(world.sum(["-c", "--quiet", "SUMS"]).quiet_success(), "");
}

/// A thread writes to one file all the time: that gives one message, and the list has no proof time for it.
#[test]
fn changing_file_is_reported_and_hashed_again() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let world = world();
    world.write("d/big", "");
    let file = File::options().write(true).open(world.path("d/big")).expect("our own file");
    // Reading takes many time slices of a shared CPU, so the writer runs several times meanwhile.
    file.set_len(512 << 20).expect("a sparse file");
    let done = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut nanos = 0;
            while !done.load(Ordering::Relaxed) {
                nanos += 1;
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000, nanos))
                    .expect("our own file");
            }
        });
        let result = finish(world.start(Command::new(hashmill()).args(["sum", "--update", "SUMS", "d"])));
        done.store(true, Ordering::Relaxed);
        result
    });
    let out = result.failure(1, &["d/big: it changed while it was read"]);
    assert_eq!(out, "SUMS: 5 files, 5 hashed, 0 kept; 5 new, 0 changed, 0 gone\n");
    let manifest = fs::read_to_string(world.path("SUMS")).expect("a manifest");
    assert!(manifest.contains("# 536870912 -\n"), "{manifest}");
    let again = "SUMS: 5 files, 1 hashed, 4 kept; 0 new, 0 changed, 0 gone\n";
    assert_eq!(world.sum(["--update", "SUMS", "d"]).quiet_success(), again);
}

#[test]
fn flags_of_other_jobs_are_refused() {
    let world = world();
    world.sum(["--update", "SUMS", "d"]).quiet_success();
    let text = fs::read(world.path("SUMS")).expect("a manifest");
    for flags in [
        &["--update", "SUMS", "--audit", "SUMS"][..],
        &["--update", "SUMS", "--check"],
        &["--update", "SUMS", "--keep-going"],
        &["--update", "SUMS", "--xattr"],
        &["--update", "SUMS", "-o", "OUT"],
        &["--update", "SUMS", "--tree"],
        &["--audit", "SUMS", "--allow-gone"],
        &["--xattr", "--allow-gone"],
        &["--audit", "SUMS", "--keep-going"],
        &["--audit", "SUMS", "--paranoid"],
        &["--audit", "SUMS", "--retag"],
        &["--audit", "SUMS", "--status"],
        &["--duplicates", "--strict"],
        &["--xattr", "--update", "SUMS"],
        &["--check", "--keep-going", "SUMS"],
    ] {
        let done = world.sum([flags, &["d"]].concat());
        assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{flags:?}: {}", done.err);
        assert_eq!(done.text(), "", "{flags:?}");
    }
    assert_eq!(fs::read(world.path("SUMS")).expect("a manifest"), text);
    assert_eq!(fs::read_dir(world.path("")).expect("a directory").count(), 2, "nothing is left beside it");
}

#[test]
fn compares_directories_and_lists() {
    let world = world();
    for name in ["a", "b", "c/x", "c/y"] {
        world.write(format!("e/f/{name}"), format!("d/{name}"));
    }
    let compare = |args: &[&str]| world.run(&hashmill(), [&["compare"], args].concat(), b"");
    world.write("D", world.sum(["-r", "d"]).out).write("E", world.sum(["-r", "e"]).out);
    let same = "4 same, 0 changed, 0 moved, 0 new, 0 gone\n";
    for pair in [["d", "e/f"], ["D", "d"], ["d", "D"], ["D", "D"], ["D", "E"]] {
        assert_eq!(compare(&pair).quiet_success(), same, "{pair:?}");
    }
    // A copy has another path, and so has the absolute path.
    world.write("A", world.sum(["-r".into(), world.path("d")]).out);
    for pair in [["D", "e/f"], ["e/f", "D"], ["A", "e/f"], ["A", "d"]] {
        assert_eq!(compare(&pair).quiet_success(), same, "{pair:?}");
    }
    world.write("d/LIST", world.sum(["-r", "d"]).out);
    for pair in [["d/LIST", "d"], ["d", "d/LIST"]] {
        assert_eq!(compare(&pair).quiet_success(), same, "a list does not list itself");
    }
    fs::remove_file(world.path("d/LIST")).expect("our own file");
    disturb(&world);
    let expected = DISTURBED.replace("d/", "");
    assert_eq!(compare(&["e/f", "d"]).failure(1, &[]), expected);
    assert_eq!(compare(&["D", "d"]).failure(1, &[]), DISTURBED);
    assert_eq!(compare(&["A", "d"]).failure(1, &[]), expected, "as between two trees");
    let backward = "changed   d/b\nmoved     d/x -> d/c/x\nnew       d/c/y\ngone      d/new\n";
    assert_eq!(compare(&["-q", "d", "D"]).failure(1, &[]), backward);
    world.write("M", world.sum(["-r", "--algorithm", "md5", "d"]).out);
    let done = compare(&["D", "M"]);
    assert_eq!(done.code(), 2);
    assert!(done.err.contains("different hash functions"), "{}", done.err);
}

#[test]
fn finds_duplicates() {
    let world = World::new();
    world.write("d/a", "foo").write("d/b", "foo").write("d/c", "bar").write("d/e", "").write("d/f", "");
    world.write("d/large1", vec![7; 100_000]).write("d/sub/large2", vec![7; 100_000]).write("d/g", "foo");
    fs::hard_link(world.path("d/a"), world.path("d/z")).expect("a link");
    let out = world.sum(["--duplicates", "d"]).quiet_success();
    let expected = "100000 bytes, 2 files\n  d/large1\n  d/sub/large2\n3 bytes, 3 files\n  d/a\n  d/b\n  d/g\n\
                    3 duplicates, 100006 bytes\n";
    assert_eq!(out, expected);
    let zero = world.sum(["--duplicates", "-z", "d"]).quiet_success();
    assert_eq!(zero, "d/large1\0d/sub/large2\0\0d/a\0d/b\0d/g\0\0");
    let one = world.sum(["--duplicates", "d/sub", "d/large1"]).quiet_success();
    assert!(one.ends_with("\n1 duplicate, 100000 bytes\n"), "{one}");
    let json = world.sum(["--duplicates", "--json", "--exclude", "*.x", "d"]).quiet_success();
    let first: serde_json::Value = serde_json::from_str(json.lines().next().expect("a group")).expect("JSON");
    assert_eq!((&first["size"], &first["files"][1]["path"]), (&100_000.into(), &"d/sub/large2".into()));
}

/// Files of hashdeep and rclone, and hashdeep's own audit of the same tree.
#[test]
fn reads_lists_of_other_programs() {
    use hashmill_testkit::skip;
    let world = world();
    world.write("d/two  spaces, and a comma", "x");
    for (program, args) in [
        ("hashdeep", &["-r", "-l", "d"][..]),
        ("hashdeep", &["-r", "-l", "-c", "md5,sha1", "d"]),
        ("hashdeep", &["-r", "d"]),
        ("rclone", &["hashsum", "sha256", "d"]),
        ("rclone", &["md5sum", "d"]),
        ("rclone", &["hashsum", "sha256", "--base64", "d"]),
        ("rclone", &["sha1sum", "--base64", "d"]),
    ] {
        if Command::new(program).arg("-V").output().is_err() {
            skip("files of other programs", &format!("no {program} here: apt install {program}"));
            continue;
        }
        let list = world.run(program.as_ref(), args, b"");
        world.write("list", &list.out);
        let roots =
            if args == ["-r", "d"] { world.path("d").to_string_lossy().into_owned() } else { "d".to_owned() };
        let same = "5 same, 0 changed, 0 moved, 0 new, 0 gone\n";
        assert_eq!(world.sum(["--audit", "list", &roots]).quiet_success(), same, "{program} {args:?}");
        world.write("d/a", "changed");
        let out = world.sum(["--audit", "list", &roots]).failure(1, &[]);
        assert!(out.ends_with("4 same, 1 changed, 0 moved, 0 new, 0 gone\n"), "{out}");
        world.write("d/a", "d/a");
    }
}

/// If a list has the files of a directory, a differing tree digest names the differing files.
#[test]
fn differing_tree_names_its_files() {
    let world = world();
    world.write("trees", world.sum(["--tree", "d"]).quiet_success());
    world.write("files", world.sum(["-r", "d"]).quiet_success());
    disturb(&world);
    let differ = "WARNING: 1 computed checksum did NOT match";
    assert_eq!(world.sum(["-c", "trees"]).failure(1, &[differ]), "d/: FAILED\n", "there is no word of files");
    let lines = ["d/: d/b has changed", "d/: d/new is new", "d/: d/x was d/c/x", "d/: d/c/y is gone", differ];
    let read = |name: &str| fs::read_to_string(world.path(name)).expect("our own file");
    world.write("both", read("trees") + &read("files"));
    let done = world.sum(["-c", "--ignore-missing", "trees", "files"]);
    let messages: Vec<&str> = done.err.lines().filter_map(|line| line.strip_prefix("hashmill: ")).collect();
    assert_eq!(messages[..4], lines[..4], "{}", done.err);
    let done = world.sum(["-c", "--ignore-missing", "both"]);
    assert!(done.err.contains("d/: d/x was d/c/x\n"), "{}", done.err);
    assert_eq!(world.sum(["-c", "--status", "both"]).failure(1, &[]), "");
    // Unreadable lists are reported.
    for (list, reason) in
        [("none", "No such file or directory (os error 2)"), ("d", "Is a directory (os error 21)")]
    {
        let unknown = format!(
            "hashmill: d/: {list} cannot be read, so its entries for files there are unknown: {reason}\n"
        );
        let done = world.sum(["-c", "--ignore-missing", "both", list]);
        assert!(done.err.starts_with(&unknown) && done.err.contains("d/: d/x was d/c/x\n"), "{}", done.err);
        assert!(world.sum(["-c", "trees", list]).err.starts_with(&unknown));
    }
}
