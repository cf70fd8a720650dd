//! `hashmill password upgrade`, with password files of real systems.

use crate::passwords::commands::{json, new_hash, run};
use crate::world::{Done, World, hashmill};
use hashmill_testkit::{skip, vectors};
use std::fs;

/// Cheap costs, for tests only.
const CHEAP: [&str; 4] = ["-m", "64", "-t", "1"];

/// The hash string of another program for the password `password`.
pub(crate) fn foreign_hash(maker: &str, kind: &str) -> String {
    let strings = vectors::passwords();
    let fits = |string: &&vectors::PasswordString| {
        (&*string.maker, &*string.kind, &*string.password) == (maker, kind, b"password")
    };
    strings.iter().find(fits).expect("a committed string").stored.clone()
}

fn upgrade(world: &World, args: &[&str], input: &[u8]) -> Done {
    run(world, [&["upgrade"], args, &CHEAP].concat(), input)
}

fn verify(world: &World, hash: &str, password: &[u8]) -> Done {
    run(world, ["verify", "--hash", hash], password)
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.path(name)).expect("a file")
}

/// Hash strings of other programs verify, and become Argon2 strings in the form that those programs read.
#[test]
fn upgrades_foreign_hashes() {
    let world = World::new();
    for (maker, kind, start) in [
        ("php", "bcrypt", "$argon2id$v=19$m=64,t=1,p=1$"),
        ("htpasswd", "bcrypt", "$argon2id$"),
        ("django", "pbkdf2-sha256", "argon2$argon2id$"),
        ("django", "pbkdf2-sha1", "argon2$argon2id$"),
        ("django", "bcrypt-sha256", "argon2$argon2id$"),
        ("django", "scrypt", "argon2$argon2id$"),
        ("passlib", "scrypt", "$argon2id$"),
        ("passlib", "pbkdf2-sha512", "$argon2id$"),
        ("werkzeug", "scrypt", "$argon2id$"),
        ("libxcrypt", "scrypt", "$argon2id$"),
    ] {
        let old = foreign_hash(maker, kind);
        assert_eq!(verify(&world, &old, b"password\n").quiet_success(), "match\n", "{old}");
        assert_eq!(verify(&world, &old, b"Password").code(), 1, "{old}");
        let new = upgrade(&world, &["--hash", &old], b"password\n").quiet_success();
        assert!(new.starts_with(start), "{old}: {new}");
        assert_eq!(verify(&world, new.trim_end(), b"password").quiet_success(), "match\n");
        assert_eq!(verify(&world, new.trim_end(), b"Password").code(), 1);
        assert_eq!(upgrade(&world, &["--hash", &old], b"Password").failure(1, &["no match"]), "");
        // A second run has nothing to do and prints the same string.
        assert_eq!(upgrade(&world, &["--hash", new.trim_end()], b"password").quiet_success(), new);
    }
}

#[test]
fn upgrades_argon2_by_policy() {
    let world = World::new();
    let old = new_hash(&world, b"x", &[]);
    let new = run(&world, ["upgrade", "--hash", &old, "-m", "128", "-t", "1"], b"x").quiet_success();
    assert!(new.starts_with("$argon2id$v=19$m=128,t=1,p=1$"), "{new}");
    // Costs are never lowered.
    let strong = new.trim_end();
    assert_eq!(upgrade(&world, &["--hash", strong], b"x").quiet_success(), new);
    let facts =
        &json(&upgrade(&world, &["--json", "--hash", &foreign_hash("php", "bcrypt")], b"password"))[0];
    assert_eq!(
        (&facts["match"], &facts["upgraded"], &facts["from"]),
        (&true.into(), &true.into(), &"bcrypt, cost 4".into())
    );
    assert!(facts["hash"].as_str().is_some_and(|hash| hash.starts_with("$argon2id$")), "{facts}");
    let facts = &json(&upgrade(&world, &["--json", "--hash", &old], b"y"))[0];
    assert_eq!(
        (&facts["match"], &facts["upgraded"], facts.get("hash")),
        (&false.into(), &false.into(), None)
    );
    for (hash, line) in [
        ("$6$salt$tag", "SHA512-crypt, which is not verified here"),
        ("", "no password hash of a known kind: Argon2, bcrypt, scrypt and PBKDF2 are verified"),
        (
            "$2b$31$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue",
            "bcrypt hash: a cost of 31, where at most 16 are allowed (see --max-bcrypt-cost)",
        ),
        (
            "pbkdf2_sha256$2147483647$salt$yI5Pm1nMh5d5Dh5zNaTo+bQjm6TIGue2gLbmDesnPX0=",
            "pbkdf2-sha256 hash: 2147483647 iterations, where at most 10000000 are allowed (see --max-iterations)",
        ),
        (
            "$scrypt$ln=30,r=8,p=1$UWptrRVCqFXq$h8FsN01Spn+KpyFdapdGaaYkr288lcPgPs2c0JfAdpw",
            "scrypt hash: 1073741825 KiB of memory, where at most 2097152 are allowed (see --max-memory)",
        ),
    ] {
        assert_eq!(upgrade(&world, &["--hash", hash], b"x").failure(2, &[line]), "");
        assert_eq!(verify(&world, hash, b"x").failure(2, &[line]), "");
    }
    let cheap = foreign_hash("php", "bcrypt");
    let done = run(&world, ["verify", "--max-bcrypt-cost", "3", "--hash", &cheap], b"password");
    done.failure(2, &["bcrypt hash: a cost of 4, where at most 3 are allowed (see --max-bcrypt-cost)"]);
}

