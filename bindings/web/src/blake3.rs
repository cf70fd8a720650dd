//! BLAKE3: a hasher whose state JavaScript can save, and parts of a tree.

use hashmill_hash::blake3::hazmat::{self, ContextKey, HasherExt, Mode, State};
use hashmill_hash::blake3::{CHUNK_LEN, Hasher, OutputReader};

pub(crate) struct Blake3 {
    pub(crate) state: State,
    tile: Hasher,
}

/// The mode, with its key.
pub(crate) enum Kind {
    Hash,
    Keyed([u8; 32]),
    Derive(ContextKey),
}

impl Kind {
    /// The mode for a number of JavaScript; `given` is the key or the context.
    pub(crate) fn from_number(kind: u32, given: &[u8]) -> Kind {
        match kind {
            0 => Kind::Hash,
            1 => Kind::Keyed(given.try_into().expect("32 bytes")),
            _ => Kind::Derive(hazmat::hash_derive_key_context_bytes(given)),
        }
    }

    fn mode(&self) -> Mode<'_> {
        match self {
            Kind::Hash => Mode::Hash,
            Kind::Keyed(key) => Mode::KeyedHash(key),
            Kind::Derive(key) => Mode::DeriveKeyMaterial(key),
        }
    }
}

impl Blake3 {
    pub(crate) fn new() -> Blake3 {
        Blake3 { state: State::new(&Mode::Hash), tile: Hasher::new() }
    }

    pub(crate) fn start(&mut self, kind: &Kind) {
        self.state = State::new(&kind.mode());
    }

    pub(crate) fn start_tile(&mut self, kind: &Kind, chunks: u64) {
        self.tile = match kind {
            Kind::Hash => Hasher::new(),
            Kind::Keyed(key) => Hasher::new_keyed(key),
            Kind::Derive(key) => Hasher::new_from_context_key(key),
        };
        self.tile.set_input_offset(chunks * CHUNK_LEN as u64);
    }

    pub(crate) fn update_tile(&mut self, bytes: &[u8]) {
        self.tile.update(bytes);
    }

    pub(crate) fn end_tile(&self) -> hazmat::ChainingValue {
        self.tile.finalize_non_root()
    }

    pub(crate) fn merge(kind: &Kind, values: &mut [u8]) -> OutputReader {
        hazmat::merge_tiles_root_xof(values.as_chunks_mut().0, kind.mode())
    }
}
