//! Core dumps: a program killed during a hash leaves no password in a dump.

#![cfg(target_os = "linux")]

use crate::world::{World, hashmill};
use hashmill_testkit::{emulated, signal, skip};
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

const PASSWORD: &str = "open sesame, said Ali Baba to the rock";
/// Costs for hours of work, so the signal always comes during the hash.
const LONG: [&str; 4] = ["-m", "64MiB", "-t", "1000000"];

/// A line of `/proc/PID/NAME` that starts with `key`.
fn fact(pid: u32, name: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/{name}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(key)).map(|rest| rest.trim().to_owned())
}

/// The first number of such a line.
fn number(pid: u32, key: &str) -> u64 {
    let line = fact(pid, "status", key).unwrap_or_default();
    line.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// A program with an unlimited size of core dumps.
fn dumpable(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c unlimited; exec \"$0\" \"$@\"", program]).args(args);
    command
}

fn kill(pid: u32, signal: &str) {
    let done = Command::new("sh")
        .args(["-c", "kill \"$@\"", "sh", &format!("-{signal}"), &pid.to_string()])
        .status();
    assert!(done.expect("kill").success());
}

/// Whether an unprotected program leaves a dump on this machine.
fn machine_dumps() -> bool {
    let world = World::new();
    let mut child = world.start(&mut dumpable("cat", &[]));
    // An echo of `cat` shows that it has replaced the shell.
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"x").expect("a reader");
    std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut [0]).expect("an echo");
    kill(child.id(), "ABRT");
    child.wait().expect("an end").core_dumped()
}

/// Runs `hashmill password ARGS` until it computes, inspects it, and kills it.
fn killed(world: &World, args: &[&str], name: &str) -> ExitStatus {
    let program = hashmill();
    let args = [&["password"], args].concat();
    let mut child = world.start(&mut dumpable(program.to_str().expect("a path"), &args));
    let pid = child.id();
    child.stdin.take().expect("a pipe").write_all(PASSWORD.as_bytes()).expect("a reader");
    // The memory of the hash is allocated after the password was read.
    while number(pid, "VmRSS:") < 48 << 10 {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself: {args:?}");
        std::thread::yield_now();
    }
    let limit = fact(pid, "limits", "Max core file size").unwrap_or_default();
    assert!(limit.starts_with("0 "), "{args:?}: {limit}");
    if number(std::process::id(), "VmLck:") == 0 && number(pid, "VmLck:") == 0 {
        skip("locked passwords", "this machine locks no memory");
    }
    kill(pid, name);
    child.wait().expect("an end")
}

#[test]
fn killed_program_leaves_no_password() {
    if emulated() {
        return skip("core dumps", "an emulator writes its own");
    }
    signal::heed();
    let dumps = machine_dumps();
    if !dumps {
        skip("files of core dumps", "no program leaves any on this machine; the limit was looked at");
    }
    let hash = format!("$argon2id$v=19$m=65536,t=1000000,p=1$c29tZXNhbHQ${}", "A".repeat(43));
    let limits = ["--max-passes", "1000000", "--max-work", "1000000000GiB"];
    let verify = [&["verify", "--hash", &hash], &limits[..]].concat();
    let upgrade = [&["upgrade", "--hash", &hash], &limits[..]].concat();
    let kdf = ["kdf", "somesalt", "-k", "65536", "-t", "1000000"];
    for args in [&[&["hash"], &LONG[..]].concat()[..], &kdf, &verify, &upgrade] {
        for name in ["QUIT", "ABRT"] {
            let world = World::new();
            let status = killed(&world, args, name);
            assert!(status.signal().is_some() && !status.core_dumped(), "{args:?}: {status:?}");
            for entry in fs::read_dir(world.path("")).expect("a folder").flatten() {
                let bytes = fs::read(entry.path()).unwrap_or_default();
                let found = bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes());
                assert!(!found, "{args:?}: the password is in {}", entry.path().display());
            }
        }
    }
}
