//! Windows of a mapped file, safe against truncation. The only `unsafe` code of this crate.
//!
//! A mapping has two dangers. The file may become shorter while it is mapped: touching a page beyond its new end
//! raises SIGBUS, which kills the process. And a mapping of a whole file counts as resident memory for as long as it
//! lives. So a file is mapped window by window, and while a window is hashed it is registered with a handler for
//! SIGBUS: if a page of it cannot be had, the handler puts zeros in its place, hashing runs on to the end of the
//! window, and its result is thrown away.
//!
//! Truncation inside the last page raises nothing (the rest of the page reads as zeros), so the size is looked at
//! once more when all windows are hashed.

#![allow(unsafe_code)]

use super::tiles::Tiles;
use super::too_short;
use crate::error::Error;
use crate::os;
use crate::pool::Buffer;
use guard::Watch;
use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::ops::Range;

pub(crate) struct Mapped<'a> {
    file: &'a File,
    len: u64,
    /// All of a file that fits into one window, for all threads: taking a window away interrupts every other thread.
    whole: Option<Window>,
}

/// Bytes of the file, and the eye on them. The watch ends before the mapping does.
struct Window {
    watch: Watch,
    map: Mmap,
}

impl<'a> Mapped<'a> {
    /// A file of `len` bytes, to be seen through windows of `window` bytes.
    pub(crate) fn new(file: &'a File, len: u64, window: usize) -> Mapped<'a> {
        os::advise_sequential(file);
        guard::prepare();
        let whole = if len <= window as u64 { map(file, 0, len as usize) } else { None };
        Mapped { file, len, whole }
    }

    /// Calls `hash` with a part of a window. Its value counts unless a page was missing.
    fn look<R>(
        &self,
        window: &Window,
        part: Range<usize>,
        hash: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let bytes = &window.map[part];
        touch(bytes);
        let value = hash(bytes);
        if window.watch.page_lost() {
            return Err(match self.file.metadata() {
                Ok(now) if now.len() < self.len => Error::Shrunk { expected: self.len, found: now.len() },
                _ => Error::PageLost,
            });
        }
        Ok(value)
    }

    /// For file systems without mappings, and for more threads than there are places to watch.
    fn read<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Option<Buffer>,
        hash: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        let buffer = match scratch {
            Some(buffer) if buffer.len() >= len => buffer,
            _ => scratch.insert(Buffer::new(len)),
        };
        let found = os::read_at(self.file, &mut buffer[..len], offset)?;
        if found < len {
            return Err(too_short(self.file, self.len, offset + found as u64));
        }
        Ok(hash(&buffer[..len]))
    }
}

impl Tiles for Mapped<'_> {
    type Scratch = Option<Buffer>;

    fn scratch(&self) -> Option<Buffer> {
        None
    }

    fn with<R>(
        &self,
        offset: u64,
        len: usize,
        scratch: &mut Option<Buffer>,
        hash: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        if let Some(whole) = &self.whole {
            return self.look(whole, offset as usize..offset as usize + len, hash);
        }
        match map(self.file, offset, len) {
            Some(window) => self.look(&window, 0..len, hash),
            None => self.read(offset, len, scratch, hash),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let found = self.file.metadata()?.len();
        if found < self.len { Err(Error::Shrunk { expected: self.len, found }) } else { Ok(()) }
    }

    fn done(&self, _: Option<Buffer>) {}
}

fn map(file: &File, offset: u64, len: usize) -> Option<Window> {
    // SAFETY: the mapping is only read. Other programs may write to the file meanwhile; the bytes go
    // through arithmetic only, and no index or length depends on them. Pages that vanish are `Watch`'s business.
    let map = unsafe { MmapOptions::new().offset(offset).len(len).map(file) }.ok()?;
    Some(Window { watch: Watch::over(&map)?, map })
}

/// Brings the pages of a window into the page table before it is hashed: the kernel maps sixteen pages with each
/// fault, and faults between the passes of a kernel that hashes sixteen chunks at once cost more than faults in a row.
/// (`MAP_POPULATE` saves as much, but holds a lock against other threads' mappings meanwhile.)
fn touch(window: &[u8]) {
    const FAULT_AROUND: usize = 64 * 1024;
    std::hint::black_box(window.iter().step_by(FAULT_AROUND).fold(0, |sum, byte| sum ^ byte));
}