/// A file with all kinds of entries.
fn shadow(world: &World) -> String {
    let (bcrypt, argon2) = (foreign_hash("htpasswd", "bcrypt"), new_hash(world, b"password", &[]));
    let text = format!(
        "# users\n\
         ann:{bcrypt}:19000:0:99999:7:::\n\
         daemon:*:19000:0:99999:7:::\n\
         \n\
         bob:{argon2}:19000:0:99999:7:::\r\n\
         carl:!{bcrypt}:19000::::::\n\
         dora:$6$salt$tag:19000::::::\n\
         eve:{{CRYPT}}{bcrypt}\n\
         fred::19000::::::"
    );
    world.write("db", &text);
    text
}

#[test]
fn unverifiable_lines_do_not_stop_others() {
    let world = World::new();
    shadow(&world);
    let done = run(&world, ["verify", "--file", "db"], b"password");
    assert_eq!((done.code(), &*done.err), (2, ""));
    assert_eq!(
        done.text(),
        "ann: match\ndaemon: locked\nbob: match\ncarl: locked\n\
         dora: no answer (SHA512-crypt, which is not verified here)\neve: match\n\
         fred: no answer (an empty field: no password is required)\n"
    );
    let answers = json(&run(&world, ["verify", "--file", "db", "--json"], b"password"));
    assert_eq!((&answers[1]["locked"], &answers[1]["match"]), (&true.into(), &serde_json::Value::Null));
    let done = run(&world, ["needs-rehash", "--file", "db", "-m", "64", "-t", "1"], b"");
    assert_eq!(done.code(), 2);
    assert_eq!(
        done.text(),
        "ann: yes: foreign: bcrypt, cost 4\ndaemon: locked\nbob: no\ncarl: locked\neve: yes: foreign: bcrypt, cost 4\n"
    );
    // If all entries can be verified, all have an answer.
    let (bcrypt, argon2) = (foreign_hash("htpasswd", "bcrypt"), new_hash(&world, b"password", &[]));
    world.write("good", format!("ann:{bcrypt}\nlp:!\nbob:{argon2}\n"));
    assert_eq!(
        run(&world, ["verify", "--file", "good"], b"password").quiet_success(),
        "ann: match\nlp: locked\nbob: match\n"
    );
    world.write("locked", "lp:!\n");
    // A locked entry matches no password.
    for done in [
        run(&world, ["verify", "--file", "locked"], b"x"),
        upgrade(&world, &["--file", "db", "--name", "carl"], b"password"),
    ] {
        assert_eq!((done.code(), &*done.err), (1, ""));
        assert!(done.text().contains(": locked\n"), "{}", done.text());
    }
}

