//! Digests in extended attributes: `--xattr`.

use crate::world::{World, digest, finish, hashmill};
use hashmill_testkit::skip;
use rustix::fs::{XattrFlags, getxattr, setxattr};
use std::fs::{self, File};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

const ATTRIBUTE: &str = "user.hashmill.blake3";
const SHATAG: &str = "user.shatag.sha256";
const SHATAG_TIME: &str = "user.shatag.ts";

/// A world with some files; `None` if attributes are not supported.
fn world() -> Option<World> {
    let world = World::new();
    for name in ["d/a", "d/b", "d/c/x"] {
        world.write(name, name);
        set_time(&world, name, 5);
    }
    if let Err(error) = setxattr(world.path("d/a"), "user.try", b"", XattrFlags::empty()) {
        skip("tags", &format!("no extended attributes in the directory for temporary files: {error}"));
        return None;
    }
    Some(world)
}

fn set_time(world: &World, name: &str, nanos: u32) {
    let file = File::options().write(true).open(world.path(name)).expect("our own file");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000, nanos)).expect("our own file");
}

/// Simulates silent corruption: changes the content and keeps the time.
fn rot(world: &World, name: &str, contents: &str, nanos: u32) {
    world.write(name, contents);
    set_time(world, name, nanos);
}

fn attribute(world: &World, file: &str, name: &str) -> Option<String> {
    let mut value = [0; 500];
    let len = getxattr(world.path(file), name, &mut value[..]).ok()?;
    Some(String::from_utf8_lossy(&value[..len]).into_owned())
}

fn set_attribute(world: &World, file: &str, name: &str, value: &str) {
    setxattr(world.path(file), name, value.as_bytes(), XattrFlags::empty()).expect("our own file");
}

fn counts(ok: u32, new: u32, outdated: u32, touched: u32, corrupt: u32) -> String {
    format!("{ok} ok, {new} new, {outdated} outdated, {touched} touched, {corrupt} corrupt\n")
}

#[test]
fn tells_corruption_from_edits() {
    let Some(world) = world() else { return };
    let tags = |flags: &[&str]| world.sum([&["--xattr", "-r"], flags, &["d"]].concat());
    let new = "new       d/a\nnew       d/b\nnew       d/c/x\n".to_owned();
    assert_eq!(tags(&["--dry-run"]).quiet_success(), new.clone() + &counts(0, 3, 0, 0, 0));
    assert_eq!(attribute(&world, "d/a", ATTRIBUTE), None);
    assert_eq!(tags(&["-j", "2"]).quiet_success(), new + &counts(0, 3, 0, 0, 0));
    let tag = format!("3 1600000000.000000005 {}", digest(b"d/a"));
    assert_eq!(attribute(&world, "d/a", ATTRIBUTE).as_ref(), Some(&tag));
    assert_eq!(tags(&[]).quiet_success(), counts(3, 0, 0, 0, 0));
    assert_eq!(tags(&["-v", "-q", "--exclude", "c/"]).quiet_success(), "ok        d/a\nok        d/b\n");

    // Times differ by a nanosecond.
    set_time(&world, "d/b", 6);
    assert_eq!(tags(&[]).quiet_success(), "touched   d/b\n".to_owned() + &counts(2, 0, 0, 1, 0));
    rot(&world, "d/b", "changed", 7);
    assert_eq!(tags(&[]).quiet_success(), "outdated  d/b\n".to_owned() + &counts(2, 0, 1, 0, 0));
    assert_eq!(tags(&[]).quiet_success(), counts(3, 0, 0, 0, 0));

    rot(&world, "d/a", "D/A", 5);
    let was = digest(b"d/a");
    let message = format!(
        "d/a: content changed but modification time did not: BLAKE3 was {was}, is {}",
        digest(b"D/A")
    );
    let corrupt = "corrupt   d/a\n".to_owned() + &counts(2, 0, 0, 0, 1);
    for _ in 0..2 {
        assert_eq!(tags(&[]).failure(1, &[&message]), corrupt);
        assert_eq!(attribute(&world, "d/a", ATTRIBUTE).as_ref(), Some(&tag), "the evidence stays");
    }
    let lines = tags(&["--json"]).failure(1, &[&message]);
    let objects: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let object = serde_json::json!({
        "status": "corrupt", "path": "d/a", "algorithm": "blake3", "digest": digest(b"D/A"), "stored": was,
    });
    assert_eq!(objects[0], object);
    assert_eq!((&objects[1]["summary"]["ok"], &objects[1]["summary"]["corrupt"]), (&2.into(), &1.into()));
    // Another length with the old time is corruption, too.
    rot(&world, "d/c/x", "longer than it was", 5);
    assert!(tags(&[]).text().ends_with(&counts(1, 0, 0, 0, 2)));
    assert!(tags(&["--retag"]).text().ends_with(&counts(1, 0, 0, 0, 2)), "it is told once more");
    assert_eq!(tags(&[]).quiet_success(), counts(3, 0, 0, 0, 0));
}

