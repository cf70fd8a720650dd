//! `hashmill tune` and the use of the saved choice.

use crate::world::{Done, World, digest, finish, hashmill};
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_hash::isa::{Cpu, Vendor};
use hashmill_hash::{argon2, blake3};
use hashmill_machine as machine;
use hashmill_testkit::size;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn file(world: &World) -> PathBuf {
    world.path("state/hashmill/tune.json")
}

/// A recognizable choice for this CPU: portable kernels for everything.
fn choice() -> Value {
    let cpu = Cpu::detect();
    let vendor = match cpu.vendor {
        Vendor::Amd => "AMD",
        Vendor::Intel => "Intel",
        _ => "other",
    };
    let name = Some(cpu.brand().to_owned()).filter(|name| !name.is_empty()).or_else(machine::midr);
    json!({
        "format": "hashmill-tune/3",
        "place": {
            "hashmill": env!("CARGO_PKG_VERSION"),
            "processor": name.unwrap_or_default(),
            "vendor": vendor,
            "family": cpu.family,
            "model": cpu.model,
            "stepping": cpu.stepping,
            "features": cpu.features.iter().map(|feature| feature.name()).collect::<Vec<_>>(),
            "blake3": Kernel::all().map(Kernel::name).collect::<Vec<_>>(),
            "argon2": argon2::Kernel::all().map(argon2::Kernel::name).collect::<Vec<_>>(),
        },
        "choice": {
            "measured": "2026-11-26T12:00:00Z",
            "blake3": {
                "block": "portable", "chunk": "portable", "many": "portable", "long": "portable", "xof": "portable",
                "parallel_from": 4096,
            },
            "argon2": {
                "kernel": "portable",
                "lanes": [{ "up_to_kib": u32::MAX, "streams": 1 }],
                "hashes": [{ "up_to_kib": u32::MAX, "streams": 4 }],
            },
        },
    })
}

/// A tune file with devices only.
#[cfg(feature = "gpu")]
pub(crate) fn of_devices(devices: Value) -> Value {
    let mut file = choice();
    let fields = file.as_object_mut().expect("an object");
    fields.remove("choice");
    fields.insert("devices".to_owned(), devices);
    file
}

fn facts(done: &Done) -> Value {
    serde_json::from_str(&done.quiet_success()).expect("JSON")
}

fn info(world: &World) -> Value {
    facts(&world.run(&hashmill(), ["info", "--json"], b""))
}

/// Digests and passwords are the same without a file, and nothing is printed.
#[track_caller]
fn nothing_else_changes(world: &World) {
    // Long enough for the kernel of long inputs.
    let bytes = vec![7; blake3::LONG_LEN + 300_000];
    world.write("f", &bytes).write("LIST", format!("{}  f\n", digest(&bytes)));
    assert_eq!(world.sum(["f"]).quiet_success(), format!("{}  f\n", digest(&bytes)));
    assert_eq!(world.sum(["--check", "LIST"]).quiet_success(), "f: OK\n");
    let args = ["password", "kdf", "somesalt", "-id", "-t", "1", "-k", "64", "-p", "2", "-r"];
    let params = argon2::Params::new(64, 1, 2).expect("costs").with_variant(argon2::Variant::Id);
    let mut hasher = argon2::Hasher::new(params);
    let tag: [u8; 32] = hasher.hash(&argon2::Input::new(b"password", b"somesalt")).expect("a hash");
    let hex = blake3::Hash::from_bytes(tag).to_string();
    assert_eq!(world.run(&hashmill(), args, b"password").quiet_success(), format!("{hex}\n"));
}

