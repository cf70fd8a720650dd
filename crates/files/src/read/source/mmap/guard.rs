//! Handler for SIGBUS, and the list of windows that it may repair.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicUsize, Ordering, compiler_fence, fence};

/// One watched window. The handler may only touch atomics, so the list has a fixed length.
struct Slot {
    /// Odd while `start` and `end` change. The handler of one thread scans the windows of all others; a start
    /// and an end of different windows would make it replace the memory between them.
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

    /// Claims the slot if it is free.
    fn claim(&self) -> bool {
        self.start.compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Stores a window in a claimed slot.
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

    /// The window in the slot, unless it is changing: then the caller does not read it.
    fn window(&self) -> Option<Range<usize>> {
        let before = self.version.load(Ordering::Acquire);
        let window = self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let after = self.version.load(Ordering::Relaxed);
        (before == after && before.is_multiple_of(2) && window.start > CLAIMED).then_some(window)
    }
}

/// The previous handler, for faults elsewhere.
static EARLIER_HANDLER: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static EARLIER_FLAGS: AtomicI32 = AtomicI32::new(0);
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// Watch of a window: while it lives, faults in the window do not kill the process.
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

    /// Was a page replaced by zeros?
    pub(super) fn page_lost(&self) -> bool {
        // The handler may have run on another thread that reads the same window. It sets the flag before it
        // maps zeros, and a thread that reads one of them had to ask the system for its page after that. So
        // the flag is read after all bytes of the window.
        fence(Ordering::SeqCst);
        self.0.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.start.store(FREE, Ordering::Release);
    }
}

/// Is the handler installed? Installs it on the first call. A call never waits for another thread that
/// installs it: in a child that was forked meanwhile it would wait for ever. Until then, bytes are read.
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
    // Without a page size, the caller does not map files but reads them.
    let Some(page) = usize::try_from(page).ok().filter(|page| page.is_power_of_two()) else {
        return false;
    };
    PAGE.store(page, Ordering::Relaxed);
    // SAFETY: both structures are plain data for which zeros are valid; the handler has the signature that
    // SA_SIGINFO asks for and does only what a handler may do. SA_ONSTACK keeps Rust's own handler for stack
    // overflows working, which gets every fault that this one does not handle.
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

/// Replaces the window by zeros from the page of `address` on, if the window contains that address.
fn repair(slot: &Slot, address: usize) -> bool {
    let Some(window) = slot.window().filter(|window| window.contains(&address)) else { return false };
    // Before zeros are mapped: other threads that read them must notice, see `Watch::page_lost`.
    slot.lost.store(true, Ordering::SeqCst);
    let from = address & !(PAGE.load(Ordering::Relaxed) - 1);
    let first_page = ptr::with_exposed_provenance_mut(from);
    // SAFETY: the pages from `from` to the end of the window belong to a live mapping that this crate made: the thread
    // that just touched it holds it, and unregisters the window before it unmaps it. Replacing pages of it
    // keeps every address of the window readable. `mmap` is a plain system call, safe in a handler.
    let blank = unsafe {
        libc::mmap(
            first_page,
            window.end - from,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    blank != libc::MAP_FAILED
}

/// Passes the signal to the previous handler, or applies the default action.
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

    /// Windows that are registered and removed on one thread, seen from another: never the start of one with
    /// the end of another.
    #[test]
    fn no_window_mixes_two() {
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
