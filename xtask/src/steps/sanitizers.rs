//! Steps under sanitizers, which need nightly Rust.

use std::env::consts;

use super::step::{Graph, Step, on_linux};
use crate::command::{Cmd, Selection};
use crate::steps::kind::Kind;
use crate::steps::needs::Need;

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "asan",
        about: "tests of `hash` and `files` under the address sanitizer",
        kind: Kind::Sanitizers,
        graph: Graph::Own("address sanitizer"),
        filters: true,
        applies: on_linux,
        needs: &[Need::Nightly],
        runner: None,
        commands: |setting| Ok(vec![setting.tests(asan(), Selection::default())]),
    },
    Step {
        name: "tsan",
        about: "readers of documents beside writers, under the thread sanitizer",
        kind: Kind::Sanitizers,
        graph: Graph::Own("thread sanitizer"),
        filters: true,
        applies: on_linux,
        needs: &[Need::Nightly, Need::NightlySource],
        runner: None,
        commands: |setting| Ok(vec![setting.tests(tsan(), Selection::by_names(&["threads"]))]),
    },
];

/// An explicit target keeps the flags away from build scripts and procedural macros.
fn asan() -> Cmd {
    let target = format!("{}-unknown-linux-gnu", consts::ARCH);
    let test = ["test", "--locked", "--target", &target, "--target-dir", "target/asan", "--tests"];
    let packages = ["-p", "hashmill-hash", "-p", "hashmill-files", "--all-features"];
    Cmd::nightly(&[&test[..], &packages].concat())
        .with("RUSTFLAGS", "-Zsanitizer=address")
        // One test allocates more memory than the machine has, which must fail as with any other allocator. Another reads the stack
        // after a call, so locals must be there and not on the sanitizer's heap.
        .with("ASAN_OPTIONS", "allocator_may_return_null=1:detect_stack_use_after_return=0")
}

/// The sanitizer must see the reads and writes of the standard library, so that is rebuilt with it.
fn tsan() -> Cmd {
    let target = format!("{}-unknown-linux-gnu", consts::ARCH);
    let test = ["test", "--locked", "-Zbuild-std", "--target", &target, "--target-dir", "target/tsan"];
    let selected = ["-p", "hashmill-doc", "--test", "it"];
    Cmd::nightly(&[&test[..], &selected].concat()).with("RUSTFLAGS", "-Zsanitizer=thread")
}
