//! Facts of the machine, asked in one place.
//!
//! Nobody here judges them, and what a system cannot say is `None`. `system` asks Linux, in whose files most of
//! it stands, and `parse` reads them; `os` has what every system is asked in its own way. `child` runs one process and
//! says what that used, `files` what a file is to it.
//! `vectors` has loops for the widest registers.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod child;
pub mod clock;
pub mod date;
mod description;
mod files;
mod load;
mod memory;
mod os;
mod pages;
mod parse;
mod places;
mod processors;
mod secret;
mod system;
pub mod vectors;

pub use child::{ChildEnd, ChildRun, ChildUsage, Sink, Watch, ended_by_signal, run_child};
pub use description::Machine;
pub use files::{is_pipe, is_program, is_script, open_output};
pub use load::{Load, Usage};
pub use memory::{free_kib, peak_bytes, resident_bytes};
pub use os::{cpu_time, forbid_dumps, page_size};
pub use pages::{HugeBytes, huge_page_bytes, huge_page_sizes, reserved_bytes, transparent_huge_pages};
pub use places::places;
pub use processors::{Processor, bind, midr, pin, processors, threads};
pub use secret::SecretBytes;

/// What the page of the crate shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
