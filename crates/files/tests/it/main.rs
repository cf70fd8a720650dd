//! The crate as another program uses it.

mod many;
mod strategies;
mod tree;

use hashmill_files::{Digest, Files, Function, Options, Output, Strategy};
use std::io::Write;
use std::num::NonZero;

/// Bytes without a period that a tile could hide.
fn painted(len: usize) -> Vec<u8> {
    let mut state = len as u64 | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| next().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}

fn files(function: Function, strategy: Strategy, threads: usize) -> Files {
    let mut options = Options::default();
    options.strategy = strategy;
    options.threads = NonZero::new(threads);
    Files::new(function, options)
}

fn short(digest: &Digest) -> [u8; 32] {
    match &digest.output {
        Output::Short(bytes) => *bytes,
        other => panic!("{other:?}"),
    }
}

/// Says aloud what this machine cannot test; with `REQUIRE_ALL=1` that is a failure. Written past the harness, which
/// swallows what passing tests print.
fn skip(reason: &str) {
    assert!(std::env::var_os("REQUIRE_ALL").is_none(), "REQUIRE_ALL is set, but: {reason}");
    writeln!(std::io::stderr(), "SKIPPED: {reason}").expect("standard error");
}
