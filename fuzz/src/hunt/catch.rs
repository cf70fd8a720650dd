//! Panics as values.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};

thread_local! {
    static LAST: RefCell<Option<Finding>> = const { RefCell::new(None) };
}

/// Location and message of a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// File and line.
    pub location: String,
    /// The message.
    pub message: String,
}

impl Finding {
    /// The kind of a finding: the location, and the first line of the message without words that contain a
    /// digit.
    pub fn kind(&self) -> String {
        let mut words: Vec<&str> =
            self.message.lines().next().unwrap_or("").split_whitespace().take(24).collect();
        words.retain(|word| !word.chars().any(|letter| letter.is_ascii_digit()));
        format!("{}: {}", self.location, words.join(" "))
    }
}

/// Installs a panic hook that records panics instead of printing them.
pub fn quietly() {
    set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let location = info.location().map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
        let payload = info.payload();
        let message = payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let finding =
            Finding { location, message: message.unwrap_or_else(|| "a panic without words".to_owned()) };
        LAST.with(|last| *last.borrow_mut() = Some(finding));
    }));
}

/// Runs `deed`; returns its panic as an error.
pub(super) fn run<T>(deed: impl FnOnce() -> T) -> Result<T, Finding> {
    catch_unwind(AssertUnwindSafe(deed)).map_err(|_| {
        // A panic of another thread is recorded there, so its message is unknown here.
        let elsewhere = || Finding { location: "another thread".to_owned(), message: "a panic".to_owned() };
        LAST.with(|last| last.borrow_mut().take()).unwrap_or_else(elsewhere)
    })
}
