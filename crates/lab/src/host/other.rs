//! Any other system: what the standard library knows. The rest stays unknown and is reported as such.

use super::{Load, Machine, Usage};

pub(super) fn machine() -> Machine {
    let logical_cores =
        std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
    Machine {
        cpu: "unknown".to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        logical_cores,
        os: std::env::consts::OS.to_owned(),
        virtualization: "unknown".to_owned(),
        counters: "none: not read on this system".to_owned(),
        ..Machine::default()
    }
}

pub(super) fn load() -> Load {
    Load::default()
}

pub(super) fn usage() -> Usage {
    Usage::default()
}

pub(super) fn huge_page_bytes() -> Option<u64> {
    None
}

pub(super) fn reserved_bytes() -> Option<(u64, u64)> {
    None
}

pub(super) fn resident_bytes() -> Option<u64> {
    None
}

pub(super) fn ask_for_huge_pages(_: &memmap2::MmapMut) {}

pub(super) fn pin(_: u64) -> Option<usize> {
    None
}
