//! `cargo xtask fuzz`: fuzzing with cargo-fuzz, and `cargo xtask mutate`. `cargo xtask test` replays the committed seeds.

pub(crate) mod mutate;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::command::Cmd;
use crate::steps::needs::Need;

/// The target to run, and for how long.
pub(crate) struct FuzzRequest {
    /// `None` for all targets.
    pub(crate) target: Option<String>,
    pub(crate) seconds: u64,
}

const NEEDS: [Need; 2] = [Need::Nightly, Need::Cargo { name: "fuzz", install: "cargo install cargo-fuzz" }];

/// Fuzzes; true if nothing was found. A finding stays under `fuzz/artifacts`.
pub(crate) fn run(root: &Path, request: &FuzzRequest) -> anyhow::Result<bool> {
    if let Some(reason) = NEEDS.iter().find_map(Need::missing) {
        bail!("{reason}");
    }
    let all = targets(root)?;
    let chosen: Vec<_> =
        all.iter().filter(|name| request.target.as_ref().is_none_or(|it| it == *name)).collect();
    ensure!(!chosen.is_empty(), "no such target; there are: {}", all.join(", "));
    let mut clean = true;
    for target in chosen {
        // New inputs go to a scratch folder: the committed seeds are few and chosen.
        let scratch = root.join("target/corpus").join(target);
        fs::create_dir_all(&scratch).with_context(|| format!("{}", scratch.display()))?;
        let seeds = format!("fuzz/corpus/{target}");
        let time = format!("-max_total_time={}", request.seconds);
        let scratch = scratch.to_str().context("a repository whose path is UTF-8")?;
        let command =
            Cmd::nightly(&["fuzz", "run", "--features=libfuzzer", target, scratch, &seeds, "--", &time])
                // With the workspace's LTO, rust-lld finds symbols of the coverage undefined (nightly of 19 May 2026).
                .with("CARGO_PROFILE_RELEASE_LTO", "off");
        clean &= command.succeeds(root)?;
    }
    Ok(clean)
}

/// The names of the targets: one file each.
fn targets(root: &Path) -> anyhow::Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("{}", folder.display()))? {
        let path = entry?.path();
        names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}