#[test]
fn tuned_choice_is_used_with_equal_digests() {
    let world = World::new();
    world.write(file(&world), choice().to_string());
    let facts = info(&world);
    let tuned = &facts["choice"];
    assert_eq!(
        (&tuned["tuned"], &tuned["date"], &tuned["ignored"]),
        (&json!(true), &json!("2026-11-26"), &Value::Null)
    );
    assert_eq!(facts["tune_basis"], "measured here by hashmill tune");
    assert_eq!(facts["tune_kind"], Plan::host().kind());
    assert!(facts["sizes"].as_array().expect("a list").iter().all(|size| size["kernel"] == "portable"));
    assert!(facts["sizes"][5]["parallel"] == true, "4096 bytes: {facts}");
    assert_eq!(facts["argon2"]["kernel"], "portable");
    let text = world.run(&hashmill(), ["info"], b"").quiet_success();
    assert!(
        text.contains(&format!("choice     measured here on 2026-11-26: {}\n", file(&world).display())),
        "{text}"
    );
    nothing_else_changes(&world);
    let gone = world.run(&hashmill(), ["tune", "--forget"], b"").quiet_success();
    assert!(gone.ends_with("tune.json was removed\n") && !file(&world).exists(), "{gone}");
    let nothing = world.run(&hashmill(), ["tune", "--forget"], b"").quiet_success();
    assert_eq!(nothing, "Nothing was saved: the built-in choices are used\n");
    assert_eq!(info(&world)["choice"]["tuned"], false);
}

#[test]
fn any_kernel_can_have_any_role() {
    let world = World::new();
    for kernel in Kernel::all() {
        for role in ["block", "chunk", "many", "long", "xof"] {
            let mut choice = choice();
            choice["choice"]["blake3"][role] = json!(kernel.name());
            world.write(file(&world), choice.to_string());
            assert_eq!(info(&world)["choice"]["tuned"], true);
            nothing_else_changes(&world);
        }
    }
}

#[test]
fn invalid_files_are_ignored_and_shown_by_info() {
    let world = World::new();
    let ignored = |expected: &str| {
        let facts = info(&world);
        assert_eq!(facts["choice"]["tuned"], false);
        let reason = facts["choice"]["ignored"].as_str().unwrap_or_default();
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(facts["tune_basis"], Plan::host().basis());
        nothing_else_changes(&world);
    };
    for (pointer, value, reason) in [
        ("/place/hashmill", json!("0.0.1"), "it was measured by hashmill 0.0.1"),
        ("/place/model", json!(4711), "it was measured on another processor"),
        ("/place/blake3", json!(["abacus"]), "it was measured with other kernels"),
        ("/format", json!("hashmill-tune/9"), "its format is hashmill-tune/9"),
        ("/choice/blake3/xof", json!("abacus"), "no kernel of BLAKE3 is called abacus"),
    ] {
        let mut choice = choice();
        *choice.pointer_mut(pointer).expect(pointer) = value;
        world.write(file(&world), choice.to_string());
        ignored(reason);
    }
    world.write(file(&world), &choice().to_string()[..300]);
    ignored("it is damaged: ");
    world.write(file(&world), b"\xff\xfe");
    ignored("UTF-8");
    fs::remove_file(file(&world)).expect("a file");
    fs::create_dir(file(&world)).expect("a directory");
    ignored("");
    let text = world.run(&hashmill(), ["info"], b"").quiet_success();
    assert!(text.contains(&format!("           {} is ignored: ", file(&world).display())), "{text}");
    let done = world.run(&hashmill(), ["tune", "--time", "1ms"], b"");
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
    assert!(done.err.contains("it is a directory"), "{}", done.err);
}

#[cfg(unix)]
#[test]
fn does_not_wait_for_a_pipe() {
    let world = World::new();
    fs::create_dir_all(world.path("state/hashmill")).expect("directories");
    let status = Command::new("mkfifo").arg(file(&world)).status().expect("mkfifo");
    assert!(status.success());
    assert_eq!(info(&world)["choice"]["ignored"], "it is not a regular file");
    nothing_else_changes(&world);
}

