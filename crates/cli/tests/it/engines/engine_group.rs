//! `hashmill password --engine cpu,cuda`: several engines on one batch.

use crate::engines::devices::{password, with_driver_that};
use crate::world::{Done, World, finish, hashmill};
use hashmill_gpu::BackEnd;
use hashmill_hash::argon2::Params;
use hashmill_hash::password::{NewPassword, Passwords, Policy};
use rustix::fs::inotify;
use std::io::Write as _;

/// Number of hashes, and number of those of another password.
const COUNT: usize = 200;
const OTHERS: usize = 7;

/// A file of hashes of two costs, and the output of `verify`.
fn written(world: &World) -> String {
    let mut lines = Vec::new();
    for (passes, count) in [(1, COUNT - 20), (2, 20)] {
        let salts: Vec<_> = (0..count as u64).map(|number| [number.to_le_bytes(); 2].concat()).collect();
        let password = |at: usize| if at < OTHERS && passes == 1 { &b"other"[..] } else { b"right" };
        let new = salts.iter().enumerate().map(|(at, salt)| NewPassword { password: password(at), salt });
        let policy = Policy::new(Params::new(64, passes, 1).expect("good costs"));
        let hashes = Passwords::new(policy).hash_many(&new.collect::<Vec<_>>());
        lines.extend(hashes.into_iter().map(|hash| hash.expect("a hash").to_string() + "\n"));
    }
    world.write("hashes", lines.concat());
    let alone = password(world, &["verify", "--file", "hashes", "--json", "--engine", "cpu"], b"right");
    assert_eq!((alone.code(), &*alone.err), (1, ""));
    assert_eq!(alone.text().matches("\"match\":false").count(), OTHERS);
    alone.text()
}

/// The output for the same file with several engines: that of the CPU alone, then the number computed by each and whether it
/// dropped out.
fn shares(done: &Done, alone: &str) -> Vec<(String, u64, bool)> {
    assert_eq!(done.code(), 1, "{}", done.err);
    let text = done.text();
    let shares = text.strip_prefix(alone).unwrap_or_else(|| panic!("{text}"));
    let shares: serde_json::Value = serde_json::from_str(shares).expect("one object more");
    let shares = shares["engines"].as_array().expect("a list").iter().map(|share| {
        let name = |key| share[key].as_str().unwrap_or("none");
        let hashes = share["hashes"].as_u64().expect("a number");
        (format!("{} {}", name("engine"), name("device")), hashes, share["failed"].is_string())
    });
    let shares: Vec<_> = shares.collect();
    // Only mismatches are computed twice; results of a failed part are not counted.
    let all: u64 = shares.iter().map(|(_, hashes, _)| hashes).sum();
    assert_eq!(all, (COUNT + OTHERS) as u64, "{shares:?}");
    shares
}

const VERIFY: [&str; 5] = ["password", "verify", "--file", "hashes", "--json"];