/// Only matching entries are replaced; all other bytes stay.
#[test]
fn upgrades_a_file_in_place() {
    let world = World::new();
    let old = shadow(&world);
    let done = upgrade(&world, &["--file", "db"], b"password");
    assert_eq!((done.code(), &*done.err), (2, ""), "two have no answer");
    assert_eq!(
        done.text(),
        "ann: match, replaced (bcrypt, cost 4)\ndaemon: locked\nbob: match, kept (argon2id, m 64, t 1, p 1)\ncarl: locked\n\
         dora: no answer (SHA512-crypt, which is not verified here)\neve: match, replaced (bcrypt, cost 4)\n\
         fred: no answer (an empty field: no password is required)\ndb: 2 of 7 hashes replaced\n"
    );
    let new = read(&world, "db");
    let (old, new): (Vec<_>, Vec<_>) = (old.split('\n').collect(), new.split('\n').collect());
    assert_eq!(old.len(), new.len());
    for (at, (old, new)) in old.iter().zip(&new).enumerate() {
        match at {
            1 => assert!(new.starts_with("ann:$argon2id$") && new.ends_with(":19000:0:99999:7:::"), "{new}"),
            7 => assert!(new.starts_with("eve:{ARGON2}$argon2id$"), "{new}"),
            _ => assert_eq!(old, new),
        }
    }
    let done = run(&world, ["verify", "--file", "db", "--json"], b"password");
    assert_eq!(json(&done).iter().filter(|answer| answer["match"] == true).count(), 3);
    assert_eq!(fs::read_dir(world.path("")).expect("a directory").count(), 1, "nothing is left beside it");
    // A second run has nothing to do.
    let before = fs::metadata(world.path("db")).expect("a file").modified().expect("a time");
    assert!(upgrade(&world, &["--file", "db"], b"password").text().ends_with("db: 0 of 7 hashes replaced\n"));
    assert_eq!(fs::metadata(world.path("db")).expect("a file").modified().expect("a time"), before);
}

#[test]
fn matches_passwords_by_line() {
    let world = World::new();
    let bcrypt = foreign_hash("php", "bcrypt");
    world.write("db", format!("ann:{bcrypt}\nbob:{bcrypt}\ncarl:{bcrypt}\ndora:{bcrypt}\n"));
    world.write("passwords", "password\n\nwrong\n");
    let args = ["--file", "db", "--passwords", "passwords"];
    let done = upgrade(&world, &args, b"");
    assert_eq!((done.code(), &*done.err), (1, ""));
    let text = "ann: match, replaced (bcrypt, cost 4)\nbob: no password given\ncarl: no match\ndora: no password given\n\
                db: 1 of 4 hashes replaced\n";
    assert_eq!(done.text(), text);
    let rows = json(&upgrade(&world, &[&args[..], &["--json"]].concat(), b""));
    assert_eq!(rows.len(), 5);
    assert_eq!(
        (&rows[2]["line"], &rows[2]["name"], &rows[2]["match"]),
        (&3.into(), &"carl".into(), &false.into())
    );
    assert_eq!((&rows[4]["replaced"], &rows[4]["written"]), (&0.into(), &false.into()));
    // Passwords without hashes: the files do not belong together, and nothing is written.
    let old = read(&world, "db");
    world.write("passwords", "\npassword\n\n\n\npassword\n");
    let line = "passwords: no hash on line 6: do the two files belong together? Nothing was written";
    upgrade(&world, &args, b"").failure(2, &[line]);
    assert_eq!(read(&world, "db"), old);
    world.write("passwords", "\npassword\r\n");
    let note =
        "note: the password ends with a carriage return, as lines of Windows do; it is part of the password";
    upgrade(&world, &[&args[..], &["--name", "bob"]].concat(), b"")
        .failure(2, &["the argument '--passwords <FILE>' cannot be used with '--name <NAME>' (see --help)"]);
    assert!(upgrade(&world, &args, b"").failure(1, &[note]).contains("bob: no match"));
}

/// As called by a program at a login.
#[test]
fn upgrades_one_entry_by_name() {
    let world = World::new();
    let bcrypt = foreign_hash("php", "bcrypt");
    let old = format!("ann:{bcrypt}\nbob:{bcrypt}\n");
    world.write("db", &old);
    let args = ["--file", "db", "--name", "bob"];
    let dry = upgrade(&world, &[&args[..], &["--dry-run"]].concat(), b"password\n").quiet_success();
    assert_eq!(
        dry,
        "bob: match, replaced (bcrypt, cost 4)\ndb: 1 of 1 hashes would be replaced; nothing was written\n"
    );
    assert_eq!(read(&world, "db"), old);
    assert_eq!(upgrade(&world, &[&args[..], &["--quiet"]].concat(), b"password\n").quiet_success(), "");
    let new = read(&world, "db");
    assert!(new.starts_with(&format!("ann:{bcrypt}\nbob:$argon2id$")), "{new}");
    upgrade(&world, &["--file", "db", "--name", "zoe"], b"x")
        .failure(2, &["db: no entry of the name \"zoe\""]);
    assert_eq!(upgrade(&world, &args, b"wrong").code(), 1);
    assert_eq!(read(&world, "db"), new);
}

