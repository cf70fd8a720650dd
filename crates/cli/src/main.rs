//! The `hashmill` binary.

fn main() {}
