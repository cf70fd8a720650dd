//! `cargo rivals lab`: the lab with the engines of competitors beside ours, so that a comparison, a gate or a claim can name
//! them.

mod argon2;
mod blake3;
mod doc;
mod first_save;
mod logins;
pub mod memory;
mod recorded;
mod sum;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hashmill_lab::cmd::{self, Build, LabSetup, ProgramBuilder};
use hashmill_lab::model::registry::Registry;

use crate::builds;

/// What the user types before the lab's commands; gates name it as their program.
const NAME: &str = "cargo rivals lab";

/// The program that the other builds of this one are: it answers as a session, and does nothing else.
const SESSION: &str = "rivals-session";

/// Features of this crate that make another build: the official crate held back, functions in another order, other engines
/// for documents, or an allocator that counts.
pub const BUILDS: [&str; 6] =
    ["layout-1", "layout-2", "official-avx2", "official-sse41", "doc-engines", "counting"];

/// Where an engine for documents is named that this build does without.
#[cfg(not(feature = "doc-engines"))]
const WITHOUT: &str = "a build without `doc-engines`";

#[cfg(not(feature = "doc-engines"))]
fn absent<I: 'static>() -> impl hashmill_lab::model::engine::Engine<Input = I> {
    use hashmill_lab::model::engine::{CaseError, Digest, Routine, Spec};
    let init = |_: &Spec| Err::<(), _>(CaseError::unavailable(format!("{WITHOUT} has no such engine")));
    let run = |(): &mut (), _: &I| Ok::<u8, CaseError>(0);
    Routine::new(init, |(): &()| String::new(), run, |byte: &u8| Digest::new(&[*byte]))
}

/// Runs one command of the lab and gives its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let registry = registry();
    let setup = LabSetup {
        name: NAME,
        arguments: &["lab"],
        registry: &registry,
        package: Some(env!("CARGO_PKG_NAME")),
        builder: Some(&Cargo),
    };
    // The codes of the lab go from 0 to 4.
    cmd::main(&setup, args).code() as u8
}

fn registry() -> Registry {
    let mut registry = hashmill_workloads::registry();
    blake3::register(&mut registry);
    argon2::register(&mut registry);
    logins::register(&mut registry);
    doc::register(&mut registry);
    sum::register(&mut registry);
    registry
}

/// Cargo, which made this program and can make it again.
struct Cargo;

impl ProgramBuilder for Cargo {
    fn describe(&self) -> Result<Build, String> {
        // `cargo run` builds what lies there and says where; a program that was started by itself may be older.
        let by_cargo = std::env::var_os("CARGO_MANIFEST_DIR");
        if by_cargo.is_none_or(|folder| Path::new(&folder) != Path::new(env!("CARGO_MANIFEST_DIR"))) {
            return Ok(Build::default());
        }
        let described = || -> anyhow::Result<Build> {
            let (commit, dirty) = builds::commit()?.unzip();
            Ok(Build { commit, dirty, rustc: Some(builds::rustc()?), ..Build::default() })
        };
        described().map_err(|error| format!("{error:#}"))
    }

    fn build(&self, name: &str) -> Result<PathBuf, String> {
        variant(name).map_err(|error| format!("{error:#}"))
    }
}

/// Those that gates about a topic ask for.
pub(crate) fn builds(topic: &str) -> impl Iterator<Item = &'static str> {
    let documents = topic == "doc";
    BUILDS.into_iter().filter(move |name| ["doc-engines", "counting"].contains(name) == documents)
}

/// One of [`BUILDS`].
pub(crate) fn variant(name: &str) -> anyhow::Result<PathBuf> {
    anyhow::ensure!(BUILDS.contains(&name), "there is {}", BUILDS.join(", "));
    builds::build(SESSION, &format!("{SESSION}-{name}"), &[name])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rival_has_cases_of_ours_to_meet() {
        let registry = registry();
        for (ours, rival) in [
            ("blake3/hash/oneshot/64/t1", "official"),
            ("blake3/hash/kernel/64/t1", "official"),
            ("blake3/hasher/oneshot/64/t1", "official-hasher"),
            ("blake3/stream/oneshot/1MiB/t1/piece=64", "official-stream"),
            ("blake3/context/backend/1MiB/t1", "official-rayon"),
            ("blake3-keyed/hash/oneshot/64/t1", "official"),
            ("blake3-derive/hash/oneshot/64/t1", "official"),
            ("blake3-batch/batch/kernel/64/t1", "official-loop"),
            ("blake3-xof/reader/kernel/64/t1", "official-reader"),
            ("blake3/chain/kernel/64/t1", "official-chain"),
            ("blake3/pieces/oneshot/1MiB/t1/piece=64", "official-stream"),
            ("blake3/parallel/kernel/1MiB/all", "official-parallel"),
            ("blake3/context-rested/kernel/1MiB/all", "official-parallel-rested"),
            ("argon2id/hasher/kernel/1MiB/t1/passes=1/lanes=1", "argon2-rust"),
            ("argon2id/hasher/kernel/1MiB/t1/passes=1/lanes=1", "rustcrypto"),
            ("argon2id/hasher/oneshot/1MiB/all/passes=1/lanes=4", "reference-c"),
            ("argon2id-logins/passwords/backend/19MiB/t1/logins=64/passes=2/lanes=1", "argon2-rust"),
            ("argon2id-logins/passwords/backend/19MiB/t1/logins=64/passes=2/lanes=1", "reference-c"),
            ("doc-map_put/hashmill/kernel/10000/t1", "loro"),
            ("doc-recorded-load/hashmill/kernel/259778/t1/recording=automerge-paper", "diamond-types"),
            ("doc-first_save/hashmill/kernel/10000/t1/document=records", "automerge"),
            ("doc-snapshot_reads/hashmill/kernel/1000000/t2", "one-thread"),
            ("sum/hashmill/end-to-end/4KiB/all/files=20000/way=walked", "b3sum"),
        ] {
            let mut segments: Vec<&str> = ours.split('/').collect();
            segments[1] = rival;
            let pair = registry.select(&[ours, &segments.join("/")]).expect("both are known");
            assert_eq!(pair.len(), 2, "{ours} and {rival}");
        }
    }
}