#[test]
fn is_compatible_with_cshatag() {
    let Some(world) = world() else { return };
    let sha256 = world.sum(["--algorithm", "sha256", "--no-names", "d/a"]).quiet_success();
    let sha256 = sha256.trim_end();
    let tags = |args: &[&str]| world.sum([&["--xattr"], args].concat());
    tags(&["--algorithm", "sha256", "d/a"]).quiet_success();
    assert_eq!(attribute(&world, "d/a", SHATAG).as_deref(), Some(sha256));
    assert_eq!(attribute(&world, "d/a", SHATAG_TIME).as_deref(), Some("1600000000.000000005"));
    assert_eq!(attribute(&world, "d/a", ATTRIBUTE), None);
    // By default the stored function applies, and files of both functions keep their order.
    let both = "ok        d/a\nnew       d/b\nnew       d/c/x\n";
    assert_eq!(tags(&["-rvq", "d"]).quiet_success(), both);
    set_attribute(&world, "d/c/x", SHATAG, sha256);
    set_attribute(&world, "d/c/x", SHATAG_TIME, "1600000000.000000005");
    assert_eq!(tags(&["-rvq", "d"]).quiet_success(), both.replace("new", "ok "), "ours goes first");
    let done = tags(&["-rq", "--algorithm", "sha256", "d"]);
    assert_eq!((done.code(), &*done.text()), (1, "corrupt   d/c/x\n"), "{}", done.err);
    // A digest without a time is incomplete.
    setxattr(world.path("d/b"), SHATAG, b"x", XattrFlags::REPLACE).expect("it has one");
    rustix::fs::removexattr(world.path("d/b"), SHATAG_TIME).expect("it has one");
    assert_eq!(tags(&["-qv", "--algorithm", "sha256", "d/b"]).quiet_success(), "new       d/b\n");
}

#[test]
fn reports_files_without_attributes() {
    let Some(world) = world() else { return };
    std::os::unix::fs::symlink("a", world.path("d/link")).expect("a link");
    let tags = |args: &[&str]| world.sum([&["--xattr", "-q"], args].concat());
    let link = "d/link: a symbolic link, which has no tag; name the file that it leads to";
    assert_eq!(tags(&["d/link", "d/b"]).failure(1, &[link]), "");
    assert_eq!(attribute(&world, "d/a", ATTRIBUTE), None, "nothing is written through a link");
    let rest = "ok        d/a\nok        d/b\nok        d/c/x\n";
    assert_eq!(tags(&["-r", "d"]).quiet_success(), "", "only failures are named");
    assert_eq!(tags(&["-rv", "d"]).quiet_success(), rest, "those below are passed over");
    tags(&["d", "none"])
        .failure(1, &["d: is a directory; see --recursive", "none: No such file or directory (os error 2)"]);
    // One line per file system without attributes.
    let none = "/proc/self/maps: its file system has no extended attributes";
    let done = world.sum(["--xattr", "/proc/self/maps", "/proc/self/status", "d/a"]);
    assert_eq!(done.failure(1, &[none]), counts(1, 0, 0, 0, 0).replace('\n', ", 2 not tagged\n"));
    set_attribute(&world, "d/a", ATTRIBUTE, "3 yesterday abc");
    let damaged = format!("d/a: its attribute {ATTRIBUTE} has no digest with a time; see --retag");
    assert_eq!(tags(&["d/a"]).failure(1, &[&damaged]), "");
    assert_eq!(tags(&["-v", "--retag", "d/a"]).quiet_success(), "new       d/a\n");
    for (args, message) in [
        (&["--xattr"][..], "--xattr needs files, not standard input"),
        (&["--retag", "f"], "--xattr"),
        (&["--xattr", "--check", "f"], "cannot be used with"),
        (&["--xattr", "--keep-going", "f"], "cannot be used with"),
        (&["--xattr", "-rL", "d"], "cannot be used with"),
        (&["--xattr", "--retag", "--dry-run", "f"], "cannot be used with"),
    ] {
        let done = world.sum(args);
        assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{args:?}: {}", done.err);
        assert!(done.err.contains(message), "{args:?}: {}", done.err);
    }
    let done = world.sum_with(["--xattr", "-q", "--files-from", "-"], b"d/b\0d/c/x\0");
    assert_eq!(done.quiet_success(), "");
}

