//! Memory from the operating system: the only file of this module that depends on which one it is.
//!
//! A fill reads blocks from all over its memory: the larger the pages, the fewer of its reads wait for a page
//! table.
//!
//! On Linux, memory of every size is a mapping of its own, kept out of core dumps and, except for reserved
//! large pages, out of forked children. Elsewhere it comes from the allocator without such protection. It is
//! never kept out of swap.
#![allow(unsafe_code, reason = "pages from the system, huge where it grants them")]

use crate::process::Process;
use core::ptr::NonNull;

/// The kind of pages to request. If a kind is not available, the next smaller one is used; this is never an
/// error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PagePolicy {
    /// Ordinary pages.
    Plain,
    /// Large pages where the system provides them without preparation: for services.
    #[default]
    Transparent,
    /// Pages of 2 MiB that the administrator has reserved, else as `Transparent`.
    Reserved,
    /// Reserved pages of 1 GiB, else as `Reserved`: for memory that is used for hours.
    Largest,
}

/// The kind of pages that was granted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum PageKind {
    /// The system's ordinary pages, usually 4 KiB.
    Plain,
    /// Ordinary pages that the system was asked to join into large ones.
    Transparent,
    /// 2 MiB.
    Huge2M,
    /// 1 GiB.
    Huge1G,
}

impl PageKind {
    /// The common name.
    pub const fn name(self) -> &'static str {
        match self {
            PageKind::Plain => "plain",
            PageKind::Transparent => "transparent huge",
            PageKind::Huge2M => "2 MiB",
            PageKind::Huge1G => "1 GiB",
        }
    }
}

/// Exclusively owned bytes, aligned to a page or at least a block. Not initialised.
pub(super) struct Region {
    first: NonNull<u8>,
    len: usize,
    kind: PageKind,
    /// The process that allocated it.
    process: Process,
}

/// Below this, a large page would be mostly empty. At half a page it already pays: small pages have scattered
/// addresses that compete for the same cache sets (1 MiB on Zen 4: 103 ns per block in a good case, 165 in a
/// bad one).
const LARGE_FROM: usize = 1 << 20;

impl Region {
    /// At least `len` bytes, `len` > 0. `None` if the system refuses.
    pub(super) fn map(len: usize, policy: PagePolicy) -> Option<Region> {
        let large =
            (policy != PagePolicy::Plain && len >= LARGE_FROM).then(|| system::map_large(len, policy));
        large.flatten().or_else(|| system::map_plain(len))
    }

