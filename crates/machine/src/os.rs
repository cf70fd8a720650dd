//! Calls that differ by operating system.

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

/// Reader of the monotonic clock with the system's origin, where other programs know it.
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

/// Requests huge pages for a mapping. Ignored by a kernel without them.
pub(crate) fn ask_for_huge_pages(map: &MmapMut) {
    #[cfg(target_os = "linux")]
    map.advise(memmap2::Advice::HugePage).ok();
    #[cfg(not(target_os = "linux"))]
    let _ = map;
}

/// Locks a mapping, and excludes it from core dumps and children, as far as the system can.
pub(crate) fn protect(map: &MmapMut) {
    // Refused beyond the limit of locked memory. The bytes remain usable.
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

/// Disables core dumps of this process, and on Linux access to its memory by unprivileged processes.
///
/// Cannot be undone. Has no effect on Windows.
pub fn forbid_dumps() {
    system::forbid_dumps();
}

/// Gives the calling thread, and those that it starts later, the lowest priority, so that other programs run
/// first; on other Unix systems the whole process. It cannot be undone without special rights. Returns whether
/// the system did so.
#[must_use]
pub fn take_lowest_priority() -> bool {
    system::take_lowest_priority()
}

/// Allowed processors of the calling thread, and binding to one.
#[cfg(target_os = "linux")]
pub(crate) mod affinity {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// Numbers of the allowed processors; empty if the system has more than a set can hold, the only error that
    /// the call has for this process: then there is none to bind to.
    pub(crate) fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap_or_default();
        (0..CpuSet::MAX_CPU).filter(|id| set.is_set(*id)).collect()
    }

    pub(crate) fn set(id: usize) -> bool {
        let mut set = CpuSet::new();
        if id >= CpuSet::MAX_CPU {
            return false;
        }
        set.set(id);
        sched_setaffinity(None, &set).is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) mod affinity {
    use core_affinity::{CoreId, get_core_ids, set_for_current};

    pub(crate) fn allowed() -> Vec<usize> {
        // Empty where the system lists none: then there is none to bind to.
        get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect()
    }

    pub(crate) fn set(id: usize) -> bool {
        set_for_current(CoreId { id })
    }
}

#[cfg(unix)]
mod system {
    use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    /// The highest niceness.
    pub(super) const LOWEST_PRIORITY: i32 = 19;

    pub(super) fn take_lowest_priority() -> bool {
        setpriority_process(None, LOWEST_PRIORITY).is_ok()
    }

    pub(super) fn forbid_dumps() {
        // A process may always lower its limits.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).ok();
        // For dumps that are piped to a program the kernel ignores that limit.
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

    pub(super) fn take_lowest_priority() -> bool {
        false
    }

    pub(super) fn forbid_dumps() {}

    pub(super) fn page_size() -> Option<usize> {
        None
    }

    pub(super) fn cpu_time() -> Option<Duration> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;

    #[test]
    fn a_thread_and_those_that_it_starts_have_the_lowest_priority() {
        let before = getpriority_process(None).expect("a priority");
        let thread = std::thread::spawn(|| {
            let is_lowest = take_lowest_priority();
            let of_child = std::thread::spawn(|| getpriority_process(None)).join().expect("no panic");
            (is_lowest, of_child, getpriority_process(None))
        });
        let lowest = Ok(system::LOWEST_PRIORITY);
        assert_eq!(thread.join().expect("no panic"), (true, lowest, lowest));
        assert_eq!(getpriority_process(None), Ok(before), "other threads keep theirs");
    }
}