#[test]
fn cpu_and_device_share_a_batch() {
    let Some(name) = software() else { return };
    let world = World::new();
    let alone = written(&world);
    let done = world.run(&hashmill(), [&VERIFY[..], &["--engine", "wgpu,cpu"]].concat(), b"right");
    assert_eq!(done.err, "");
    let shares = shares(&done, &alone);
    assert!(shares.iter().all(|(_, _, failed)| !failed));
    assert_eq!([&*shares[0].0, &*shares[1].0], ["cpu none", &format!("wgpu {name}")]);

    // A single hash, an upgrade, and a measurement.
    let costs = ["-m", "64", "-t", "1", "--engine", "cpu,wgpu"];
    let created = password(&world, &[&["hash", "--json"], &costs[..]].concat(), b"a").quiet_success();
    let created: serde_json::Value = serde_json::from_str(&created).expect("JSON");
    assert_eq!(created["engines"].as_array().map(Vec::len), Some(2));
    let hash = created["hash"].as_str().expect("a hash");
    let verified = password(&world, &["verify", "--hash", hash, "--engine", "cpu,wgpu"], b"a");
    assert_eq!(verified.quiet_success(), "match\n");
    world.write("few", format!("{hash}\n{hash}\n"));
    let costs = ["-m", "80", "-t", "1", "--engine", "cpu,wgpu"];
    let upgraded = password(&world, &[&["upgrade", "--json", "--file", "few"], &costs[..]].concat(), b"a");
    let sum = upgraded.quiet_success();
    let sum: serde_json::Value = serde_json::from_str(sum.lines().last().expect("lines")).expect("JSON");
    let hashes = |at: usize| sum["engines"][at]["hashes"].as_u64().expect("a number");
    assert_eq!((sum["replaced"].as_u64(), hashes(0) + hashes(1)), (Some(2), 2 + 2 * 2));
    assert_eq!(password(&world, &["verify", "--file", "few"], b"a").code(), 0);

    for (flags, reason) in [
        (&["--engine", "cpu,auto"][..], "--engine auto cannot be combined with other engines"),
        (
            &["--engine", "cpu,wgpu", "--device", "nobody"],
            "--engine wgpu --device nobody: no device has \"nobody\" as ",
        ),
        (
            &["--engine", "cpu,wgpu", "--device", "cuda:0"],
            "--engine wgpu --device cuda:0: no device has \"cuda:0\" as ",
        ),
    ] {
        let args = [&["verify", "--file", "hashes"], flags].concat();
        let refused = password(&world, &args, b"right");
        assert!(refused.code() == 2 && refused.err.contains(reason), "{}", refused.err);
    }
    assert_eq!(world.sum(["few", "--engine", "cpu,wgpu"]).code(), 2, "files have one");
}

/// The name of the software device; prints SKIPPED if there is none.
fn software() -> Option<String> {
    let devices = BackEnd::Wgpu.devices().unwrap();
    let best = hashmill_gpu::best(&devices);
    if best.is_none() {
        let reason = "no device: mesa-vulkan-drivers brings one that is software";
        hashmill_testkit::skip("password --engine cpu,wgpu", reason);
    }
    best.map(|best| devices[best].name.clone())
}

#[test]
fn two_vulkan_devices_share_a_batch() {
    let world = World::new();
    let manifest = std::path::Path::new("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json");
    let Ok(text) = std::fs::read(manifest) else {
        return hashmill_testkit::skip(
            "two devices by Vulkan",
            "no software device whose driver can be named twice: mesa-vulkan-drivers brings it",
        );
    };
    // The same driver under two names offers its device twice.
    world.write("again.json", text);
    let twice = format!("{}:{}", manifest.display(), world.path("again.json").display());
    let alone = written(&world);
    let mut command = std::process::Command::new(hashmill());
    command.args(VERIFY).args(["--engine", "wgpu", "--device", "0", "--device", "wgpu:1"]);
    let mut child = world.start(command.env("VK_DRIVER_FILES", twice));
    child.stdin.take().expect("a pipe").write_all(b"right").expect("it reads");
    let done = finish(child);
    let shares = shares(&done, &alone);
    assert!(matches!(&shares[..], [(one, _, false), (other, _, false)] if one == other), "{shares:?}");
}

