//! Session: one fresh process (or several, if sides must not share one) that takes a few samples.
//!
//! The parent asks one worker at a time for one sample at a time, so two sides never run simultaneously, and every
//! reply received is kept.

pub(crate) mod handle;
pub(crate) mod process;
pub(crate) mod protocol;
pub(crate) mod recording_clock;
pub(crate) mod worker;
