//! Commands of `hashmill`, one module each.

pub(crate) mod compare;
#[cfg(feature = "doc")]
pub(crate) mod doc;
#[cfg(feature = "generate")]
pub(crate) mod generate;
pub(crate) mod info;
#[cfg(feature = "lab")]
pub(crate) mod lab;
pub(crate) mod password;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod sum;
pub(crate) mod tune;