#[test]
fn without_a_folder_nothing_is_saved() {
    let world = World::new();
    world.write(file(&world), choice().to_string());
    let run = |args: &[&str], set: &[(&str, &str)]| {
        let mut command = Command::new(hashmill());
        command.args(args);
        // `start` sets its own folder, so a shell unsets it again.
        let mut env = Command::new("env");
        env.args(["-u", "XDG_STATE_HOME", "-u", "HOME", "-u", "LOCALAPPDATA"]);
        env.args(set.iter().map(|(name, value)| format!("{name}={value}")));
        env.arg(command.get_program()).args(command.get_args());
        finish(world.start(&mut env))
    };
    let state = world.path("state");
    let state = state.to_str().expect("UTF-8");
    for (set, tuned, ignored) in [
        (&[("XDG_STATE_HOME", state)][..], true, Value::Null),
        (&[], false, Value::Null),
        (&[("XDG_STATE_HOME", "state")], false, Value::Null),
        (&[("XDG_STATE_HOME", ""), ("HOME", "/dev/null")], false, Value::Null),
        (&[("XDG_STATE_HOME", state), ("HASHMILL_TUNE", "off")], false, json!("HASHMILL_TUNE is off")),
        (&[("XDG_STATE_HOME", state), ("HASHMILL_TUNE", "on")], true, Value::Null),
    ] {
        let facts = facts(&run(&["info", "--json"], set));
        assert_eq!(
            (&facts["choice"]["tuned"], &facts["choice"]["ignored"]),
            (&json!(tuned), &ignored),
            "{set:?}"
        );
    }
    for (set, reason) in [
        (&[][..], "neither XDG_STATE_HOME nor HOME"),
        (&[("XDG_STATE_HOME", "/dev/null")], "the choice cannot be saved there"),
    ] {
        let done = run(&["tune", "--time", "1ms"], set);
        assert_eq!((done.code(), done.err.lines().count(), done.out.len()), (1, 1, 0), "{done:?}");
        assert!(done.err.contains(reason), "{}", done.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn checks_that_the_file_is_writable_first() {
    let disk = match crate::sum::failing_disk::FailingDisk::new(b"", &[]) {
        Ok(disk) => disk,
        Err(error) => {
            return hashmill_testkit::skip("failing disks", &format!("none can be mounted here: {error}"));
        }
    };
    let world = World::new();
    let mut env = Command::new("env");
    env.arg(format!("XDG_STATE_HOME={}", disk.file().parent().expect("a folder").display()));
    let done = finish(world.start(env.arg(hashmill()).args(["tune", "--time", "1ms"])));
    assert_eq!((done.code(), done.err.lines().count(), done.out.len()), (1, 1, 0), "{done:?}");
    assert!(done.err.contains("the choice cannot be saved there"), "{}", done.err);
}

#[test]
fn prints_and_saves_conclusive_choices() {
    let world = World::new();
    // The minimum is several seconds of CPU time: some hashes take tens of milliseconds.
    let tune = |flags: &[&str]| world.run(&hashmill(), [&["tune", "--time", "1ms"][..], flags].concat(), b"");
    let done = tune(size::of(&["--json"][..], &["--json", "--dry-run"]));
    let report: Value =
        serde_json::from_str(&done.text()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    let is_saved = file(&world).exists();
    assert_eq!(report["kept"].is_null(), !is_saved, "{report}");
    if size::is_full() {
        assert!(!world.path("state").exists(), "a dry run keeps nothing");
    } else {
        check_saved_state(&world, &done);
    }
    let choices = report["choices"].as_array().expect("a list");
    assert_eq!(choices.len(), 9, "{report}");
    for group in report["measured"].as_array().expect("a list") {
        let options = group["options"].as_array().expect("a list").len();
        for size in group["sizes"].as_array().expect("a list") {
            let numbers = |field: &str| size[field].as_array().expect(field).len();
            assert_eq!((numbers("nanoseconds"), numbers("faster")), (options, options), "{group}");
        }
    }
    if size::is_full() {
        let done = tune(&["--source"]);
        let text = done.text();
        assert!(text.contains("\nChosen\n") && text.contains("..Row::forced(&"), "{done:?}");
        assert_eq!(text.contains("Saved, used from now on: "), file(&world).exists(), "{done:?}");
        check_saved_state(&world, &done);
    } else {
        size::skip("tune: --dry-run keeps nothing, and --source");
    }
}

/// On a busy machine the result is inconclusive, reported, and not saved.
fn check_saved_state(world: &World, done: &Done) {
    let is_saved = file(world).exists();
    assert_eq!(
        (done.code(), done.err.contains("nothing was saved")),
        (i32::from(!is_saved), !is_saved),
        "{done:?}"
    );
    assert_eq!(info(world)["choice"]["tuned"], is_saved);
    nothing_else_changes(world);
}
