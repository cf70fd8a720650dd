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

/// Reader of the monotonic clock with the zero of the system, where its zero is known to other programs.
pub(crate) fn monotonic_clock() -> Option<fn() -> u64> {
    #[cfg(target_os = "linux")]
    {
        Some(|| {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
        })
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Asks for huge pages under a mapping. A kernel without them refuses; the memory works all the same.
pub(crate) fn ask_for_huge_pages(map: &MmapMut) {
    #[cfg(target_os = "linux")]
    map.advise(memmap2::Advice::HugePage).ok();
    #[cfg(not(target_os = "linux"))]
    let _ = map;
}

/// Keeps a mapping in memory, out of core dumps, and out of children, as far as the system does.
pub(crate) fn protect(map: &MmapMut) {
    // Refused beyond the limit of locked memory. The bytes can be used all the same.
    #[cfg(unix)]
    map.lock().ok();
    #[cfg(target_os = "linux")]
    {
        map.advise(memmap2::Advice::DontDump).ok();
        wipe_in_children(map);
    }
    #[cfg(not(unix))]
    let _ = map;
}

/// Before Linux 4.14 the kernel refuses.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "advice that memmap2 has no name for")]
fn wipe_in_children(map: &MmapMut) {
    // SAFETY: the range is this mapping, and the advice changes nothing in this process.
    unsafe { libc::madvise(map.as_ptr().cast_mut().cast(), map.len(), libc::MADV_WIPEONFORK) };
}

/// From now on, this process leaves no core dump, and on Linux only a privileged process can read its memory.
///
/// Cannot be undone. Windows has nothing like it.
pub fn forbid_dumps() {
    system::forbid_dumps();
}

#[cfg(unix)]
mod system {
    use rustix::process::{Resource, Rlimit, setrlimit};
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    pub(super) fn forbid_dumps() {
        // A process may always lower its limits.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).ok();
        // Where a program takes the dumps, the kernel does not look at that limit.
        #[cfg(target_os = "linux")]
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    }

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

    pub(super) fn forbid_dumps() {}

    pub(super) fn page_size() -> Option<usize> {
        None
    }

    pub(super) fn cpu_time() -> Option<Duration> {
        None
    }
}