#[test]
fn upgrades_csv_files() {
    let world = World::new();
    let (django, bcrypt) = (foreign_hash("django", "pbkdf2-sha256"), foreign_hash("php", "bcrypt"));
    let old = format!(
        "id,password,note\r\n1,{django},\"says \"\"hi\"\"\"\r\n2,\"{bcrypt}\",\r\n3,,\r\n4,\"open\r\n"
    );
    world.write("users.csv", &old);
    let done = upgrade(&world, &["--file", "users.csv", "--csv", "password"], b"password");
    assert_eq!((done.code(), &*done.err), (2, ""));
    assert_eq!(
        done.text(),
        "1: match, replaced (pbkdf2-sha256, 103 iterations)\n2: match, replaced (bcrypt, cost 4)\n\
         3: no answer (an empty field: no password is required)\n\
         5: no answer (a quotation mark that is not closed on its line)\nusers.csv: 2 of 4 hashes replaced\n"
    );
    let new = read(&world, "users.csv");
    let lines: Vec<_> = new.split("\r\n").collect();
    assert_eq!(lines[0], "id,password,note");
    assert!(
        lines[1].starts_with("1,\"argon2$argon2id$v=19$m=64,t=1,p=1$")
            && lines[1].ends_with("\",\"says \"\"hi\"\"\"")
    );
    assert!(
        lines[2].starts_with("2,\"$argon2id$v=19$m=64,t=1,p=1$") && lines[2].ends_with("\","),
        "{}",
        lines[2]
    );
    assert_eq!(lines[3..], ["3,,", "4,\"open", ""]);
    let done = run(&world, ["verify", "--file", "users.csv", "--csv", "password"], b"password");
    assert!(done.text().starts_with("1: match\n2: match\n"), "{}", done.text());
    world.write("semi", format!("{bcrypt};ann\n"));
    let args = ["verify", "--file", "semi", "--csv", "1", "--delimiter", ";"];
    assert_eq!(run(&world, args, b"password").quiet_success(), "ann: match\n");
    run(&world, ["verify", "--file", "users.csv", "--csv", "pw"], b"x").failure(
        2,
        &["--csv pw: no such column; the first line has id, password, note", "users.csv: nothing was read"],
    );
    upgrade(&world, &["--file", "users.csv", "--csv", "pw"], b"x")
        .failure(2, &["users.csv: --csv pw: no such column; the first line has id, password, note"]);
    assert_eq!(read(&world, "users.csv"), new);
    upgrade(&world, &["--file", "users.csv", "--csv", "0"], b"x")
        .failure(2, &["invalid value '0' for '--csv <COLUMN>': columns are counted from 1 (see --help)"]);
}

#[test]
fn errors_leave_the_file() {
    let world = World::new();
    world
        .write("empty", "# nobody\n\n")
        .write("long", vec![b'x'; 70_000])
        .write("bytes", b"\xff\xfe:\x00$\xff\n");
    upgrade(&world, &["--file", "empty"], b"x").failure(2, &["empty: no hashes in it"]);
    upgrade(&world, &["--file", "none"], b"x").failure(2, &["none: No such file or directory (os error 2)"]);
    upgrade(&world, &["--file", "."], b"x").failure(2, &[".: not a regular file, so it cannot be replaced"]);
    upgrade(&world, &["--file", "-"], b"x").failure(2, &["--file -: name a file that can be replaced"]);
    upgrade(&world, &[], b"x").failure(
        2,
        &["the following required arguments were not provided: <--hash <STRING>|--file <FILE>> (see --help)"],
    );
    for file in ["long", "bytes"] {
        let old = fs::read(world.path(file)).expect("a file");
        assert_eq!(upgrade(&world, &["--file", file], b"x").code(), 2);
        assert_eq!(fs::read(world.path(file)).expect("a file"), old);
    }
    let done = upgrade(&world, &["--hash", "x", "--passwords", "empty"], b"x");
    done.failure(2, &["--passwords goes with --file; for one hash, give the password itself"]);
    let done = run(&world, ["upgrade", "--file", "long", "sesame"], b"");
    assert!(done.code() == 2 && !done.err.contains("sesame"), "{}", done.err);
}

