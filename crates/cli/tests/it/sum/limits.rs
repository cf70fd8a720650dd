//! Pipes, broken pipes, endless output, bounded memory.

#![cfg(unix)]

use crate::world::{World, digest, finish, hashmill, zeros};
use hashmill_hash::blake3::Hasher;
use hashmill_testkit::wait::Running;
use hashmill_testkit::{size, skip};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;
use std::thread;
use std::time::Duration;

#[test]
fn closed_reader_ends_the_work() {
    let world = World::new();
    world.write("f", "x");
    let mut command = Command::new(hashmill());
    command.arg("sum").args(vec!["f"; 30_000]);
    let mut child = world.start(&mut command);
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut line).expect("a line");
    assert_eq!(line, format!("{}  f\n", digest(b"x")));
    drop(out);
    let done = finish(child);
    done.ended_unread();
}

#[test]
fn streams_long_output() {
    let world = World::new();
    world.write("f", "foo");
    let mut command = Command::new(hashmill());
    command.args(["sum", "--raw", "--length", "18446744073709551615", "f"]);
    let mut child = world.start(&mut command);
    let mut found = vec![0; 1 << 20];
    child.stdout.take().expect("a pipe").read_exact(&mut found).expect("output");
    let mut expected = vec![0; 1 << 20];
    Hasher::new().update(b"foo").finalize_xof().fill(&mut expected);
    assert!(found == expected);
    let done = finish(child);
    done.ended_unread();
}

#[test]
fn prints_last_bytes_of_output() {
    let world = World::new();
    world.write("f", "foo");
    let mut reader = Hasher::new().update(b"foo").finalize_xof();
    reader.set_position(u64::MAX - 32);
    let mut last = [0; 32];
    reader.fill(&mut last);
    let hex = hashmill_testkit::hex::encode(&last);
    let done = world.sum(["--seek", &(u64::MAX - 32).to_string(), "f"]);
    assert_eq!(done.quiet_success(), format!("{hex}  f\n"));
}

#[test]
fn hashes_named_pipes_among_files() {
    let world = World::new();
    world.write("f", "x");
    let path = world.path("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
    let refusals = ["./pipe: neither a file nor a directory", ".: no digest, as 1 below it failed"];
    assert_eq!(world.sum(["--tree", "."]).failure(1, &refusals), "");
    let bytes = vec![7; 3_000_000];
    for strategy in ["auto", "read", "pread", "mmap", "mmap-parallel", "direct"] {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut pipe = File::options().write(true).open(&path).expect("a reader at the other end");
                for piece in bytes.chunks(300_001) {
                    pipe.write_all(piece).expect("a reader at the other end");
                }
            });
            let done = world.sum(["--strategy", strategy, "f", "pipe", "f"]);
            let x = digest(b"x");
            assert_eq!(
                done.quiet_success(),
                format!("{x}  f\n{}  pipe\n{x}  f\n", digest(&bytes)),
                "{strategy}"
            );
        });
    }
}

#[test]
fn results_do_not_wait_for_later_inputs() {
    let world = World::new();
    world.write("f", "x");
    let mut command = Command::new(hashmill());
    command.args(["sum", "f", "-"]);
    let mut child = world.start(&mut command);
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    // Standard input is still open: a result that waited for it would never come.
    out.read_line(&mut line).expect("a line");
    assert_eq!(line, format!("{}  f\n", digest(b"x")));
    drop(child.stdin.take());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the rest");
    assert_eq!(rest, format!("{}  -\n", digest(b"")));
    assert_eq!(finish(child).code(), 0);
}

/// The maximum resident memory of `child`, sampled until it ends.
fn peak_resident_kib(child: &mut Running) -> u64 {
    let mut peak = 0;
    while child.try_wait().expect("a child").is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak = peak.max(line.and_then(|kib| kib.parse().ok()).unwrap_or(0));
        thread::sleep(Duration::from_millis(2));
    }
    peak
}

#[test]
fn memory_is_independent_of_file_size() {
    if !std::path::Path::new("/proc/self/status").exists() {
        return skip("memory of a large file", "no /proc here");
    }
    let world = World::new();
    // Several times the bound below.
    let len = size::of(512 << 20, 4 << 30);
    File::create(world.path("f")).and_then(|file| file.set_len(len)).expect("a sparse file");
    let expected = format!("{}  f\n", zeros(len));
    for strategy in ["read", "auto", "direct"] {
        let mut command = Command::new(hashmill());
        command.args(["sum", "--num-threads", "2", "--strategy", strategy, "f"]);
        let mut child = world.start(&mut command);
        let peak = peak_resident_kib(&mut child);
        let done = finish(child);
        assert_eq!(done.quiet_success(), expected);
        assert!((1000..64 * 1024).contains(&peak), "{strategy}: {peak} KiB");
    }
}
