//! `hashmill password` in scripts: pipes, exit codes, JSON, and errors.

use crate::world::{Done, NOTE_ON_COSTS, World, hashmill};
use hashmill_testkit::{size, skip};
use std::ffi::OsStr;

/// Made by the reference implementation: `echo -n password | argon2 somesalt -id -t 2 -k 64 -e`.
const GOOD: &str = "$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHQ$";

pub(crate) fn run<S: AsRef<OsStr>>(world: &World, args: impl IntoIterator<Item = S>, input: &[u8]) -> Done {
    let words = ["password".into()];
    let args = words.into_iter().chain(args.into_iter().map(|arg| arg.as_ref().to_owned()));
    world.run(&hashmill(), args, input).without_note_on_costs()
}

/// A cheap hash of a password.
pub(crate) fn new_hash(world: &World, password: &[u8], args: &[&str]) -> String {
    let mut args = [&["hash"], args].concat();
    for (flag, value) in [("-m", "64"), ("-t", "1")] {
        if !args.contains(&flag) {
            args.extend([flag, value]);
        }
    }
    run(world, args, password).quiet_success().trim_end().to_owned()
}

fn verify(world: &World, hash: &str, password: &[u8]) -> Done {
    run(world, ["verify", "--hash", hash], password)
}

pub(crate) fn json(done: &Done) -> Vec<serde_json::Value> {
    done.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn hashes_verify_with_exit_codes() {
    let world = World::new();
    let hash = new_hash(&world, b"secret\n", &[]);
    assert!(hash.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{hash}");
    assert_eq!(verify(&world, &hash, b"secret").quiet_success(), "match\n");
    assert_eq!(verify(&world, &hash, b"secret\n").quiet_success(), "match\n");
    for wrong in [&b"secret\n\n"[..], b"Secret", b"secret\rx", b"x"] {
        let done = verify(&world, &hash, wrong);
        assert_eq!((done.code(), &*done.text(), &*done.err), (1, "no match\n", ""));
    }
    let quiet = |input: &[u8]| run(&world, ["verify", "--quiet", "--hash", &hash], input);
    assert_eq!((quiet(b"secret").code(), quiet(b"no").code()), (0, 1));
    assert_eq!(quiet(b"no").out, b"");
}

#[test]
fn every_hash_has_its_own_salt() {
    let world = World::new();
    let (one, other) = (new_hash(&world, b"x", &[]), new_hash(&world, b"x", &[]));
    assert_ne!(one, other);
    let parts: Vec<_> = one.split('$').collect();
    assert_eq!((parts[4].len(), parts[5].len()), (22, 43), "16 and 32 bytes");
}

#[test]
fn uses_requested_costs() {
    let world = World::new();
    let start = |args: &[&str]| {
        let done = run(&world, [&["hash"], args].concat(), b"x");
        let text = done.quiet_success();
        text.rsplitn(3, '$').last().expect("costs").to_owned()
    };
    assert_eq!(start(&[]), "$argon2id$v=19$m=19456,t=2,p=1", "OWASP's by default");
    assert_eq!(start(&["--preset", "argon2sharp-test"]), "$argon2id$v=19$m=32,t=3,p=4");
    assert_eq!(start(&["--preset", "owasp-7m", "-t", "1"]), "$argon2id$v=19$m=7168,t=1,p=1");
    assert_eq!(start(&["-m", "1MiB", "-t", "1", "--variant", "argon2i"]), "$argon2i$v=19$m=1024,t=1,p=1");
    let done = run(&world, ["hash", "-m", "64", "-t1", "-p2", "-l", "20", "--salt-len", "8", "--json"], b"x");
    let facts = &json(&done)[0];
    assert_eq!(facts["memory_kib"], 64);
    assert_eq!(facts["lanes"], 2);
    assert_eq!((facts["salt_len"].as_u64(), facts["tag_len"].as_u64()), (Some(8), Some(20)));
    let hash = facts["hash"].as_str().expect("a hash");
    assert_eq!(verify(&world, hash, b"x").code(), 0);
}

#[test]
fn verifies_reference_hashes() {
    let world = World::new();
    let done = run(&world, ["kdf", "somesalt", "-id", "-t", "2", "-k", "64", "-e"], b"password");
    let hash = done.quiet_success();
    assert!(hash.starts_with(GOOD));
    assert_eq!(verify(&world, hash.trim_end(), b"password").code(), 0);
    // src/test.c of phc-winner-argon2.
    let old = "$argon2i$m=256,t=2,p=2$c29tZXNhbHQ$tsEVYKap1h6scGt5ovl9aLRGOqOth+AMB+KwHpDFZPs";
    assert_eq!(verify(&world, old, b"password").code(), 0);
    assert_eq!(verify(&world, old, b"Password").code(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn reads_passwords_and_secrets_from_descriptors() {
    let world = World::new();
    world.write("pw", "secret\n").write("pepper", "pepper").write("empty", "");
    let shell = |line: &str| {
        let program = hashmill();
        let line = line.replace("hashmill", program.to_str().expect("a path"));
        world.run("bash".as_ref(), ["-c", &line], b"")
    };
    let done = shell("hashmill password hash -q -m 64 -t 1 --password-fd 3 --secret-fd 4 3<pw 4<pepper");
    let hash = done.quiet_success();
    let verify = |rest: &str| {
        shell(&format!("hashmill password verify --hash '{}' --password-fd 3 3<pw {rest}", hash.trim_end()))
            .code()
    };
    assert_eq!(verify("--secret-fd 4 4<pepper"), 0);
    assert_eq!(verify("--secret-fd 4 4<pw"), 1);
    assert_eq!(verify(""), 1, "without the secret");
    shell("hashmill password hash --password-fd 3 --secret-fd 4 3<pw 4<empty")
        .failure(2, &["the secret on file descriptor 4 is empty; leave --secret-fd out"]);
    let taken = "standard input cannot be the secret and something else: see --secret-fd";
    shell("hashmill password hash --secret-fd 0 <pw").failure(2, &[taken]);
    shell("hashmill password verify --file - --password-fd 3 --secret-fd 0 <pw 3<pw").failure(2, &[taken]);
    shell("hashmill password hash --password-fd 3 --secret-fd 3 3<pw")
        .failure(2, &["--password-fd and --secret-fd need file descriptors of their own"]);
    // The test runner may have left that descriptor open.
    shell("hashmill password hash --password-fd 9 9<&-")
        .failure(2, &["the password on file descriptor 9 is not open: open it with 9<FILE"]);
}

#[test]
fn malformed_hashes_have_a_position_and_reason() {
    let world = World::new();
    let tag = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTA";
    for (hash, line) in [
        (String::new(), "no password hash of a known kind: Argon2, bcrypt, scrypt and PBKDF2 are verified"),
        ("$2b$12$abc".to_owned(), "bcrypt hash: expected 22 characters of salt and 31 of tag"),
        ("$argon2x$".to_owned(), "password hash, byte 0: expected $argon2d$, $argon2i$ or $argon2id$"),
        (
            format!("$argon2id$v=19$m=064,t=2,p=1$c29tZXNhbHQ${tag}"),
            "password hash, byte 17: expected a decimal number without sign and leading zeroes",
        ),
        (
            format!("{GOOD}{tag}="),
            "password hash, byte 67: a character that base64 without padding does not have",
        ),
        (
            format!("$argon2id$v=99$m=64,t=2,p=1$c29tZXNhbHQ${tag}"),
            "password hash, byte 12: version 99: only 16 (1.0) and 19 (1.3) exist",
        ),
        (
            format!("$argon2id$v=19$m=64,t=0,p=1$c29tZXNhbHQ${tag}"),
            "password hash, byte 15: 0 passes: choose at least 1",
        ),
        (
            format!("$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ${tag}"),
            "password hash, byte 15: 4294967295 KiB of memory, where at most 2097152 are allowed (see --max-memory)",
        ),
        (
            format!("$argon2id$v=19$m=8,t=4294967295,p=1$c29tZXNhbHQ${tag}"),
            "password hash, byte 15: 4294967295 passes, where at most 1024 are allowed (see --max-passes)",
        ),
        (
            format!("$argon2id$v=19$m=134217720,t=1,p=16777215$c29tZXNhbHQ${tag}"),
            "password hash, byte 15: 134217720 KiB of memory, where at most 2097152 are allowed (see --max-memory)",
        ),
        (
            format!("$argon2id$v=19$m=8000,t=1,p=1000$c29tZXNhbHQ${tag}"),
            "password hash, byte 15: 1000 lanes, where at most 256 are allowed (see --max-lanes)",
        ),
        (
            format!("$argon2id$v=19$m=2097152,t=9,p=1$c29tZXNhbHQ${tag}"),
            "password hash, byte 15: 18874368 KiB of memory times passes, where at most 8388608 are allowed (see --max-work)",
        ),
        (
            format!("{GOOD}MTIzNDU"),
            "password hash, byte 40: 5 bytes of tag, where at least 16 are required (see --min-tag)",
        ),
        (
            format!("$argon2id$v=19$m=64,t=2,p=1$c29tZXM${tag}"),
            "password hash, byte 28: 5 bytes of salt, where at least 8 are required",
        ),
    ] {
        assert_eq!(verify(&world, &hash, b"x").failure(2, &[line]), "", "{hash}");
        let done = run(&world, ["verify", "--json", "--hash", &hash], b"x");
        assert_eq!((done.code(), &*done.err), (2, ""));
        assert_eq!(json(&done)[0]["match"], serde_json::Value::Null);
        assert_eq!(json(&done)[0]["error"].as_str(), Some(line));
    }
}

#[test]
fn limits_can_be_raised_and_lowered() {
    let world = World::new();
    let short = run(&world, ["hash", "-m", "64", "-t", "1", "-l", "8"], b"x").text().trim_end().to_owned();
    assert_eq!(verify(&world, &short, b"x").code(), 2);
    assert_eq!(run(&world, ["verify", "--min-tag", "8", "--hash", &short], b"x").code(), 0);
    let hash = new_hash(&world, b"x", &["-t", "3", "-p", "2"]);
    for limit in ["--max-memory=63", "--max-passes=2", "--max-lanes=1", "--max-work=191", "--min-tag=33"] {
        assert_eq!(run(&world, ["verify", limit, "--hash", &hash], b"x").code(), 2, "{limit}");
    }
    for limit in ["--max-memory=64", "--max-passes=3", "--max-lanes=2", "--max-work=192", "--min-tag=32"] {
        assert_eq!(run(&world, ["verify", limit, "--hash", &hash], b"x").code(), 0, "{limit}");
    }
    let other_order = hash.replace("m=64,t=3,p=2", "t=3,p=2,m=64");
    assert_eq!(verify(&world, &other_order, b"x").code(), 2);
    assert_eq!(run(&world, ["verify", "--lenient", "--hash", &other_order], b"x").code(), 0);
}

#[test]
fn passwords_have_length_limits() {
    let world = World::new();
    for empty in [&b""[..], b"\n"] {
        run(&world, ["hash"], empty).failure(2, &["the password is empty; --allow-empty accepts it"]);
    }
    let hash = new_hash(&world, b"x", &["--allow-empty"]);
    let empty = "note: the password is empty";
    for attempt in [&b""[..], b"\n"] {
        assert_eq!(verify(&world, &hash, attempt).failure(1, &[empty]), "no match\n");
    }
    let done = run(&world, ["hash", "-m", "64", "-t", "1", "--allow-empty"], b"");
    let hash = done.failure(0, &[empty]).trim_end().to_owned();
    assert_eq!(verify(&world, &hash, b"\n").code(), 0);
    assert_eq!(verify(&world, &hash, b"x").code(), 1);
    let longest = vec![b'x'; 65536];
    let hash = new_hash(&world, &longest, &[]);
    assert_eq!(verify(&world, &hash, &longest).code(), 0);
    assert_eq!(verify(&world, &hash, &longest[1..]).code(), 1);
    let line = "the password on standard input: longer than 65536 bytes, the limit of this program";
    run(&world, ["hash"], &vec![b'x'; 65537]).failure(2, &[line]);
    run(&world, ["hash"], &vec![b'x'; 10 << 20]).failure(2, &[line]);
    let bytes: Vec<u8> = (0..=255).collect();
    let lines = "note: the password has a line feed in the middle; all lines are part of the password";
    let hash = run(&world, ["hash", "-m", "64", "-t", "1"], &bytes).failure(0, &[lines]);
    assert_eq!(verify(&world, hash.trim_end(), &bytes).code(), 0, "any bytes");
}

#[test]
fn rejects_invalid_costs() {
    let world = World::new();
    for (args, line) in [
        (&["-m", "7"][..], "7 KiB of memory: choose at least 8 KiB, which is 8 KiB for each lane"),
        (&["-p", "0"], "0 lanes: choose 1 to 16777215"),
        (&["-p", "16777216"], "16777216 lanes: choose 1 to 16777215"),
        (&["-p", "3000"], "19456 KiB of memory: choose at least 24000 KiB, which is 8 KiB for each lane"),
        (&["-t", "0"], "0 passes: choose at least 1"),
        (
            &["-m", "4TiB"],
            "invalid value '4TiB' for '--memory <SIZE>': a size is a whole number and K, M or G; without a unit it is in KiB (see --help)",
        ),
        (&["-m", "4294967296"], "--memory: 4294967296 KiB is more than the maximum of 4294967295"),
        (
            &["-t", "4294967296"],
            "invalid value '4294967296' for '--passes <N>': 4294967296 is not in 0..=4294967295 (see --help)",
        ),
        (&["--salt-len", "7"], "--salt-len: 7 bytes of salt, where at least 8 are required"),
        (&["--salt-len", "65"], "--salt-len: 65 bytes of salt, where at most 64 are allowed"),
        (&["-l", "3"], "--tag-len: 3 bytes of tag, where at least 4 are required"),
        (&["-l", "129"], "--tag-len: 129 bytes of tag, where at most 128 are allowed"),
        (
            &["--variant", "argon2"],
            "invalid value 'argon2' for '--variant <NAME>': unknown variant: only argon2d, argon2i and argon2id exist (see --help)",
        ),
        (
            &["--prompt", "--password-fd", "3"],
            "the argument '--prompt' cannot be used with '--password-fd <FD>' (see --help)",
        ),
    ] {
        assert_eq!(run(&world, [&["hash"], args].concat(), b"x").failure(2, &[line]), "", "{args:?}");
    }
    let done = run(&world, ["hash", "--preset", "best"], b"x");
    assert_eq!(done.code(), 2);
    assert!(done.err.contains("presets are owasp owasp-46m"), "{}", done.err);
    // Other users could see a password in the arguments.
    let done = run(&world, ["hash", "sesame"], b"");
    assert_eq!(done.code(), 2);
    assert!(!done.err.contains("sesame"), "nor where messages are kept: {}", done.err);
    run(&world, ["verify", "--hash", "x", "--file", "y"], b"")
        .failure(2, &["the argument '--hash <STRING>' cannot be used with '--file <FILE>' (see --help)"]);
}

#[cfg(target_os = "linux")]
#[test]
fn refused_memory_is_an_error() {
    let world = World::new();
    let program = hashmill();
    let line =
        format!("ulimit -v 300000; {} password hash -m 400MiB -t 1", program.to_str().expect("a path"));
    let done = world.run("bash".as_ref(), ["-c", &line], b"x");
    done.failure(2, &["the system refused 419430400 bytes of memory: choose a smaller memory cost"]);
    // More memory than any machine has is refused before the allocation.
    for args in
        [&["hash", "-m", "4294967295"][..], &["kdf", "somesalt", "-m", "32"], &["calibrate", "-m", "4095GiB"]]
    {
        let done = run(&world, args, b"x");
        assert_eq!(done.code(), 2);
        assert!(done.err.contains(" KiB are free: choose a smaller memory cost"), "{}", done.err);
    }
}

/// A control group of 64 MiB, version 1 or 2. It is removed on drop.
#[cfg(target_os = "linux")]
struct SmallGroup(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallGroup {
    fn new() -> Option<SmallGroup> {
        use std::fs;
        use std::io::Write;
        let name = format!("hashmill-test-{}", std::process::id());
        [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")]
            .iter()
            .find_map(|(top, limit)| {
                let group = std::path::Path::new(top).join(&name);
                fs::create_dir(&group).ok()?;
                let group = SmallGroup(group);
                // Only if the system created the file: other folders accept any file.
                let mut file = fs::File::options().write(true).open(group.0.join(limit)).ok()?;
                file.write_all(b"67108864").ok()?;
                Some(group)
            })
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallGroup {
    fn drop(&mut self) {
        std::fs::remove_dir(&self.0).ok();
    }
}

/// In a container the system kills a program that exceeds the container's memory.
#[cfg(target_os = "linux")]
#[test]
fn respects_container_memory_limit() {
    let Some(group) = SmallGroup::new() else {
        skip("the memory of a container", "no control group can be made here: run as root");
        return;
    };
    let world = World::new();
    let shell = |rest: &str| {
        let (group, program) = (group.0.display(), hashmill());
        let line = format!("echo $$ >{group}/cgroup.procs && exec {} password {rest}", program.display());
        world.run("sh".as_ref(), ["-c", &line], b"x")
    };
    let done = shell("hash -m 100MiB -t 1");
    assert_eq!(done.code(), 2, "{}", done.err);
    assert!(done.err.starts_with("hashmill: 102400 KiB of memory are needed"), "{}", done.err);
    let good = shell("hash -q -m 1MiB -t 1").quiet_success();
    world.write("hashes", format!("{good}{}", good.replace("m=1024", "m=102400")));
    let done = shell("verify --file hashes --password-fd 0");
    assert_eq!(done.code(), 2, "{}", done.err);
    assert!(
        done.text().starts_with("1: match\n2: no answer (102400 KiB of memory are needed"),
        "{}",
        done.text()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_no_mismatch() {
    let world = World::new();
    let hash = new_hash(&world, b"x", &[]);
    world.write("hashes", &hash);
    let program = hashmill();
    let program = program.to_str().expect("a path");
    let full = "standard output: No space left on device (os error 28)";
    let rest = "hashes: nothing was read after line 1";
    for (args, lines) in [
        (format!("verify --hash '{hash}'"), &[full][..]),
        ("verify --file hashes --password-fd 0".to_owned(), &[full, rest]),
    ] {
        let line = format!("{program} password {args} >/dev/full");
        world.run("bash".as_ref(), ["-c", &line], b"x").failure(2, lines);
    }
}

/// These flags give hashes that `verify` refuses by default, with a note.
#[test]
fn notes_hashes_that_verify_refuses() {
    let world = World::new();
    for (args, what) in [
        (&["-m", "64", "-t", "1025"][..], "1025 passes, where at most 1024 are allowed (see --max-passes)"),
        (&["-m", "64", "-l", "8"], "8 bytes of tag, where at least 16 are required (see --min-tag)"),
    ] {
        let done = run(&world, [&["hash"], args].concat(), b"x");
        assert_eq!(done.code(), 0, "{}", done.err);
        assert!(done.err.contains("verify refuses this hash") && done.err.contains(what), "{}", done.err);
        assert_eq!(verify(&world, done.text().trim_end(), b"x").code(), 2);
    }
    assert_eq!(run(&world, ["hash", "-m", "64"], b"x").err, "");
}

#[test]
fn password_file_needs_hash_file() {
    let world = World::new();
    let hash = new_hash(&world, b"x", &[]);
    run(&world, ["verify", "--hash", &hash, "--passwords", "list"], b"x")
        .failure(2, &["--passwords goes with --file; for one hash, give the password itself"]);
}

/// Costs within the limits but over free memory: no answer for that line, and answers for all others.
#[cfg(target_os = "linux")]
#[test]
fn hash_over_free_memory_has_no_answer() {
    let world = World::new();
    let good = new_hash(&world, b"x", &[]);
    let huge = good.replace("m=64,t=1", "m=4294967295,t=1");
    assert_ne!(huge, good);
    let limits = ["--max-memory", "4294967295", "--max-work", "4294967295"];
    let done = run(&world, [&["verify", "--hash", &huge][..], &limits].concat(), b"x");
    assert_eq!(done.code(), 2);
    assert!(done.err.ends_with("end other programs, or verify it on a larger machine\n"), "{}", done.err);
    world.write("hashes", format!("a:{good}\nb:{huge}\nc:{good}\n"));
    let done = run(&world, [&["verify", "--file", "hashes"][..], &limits].concat(), b"x");
    let text = done.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((done.code(), lines[0], lines[2]), (2, "a: match", "c: match"));
    assert!(lines[1].starts_with("b: no answer (4294967292 KiB of memory are needed"), "{text}");
}

#[test]
fn verifies_files_of_hashes() {
    let world = World::new();
    let (ann, bob) = (new_hash(&world, b"ann's", &[]), new_hash(&world, b"bob's", &[]));
    world.write("hashes", format!("ann:{ann}\n\nbob:{bob}\n{ann}\nbad:$argon2id$\n"));
    world.write("good", format!("{ann}\n")).write("passwords", "ann's\n\nbob's\nann's\n\n");
    let file = |args: &[&str], input: &[u8]| run(&world, [&["verify", "--file"], args].concat(), input);
    let done = file(&["hashes"], b"ann's\n");
    assert_eq!(done.code(), 2, "one has no answer");
    assert_eq!(
        done.text(),
        "ann: match\nbob: no match\n4: match\nbad: no answer (password hash, byte 10: expected m=)\n"
    );
    assert_eq!(file(&["good"], b"ann's").quiet_success(), "1: match\n");
    assert_eq!(file(&["good"], b"bob's").code(), 1);
    let done = file(&["hashes", "--passwords", "passwords"], b"");
    assert!(done.text().starts_with("ann: match\nbob: match\n4: match\nbad: no answer"), "{}", done.text());
    world.write("few", "ann's\n");
    let done = file(&["-", "--passwords", "few", "--quiet"], format!("{ann}\n").as_bytes());
    assert_eq!((done.code(), done.text().as_str()), (0, ""));
    let left = "passwords: no hash on line 2; passwords from there on were not used";
    assert_eq!(file(&["good", "--passwords", "passwords"], b"").failure(2, &[left]), "1: match\n");
    let answers = json(&file(&["hashes", "--json"], b"bob's"));
    assert_eq!(answers.len(), 4);
    assert_eq!((answers[1]["line"].as_u64(), answers[1]["name"].as_str()), (Some(3), Some("bob")));
    assert_eq!((answers[0]["match"].as_bool(), answers[1]["match"].as_bool()), (Some(false), Some(true)));
    world.write("nothing", "\n\n");
    file(&["nothing"], b"x").failure(2, &["nothing: no hashes in it"]);
    file(&["none"], b"x").failure(2, &["none: No such file or directory (os error 2)"]);
    let twice = "standard input cannot be the hashes and the password: see --password-fd";
    file(&["-"], b"x").failure(2, &[twice]);
    file(&["-", "--passwords", "-"], b"x").failure(2, &[twice]);
    let out = file(&["hashes", "--passwords", "few"], b"")
        .failure(2, &["few: no password on line 2", "hashes: nothing was read after line 1"]);
    assert_eq!(out, "ann: match\n");
}

/// Lines with Windows line ends: noted without printing the password.
#[test]
fn notes_carriage_returns() {
    let world = World::new();
    let hash = new_hash(&world, b"sesame", &[]);
    let note =
        "note: the password ends with a carriage return, as lines of Windows do; it is part of the password";
    for typed in [&b"sesame\r\n"[..], b"sesame\r"] {
        assert_eq!(verify(&world, &hash, typed).failure(1, &[note]), "no match\n");
        let done = run(&world, ["verify", "--quiet", "--hash", &hash], typed);
        assert_eq!((done.code(), &*done.err), (1, ""));
    }
    let done = run(&world, ["hash", "-m", "64", "-t", "1"], b"sesame\r\n");
    let with = done.failure(0, &[note]).trim_end().to_owned();
    assert_eq!(verify(&world, &with, b"sesame\r\n").quiet_success(), "match\n", "it is unchanged made");
    world.write("hashes", format!("{hash}\n{hash}\n{hash}\n{with}\n"));
    world.write("windows", "sesame\r\nsesame\r\nsesame\nsesame\r\n");
    let done = run(&world, ["verify", "--file", "hashes", "--passwords", "windows"], b"");
    let out = done.failure(1, &[&format!("{note} (2 times)")]);
    assert_eq!(out, "1: no match\n2: no match\n3: match\n4: match\n");
}

#[test]
fn many_hashes_keep_their_order() {
    let world = World::new();
    let hashes: Vec<String> = (0..5).map(|at| new_hash(&world, &[b'a' + at], &["-p", "2"])).collect();
    let (mut file, mut passwords, mut expected) = (String::new(), String::new(), String::new());
    for at in 0..100 {
        let wrong = at % 7 == 3;
        file += &format!("guest{at}:{}\n", hashes[at % 5]);
        passwords += if wrong { "wrong\n" } else { ["a\n", "b\n", "c\n", "d\n", "e\n"][at % 5] };
        expected += &format!("guest{at}: {}\n", if wrong { "no match" } else { "match" });
    }
    world.write("hashes", file).write("passwords", passwords);
    let done = run(&world, ["verify", "--file", "hashes", "--passwords", "passwords"], b"");
    assert_eq!((done.code(), done.text(), &*done.err), (1, expected, ""));
}

#[test]
fn reports_weak_hashes_with_reasons() {
    let world = World::new();
    let weak = new_hash(&world, b"x", &["--variant", "argon2i"]);
    let strong = new_hash(&world, b"x", &["-m", "20MiB", "-t", "2"]);
    let ask = |args: &[&str]| run(&world, [&["needs-rehash"], args].concat(), b"");
    let done = ask(&["--hash", &weak]);
    assert_eq!(
        done.quiet_success(),
        "yes: different: argon2i instead of argon2id, 64 instead of 19456 KiB of memory, 1 instead of 2 passes\n"
    );
    let done = ask(&["--hash", &strong]);
    let stronger = "no: stronger: 20480 instead of 19456 KiB of memory\n";
    assert_eq!((done.code(), &*done.text(), &*done.err), (1, stronger, ""));
    assert_eq!(ask(&["--hash", &strong, "-m", "20480"]).text(), "no\n");
    let fewer = ask(&["--hash", &strong, "-t", "3"]);
    assert_eq!(
        (fewer.code(), &*fewer.text()),
        (1, "no: different: 20480 instead of 19456 KiB of memory, 2 instead of 3 passes\n")
    );
    let less = ask(&["--hash", &strong, "-m", "20480", "-t", "3"]);
    assert_eq!((less.code(), &*less.text()), (0, "yes: weaker: 2 instead of 3 passes\n"));
    // argon2-cffi's default is not weaker than ours, and lowering it is not advised.
    let cffi = strong.replace("m=20480,t=2,p=1", "m=65536,t=3,p=4");
    assert_ne!(cffi, strong);
    let done = ask(&["--hash", &cffi]);
    let expected =
        "no: stronger: 65536 instead of 19456 KiB of memory, 3 instead of 2 passes, 4 instead of 1 lanes\n";
    assert_eq!((done.code(), &*done.text()), (1, expected));
    let lanes = strong.replace("p=1", "p=4");
    let done = ask(&["--hash", &lanes, "-m", "20480"]);
    assert_eq!((done.code(), &*done.text()), (1, "no: different: 4 instead of 1 lanes\n"));
    let done = ask(&["--hash", &weak, "-m", "64", "-t", "1", "--variant", "argon2i"]);
    assert_eq!(done.code(), 1);
    // No cost is over a limit, as nothing is computed.
    let huge = strong.replace("m=20480", "m=4294967295");
    assert_eq!(ask(&["--quiet", "--hash", &huge]).code(), 1);
    ask(&["--hash", "nonsense"])
        .failure(2, &["no password hash of a known kind: Argon2, bcrypt, scrypt and PBKDF2 are verified"]);
    world.write("hashes", format!("ann:{strong}\nbob:{weak}\n")).write("strong", &strong);
    let done = ask(&["--file", "hashes", "--json"]);
    assert_eq!(done.code(), 0);
    assert_eq!(
        (json(&done)[0]["needs_rehash"].as_bool(), json(&done)[1]["line"].as_u64()),
        (Some(false), Some(2))
    );
    assert_eq!(
        (&json(&done)[0]["standing"], &json(&done)[1]["standing"]),
        (&"stronger".into(), &"different".into())
    );
    assert_eq!(ask(&["--file", "strong"]).code(), 1);
}

#[test]
fn calibrate_stays_within_limits() {
    let world = World::new();
    let done = run(&world, ["calibrate", "--time", "100ms", "-m", "4MiB", "--json"], b"");
    let facts = &json(&done)[0];
    assert_eq!(done.code(), 0);
    assert!(facts["memory_kib"].as_u64().expect("a number") <= 4096, "{facts}");
    assert!(facts["milliseconds"].as_f64().expect("a number") <= 100.0, "{facts}");
    let number = |name: &str| facts[name].as_f64().expect("a number");
    assert!(number("gpu_guesses_per_second") > 0.0, "{facts}");
    assert!((number("gpu_rent_cost") - number("gpu_days") * 24.0 * 0.34).abs() < 1e-6, "{facts}");
    let prices = ["--gpu-price", "0", "--gpu-rent", "0", "--energy-price", "0"];
    let args = [&["calibrate", "--time", "50ms", "-m", "1MiB", "--json"][..], &prices].concat();
    let free = &json(&run(&world, args, b""))[0];
    for cost in ["gpu_rent_cost", "gpu_wear_cost", "gpu_energy_cost"] {
        assert_eq!(free[cost], 0.0, "{free}");
    }
    // Each takes about a second.
    let variants = ["argon2i", "argon2id", "argon2d"];
    for &variant in &variants[..size::of(1, variants.len())] {
        let args = ["calibrate", "--time", "50ms", "-m", "1MiB", "--gpu", "h200", "--variant", variant];
        let words = run(&world, args, b"").quiet_success();
        assert!(words.contains("An attacker with one NVIDIA H200 SXM (4800 GB/s) tries at most"), "{words}");
        assert!(words.contains("Rented at 2.5 an hour: at least "), "{words}");
        assert!(words.contains(" of the card, which costs 30000 and lasts 3 years."), "{words}");
        // The first line is flags for `password hash`.
        let flags: Vec<&str> = words.lines().next().expect("flags").split(' ').collect();
        let hash = run(&world, [vec!["hash"], flags].concat(), b"x").quiet_success();
        assert!(hash.starts_with(&format!("${variant}$")), "{hash}");
    }
    for (args, line) in [
        (
            &["--time", "soon"][..],
            "invalid value 'soon' for '--time <TIME>': a time is a number and ms or s (see --help)",
        ),
        (&["--gpu", "abacus"], "--gpu abacus: choose one of rtx-4090 rtx-5090 h100 h200 mi300x"),
        (&["-m", "4", "-p", "1"], "4 KiB of memory: choose at least 8 KiB, which is 8 KiB for each lane"),
        (&["--energy-price=-1"], "--energy-price: choose a number of at least 0"),
        (&["--guesses", "NaN"], "--guesses: choose a number of at least 0"),
        (&["--gpu-price=-1"], "--gpu-price: choose a number of at least 0"),
        (&["--gpu-rent", "inf"], "--gpu-rent: choose a number of at least 0"),
        (&["--gpu-years", "0"], "--gpu-years: choose 0.01 to 100"),
    ] {
        run(&world, [&["calibrate"], args].concat(), b"").failure(2, &[line]);
    }
}

#[test]
fn bench_prints_a_line_per_preset() {
    let world = World::new();
    let args = ["bench", "--preset", "argon2sharp-test", "--preset", "argon2sharp-test-labelled"];
    let text = run(&world, args, b"").quiet_success();
    let names: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["preset", "argon2sharp-test", "argon2sharp-test-labelled"]);
    let done = run(&world, ["bench", "--max-memory", "1MiB", "--json"], b"");
    let rows = json(&done);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["hashes_per_second"].as_f64().is_some_and(|rate| rate > 0.0)));
    run(&world, ["bench", "--max-memory", "1"], b"").failure(2, &["--max-memory: every preset needs more"]);
}

#[test]
fn help_documents_exit_codes_and_password_sources() {
    let world = World::new();
    for args in [&["--help"][..], &["verify", "--help"], &["needs-rehash", "--help"]] {
        let help = run(&world, args, b"").quiet_success();
        assert!(help.contains("Exit codes: 0"), "{help}");
    }
    assert!(run(&world, ["--help"], b"").text().contains("never arguments"));
}

#[test]
fn reads_hash_from_standard_input() {
    let world = World::new();
    let hash = new_hash(&world, b"secret", &[]);
    world.write("password", "secret").write("other", "other");
    let run_with_hash = |verb: &str, file: &str, input: String| {
        let line = format!("exec \"$0\" password {verb} --hash - --password-fd 3 3<{file}");
        world.run("sh".as_ref(), ["-c".as_ref(), line.as_ref(), hashmill().as_os_str()], input.as_bytes())
    };
    for end in ["", "\n", "\r\n"] {
        assert_eq!(run_with_hash("verify", "password", format!("{hash}{end}")).quiet_success(), "match\n");
    }
    assert_eq!(run_with_hash("verify", "other", hash.clone()).code(), 1);
    assert_eq!(
        run_with_hash("upgrade -q -m 64 -t 1", "password", hash.clone()).quiet_success().trim_end(),
        hash
    );
    let alone = run(&world, ["needs-rehash", "--hash", "-", "-m", "64", "-t", "1"], hash.as_bytes());
    assert_eq!((alone.code(), &*alone.text()), (1, "no\n"));
    for (verb, input, words) in [
        ("verify", String::new(), "no hash on standard input"),
        (
            "upgrade",
            format!("{hash}\n{hash}\n"),
            "standard input has several lines; --file - reads a hash from each",
        ),
    ] {
        run_with_hash(verb, "password", input).failure(2, &[words]);
    }
    let both = run(&world, ["verify", "--hash", "-"], hash.as_bytes());
    both.failure(2, &["standard input is the hash: give the password with --password-fd or --prompt"]);
}

#[test]
fn notes_line_feeds() {
    let world = World::new();
    let done = run(&world, ["hash", "-m", "64", "-t", "1"], b"a\nb\n");
    let note =
        "hashmill: note: the password has a line feed in the middle; all lines are part of the password";
    assert_eq!((done.code(), done.err.trim_end()), (0, note));
    assert_eq!(run(&world, ["hash", "-m", "64", "-t", "1"], b"ab\n").err, "");
}

/// New hashes below every recommendation get a note: in every command that makes them, once, and not with --quiet.
#[test]
fn notes_cheap_costs() {
    let world = World::new();
    let stored = new_hash(&world, b"x", &[]);
    world.write("db", format!("ann:{stored}\nbob:{stored}\n"));
    let noted = |args: &[&str]| {
        let done = world.run(&hashmill(), [&["password"], args].concat(), b"x");
        assert_eq!(done.code(), 0, "{args:?}: {}", done.err);
        done.err
    };
    let more = ["-m", "128", "-t", "1"];
    for args in [
        &["hash"][..],
        &["hash", "--json"],
        &["upgrade", "--hash", &stored],
        &["upgrade", "--hash", &stored, "--json"],
        &["upgrade", "--file", "db", "--dry-run"],
        &["upgrade", "--file", "db", "--dry-run", "--json"],
    ] {
        assert_eq!(noted(&[args, &more].concat()), NOTE_ON_COSTS, "{args:?}");
    }
    for args in [&["hash"][..], &["upgrade", "--hash", &stored], &["upgrade", "--file", "db", "--dry-run"]] {
        assert_eq!(noted(&[args, &more, &["-q"]].concat()), "", "{args:?}");
    }
    // Without a new hash, or with recommended costs, there is no note.
    assert_eq!(noted(&["upgrade", "--hash", &stored, "-m", "64", "-t", "1"]), "");
    assert_eq!(noted(&["hash", "--preset", "owasp-7m"]), "");
    assert_eq!(noted(&["upgrade", "--hash", &stored, "-m", "12MiB", "-t", "3"]), "");
}
