//! `--engine` of `hashmill sum` and `hashmill password`, and devices in `hashmill info`.

#[cfg(feature = "gpu")]
use crate::world::finish;
use crate::world::{Done, World, digest, hashmill};
#[cfg(feature = "gpu")]
use hashmill_gpu::BackEnd;
use hashmill_testkit::paint;
#[cfg(all(feature = "gpu", target_os = "linux"))]
use std::io::Write as _;

#[test]
fn auto_uses_the_cpu() {
    let (world, bytes) = (World::new(), paint(5 << 20));
    world.write("f", &bytes);
    let line = format!("{}  f\n", digest(&bytes));
    for engine in ["auto", "cpu"] {
        assert_eq!(world.sum(["f", "--engine", engine]).quiet_success(), line);
        let stored =
            password(&world, &["hash", "-m", "64", "-t", "1", "--engine", engine], b"a").quiet_success();
        let verify = ["verify", "--hash", stored.trim_end(), "--engine", engine];
        assert_eq!(password(&world, &verify, b"a").quiet_success(), "match\n");
        let reason = "--device needs --engine cuda or --engine wgpu";
        world.sum(["f", "--engine", engine, "--device", "0"]).failure(2, &[reason]);
        password(&world, &["hash", "--engine", engine, "--device", "0"], b"a").failure(2, &[reason]);
    }
    assert_eq!(world.sum(["f", "--engine", "abacus"]).code(), 2);
}

#[test]
#[cfg(not(feature = "gpu"))]
fn reports_missing_gpu_feature() {
    let world = World::new();
    let reason = "this program was built without `gpu` (a feature of the package hashmill-cli)";
    for engine in ["cuda", "wgpu"] {
        world.sum(["--engine", engine, "f"]).failure(2, &[reason]);
        for command in [&["hash"][..], &["verify", "--hash", "x"], &["upgrade", "--hash", "x"], &["bench"]] {
            let args = [command, &["--engine", engine]].concat();
            password(&world, &args, b"a").failure(2, &[reason]);
        }
    }
    let json = world.run(&hashmill(), ["info", "--json"], b"").quiet_success();
    let facts: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(facts.get("devices"), None);
}