    pub(super) fn first(&self) -> NonNull<u8> {
        self.first
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn kind(&self) -> PageKind {
        self.kind
    }

    /// Are these reserved pages of the parent, with this process a forked child? A write there needs another
    /// reserved page, and kills the process if none is left.
    pub(super) fn is_the_parents(&self) -> bool {
        matches!(self.kind, PageKind::Huge2M | PageKind::Huge1G) && self.process != Process::current()
    }

    /// Relabels the region's kind, for tests on systems without that kind.
    #[cfg(test)]
    pub(super) fn pretend(&mut self, kind: PageKind) {
        self.kind = kind;
    }

    /// Makes all pages present now, and large where the system can. Returns the share that is large, if the
    /// system reports it.
    pub(super) fn prefault(&mut self) -> Option<f64> {
        match self.kind {
            PageKind::Plain => Some(0.0),
            PageKind::Transparent => system::collapse(self),
            PageKind::Huge2M | PageKind::Huge1G => Some(1.0),
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        system::unmap(self);
    }
}

// SAFETY: a region owns its memory.
unsafe impl Send for Region {}
// SAFETY: nothing is written through `&Region`.
unsafe impl Sync for Region {}

#[cfg(target_os = "linux")]
mod system {
    use super::{LARGE_FROM, PageKind, PagePolicy, Process, Region};
    use core::ptr::{self, NonNull};
    use libc::c_int;

    const HUGE_2M: usize = 2 << 20;
    const HUGE_1G: usize = 1 << 30;
    /// `MADV_COLLAPSE`, which `libc` defines for one C library only. The number is the kernel's, the same for
    /// all.
    const COLLAPSE: c_int = 25;

    /// Blocks begin at pages of at least this size, so that they never straddle two.
    const PAGE: usize = 4096;

    pub(super) fn map_plain(len: usize) -> Option<Region> {
        let len = len.checked_next_multiple_of(PAGE)?;
        // A little memory is populated at once: page by page takes several times as long.
        let populate = if len < LARGE_FROM { libc::MAP_POPULATE } else { 0 };
        Some(Region {
            first: map_anonymous(len, populate)?,
            len,
            kind: PageKind::Plain,
            process: Process::current(),
        })
    }

    pub(super) fn map_large(len: usize, policy: PagePolicy) -> Option<Region> {
        let reserved = matches!(policy, PagePolicy::Reserved | PagePolicy::Largest);
        // Using a tenth of a 1 GiB page would waste a scarce resource.
        let largest = policy == PagePolicy::Largest && len > HUGE_1G / 2;
        let huge_1g =
            || largest.then(|| map_reserved(len, HUGE_1G, libc::MAP_HUGE_1GB, PageKind::Huge1G)).flatten();
        let huge_2m =
            || reserved.then(|| map_reserved(len, HUGE_2M, libc::MAP_HUGE_2MB, PageKind::Huge2M)).flatten();
        huge_1g().or_else(huge_2m).or_else(|| map_transparent(len))
    }

    fn map_reserved(len: usize, page: usize, flag: c_int, kind: PageKind) -> Option<Region> {
        let len = len.checked_next_multiple_of(page)?;
        let first = map_anonymous(len, libc::MAP_HUGETLB | flag)?;
        let region = Region { first, len, kind, process: Process::current() };
        // A reserved page may still be unavailable (by a control group's limit), and then the first access
        // would kill the process. So it is populated here, where it can fail. Before Linux 5.14 this always
        // fails.
        region.advise(libc::MADV_POPULATE_WRITE).then_some(region)
    }

    fn map_transparent(len: usize) -> Option<Region> {
        let len = len.checked_next_multiple_of(HUGE_2M)?;
        // Large pages need aligned memory: map more, and unmap the rest.
        let whole = map_anonymous(len.checked_add(HUGE_2M)?, 0)?;
        let head = whole.as_ptr().align_offset(HUGE_2M);
        // SAFETY: at most 2 MiB into the mapping.
        let first = unsafe { whole.add(head) };
        if head > 0 {
            unmap_range(whole.as_ptr(), head);
        }
        // SAFETY: the aligned part ends before the mapping does.
        unmap_range(unsafe { first.as_ptr().add(len) }, HUGE_2M - head);
        let region = Region { first, len, kind: PageKind::Transparent, process: Process::current() };
        // Refused where large pages are disabled; then the pages are small.
        region.advise(libc::MADV_HUGEPAGE);
        Some(region)
    }

    fn map_anonymous(len: usize, flags: c_int) -> Option<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
        // SAFETY: a new mapping touches nothing that exists.
        let first = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        if first == libc::MAP_FAILED {
            return None;
        }
        // Hash memory should be in no core dump and no child process. Best effort.
        // SAFETY: the mapping just made.
        unsafe {
            libc::madvise(first, len, libc::MADV_DONTDUMP);
            libc::madvise(first, len, libc::MADV_WIPEONFORK);
        }
        NonNull::new(first.cast())
    }

    pub(super) fn collapse(region: &mut Region) -> Option<f64> {
        region.advise(libc::MADV_POPULATE_WRITE);
        let mut large = 0;
        for offset in (0..region.len).step_by(HUGE_2M) {
            // SAFETY: inside the region, which keeps its content.
            let result = unsafe {
                let page = region.first.as_ptr().add(offset);
                libc::madvise(page.cast(), HUGE_2M, COLLAPSE)
            };
            if result == 0 {
                large += 1;
            } else if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
                // Before Linux 6.1, or switched off.
                return None;
            }
        }
        Some(f64::from(large) / (region.len / HUGE_2M) as f64)
    }

    impl Region {
        fn advise(&self, advice: c_int) -> bool {
            // SAFETY: these kinds of advice change no content, and it is our region.
            unsafe { libc::madvise(self.first.as_ptr().cast(), self.len, advice) == 0 }
        }
    }

    pub(super) fn unmap(region: &mut Region) {
        unmap_range(region.first.as_ptr(), region.len);
    }

