//! A session: one fresh process (or several, for sides that must not share one) that takes a few samples.
//!
//! The parent holds the baton. It asks one worker at a time for one sample at a time, so no two sides ever run at
//! once, and every answer that arrived is kept whatever happens next.

pub(crate) mod peer;
pub(crate) mod process;
pub(crate) mod protocol;
pub(crate) mod watching;
pub(crate) mod worker;
