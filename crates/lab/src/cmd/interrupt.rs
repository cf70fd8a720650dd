//! Ctrl-C and termination: remembered, and asked for between samples.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);
static INSTALL: Once = Once::new();

/// From now on the signals are only counted. If a handler stands already, it is the program's own and keeps its right.
pub(super) fn watch() {
    INSTALL.call_once(|| {
        ctrlc::set_handler(|| {
            COUNT.fetch_add(1, Ordering::Relaxed);
        })
        .ok();
    });
}

pub(super) fn came() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// What says whether there was one more from now on that is not the first: who asks again does not want to wait.
pub(super) fn insists() -> impl Fn() -> bool {
    let patience = COUNT.load(Ordering::Relaxed).max(1);
    move || COUNT.load(Ordering::Relaxed) > patience
}