/// A second run while the first one has locked the file and waits for its password.
#[cfg(target_os = "linux")]
#[test]
fn second_run_is_refused() {
    use std::io::Write;
    let world = World::new();
    let old = format!("ann:{}\n", foreign_hash("php", "bcrypt"));
    world.write("db", &old);
    let args = ["password", "upgrade", "--file", "db", "-m", "64", "-t", "1"];
    let mut first = world.start(std::process::Command::new(hashmill()).args(args));
    let pid = format!(" {} ", first.id());
    let inode = {
        use std::os::linux::fs::MetadataExt;
        fs::metadata(world.path("db")).expect("a file").st_ino()
    };
    // Wait until the first run has the lock, by the list of locks: KIND, MODE, PID, and MAJOR:MINOR:INODE.
    let locked = || {
        let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
        locks.lines().any(|line| line.contains(&pid) && line.contains(&format!(":{inode} ")))
    };
    hashmill_testkit::wait::until("the lock of the file", || {
        assert!(first.try_wait().expect("a child").is_none(), "it waits for its password");
        locked()
    });
    upgrade(&world, &["--file", "db"], b"password")
        .failure(2, &["db: another run has locked it; nothing was done"]);
    assert_eq!(read(&world, "db"), old);
    // Meanwhile another program writes the file.
    world.write("db", format!("{old}# more\n"));
    first.stdin.take().expect("a pipe").write_all(b"password").expect("a reader");
    let done = crate::world::finish(first);
    assert_eq!(done.code(), 2);
    assert!(
        done.err.ends_with("another program changed it meanwhile; nothing was written\n"),
        "{}",
        done.err
    );
    assert_eq!(read(&world, "db"), format!("{old}# more\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn keeps_permissions_and_reports_unwritable_folders() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    world.write("folder/db", format!("ann:{}\n", foreign_hash("php", "bcrypt")));
    let path = world.path("folder/db");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("rights");
    symlink("folder/db", world.path("link")).expect("a link");
    assert!(upgrade(&world, &["--file", "link"], b"password").quiet_success().contains("replaced"));
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o7777, 0o640);
    assert!(fs::symlink_metadata(world.path("link")).expect("a link").is_symlink());
    assert!(read(&world, "folder/db").starts_with("ann:$argon2id$"));
}

/// A server that reads the file by a hard link would keep the old hashes.
#[cfg(unix)]
#[test]
fn notes_hard_links() {
    let world = World::new();
    let old = format!("ann:{}\n", foreign_hash("php", "bcrypt"));
    world.write("db", &old);
    fs::hard_link(world.path("db"), world.path("other")).expect("a link");
    let dry = upgrade(&world, &["--file", "db", "--dry-run"], b"password");
    dry.quiet_success();
    let done = upgrade(&world, &["--file", "db"], b"password");
    done.failure(0, &["db: the file had another name (hard link), which keeps the old content"]);
    assert_eq!(read(&world, "other"), old);
    assert!(read(&world, "db").starts_with("ann:$argon2id$"));
}

#[test]
fn notes_long_bcrypt_passwords() {
    let world = World::new();
    let long =
        vectors::passwords().into_iter().find(|string| string.maker == "php" && string.password.len() > 72);
    let long = long.expect("such a string");
    let note = "note: bcrypt used only the first 72 bytes of the password; the new hash covers all of it";
    let new = upgrade(&world, &["--hash", &long.stored], &long.password).failure(0, &[note]);
    assert_eq!(verify(&world, new.trim_end(), &long.password).code(), 0);
    assert_eq!(verify(&world, new.trim_end(), &long.password[..72]).code(), 1);
}

#[test]
fn short_help_fits_a_screen_and_has_two_examples() {
    let world = World::new();
    for verb in ["hash", "verify", "upgrade", "needs-rehash", "calibrate", "kdf", "bench"] {
        let help = run(&world, [verb, "-h"], b"").quiet_success();
        assert!(help.lines().count() <= 40, "{} lines: {help}", help.lines().count());
        assert!(
            help.lines().filter(|line| line.contains("hashmill password ")).count() >= 3,
            "usage and two: {help}"
        );
    }
}

/// Runs another program whose exit code tells whether a string matches a password; prints SKIPPED if it is missing.
fn taken_by(what: &str, command: &[&str], can: &[&str], new: &str) {
    let run = |words: &[&str], more: &[&str]| {
        let mut command = std::process::Command::new(words[0]);
        command
            .args(&words[1..])
            .args(more)
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !run(can, &[]) {
        skip(&format!("strings of upgrade, verified by {what}"), "it is not here, or knows no Argon2");
        return;
    }
    assert!(run(command, &[new, "password"]), "{what}: {new}");
    assert!(!run(command, &[new, "Password"]), "{what}: {new}");
}

/// The programs that wrote the old strings accept the new ones.
#[test]
fn foreign_programs_accept_upgraded_hashes() {
    let world = World::new();
    let new = |maker, kind| {
        let costs = ["-m", "1024", "-t", "2"];
        let old = foreign_hash(maker, kind);
        let args = [&["upgrade", "--hash", &old][..], &costs].concat();
        run(&world, args, b"password").quiet_success().trim_end().to_owned()
    };
    let django = "import sys; from django.conf import settings; \
                  settings.configure(PASSWORD_HASHERS=['django.contrib.auth.hashers.Argon2PasswordHasher']); \
                  from django.contrib.auth.hashers import check_password; \
                  sys.exit(not check_password(sys.argv[2], sys.argv[1]))";
    taken_by(
        "Django",
        &["python3", "-c", django],
        &["python3", "-c", "import django, argon2"],
        &new("django", "pbkdf2-sha256"),
    );
    let passlib =
        "import sys; from passlib.hash import argon2; sys.exit(not argon2.verify(sys.argv[2], sys.argv[1]))";
    taken_by(
        "passlib",
        &["python3", "-c", passlib],
        &["python3", "-c", "import passlib, argon2"],
        &new("passlib", "bcrypt"),
    );
    let php = "exit(password_verify($argv[2], $argv[1]) ? 0 : 1);";
    taken_by(
        "PHP",
        &["php", "-r", php, "--"],
        &["php", "-r", "exit(defined('PASSWORD_ARGON2ID') ? 0 : 1);"],
        &new("php", "bcrypt"),
    );
}

/// The commands of the guide.
#[cfg(target_os = "linux")]
#[test]
fn steps_of_the_guide_work() {
    let world = World::new();
    let shell = |line: &str, input: &[u8]| {
        let program = hashmill();
        let line = line.replace("hashmill", program.to_str().expect("a path"));
        world.run("bash".as_ref(), ["-c", &line], input)
    };
    let (django, bcrypt) = (foreign_hash("django", "pbkdf2-sha256"), foreign_hash("php", "bcrypt"));
    world
        .write("users.csv", format!("id,password\n6,{bcrypt}\n7,{django}\n"))
        .write("password.txt", "password\n");
    let left = "hashmill password needs-rehash --file users.csv --csv password | grep -c 'foreign'";
    assert_eq!(shell(left, b"").quiet_success(), "2\n");
    let line = "hashmill password upgrade --file users.csv --csv password --name 7";
    let words = shell(line, b"password").quiet_success();
    assert_eq!(
        words,
        "7: match, replaced (pbkdf2-sha256, 103 iterations)\nusers.csv: 1 of 1 hashes replaced\n"
    );
    assert_eq!(shell(left, b"").quiet_success(), "1\n");
    let one = format!(
        "store() {{ echo \"$1\" >stored; }}; old='{bcrypt}'; \
         new=$(hashmill password upgrade --hash \"$old\" <password.txt) && store \"$new\""
    );
    shell(&one, b"").quiet_success();
    assert!(read(&world, "stored").starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    // Nothing is stored for a wrong password.
    world.write("password.txt", "wrong\n").write("stored", "untouched");
    shell(&one, b"").failure(1, &["no match"]);
    assert_eq!(read(&world, "stored"), "untouched");
}
