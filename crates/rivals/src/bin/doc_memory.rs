//! Counts the memory of one engine; see `hashmill_rivals::doc::memory`.
#![forbid(unsafe_code)]

use std::alloc::System;

use cap::Cap;
use hashmill_rivals::doc::memory::{Counter, main as measure};

#[global_allocator]
static COUNTED: Cap<System> = Cap::new(System, usize::MAX);

fn main() -> anyhow::Result<()> {
    measure(Counter { now: || COUNTED.allocated(), most: || COUNTED.max_allocated() })
}
