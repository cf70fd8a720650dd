//! Tests of the crate's public interface.

mod direct;
mod engine;
mod ignore_files;
mod many;
mod silent;
mod stop;
mod strategies;
mod tree;
mod update;

use hashmill_files::{Digest, Files, Function, Options, Output, Strategy};
use std::num::NonZero;

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
