//! Ctrl-C and termination: signals are recorded, and checked between samples.

use super::os;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);
static INSTALL: Once = Once::new();

/// From now on signals are only counted.
pub(crate) fn watch() {
    INSTALL.call_once(|| {
        let count = || {
            COUNT.fetch_add(1, Ordering::Relaxed);
        };
        // Without a handler, a signal ends the program at once.
        os::on_termination(count).ok();
    });
}

pub(crate) fn came() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Returns a function that says whether another signal came after the first: then the user does not want to wait.
pub(crate) fn insists() -> impl Fn() -> bool {
    let patience = COUNT.load(Ordering::Relaxed).max(1);
    move || COUNT.load(Ordering::Relaxed) > patience
}
