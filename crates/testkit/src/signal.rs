//! What becomes of signals: a handler for SIGBUS as a program might have one, to see which reach it, and the defaults.
#![expect(unsafe_code, reason = "a handler for a signal")]

use std::sync::atomic::{AtomicUsize, Ordering};

static SEEN: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    SEEN.fetch_add(1, Ordering::SeqCst);
}

/// From now on, signals are counted and do no harm.
///
/// # Panics
/// When the system refuses.
pub fn count_bus_errors() {
    // SAFETY: the structure is plain data for which zeros are valid; the handler has the signature of one without
    // SA_SIGINFO and touches an atomic only.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as usize;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    };
    assert_eq!(result, 0, "a handler for SIGBUS");
}

/// How many have reached the handler.
pub fn bus_errors() -> usize {
    SEEN.load(Ordering::SeqCst)
}

/// Sends one that belongs to no memory.
pub fn raise_bus_error() {
    // SAFETY: a plain call; it returns when the handler has run on this thread.
    unsafe { libc::raise(libc::SIGBUS) };
}

/// From now on the signals that end programs end this one, and those it starts: whoever started it may have ignored them,
/// as `nohup` does.
///
/// # Panics
/// When the system refuses.
pub fn heed() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: a plain system call; the default is no handler of ours.
        let before = unsafe { libc::signal(signal, libc::SIG_DFL) };
        assert_ne!(before, libc::SIG_ERR, "the default of signal {signal}");
    }
}