/// The handler for SIGBUS, and the list of windows that it may repair.
#[cfg(unix)]
mod guard {
    use std::ops::Range;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicUsize, Ordering, compiler_fence, fence};

    /// One window under watch. The handler may only touch atomics, so the list has a fixed length.
    struct Slot {
        /// Odd while `start` and `end` change. The handler of one thread looks at the windows of all others, and a start
        /// and an end of different windows would have it replace the memory between them.
        version: AtomicUsize,
        /// The address of the window, or [`FREE`], or [`CLAIMED`].
        start: AtomicUsize,
        end: AtomicUsize,
        lost: AtomicBool,
    }

    const FREE: usize = 0;
    const CLAIMED: usize = 1;

    static SLOTS: [Slot; 256] = [const { Slot::new() }; 256];

    impl Slot {
        const fn new() -> Slot {
            let (version, start) = (AtomicUsize::new(0), AtomicUsize::new(FREE));
            Slot { version, start, end: AtomicUsize::new(0), lost: AtomicBool::new(false) }
        }

        /// Whether the slot was free and is now the caller's.
        fn claim(&self) -> bool {
            self.start.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
        }

        /// Puts a window into a claimed slot.
        fn put(&self, window: Range<usize>) {
            self.lost.store(false, Ordering::Relaxed);
            let version = self.version.load(Ordering::Relaxed);
            self.version.store(version.wrapping_add(1), Ordering::Relaxed);
            fence(Ordering::Release);
            self.start.store(window.start, Ordering::Relaxed);
            self.end.store(window.end, Ordering::Relaxed);
            self.version.store(version.wrapping_add(2), Ordering::Release);
            // The handler may interrupt this very thread as soon as it reads the window.
            compiler_fence(Ordering::SeqCst);
        }

        /// The window in the slot, unless it is changing: then it is not one that the caller is reading.
        fn window(&self) -> Option<Range<usize>> {
            let before = self.version.load(Ordering::Acquire);
            let window = self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            let after = self.version.load(Ordering::Relaxed);
            (before == after && before.is_multiple_of(2) && window.start > CLAIMED).then_some(window)
        }
    }

    /// The handler that was there before, for faults that are not ours.
    static EARLIER_HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
    static EARLIER_FLAGS: AtomicI32 = AtomicI32::new(0);
    static PAGE: AtomicUsize = AtomicUsize::new(4096);

    /// As long as this lives, faults in the window do not kill.
    pub(super) struct Watch(&'static Slot);

    impl Watch {
        /// `None` if the handler cannot be installed or too many windows are watched already.
        pub(super) fn over(window: &[u8]) -> Option<Watch> {
            if !prepare() {
                return None;
            }
            let slot = SLOTS.iter().find(|slot| slot.claim())?;
            let range = window.as_ptr_range();
            slot.put(range.start.addr()..range.end.addr());
            Some(Watch(slot))
        }

        /// Whether zeros took the place of a page.
        pub(super) fn page_lost(&self) -> bool {
            // The handler ran on a thread that read the window. Of several that read one window, at least that thread sees
            // the loss, and one failure is enough for the file.
            self.0.lost.load(Ordering::Relaxed)
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            self.0.start.store(FREE, Ordering::Release);
        }
    }

    /// Whether the handler is there, installed now if nobody has tried yet. Nobody waits for another thread that is at it:
    /// in a child that was forked meanwhile it would never end. Until then, bytes are read.
    pub(super) fn prepare() -> bool {
        const UNTRIED: u8 = 0;
        const BUSY: u8 = 1;
        const INSTALLED: u8 = 2;
        const REFUSED: u8 = 3;
        static STATE: AtomicU8 = AtomicU8::new(UNTRIED);
        match STATE.compare_exchange(UNTRIED, BUSY, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => {
                let installed = install();
                STATE.store(if installed { INSTALLED } else { REFUSED }, Ordering::Release);
                installed
            }
            Err(state) => state == INSTALLED,
        }
    }

    fn install() -> bool {
        // SAFETY: asks for a constant.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let Some(page) = usize::try_from(page).ok().filter(|page| page.is_power_of_two()) else {
            return false;
        };
        PAGE.store(page, Ordering::Relaxed);
        // SAFETY: both structures are plain data for which zeros are valid; the handler has the signature that
        // SA_SIGINFO asks for and does only what a handler may do. SA_ONSTACK keeps Rust's own handler for stack
        // overflows working, to which ours passes on what it does not know.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut earlier: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &raw const action, &raw mut earlier) != 0 {
                return false;
            }
            EARLIER_HANDLER.store(earlier.sa_sigaction, Ordering::Relaxed);
            EARLIER_FLAGS.store(earlier.sa_flags, Ordering::Relaxed);
        }
        true
    }

    extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system passes a valid `info`. Its address field is set where a page is missing; a signal that a
        // program sent has its own numbers there, which are no address of a window.
        let address = unsafe { (*info).si_addr() }.addr();
        if SLOTS.iter().any(|slot| repair(slot, address)) {
            return;
        }
        pass_on(signal, info, context);
    }

    /// Puts zeros in the place of the window's rest, from the page of `address` on, if the window has that address.
    fn repair(slot: &Slot, address: usize) -> bool {
        let Some(window) = slot.window().filter(|window| window.contains(&address)) else { return false };
        let from = address & !(PAGE.load(Ordering::Relaxed) - 1);
        let place = ptr::with_exposed_provenance_mut(from);
        // SAFETY: the pages from `from` to the end of the window belong to a live mapping that this crate made: the thread
        // that just touched it holds it, and unregisters the window before it unmaps it. Replacing pages of it
        // keeps every address of the window readable. `mmap` is a plain system call, safe in a handler.
        let blank = unsafe {
            libc::mmap(
                place,
                window.end - from,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if blank == libc::MAP_FAILED {
            return false;
        }
        slot.lost.store(true, Ordering::Relaxed);
        true
    }

    /// Does with the signal what would have been done without us.
    fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let earlier = EARLIER_HANDLER.load(Ordering::Relaxed);
        if earlier == libc::SIG_DFL || earlier == libc::SIG_IGN {
            // SAFETY: both calls are allowed in a handler. The signal raised here is delivered, by then with its
            // default action, when this handler returns.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        } else if EARLIER_FLAGS.load(Ordering::Relaxed) & libc::SA_SIGINFO != 0 {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: `sigaction` reported this address as a handler with this signature.
            let handler: Handler = unsafe { std::mem::transmute(earlier) };
            handler(signal, info, context);
        } else {
            // SAFETY: as above; without SA_SIGINFO a handler takes the signal only.
            let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(earlier) };
            handler(signal);
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_slot_has_a_window_only_while_it_does_not_change() {
            let slot = Slot::new();
            assert_eq!(slot.window(), None, "free");
            assert!(slot.claim() && !slot.claim());
            assert_eq!(slot.window(), None, "claimed");
            slot.put(4096..8192);
            assert_eq!(slot.window(), Some(4096..8192));
            slot.version.fetch_add(1, Ordering::Relaxed);
            slot.end.store(1 << 30, Ordering::Relaxed);
            assert_eq!(slot.window(), None, "the end belongs to another start");
        }

        /// Windows that come and go on one thread, seen from another: never the start of one with the end of another.
        #[test]
        fn no_window_is_made_of_two() {
            let (slot, done) = (Slot::new(), AtomicBool::new(false));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for turn in 2..200_000 {
                        while !slot.claim() {}
                        slot.put(turn..2 * turn);
                        slot.start.store(FREE, Ordering::Release);
                    }
                    done.store(true, Ordering::Relaxed);
                });
                while !done.load(Ordering::Relaxed) {
                    if let Some(window) = slot.window() {
                        assert_eq!(window.end, 2 * window.start);
                    }
                }
            });
        }
    }
}