/// All answers are there, and the others have computed the part of the lost engine.
#[test]
fn remaining_device_takes_over_from_a_lost_one() {
    let world = World::new();
    let verify = |driver_settings: &[(&str, &str)], flags: &[&str]| {
        let driver_settings = [&[("SHIM_DEVICES", "2")], driver_settings].concat();
        with_driver_that(&world, &driver_settings, &[&VERIFY[..], flags].concat(), b"right")
    };
    let (two, mixed) = (["--engine", "cuda", "--device", "0", "--device", "1"], ["--engine", "cpu,cuda"]);
    let alone = written(&world);
    let Some(done) = verify(&[], &two) else { return };
    assert_eq!(done.err, "");
    let all = shares(&done, &alone);
    assert!(matches!(&all[..], [(a, _, false), (b, _, false)] if a == "cuda Shim 0" && b == "cuda Shim 1"));
    // Number of hashes that each lost engine has computed.
    let lost = |driver_settings, flags: &[&str]| {
        let done = verify(&[driver_settings], flags).expect("as before");
        let lost: Vec<_> = shares(&done, &alone).into_iter().filter(|(_, _, failed)| *failed).collect();
        assert_eq!(
            done.err.matches("; the other engines take over its part\n").count(),
            lost.len(),
            "{}",
            done.err
        );
        assert_eq!(done.err.lines().count(), lost.len(), "{}", done.err);
        lost.into_iter().map(|(_, hashes, _)| hashes).collect::<Vec<_>>()
    };
    for flags in [&two[..], &mixed] {
        // Before its first part: during the self-test.
        assert_eq!(lost(("SHIM_LOSES", "3"), flags), [0]);
    }
    // Upload, fill and download of a device's first part.
    for launch in ["0", "3", "5"] {
        assert_eq!(lost(("SHIM_LOSES_OF_MANY", launch), &two), [0], "{launch}");
    }
    // Both first parts have six launches: this is in a later one.
    let [done] = lost(("SHIM_LOSES_OF_MANY", "13"), &two)[..] else { panic!("one is lost") };
    assert!(done < COUNT as u64, "{done}");
    // The CPU may have computed everything before.
    let of_mixed = || lost(("SHIM_LOSES_OF_MANY", "2"), &mixed);
    let lost = (0..50).map(|_| of_mixed()).find(|lost| !lost.is_empty());
    assert_eq!(lost.as_deref(), Some(&[0][..]), "a card is asked");
}

#[test]
fn tune_file_is_read_once() {
    let world = World::new();
    let lines = |costs: &[u32]| {
        let hashes = costs.iter().map(|passes| {
            let policy = Policy::new(Params::new(64, *passes, 1).expect("good costs"));
            Passwords::new(policy).hash(b"right", b"sixteen bytes ok").expect("a hash").to_string() + "\n"
        });
        hashes.collect::<String>()
    };
    std::fs::create_dir_all(world.path("state/hashmill")).expect("a folder");
    let entry = serde_json::json!({
        "measured": "2026-11-26T12:00:00Z", "engine": "cuda", "device": "One that left", "memory_kib": 64, "passes": 1,
        "lanes": 1, "tuning": "hashes=4 strip-us=4000 ahead=0 grow=yes pairs=no shared=no", "hashes_per_second": 2.5,
        "of_processor": 1.0,
    });
    let tune_file = crate::engines::tune::of_devices(serde_json::json!([entry])).to_string();
    world.write("state/hashmill/tune.json", tune_file);
    world.write("one", lines(&[1])).write("three", lines(&[1, 2, 3]));
    for engines in ["cuda", "cpu,cuda"] {
        let opened = ["one", "three"].map(|file| {
            let watched = Watched::new(&world.path("state/hashmill/tune.json"));
            let verify = ["password", "verify", "--file", file, "--engine", engines];
            let done = with_driver_that(&world, &[], &verify, b"right")?;
            assert_eq!((done.code(), &*done.err), (0, ""), "{}", done.text());
            Some(watched.opened())
        });
        let [Some(one), Some(three)] = opened else { return };
        assert!(one > 0 && one == three, "{engines}: {one} times for one cost, {three} for three");
    }
}

/// A file watched by inotify.
struct Watched(std::os::fd::OwnedFd);

impl Watched {
    fn new(path: &std::path::Path) -> Watched {
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("the system watches files");
        // Equal consecutive events are merged.
        let kinds = inotify::WatchFlags::OPEN | inotify::WatchFlags::CLOSE_NOWRITE;
        inotify::add_watch(&watch, path, kinds).expect("it is there");
        Watched(watch)
    }

    /// Number of opens.
    fn opened(self) -> usize {
        let mut memory = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(self.0, &mut memory);
        let mut count = 0;
        loop {
            match events.next() {
                Ok(event) => count += usize::from(event.events().contains(inotify::ReadFlags::OPEN)),
                Err(rustix::io::Errno::AGAIN) => return count,
                Err(error) => panic!("{error}"),
            }
        }
    }
}
