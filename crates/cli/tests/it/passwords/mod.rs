//! Tests of `hashmill password`.

pub(crate) mod commands;
mod dumps;
mod kdf;
mod terminal;
pub(crate) mod upgrade;