/// Elsewhere the system does not let a file become shorter while a part of it is mapped.
#[cfg(not(unix))]
mod guard {
    pub(super) struct Watch;

    pub(super) fn prepare() -> bool {
        true
    }

    impl Watch {
        pub(super) fn over(_: &[u8]) -> Option<Watch> {
            Some(Watch)
        }

        pub(super) fn page_lost(&self) -> bool {
            false
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Places to watch are the process's, and one of the tests takes them all.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn file_of(len: u64) -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(len).expect("a sparse file");
        file
    }

    #[test]
    fn a_file_cut_while_its_window_is_read_is_an_error_and_no_death() {
        let _alone = crate::pool::lock(&ALONE);
        let file = file_of(1 << 20);
        let mapped = Mapped::new(&file, 1 << 20, 1 << 16);
        let result = mapped.with(0, 1 << 20, &mut None, |bytes| {
            file.set_len(5000).expect("truncation");
            bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>()
        });
        assert!(matches!(result, Err(Error::Shrunk { expected: 0x10_0000, found: 5000 })), "{result:?}");
        assert!(matches!(mapped.check(), Err(Error::Shrunk { .. })));

        // The place in the list is free again, and a whole file is read without complaint.
        file.set_len(1 << 20).expect("growth");
        assert!(matches!(mapped.with(0, 1 << 20, &mut None, |bytes| bytes.len()), Ok(0x10_0000)));
    }

    #[test]
    fn a_cut_within_the_last_page_is_seen_by_the_final_check() {
        let _alone = crate::pool::lock(&ALONE);
        let file = file_of(8192);
        let mapped = Mapped::new(&file, 8192, 4096);
        let result = mapped.with(0, 8192, &mut None, |bytes| {
            file.set_len(8000).expect("truncation");
            bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>()
        });
        assert!(matches!(result, Ok(0)), "no page is lost: {result:?}");
        assert!(matches!(mapped.check(), Err(Error::Shrunk { expected: 8192, found: 8000 })));
    }

    #[test]
    fn with_every_place_taken_bytes_are_read_instead() {
        let _alone = crate::pool::lock(&ALONE);
        let file = file_of(1 << 17);
        let mapped = Mapped::new(&file, 1 << 17, 1 << 16);
        let window = [0; 1];
        let mut watches = Vec::new();
        while let Some(watch) = Watch::over(&window) {
            watches.push(watch);
        }
        let mut scratch = None;
        assert!(matches!(mapped.with(0, 1 << 17, &mut scratch, |bytes| bytes.len()), Ok(0x2_0000)));
        assert!(scratch.is_some(), "the bytes came through a buffer");
    }
}
