//! `--engine` of `hashmill sum`, and devices in `hashmill info`.

#[cfg(feature = "gpu")]
use crate::world::{Done, finish};
use crate::world::{World, digest, hashmill};
use hashmill_testkit::paint;

#[test]
fn the_processor_is_what_auto_takes() {
    let (world, bytes) = (World::new(), paint(5 << 20));
    world.write("f", &bytes);
    let line = format!("{}  f\n", digest(&bytes));
    for engine in ["auto", "cpu"] {
        assert_eq!(world.sum(["f", "--engine", engine]).quiet_success(), line);
    }
    assert_eq!(world.sum(["f", "--engine", "abacus"]).code(), 2);
}

#[test]
#[cfg(not(feature = "gpu"))]
fn a_program_without_devices_says_so() {
    let world = World::new();
    let why = "this program was built without `gpu` (a feature of the package hashmill-cli)";
    world.sum(["--engine", "wgpu", "f"]).failure(2, &[why]);
    let json = world.run(&hashmill(), ["info", "--json"], b"").quiet_success();
    let facts: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(facts.get("devices"), None);
}

/// As on a machine without a driver.
#[cfg(feature = "gpu")]
fn without_driver(world: &World, args: &[&str]) -> Done {
    let mut command = std::process::Command::new(hashmill());
    command.args(args).env("VK_DRIVER_FILES", "/nonexistent").env("VK_ICD_FILENAMES", "/nonexistent");
    finish(world.start(&mut command))
}

#[test]
#[cfg(feature = "gpu")]
fn info_lists_what_the_library_finds() {
    let world = World::new();
    let found = hashmill_gpu::devices();
    let json = world.run(&hashmill(), ["info", "--json"], b"").quiet_success();
    let facts: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let devices = &facts["devices"];
    let listed = devices["found"].as_array().expect("a list");
    assert_eq!(listed.len(), found.len());
    for (listed, device) in listed.iter().zip(&found) {
        assert_eq!(listed["name"], *device.name);
        assert_eq!(listed["memory"].as_u64(), device.memory);
        assert_eq!(listed["largest_binding"], device.binding);
    }
    assert_eq!(devices["wgpu"].as_u64(), hashmill_gpu::best(&found).map(|number| number as u64));
    assert_eq!(devices["auto"], "cpu");
    let why = hashmill_gpu::why_processor(&found);
    assert_eq!(devices["why"], why);
    let text = world.run(&hashmill(), ["info"], b"").quiet_success();
    assert!(text.contains(&format!("sum --engine auto takes the processor: {why}\n")), "{text}");
    assert!(found.iter().all(|device| text.contains(&device.name)), "{text}");
    assert_eq!(text.contains("sum --engine wgpu takes this one"), hashmill_gpu::best(&found).is_some());
}

#[test]
#[cfg(feature = "gpu")]
fn a_device_gives_the_digests_of_the_processor() {
    if hashmill_gpu::best(&hashmill_gpu::devices()).is_none() {
        hashmill_testkit::skip(
            "sum --engine wgpu",
            "no device: mesa-vulkan-drivers brings one that is software",
        );
        return;
    }
    let world = World::new();
    for (name, len) in [("empty", 0), ("small", 3000), ("some", 5 << 20), ("large", (20 << 20) + 77)] {
        world.write(name, paint(len));
    }
    let names = ["empty", "small", "some", "large"];
    let key = [7; 32];
    for args in [&[][..], &["--keyed"], &["--derive-key", "c"], &["--length", "100"], &["--strategy", "read"]]
    {
        let both = ["cpu", "wgpu"].map(|engine| {
            let engine = ["--engine", engine, "-j", "3"];
            let input = if args.contains(&"--keyed") { &key[..] } else { b"" };
            world.sum_with(args.iter().chain(&engine).chain(&names), input).quiet_success()
        });
        assert_eq!(both[0].lines().count(), 4);
        assert_eq!(both[0], both[1], "{args:?}");
    }
    world.write("SUMS", world.sum(names).quiet_success());
    assert_eq!(world.sum(["--engine", "wgpu", "--check", "SUMS"]).code(), 0);
    let refused = world.sum(["--engine", "wgpu", "--algorithm", "sha256", "small"]);
    refused.failure(2, &["--engine wgpu is for BLAKE3 and cannot be used with --algorithm sha256"]);
}

#[test]
#[cfg(all(feature = "gpu", target_os = "linux"))]
fn without_a_driver_everything_but_the_device_works() {
    let (world, bytes) = (World::new(), paint(5 << 20));
    world.write("f", &bytes);
    let why = "--engine wgpu: no device: no driver offers one (see hashmill info)";
    without_driver(&world, &["sum", "--engine", "wgpu", "f"]).failure(2, &[why]);
    let line = format!("{}  f\n", digest(&bytes));
    assert_eq!(without_driver(&world, &["sum", "--engine", "auto", "f"]).quiet_success(), line);
    let text = without_driver(&world, &["info"]).quiet_success();
    assert!(text.contains("devices    none: no driver offers one\n"), "{text}");
    assert!(text.contains("takes the processor: there is no device\n"), "{text}");
}