/// A thread writes all the time, so the read content is no version of the file.
#[test]
fn changing_file_gets_no_digest() {
    let Some(world) = world() else { return };
    world.write("f", "");
    let file = File::options().write(true).open(world.path("f")).expect("our own file");
    // Reading takes many time slices of a shared CPU, so the writer runs several times meanwhile.
    file.set_len(512 << 20).expect("a sparse file");
    let done = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            let mut nanos = 0;
            while !done.load(Ordering::Relaxed) {
                nanos += 1;
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::new(1_600_000_000, nanos))
                    .expect("our own file");
            }
        });
        let child = world.start(Command::new(hashmill()).args(["sum", "--xattr", "f"]));
        let result = finish(child);
        done.store(true, Ordering::Relaxed);
        result
    });
    let counted = counts(0, 0, 0, 0, 0).replace('\n', ", 1 changed while read\n");
    assert_eq!(result.failure(1, &["f: it changed while it was read"]), counted);
    assert_eq!(attribute(&world, "f", ATTRIBUTE), None);
    fs::write(world.path("f"), "at rest").expect("our own file");
    assert!(world.sum(["--xattr", "f"]).quiet_success().starts_with("new       f\n"));
}

/// Hard links share the stored digest: a file is read and written once, and all names get one result.
#[test]
fn hard_links_share_a_verdict() {
    let Some(world) = world() else { return };
    for n in 0..20 {
        world.write(format!("h/a{n:02}"), vec![n; 200_000]);
        set_time(&world, &format!("h/a{n:02}"), u32::from(n));
        fs::hard_link(world.path(format!("h/a{n:02}")), world.path(format!("h/b{n:02}"))).expect("a link");
    }
    let tags = |flags: &[&str]| world.sum([&["--xattr", "-r", "h"], flags].concat());
    for threads in ["1", "2", "4"] {
        assert!(tags(&["--dry-run", "-j", threads]).quiet_success().ends_with(&counts(0, 40, 0, 0, 0)));
    }
    let first = tags(&[]).quiet_success();
    assert_eq!(first.matches("new  ").count(), 40, "{first}");
    assert_eq!(tags(&[]).quiet_success(), counts(40, 0, 0, 0, 0));
    set_time(&world, "h/a03", 99);
    rot(&world, "h/b04", "rotted", 4);
    let done = world.sum(["--xattr", "h/a03", "h/a03", "h/b04", "h/a04", "h/b03"]);
    let expected = "touched   h/a03\ntouched   h/a03\ncorrupt   h/b04\ncorrupt   h/a04\ntouched   h/b03\n";
    assert_eq!(done.text(), expected.to_owned() + &counts(0, 0, 0, 3, 2), "{}", done.err);
    assert_eq!(done.err.matches("modification time did not").count(), 2);
    // The second name may come before or after the digest is stored; both succeed.
    let twice: Vec<&str> = ["d/a", "d/b", "d/a"].repeat(50);
    world.sum([&["--xattr"][..], &twice].concat()).quiet_success();
}
