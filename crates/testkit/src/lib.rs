//! Painted inputs, vector loaders and naive oracles. Shares no code with the shipped crates.
