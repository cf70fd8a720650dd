//! `cargo rivals lab`: the lab with the engines of competitors beside Hashmill's, so that a comparison, a gate or a claim can name
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

/// The command line before the lab's commands; gates name it as their program.
const NAME: &str = "cargo rivals lab";

/// The program of the other builds: it runs only as a session.
const SESSION: &str = "rivals-session";

/// Features of this crate with a build of their own: the official crate with fewer kernels, functions in another order, other engines
/// for documents, or an allocator that counts.
pub const BUILDS: [&str; 6] =
    ["layout-1", "layout-2", "official-avx2", "official-sse41", "doc-engines", "counting"];

/// Version of an engine for documents that this build lacks.
#[cfg(not(feature = "doc-engines"))]
const WITHOUT: &str = "a build without `doc-engines`";

#[cfg(not(feature = "doc-engines"))]
fn missing_engine<I: 'static>() -> impl hashmill_lab::model::engine::Engine<Input = I> {
    use hashmill_lab::model::engine::{CaseError, Digest, Routine, Spec};
    let init = |_: &Spec| Err::<(), _>(CaseError::unavailable(format!("{WITHOUT} has no such engine")));
    let run = |(): &mut (), _: &I| Ok::<u8, CaseError>(0);
    Routine::new(init, |(): &()| String::new(), run, |byte: &u8| Digest::new(&[*byte]))
}

/// Runs one command of the lab and returns its exit code.
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

/// Builder of this program with cargo.
struct Cargo;

impl ProgramBuilder for Cargo {
    fn describe(&self) -> Result<Build, String> {
        // `cargo run` has just built this source, and sets the variable. A program that was started directly may be older.
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

/// The builds that gates about a topic need.
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
    fn every_rival_has_a_case_of_hashmill() {
        let registry = registry();
        for (case, rival) in [
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
            let mut segments: Vec<&str> = case.split('/').collect();
            segments[1] = rival;
            let pair = registry.select(&[case, &segments.join("/")]).expect("both are known");
            assert_eq!(pair.len(), 2, "{case} and {rival}");
        }
    }
}
