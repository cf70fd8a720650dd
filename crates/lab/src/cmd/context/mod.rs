//! Setup, output, options and errors that all commands share.

pub(crate) mod cache_dir;
pub(crate) mod error;
pub(crate) mod exit;
pub(crate) mod files;
pub(crate) mod interrupt;
pub(crate) mod options;
mod os;
pub(crate) mod setup;
pub(crate) mod usage_error;
