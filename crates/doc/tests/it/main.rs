//! Documents as their users see them.

mod api;
mod back;
mod bindings;
mod bounds;
mod bundles;
mod commits;
mod convergence;
mod copies;
mod crowds;
mod cursors;
mod damaged;
mod decode;
mod empty;
mod files;
mod forge;
mod fragments;
mod golden;
mod history;
mod hostile;
mod hub;
mod items;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod json_differences;
mod leaked;
mod limits;
mod literals;
mod loaded_cost;
mod malformed;
mod marks;
mod models;
mod observers;
mod opened;
mod oracle;
mod own_saves;
mod patches;
mod ported;
mod reading;
mod recorded;
mod refused;
mod rescue;
mod rules;
mod scenarios;
#[cfg(feature = "serde")]
mod serde;
mod shortcuts;
mod spliced;
mod sync;
mod sync_limits;
mod threads;
mod transforms;
mod undo;
mod updated_texts;
mod worlds;

/// A small generator of numbers: tests must be the same everywhere.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }
}