    fn unmap_range(first: *mut u8, len: usize) {
        // SAFETY: called with parts of our mappings that are never used again.
        let result = unsafe { libc::munmap(first.cast(), len) };
        debug_assert_eq!(result, 0, "unmapping whole pages");
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{PageKind, PagePolicy, Process, Region};
    use core::ptr::NonNull;
    use std::alloc::{self, Layout};

    /// Alignment of allocator memory: a page, so that blocks straddle no more pages than necessary.
    const ALIGN: usize = 4096;

    pub(super) fn map_plain(len: usize) -> Option<Region> {
        let layout = Layout::from_size_align(len, ALIGN).ok()?;
        // SAFETY: the layout is not empty.
        let first = NonNull::new(unsafe { alloc::alloc(layout) })?;
        Some(Region { first, len, kind: PageKind::Plain, process: Process::current() })
    }

    pub(super) fn map_large(_: usize, _: PagePolicy) -> Option<Region> {
        None
    }

    pub(super) fn collapse(_: &mut Region) -> Option<f64> {
        None
    }

    pub(super) fn unmap(region: &mut Region) {
        let layout = Layout::from_size_align(region.len, ALIGN).expect("as in `map_plain`");
        // SAFETY: from `alloc` with this layout.
        unsafe { alloc::dealloc(region.first.as_ptr(), layout) };
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn every_policy_gives_usable_memory() {
        for policy in [PagePolicy::Plain, PagePolicy::Transparent, PagePolicy::Reserved, PagePolicy::Largest]
        {
            for len in [1, 4096, LARGE_FROM - 1, LARGE_FROM, 3 * LARGE_FROM + 1] {
                let mut region = Region::map(len, policy).unwrap();
                assert!(region.len() >= len);
                assert_eq!(region.first().as_ptr().align_offset(4096), 0);
                let share = region.prefault();
                assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{share:?}");
                // SAFETY: the region's own bytes.
                unsafe {
                    region.first().write(1);
                    region.first().add(len - 1).write(2);
                }
            }
        }
    }

    /// The kernel's flags of the mapping that holds `address`, two letters each.
    #[cfg(target_os = "linux")]
    fn flags(address: usize) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        maps.lines().find_map(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |hex: &str| usize::from_str_radix(hex, 16).ok();
            if let Some((first, end)) = range.and_then(|(first, end)| Some((number(first)?, number(end)?))) {
                inside = (first..end).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| inside).map(str::to_owned)
        })
    }

    /// Neither a core dump nor a child contains any of it, whatever its size.
    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_excluded_from_core_dumps_and_forks() {
        if hashmill_testkit::emulated() {
            return hashmill_testkit::skip(
                "flags of mappings",
                "an emulator passes on no advice about memory",
            );
        }
        for policy in [PagePolicy::Plain, PagePolicy::Transparent] {
            for len in [1, 8 << 10, LARGE_FROM - 1, LARGE_FROM, 3 * LARGE_FROM + 1] {
                let region = Region::map(len, policy).unwrap();
                for address in [region.first().addr().get(), region.first().addr().get() + len - 1] {
                    let Some(flags) = flags(address) else {
                        return hashmill_testkit::skip("flags of mappings", "no /proc/self/smaps with them");
                    };
                    let has = |flag| flags.split_whitespace().any(|it| it == flag);
                    assert!(has("dd") && has("wf"), "{policy:?}, {len} bytes:{flags}");
                }
            }
        }
    }

    /// Unreserved kinds are replaced by the next smaller one, and `kind` says so.
    #[cfg(target_os = "linux")]
    #[test]
    fn refused_large_pages_fall_back_to_smaller_ones() {
        let reserved = |kind: &str| {
            let path = format!("/sys/kernel/mm/hugepages/hugepages-{kind}/free_hugepages");
            std::fs::read_to_string(path).is_ok_and(|free| free.trim() != "0")
        };
        let (huge_2m, huge_1g) = (reserved("2048kB"), reserved("1048576kB"));
        for (policy, kind) in
            [(PagePolicy::Reserved, PageKind::Huge2M), (PagePolicy::Largest, PageKind::Huge1G)]
        {
            // More than half of a page of 1 GiB, so that one is requested. An unreserved region is not
            // touched.
            let region = Region::map((513 << 20) + 1, policy).unwrap();
            let best = if huge_1g && kind == PageKind::Huge1G {
                kind
            } else if huge_2m {
                PageKind::Huge2M
            } else {
                PageKind::Transparent
            };
            assert!(
                (PageKind::Transparent..=best).contains(&region.kind()),
                "{policy:?}: {:?}",
                region.kind()
            );
        }
        assert_eq!(Region::map(LARGE_FROM - 1, PagePolicy::Largest).unwrap().kind(), PageKind::Plain);
    }

    #[test]
    fn refuses_more_than_the_address_space() {
        // A 32-bit system may be able to provide that much.
        if usize::BITS == 64 {
            assert!(Region::map(isize::MAX as usize - 4096, PagePolicy::Largest).is_none());
        }
        assert!(Region::map(usize::MAX, PagePolicy::Transparent).is_none());
    }
}
