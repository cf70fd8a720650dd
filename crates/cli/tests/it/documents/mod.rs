//! Tests of `hashmill doc`.

mod commands;
mod files;
mod hostile;
mod json;
mod refusals;
pub(crate) mod server;
mod sync;
#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) mod tls;
mod view;
