//! Competitors beside Hashmill: differential tests (`tests/`) and side-by-side tables (`cargo rivals`).
//!
//! The only crate that links a rival, so that no build of the product ever compiles one. From the bottom up:
//! [`pace`] takes paired samples in one process, [`stats`] turns them into a ratio, [`judge`] holds it against [`gates`], [`report`]
//! keeps it and [`table`] shows it; [`fleet`] builds and runs the measuring processes, [`host`] describes the machine.
//! Only [`argon2`], [`blake3`] and [`b3sum`] know what is being measured.
//! [`mod@lab`] puts rivals into the lab.
#![deny(unsafe_code)]

pub mod argon2;
pub mod b3sum;
pub mod blake3;
pub mod doc;
pub mod fleet;
pub mod gates;
pub mod host;
pub mod judge;
pub mod lab;
pub mod pace;
pub mod report;
pub mod size;
pub mod stats;
pub mod table;
