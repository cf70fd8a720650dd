//! Faulty input: one message line each, the documented exit code, and all other files processed.

use crate::world::{World, digest};
use hashmill_testkit::skip;

#[test]
fn rejects_conflicting_flags() {
    let world = World::new();
    world.write("f", "x");
    for (args, line) in [
        (
            &["--unknown", "f"][..],
            "unexpected argument '--unknown' found; to pass '--unknown' as a value, use '-- --unknown' (see --help)",
        ),
        (
            &["--length", "-1", "f"],
            "unexpected argument '-1' found; to pass '-1' as a value, use '-- -1' (see --help)",
        ),
        (
            &["--length", "x", "f"],
            "invalid value 'x' for '--length <LEN>': invalid digit found in string (see --help)",
        ),
        (
            &["--length", "18446744073709551616", "f"],
            "invalid value '18446744073709551616' for '--length <LEN>': number too large to fit in target type (see --help)",
        ),
        (
            &["--seek", "18446744073709551616", "f"],
            "invalid value '18446744073709551616' for '--seek <SEEK>': number too large to fit in target type (see --help)",
        ),
        (
            &["--seek", "18446744073709551584", "f"],
            "--seek 18446744073709551584 with 32 bytes of output exceeds 2^64 - 1, the end of BLAKE3's output",
        ),
        (&["--raw", "f", "f"], "only one file can be hashed with --raw"),
        (&["--keyed"], "the following required arguments were not provided: <FILE>... (see --help)"),
        (&["--check", "--keyed", "-"], "the key comes from standard input, so a list cannot"),
        (&["--check", "--length", "0", "f"], "--check compares nothing with --length 0"),
        (
            &["--quiet", "f"],
            "the following required arguments were not provided: <--check|--expect <HEX>|--audit <LIST>|--update <LIST>|--duplicates|--xattr> (see --help)",
        ),
        (
            &["--expect", "00", "--check", "f"],
            "the argument '--expect <HEX>' cannot be used with '--check' (see --help)",
        ),
        (&["--expect", "xy", "f"], "--expect: digit 1 is not hexadecimal"),
        (
            &["--expect", "00112233445566778899aabbccddeeff", "f", "f"],
            "only one file can be compared with --expect",
        ),
        (
            &["--strategy", "telepathy", "f"],
            "invalid value 'telepathy' for '--strategy <NAME>': strategies are auto read pread mmap mmap-parallel direct (see --help)",
        ),
        (
            &["--strategy", "mmap", "--no-mmap", "f"],
            "the argument '--strategy <NAME>' cannot be used with '--no-mmap' (see --help)",
        ),
        (
            &["--algorithm", "sha256", "--keyed", "f"],
            "--keyed is for BLAKE3 and cannot be used with --algorithm sha256",
        ),
        (
            &["--algorithm", "md6", "f"],
            "invalid value 'md6' for '--algorithm <NAME>' [possible values: blake3, sha256, sha512, sha1, md5]; a similar value exists: 'md5' (see --help)",
        ),
        (&["--tree", "-"], "--tree takes directories, not standard input"),
    ] {
        assert_eq!(world.sum(args).failure(2, &[line]), "", "{args:?}");
    }
    let done = world.sum(["--kernel", "warp", "f"]);
    assert_eq!(done.code(), 2);
    assert!(
        done.err.starts_with("hashmill: no kernel is called warp; available are portable"),
        "{}",
        done.err
    );
}

#[test]
fn rejects_keys_of_wrong_length() {
    let world = World::new();
    world.write("f", "x");
    for (len, line) in [
        (0, "expected 32 key bytes from standard input, found 0"),
        (31, "expected 32 key bytes from standard input, found 31"),
        (33, "read more than 32 key bytes from standard input"),
        (1000, "read more than 32 key bytes from standard input"),
    ] {
        assert_eq!(world.sum_with(["--keyed", "f"], &vec![7; len]).failure(2, &[line]), "");
    }
}

#[test]
fn unreadable_files_do_not_stop_others() {
    let world = World::new();
    world.write("f", "x").write("d/g", "y");
    let out = world.sum(["none", "f", "d", "f/g", "f"]).failure(
        1,
        &[
            "none: No such file or directory (os error 2)",
            "d: Is a directory (os error 21); see --recursive and --tree",
            "f/g: Not a directory (os error 20)",
        ],
    );
    assert_eq!(out, format!("{0}  f\n{0}  f\n", digest(b"x")));
    let out = world.sum(["-r", "none", "d"]).failure(1, &["none: No such file or directory (os error 2)"]);
    assert_eq!(out, format!("{}  d/g\n", digest(b"y")));
}

#[test]
fn names_cannot_forge_messages() {
    let world = World::new();
    world
        .sum(["a\nhashmill: f: OK"])
        .failure(1, &[r"a\nhashmill: f: OK: No such file or directory (os error 2)"]);
}

#[cfg(unix)]
#[test]
fn reports_unreadable_files() {
    use crate::world::{finish, hashmill};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    let world = World::new();
    world.write("f", "x").write("closed", "y").write("dir/g", "z");
    let allow = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(world.path(name), permissions).expect("our own file");
    };
    allow("", 0o755);
    allow("closed", 0);
    allow("dir", 0);
    let mut command = Command::new(hashmill());
    command.args(["sum", "-r", "f", "closed", "dir", "f"]);
    if rustix::process::geteuid().is_root() {
        // Root can read everything, so another user runs the program.
        command.uid(65534).gid(65534);
        let mut probe = Command::new(hashmill());
        if probe.arg("--version").uid(65534).gid(65534).output().is_err() {
            skip("unreadable files", "running as root, and nobody else may run the program where it lies");
            return;
        }
    }
    let done = finish(world.start(&mut command));
    allow("dir", 0o755);
    let out =
        done.failure(1, &["closed: Permission denied (os error 13)", "dir: Permission denied (os error 13)"]);
    assert_eq!(out, format!("{0}  f\n{0}  f\n", digest(b"x")));
}

#[cfg(target_os = "linux")]
#[test]
fn reports_full_disk_on_standard_output() {
    use crate::world::{finish, hashmill};
    use hashmill_testkit::wait;
    use std::process::Command;
    let world = World::new();
    world.write("f", "x");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let mut command = Command::new(hashmill());
    command.args(["sum", "f", "f"]).current_dir(world.path(""));
    command.stdout(full).stderr(std::process::Stdio::piped());
    finish(wait::start(&mut command).expect("the program starts"))
        .failure(1, &["standard output: No space left on device (os error 28)"]);
}

#[cfg(unix)]
#[test]
fn writes_messages_in_one_call() {
    use crate::world::hashmill;
    use hashmill_testkit::wait;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::process::Command;
    let world = World::new();
    // Each write to such a socket is one datagram.
    let (reader, writer) = UnixDatagram::pair().expect("a pair of sockets");
    let mut command = Command::new(hashmill());
    command.args(["sum", "none"]).current_dir(world.path("")).stderr(OwnedFd::from(writer));
    assert_eq!(
        wait::start(&mut command).expect("the program starts").wait().expect("an end").code(),
        Some(1)
    );
    let mut message = [0; 1000];
    let len = reader.recv(&mut message).expect("a message");
    let expected = "hashmill: none: No such file or directory (os error 2)\n";
    assert_eq!(String::from_utf8_lossy(&message[..len]), expected);
}
