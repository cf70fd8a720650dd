//! Panics of the crate `parquet` as errors, without a message on standard error.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The result of `read`, `None` if it panicked. The panic hook of the program is not called.
///
/// `parquet` panics on some damaged files. The file is at fault then, and a backtrace would look like a defect of the program.
pub(super) fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    install();
    let was_quiet = IS_QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    IS_QUIET.set(was_quiet);
    result.ok()
}

/// Installs a hook before the program's own, once. It passes on every panic except those in [`caught`].
fn install() {
    static INSTALLED: Once = Once::new();
    // The hook cannot be replaced during a panic. The next call does it.
    if thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let program = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A thread that is ending has dropped its flag.
            if !IS_QUIET.try_with(Cell::get).unwrap_or_default() {
                program(info);
            }
        }));
    });
}
