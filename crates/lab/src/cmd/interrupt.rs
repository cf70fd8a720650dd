//! Ctrl-C and termination: remembered, and asked for between samples.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static INSTALL: Once = Once::new();

/// From now on the signals only set a flag. If a handler stands already, it is the program's own and keeps its right.
pub(super) fn watch() {
    INSTALL.call_once(|| {
        ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed)).ok();
    });
}

pub(super) fn came() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
