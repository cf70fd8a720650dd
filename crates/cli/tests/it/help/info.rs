//! `hashmill info` and the help.

use crate::world::{World, hashmill};
use hashmill_hash::argon2;
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_hash::isa::{Cpu, Feature};
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn info_matches_the_library() {
    let world = World::new();
    let text = world.run(&hashmill(), ["info"], b"").quiet_success();
    let json = world.run(&hashmill(), ["info", "--json"], b"").quiet_success();
    let facts: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(facts["tune_kind"], Plan::host().kind());
    assert!(text.contains(Plan::host().basis()), "{text}");
    let names: Vec<&str> = Kernel::all().map(Kernel::name).collect();
    let listed: Vec<&str> = facts["kernels"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|kernel| kernel["name"].as_str())
        .collect();
    assert_eq!(listed, names);
    assert!(text.contains(&names.join(", ")), "{text}");
    for size in facts["sizes"].as_array().expect("a list") {
        let bytes = size["bytes"].as_u64().expect("a number") as usize;
        let choice = Plan::host().explain(bytes);
        assert_eq!(size["kernel"], choice.kernel.name());
        assert!(text.contains(choice.reason), "{text}");
    }
    let argon2 = &facts["argon2"];
    assert_eq!(argon2["kernel"], argon2::Plan::host().kernel().name());
    let cores: Vec<u64> =
        argon2["cores"].as_array().expect("a list").iter().filter_map(serde_json::Value::as_u64).collect();
    let different: BTreeSet<u64> = cores.iter().copied().collect();
    assert_eq!((different.len(), cores.is_empty()), (cores.len(), false), "{argon2}");
    assert!(text.contains("CPUs for a search, best first: "), "{text}");
    // No rounds on a CPU that runs every kernel: a unit test of `info` has invented CPUs.
    let unavailable = facts["unavailable_kernels"].as_array().expect("a list");
    assert_eq!(unavailable.len(), Kernel::unavailable().count(), "{unavailable:?}");
    for (kernel, (name, needs)) in unavailable.iter().zip(Kernel::unavailable()) {
        let lacks: Vec<&str> = Cpu::detect().features.missing(needs).map(Feature::name).collect();
        assert_eq!((&kernel["name"], &kernel["lacks"]), (&json!(name), &json!(lacks)));
        let line = format!("kernel {name} is not available: the CPU lacks {}\n", lacks.join(", "));
        assert!(text.contains(&line), "{line}{text}");
    }
    assert_eq!(text.matches(" is not available: the CPU lacks ").count(), unavailable.len(), "{text}");
}

#[test]
fn help_documents_exit_codes() {
    let world = World::new();
    let help = world.sum(["--help"]).quiet_success();
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Exit codes: 0 success, 1 some file or check failed"), "{help}");
    let version = world.run(&hashmill(), ["--version"], b"").quiet_success();
    assert_eq!(version, format!("hashmill {}\n", env!("CARGO_PKG_VERSION")));
}
