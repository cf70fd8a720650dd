//! The only crate that links competitors: differential tests and side-by-side benches.

fn main() {}
