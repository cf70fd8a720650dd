//! Tests that Hashmill's results equal those of competitors. `cargo rivals` compares times.
#![forbid(unsafe_code)]

mod argon2;
mod blake3;
mod doc;
mod lab;
mod phc;
#[cfg(target_os = "linux")]
mod serve;
