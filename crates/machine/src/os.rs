//! What differs by operating system.

use memmap2::MmapMut;
use std::time::Duration;

/// Bytes of an ordinary page.
#[must_use]
pub fn page_size() -> Option<usize> {
    system::page_size()
}

/// The processor time that this process has used so far.
#[must_use]
pub fn cpu_time() -> Option<Duration> {
    system::cpu_time()
}

/// Asks for huge pages under a mapping. A kernel without them refuses; the memory works all the same.
pub(crate) fn ask_for_huge_pages(map: &MmapMut) {
    #[cfg(target_os = "linux")]
    map.advise(memmap2::Advice::HugePage).ok();
    #[cfg(not(target_os = "linux"))]
    let _ = map;
}

#[cfg(unix)]
mod system {
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    pub(super) fn page_size() -> Option<usize> {
        Some(rustix::param::page_size())
    }

    pub(super) fn cpu_time() -> Option<Duration> {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
    }
}

#[cfg(not(unix))]
mod system {
    use std::time::Duration;

    pub(super) fn page_size() -> Option<usize> {
        None
    }

    pub(super) fn cpu_time() -> Option<Duration> {
        None
    }
}
