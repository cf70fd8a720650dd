//! Exit codes that several commands share.

/// Success.
pub(crate) const OK: u8 = 0;
/// Some file or check failed; all others were processed.
pub(crate) const FAILED: u8 = 1;
/// The command line or the key cannot be used; nothing was done.
pub(crate) const USAGE: u8 = 2;
/// Something could not be read, so a comparison is incomplete.
pub(crate) const INCOMPLETE: u8 = 2;
