//! Naive implementations written from the specifications, to compare fast ones with.

pub mod blake3;
pub mod leases;
pub mod phc;
