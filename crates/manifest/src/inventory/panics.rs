//! Panics of the crate `parquet` as errors, without a report of them on standard error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result of `read`, `None` if it panicked. The panic hook of the program hears nothing of it.
///
/// `parquet` panics at some damaged files. The file is at fault then, and a report with a backtrace would tell the user of a defect
/// in the program.
pub(super) fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    install();
    let was_quiet = IS_QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    IS_QUIET.set(was_quiet);
    result.ok()
}

/// Puts a hook before the program's own, once. It passes on every panic but those of [`caught`].
fn install() {
    static INSTALLED: Once = Once::new();
    // The hook cannot be replaced during a panic. The next call will do it.
    if thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let program = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A thread that is ending has no flag any more.
            if !IS_QUIET.try_with(Cell::get).unwrap_or_default() {
                program(info);
            }
        }));
    });
}
