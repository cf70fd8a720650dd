//! `hashmill lab`: hands the lab what Hashmill can be measured on. The commands are the lab's own.

mod answers;
mod argon2;
mod blake3;
mod file;
mod headline;
mod input;
mod work;

use crate::flags::LabArgs;
use hashmill_lab::cmd::{self, Mount};
use hashmill_lab::model::registry::Registry;

/// Runs one command of the lab and gives its exit code.
pub(crate) fn run(low: LabArgs) -> u8 {
    let registry = registry();
    let mount = Mount { name: "hashmill lab", arguments: &["lab"], registry: &registry };
    // The codes of the lab go from 0 to 4.
    cmd::main(&mount, low.args).code() as u8
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    blake3::register(&mut registry);
    file::register(&mut registry);
    argon2::register(&mut registry);
    answers::register(&mut registry);
    headline::register(&mut registry);
    registry
}

/// One thread, and as many as the machine offers.
fn thread_counts() -> Vec<u32> {
    let all = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    if all == 1 { vec![1] } else { vec![1, all] }
}
