//! Hashing files and trees: plan, sources, merge, checkfiles.
