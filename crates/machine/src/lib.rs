//! Facts about the machine and its processes, queried in one place.
//!
//! The facts are not judged here; a fact that the system does not provide is `None`. `linux` reads the files
//! of Linux, which has most of the facts; `os` contains calls that differ by system. `child` runs one process
//! and reports its resource usage, `files` examines files for it. `vectors` has loops for the widest
//! registers.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod child;
pub mod clock;
pub mod date;
mod description;
mod files;
mod linux;
mod load;
mod memory;
mod os;
mod processors;
mod sensors;

pub use child::{ChildEnd, ChildRun, ChildUsage, Sink, Watch, ended_by_signal, run_child};
pub use description::Machine;
pub use files::{is_pipe, is_program, is_script, link_directory, open_output};
pub use linux::midr;
pub use load::{Load, Usage};
pub use memory::huge_pools::{HugePageReservation, HugePool, huge_pools, reserve_huge_pages};
pub use memory::pages::{
    HugeBytes, huge_page_bytes, huge_page_sizes, reserved_bytes, transparent_huge_pages,
};
pub use memory::secret::SecretBytes;
pub use memory::size::memory_size;
pub use memory::{free_kib, limit_kib, peak_bytes, resident_bytes, unswapped_budget};
pub use os::{cpu_time, forbid_dumps, page_size, take_lowest_priority};
pub use processors::thread_placement::place_threads;
pub use processors::{Processor, bind, pin, processors, threads, vectors};
pub use sensors::{on_battery, processor_temperature};

/// Compiles and runs the examples of the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