/// Runs `hashmill password` with this standard input.
pub(crate) fn password(world: &World, args: &[&str], input: &[u8]) -> Done {
    world.run(&hashmill(), [&["password"], args].concat(), input).without_note_on_costs()
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
fn info_lists_devices() {
    let world = World::new();
    let (cuda, wgpu) = (BackEnd::Cuda.devices(), BackEnd::Wgpu.devices().unwrap());
    let refused = cuda.as_ref().err().map(ToString::to_string);
    let cuda = cuda.unwrap_or_default();
    let (best, before) = ([&cuda, &wgpu].map(|found| hashmill_gpu::best(found)), cuda.len());
    let found = [cuda, wgpu].concat();
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
    assert_eq!(devices["cuda"].as_u64(), best[0].map(|number| number as u64));
    assert_eq!(devices["wgpu"].as_u64(), best[1].map(|number| (before + number) as u64));
    assert_eq!(devices["no_cuda"].as_str(), refused.as_deref());
    assert_eq!(devices["auto"], "cpu");
    let reason = hashmill_gpu::reason_for_processor(&found);
    assert_eq!(devices["why"], reason);
    let text = world.run(&hashmill(), ["info"], b"").quiet_success();
    assert!(text.contains(&format!("sum --engine auto uses the CPU: {reason}\n")), "{text}");
    assert!(found.iter().all(|device| text.contains(&device.name)), "{text}");
    for (engine, best) in ["cuda", "wgpu"].into_iter().zip(best) {
        assert_eq!(text.contains(&format!(" --engine {engine} uses this one, unless ")), best.is_some());
    }
    assert!(
        refused.is_none_or(|reason| text.contains(&format!("none from NVIDIA's driver: {reason}\n"))),
        "{text}"
    );
}

#[test]
#[cfg(feature = "gpu")]
fn device_digests_equal_cpu_digests() {
    if hashmill_gpu::best(&BackEnd::Wgpu.devices().unwrap()).is_none() {
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
    let modes = [&[][..], &["--keyed"], &["--derive-key", "c"], &["--length", "100"]];
    let strategies = [&["--strategy", "read"][..], &["--strategy", "pread"], &["--strategy", "direct"]];
    for args in modes.into_iter().chain(strategies) {
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
fn works_without_a_driver() {
    let (world, bytes) = (World::new(), paint(5 << 20));
    world.write("f", &bytes);
    let reason = "--engine wgpu: no device: no driver offers one (see hashmill info)";
    without_driver(&world, &["sum", "--engine", "wgpu", "f"]).failure(2, &[reason]);
    for command in [&["hash"][..], &["verify", "--hash", "x"], &["upgrade", "--hash", "x"], &["bench"]] {
        let args = [&["password"], command, &["--engine", "wgpu"]].concat();
        without_driver(&world, &args).failure(2, &[reason]);
    }
    let Err(reason) = BackEnd::Cuda.devices() else {
        return hashmill_testkit::skip("a program without NVIDIA's driver", "the driver is here");
    };
    let reason = format!("--engine cuda: {reason} (see hashmill info)");
    without_driver(&world, &["sum", "--engine", "cuda", "f"]).failure(2, &[&reason]);
    let line = format!("{}  f\n", digest(&bytes));
    assert_eq!(without_driver(&world, &["sum", "--engine", "auto", "f"]).quiet_success(), line);
    let text = without_driver(&world, &["info"]).quiet_success();
    assert!(text.contains("devices    none: no driver offers one\n"), "{text}");
    assert!(text.contains("uses the CPU: there is no device\n"), "{text}");
}

/// The driver shim of the library's tests, where the program looks for NVIDIA's driver.
#[cfg(all(feature = "gpu", target_os = "linux"))]
fn with_driver(world: &World, args: &[&str], input: &[u8]) -> Option<Done> {
    with_driver_that(world, &[], args, input)
}

/// The same driver, with a command.
#[cfg(all(feature = "gpu", target_os = "linux"))]
pub(crate) fn with_driver_that(
    world: &World,
    driver_settings: &[(&str, &str)],
    args: &[&str],
    input: &[u8],
) -> Option<Done> {
    let library = crate::shim::library("sum --engine cuda")?;
    let folder = world.path("driver");
    if !folder.exists() {
        std::fs::create_dir(&folder).expect("a folder");
        std::os::unix::fs::symlink(library, folder.join("libcuda.so.1")).expect("a link");
    }
    let mut command = std::process::Command::new(hashmill());
    command.args(args).env("LD_LIBRARY_PATH", folder).envs(driver_settings.iter().copied());
    let mut child = world.start(&mut command);
    // A program that needs no input may have ended.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    Some(finish(child))
}

#[test]
#[cfg(all(feature = "gpu", target_os = "linux"))]
fn nvidia_device_digests_equal_cpu_digests() {
    let world = World::new();
    for (name, len) in [("empty", 0), ("small", 3000), ("large", (9 << 20) + 77)] {
        world.write(name, paint(len));
    }
    let names = ["empty", "small", "large"];
    let Some(text) = with_driver(&world, &["info"], b"") else { return };
    let text = text.quiet_success();
    assert!(text.contains("cuda 0 Shim 0: discrete, CUDA, CUDA 13.0, compute capability 9.0\n"), "{text}");
    assert!(text.contains(" --engine cuda uses this one, unless --device names another\n"), "{text}");
    let strategies = [&["--strategy", "pread"][..], &["--strategy", "direct"]];
    for mode in [&[][..], &["--derive-key", "c"], &["--length", "100"]].into_iter().chain(strategies) {
        let right = world.sum(mode.iter().chain(&names)).quiet_success();
        let args: Vec<_> =
            ["sum", "--engine", "cuda"].into_iter().chain(mode.iter().copied()).chain(names).collect();
        assert_eq!(with_driver(&world, &args, b"").expect("as before").quiet_success(), right, "{mode:?}");
    }
    let refused = ["sum", "--engine", "cuda", "--algorithm", "md5", "small"];
    let refused = with_driver(&world, &refused, b"").expect("as before");
    refused.failure(2, &["--engine cuda is for BLAKE3 and cannot be used with --algorithm md5"]);
    for (count, there) in [("1", "there is 1"), ("2", "there are 2")] {
        let seventh = ["sum", "--engine", "cuda", "--device", "7", "small"];
        let refused = with_driver_that(&world, &[("SHIM_DEVICES", count)], &seventh, b"").expect("as before");
        let reason = format!(
            "--engine cuda --device 7: no device has \"7\" as its number, id, bus address or name: {there} (see hashmill info)"
        );
        refused.failure(2, &[&reason]);
    }
}

/// Hashes, verifies, upgrades and measures on a device, compared with the CPU.
#[cfg(feature = "gpu")]
fn passwords_by(world: &World, engine: &[&str], run: &dyn Fn(&[&str], &[u8]) -> Done) {
    let by_device = |args: &[&str], input: &[u8]| run(&[args, engine].concat(), input);
    let hash = |costs: &[&str], word: &[u8]| {
        by_device(&[&["hash", "-q"], costs].concat(), word).quiet_success().trim_end().to_owned()
    };
    let costs = [&["-m", "64", "-t", "1"][..], &["-m", "40", "-t", "2", "-p", "2", "--variant", "argon2i"]];
    let one = hash(costs[0], b"right");
    for (word, code, expected) in [(&b"right"[..], 0, "match\n"), (b"wrong", 1, "no match\n")] {
        for engine in [engine, &[]] {
            let done = run(&[&["verify", "--hash", &one], engine].concat(), word);
            assert_eq!((done.code(), &*done.text()), (code, expected), "{engine:?}");
        }
    }
    let bcrypt = "$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue";
    let lines = [
        format!("ann:{one}"),
        format!("bob:{}", hash(costs[1], b"right")),
        format!("cid:{bcrypt}"),
        "dee:!".to_owned(),
        format!("eve:{}", hash(costs[0], b"other")),
    ];
    world.write("hashes", lines.join("\n") + "\n");
    let check = |engine: &[&str]| run(&[&["verify", "--file", "hashes"], engine].concat(), b"right");
    let (given, right) = (check(engine), check(&[]));
    assert_eq!((given.code(), given.text()), (1, right.text()), "{}", given.err);
    world.write("words", "right\nright\n\n\nno\n");
    let upgrade = ["upgrade", "--file", "hashes", "--passwords", "words", "-m", "80", "-t", "1"];
    let upgraded = by_device(&upgrade, b"");
    assert_eq!(upgraded.code(), 1, "{}", upgraded.err);
    let new = std::fs::read_to_string(world.path("hashes")).expect("the file");
    let changed = new.lines().zip(&lines).map(|(new, old)| new != old).collect::<Vec<_>>();
    assert_eq!(changed, [true, true, false, false, false], "{new}");
    assert_eq!(check(&[]).text(), right.text());
    let none = by_device(&["verify", "--hash", &one, "--device", "nobody"], b"right");
    assert_eq!((none.code(), none.text()), (2, String::new()));
}

#[test]
#[cfg(feature = "gpu")]
fn device_password_results_equal_cpu_results() {
    if hashmill_gpu::best(&BackEnd::Wgpu.devices().unwrap()).is_none() {
        hashmill_testkit::skip(
            "password --engine wgpu",
            "no device: mesa-vulkan-drivers brings one that is software",
        );
        return;
    }
    let world = World::new();
    passwords_by(&world, &["--engine", "wgpu"], &|args, input| password(&world, args, input));
}

#[test]
#[cfg(all(feature = "gpu", target_os = "linux"))]
fn nvidia_password_results_equal_cpu_results() {
    let world = World::new();
    if with_driver(&world, &["info"], b"").is_none() {
        return;
    }
    passwords_by(&world, &["--engine", "cuda"], &|args, input| {
        with_driver(&world, &[&["password"], args].concat(), input).expect("as before")
    });
}

/// Device rows that are measured quickly.
#[cfg(all(feature = "gpu", feature = "lab"))]
const ROWS: [&str; 7] = [
    "device-blake3/*/kernel-effective/5000/all",
    "device-blake3/*/end-to-end/70001/all",
    "device-blake3/*tiles/backend/300KiB/all/tile=64KiB",
    "device-blake3-batch/*/backend/1025/all/messages=9",
    "device-argon2/*/backend/64KiB/all/hashes=5/passes=2",
    "device-argon2/*/*shot/64KiB/all/hashes=1",
    "device-pow/*/backend/64KiB/all/nonces=3",
];

/// Measures them and checks for those of an engine.
#[cfg(all(feature = "gpu", feature = "lab"))]
fn rows_of(world: &World, engine: &str, run: &dyn Fn(&[&str]) -> Done) {
    let listed = run(&["lab", "list", "device-*"]).quiet_success();
    let args = [&["lab", "run"], &ROWS[..], &crate::lab::TINY, &["--out", "r"]].concat();
    let done = run(&args);
    assert_eq!((done.code(), &*done.err), (0, ""), "{}", done.text());
    let report = std::fs::read(world.path("r/report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["status"]["is"] == "ok"), "{}", done.text());
    let of = |engine: &str| {
        let begins = format!("/{engine}/");
        rows.iter().filter(|row| row["title"].as_str().is_some_and(|title| title.contains(&begins))).count()
    };
    assert_eq!([of(engine), of(&format!("{engine}-tiles")), of("cpu")], [6, 1, 5], "{listed}");
    assert!(done.text().contains(&format!("answers   {engine}: 104 known answers right")), "{}", done.text());
}

#[test]
#[cfg(all(feature = "gpu", feature = "lab"))]
fn lab_has_device_rows() {
    let world = World::new();
    if hashmill_gpu::best(&BackEnd::Wgpu.devices().unwrap()).is_none() {
        return hashmill_testkit::skip(
            "rows of wgpu in the lab",
            "no device: mesa-vulkan-drivers brings one that is software",
        );
    }
    rows_of(&world, "wgpu", &|args| world.run(&hashmill(), args, b""));
}

#[test]
#[cfg(all(feature = "gpu", feature = "lab", target_os = "linux"))]
fn lab_reports_missing_devices_once() {
    let world = World::new();
    let Err(no_cuda) = BackEnd::Cuda.devices() else {
        return hashmill_testkit::skip("the lab without NVIDIA's driver", "the driver is here");
    };
    let reason = format!("no device: cuda: {no_cuda}; wgpu: no driver offers one");
    let listed = without_driver(&world, &["lab", "list"]);
    let expected = format!("hashmill lab: no rows of device-* here: {reason}\n");
    assert_eq!((listed.code(), &listed.err), (0, &expected));
    assert!(listed.text().contains("blake3/context/backend/1MiB/t1\n") && !listed.text().contains("device-"));
    let selected = without_driver(&world, &["lab", "run", "device-blake3/wgpu"]);
    assert_eq!(selected.code(), 2);
    assert!(selected.err.contains(&format!("(device-* is not here: {reason})")), "{}", selected.err);
}

#[test]
#[cfg(all(feature = "gpu", feature = "lab", target_os = "linux"))]
fn lab_has_nvidia_rows() {
    let world = World::new();
    if with_driver(&world, &["info"], b"").is_none() {
        return;
    }
    let run = |args: &[&str]| with_driver(&world, args, b"").expect("as before");
    rows_of(&world, "cuda", &run);
    let host = ["lab", "run", "device-blake3/cuda-*ed/backend/70001/all", "--out", "h"];
    let text = run(&[&host[..], &crate::lab::TINY].concat()).quiet_success();
    assert!(text.contains("\ndigests 2 of 2 equal to their reference\n"), "{text}");
}

/// Measures a device, whether or not the result can be saved, and checks the use of a saved file.
#[cfg(feature = "gpu")]
fn tuned_by(world: &World, engine: &str, model: &str, run: &dyn Fn(&[&str], &[u8]) -> Done) {
    let costs = ["-m", "64", "-t", "1", "--hashes", "4", "--time", "1ms"];
    let tune = [&["tune", "--engine", engine, "--dry-run", "--json"], &costs[..]].concat();
    let done = run(&tune, b"");
    assert!([0, 1].contains(&done.code()), "{}", done.err);
    let facts: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
    let measured = &facts["measured"][0];
    let options = measured["options"].as_array().expect("a list");
    assert_eq!((&*facts["engine"].to_string(), &facts["device"]), (&*format!("\"{engine}\""), &model.into()));
    assert_eq!((&measured["memory_kib"], &facts["kept"]), (&64.into(), &serde_json::Value::Null));
    assert!(
        options.len() > 1 && options.iter().all(|way| way["hashes_per_second"].as_f64() > Some(0.0)),
        "{facts}"
    );

    // Saving may be refused for noise, so the file is written by hand, at the path that the program prints.
    let choice = run(&["tune", "--forget"], b"");
    assert!(choice.text().starts_with("Nothing was saved"), "{}", choice.text());
    let tuning = options[1]["tuning"].as_str().expect("a line");
    let file = crate::engines::tune::of_devices(serde_json::json!([{
        "measured": "2026-11-26T12:00:00Z", "engine": engine, "device": model,
        "memory_kib": 64, "passes": 1, "lanes": 1,
        "tuning": tuning, "hashes_per_second": 1234.5, "of_processor": 67.0,
    }]));
    std::fs::create_dir_all(world.path("state/hashmill")).expect("a folder");
    world.write("state/hashmill/tune.json", file.to_string());
    let text = run(&["info"], b"").quiet_success();
    for expected in [
        "Argon2, 64 KiB, t 1, p 1: 1234.5 hashes per second, the CPU 67.0\n",
        "measured here by hashmill tune, last on 2026-11-26\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let calibrate = ["password", "calibrate", "--time", "20ms", "-m", "1MiB"];
    let text = run(&calibrate, b"").text();
    let expected = format!(
        "Measured here on 2026-11-26: 1234 a second of 64 KiB, 1 passes and 1 lanes on {model}; 67 on all "
    );
    assert!(text.contains(&expected), "{text}");
    let hash = ["password", "hash", "-q", "-m", "64", "-t", "1", "--engine", engine];
    let stored = run(&hash, b"right").quiet_success();
    let verified = run(&["password", "verify", "--hash", stored.trim_end()], b"right").quiet_success();
    assert_eq!(verified, "match\n");

    // The measurement is also used without --engine.
    let auto = "password --engine auto uses it for batches that it computes faster\n";
    assert!(run(&["info"], b"").quiet_success().contains(auto));
    world.write("hashes", format!("{stored}{stored}{stored}"));
    let check = ["password", "verify", "--file", "hashes"];
    let wrong = run(&check, b"wrong");
    assert_eq!((wrong.code(), wrong.text().matches(": no match\n").count(), &*wrong.err), (1, 3, ""));
    let right = run(&check, b"right").quiet_success();
    assert_eq!(right.matches(": match\n").count(), 3, "{right}");
    world.write("state/hashmill/tune.json", file.to_string().replace(model, "One that left"));
    let done = run(&check, b"right");
    assert_eq!((done.code(), &*done.text()), (0, &*right));
    let note = "note: --engine auto: One that left: ";
    assert_eq!(done.err.matches(note).count(), 1, "{}", done.err);
    assert!(done.err.trim_end().ends_with("; the CPU takes over"), "{}", done.err);
    assert_eq!(run(&[&check[..], &["--engine", "cpu"]].concat(), b"right").quiet_success(), right);
}

#[test]
#[cfg(feature = "gpu")]
fn tunes_a_device_and_uses_the_result() {
    let devices = BackEnd::Wgpu.devices().unwrap();
    let Some(best) = hashmill_gpu::best(&devices) else {
        return hashmill_testkit::skip(
            "tune --engine wgpu",
            "no device: mesa-vulkan-drivers brings one that is software",
        );
    };
    let world = World::new();
    let run = |args: &[&str], input: &[u8]| world.run(&hashmill(), args, input);
    tuned_by(&world, "wgpu", &devices[best].model(), &run);
    let reason = "costs, --hashes and --files need --engine cuda or --engine wgpu";
    run(&["tune", "-m", "64", "-t", "1"], b"").failure(2, &[reason]);
    run(&["tune", "--files"], b"").failure(2, &[reason]);

    // File tiles.
    let done = run(&["tune", "--engine", "wgpu", "--files", "--dry-run", "--json", "--time", "1ms"], b"");
    assert!([0, 1].contains(&done.code()), "{}", done.err);
    let facts: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
    let options = facts["files"]["options"].as_array().expect("a list");
    assert!(
        options.len() > 1 && options.iter().all(|way| way["bytes_per_second"].as_f64() > Some(0.0)),
        "{facts}"
    );
    assert_eq!(facts["measured"], serde_json::json!([]));
    world.write("large", paint((20 << 20) + 77));
    let right = world.sum(["large"]).quiet_success();
    for (tiles, expected) in [
        ("bytes=1048576 count=1", "files, bytes=1048576 count=1: 1.2 GB per second, the CPU 3.5\n"),
        ("bytes=4194304 count=3", "files, bytes=4194304 count=3: 1.2 GB per second, the CPU 3.5\n"),
        ("bytes=3 count=3", "entry 1 of files: "),
    ] {
        let mut file = crate::engines::tune::of_devices(serde_json::json!([]));
        file["files"] = serde_json::json!([{
            "measured": "2026-11-27T12:00:00Z", "engine": "wgpu", "device": devices[best].model(),
            "tiles": tiles, "bytes_per_second": 1.2e9, "of_processor": 3.5e9,
        }]);
        world.write("state/hashmill/tune.json", file.to_string());
        let text = run(&["info"], b"").quiet_success();
        assert!(text.contains(expected), "{text}");
        assert_eq!(world.sum(["large", "--engine", "wgpu", "-j", "4"]).quiet_success(), right);
    }
}

#[test]
#[cfg(all(feature = "gpu", target_os = "linux"))]
fn tunes_an_nvidia_device_and_uses_the_result() {
    let world = World::new();
    let Some(json) = with_driver(&world, &["info", "--json"], b"") else { return };
    let facts: serde_json::Value = serde_json::from_slice(&json.out).expect("JSON");
    let memory = facts["devices"]["found"][0]["memory"].as_u64().expect("bytes") >> 20;
    let model = format!("Shim 0, {memory} MiB, CUDA, CUDA 13.0, compute capability 9.0");
    tuned_by(&world, "cuda", &model, &|args, input| with_driver(&world, args, input).expect("as before"));
}
