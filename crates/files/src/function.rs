//! What is computed: the hash function with its mode, its key and its kernels, and what comes out.

use hashmill_hash::blake3::hazmat::{self, Mode};
use hashmill_hash::blake3::{Hash, Hasher, KEY_LEN, OUT_LEN, OutputReader, Plan, batch};
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// The function that turns a file into a digest.
#[derive(Clone)]
pub struct Function {
    kind: Kind,
    plan: Plan,
    extended: bool,
}

#[derive(Clone)]
enum Kind {
    Blake3,
    Keyed(Zeroizing<[u8; KEY_LEN]>),
    DeriveKey(hazmat::ContextKey),
    Sha256,
}

impl Function {
    /// BLAKE3.
    pub fn blake3() -> Function {
        Function::of(Kind::Blake3)
    }

    /// BLAKE3 under a secret key. The key is wiped with the last clone of this value.
    pub fn keyed(key: Zeroizing<[u8; KEY_LEN]>) -> Function {
        Function::of(Kind::Keyed(key))
    }

    /// BLAKE3 as a key derivation: the file is the key material.
    pub fn derive_key(context: &str) -> Function {
        Function::of(Kind::DeriveKey(hazmat::hash_derive_key_context(context)))
    }

    /// SHA-256, for lists made by other programs. One thread per file: its rounds depend on each other.
    pub fn sha256() -> Function {
        Function::of(Kind::Sha256)
    }

    fn of(kind: Kind) -> Function {
        Function { kind, plan: Plan::host(), extended: false }
    }

    /// The same function with other BLAKE3 kernels. Digests do not depend on them.
    #[must_use]
    pub fn with_plan(mut self, plan: Plan) -> Function {
        self.plan = plan;
        self
    }

    /// The same function with BLAKE3's whole output, see [`Output::Extended`]. It costs the batching of small files.
    #[must_use]
    pub fn extended(mut self) -> Function {
        self.extended = true;
        self
    }

    /// The mode of a tree hash, or `None` for a function that takes its input strictly in order.
    pub(crate) fn mode(&self) -> Option<Mode<'_>> {
        match &self.kind {
            Kind::Blake3 => Some(Mode::Hash),
            Kind::Keyed(key) => Some(Mode::KeyedHash(key)),
            Kind::DeriveKey(key) => Some(Mode::DeriveKeyMaterial(key)),
            Kind::Sha256 => None,
        }
    }

    /// Whether this is plain BLAKE3 with its default output, on whatever kernels.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.kind, Kind::Blake3) && !self.extended
    }

    /// A state that takes a message piece by piece.
    pub(crate) fn start(&self) -> State {
        match self.mode() {
            Some(mode) => {
                State::Blake3(Box::new(Hasher::with_mode(&mode).with_plan(self.plan)), self.extended)
            }
            None => State::Sha256(Sha256::new()),
        }
    }

    /// The chaining value of `bytes`, which lie `offset` bytes into a message that is longer than they are.
    pub(crate) fn subtree(&self, mode: &Mode<'_>, offset: u64, bytes: &[u8]) -> hazmat::ChainingValue {
        use hazmat::HasherExt;
        let mut hasher = Hasher::with_mode(mode).with_plan(self.plan);
        hasher.set_input_offset(offset).update(bytes).finalize_non_root()
    }

    /// The output of a message whose two topmost subtrees are given.
    pub(crate) fn root(
        &self,
        mode: Mode<'_>,
        left: &hazmat::ChainingValue,
        right: &hazmat::ChainingValue,
    ) -> Output {
        if self.extended {
            Output::Extended(Box::new(hazmat::merge_subtrees_root_xof(left, right, mode)))
        } else {
            Output::Short(*hazmat::merge_subtrees_root(left, right, mode).as_bytes())
        }
    }

    /// The outputs of many messages, across SIMD lanes where the function allows.
    pub(crate) fn batch(&self, messages: &[&[u8]]) -> Vec<Output> {
        match self.mode() {
            Some(mode) if !self.extended && messages.len() > 1 => {
                let mut hashes = vec![Hash::from_bytes([0; OUT_LEN]); messages.len()];
                batch::hash_all_with(self.plan, &mode, messages, &mut hashes);
                hashes.iter().map(|hash| Output::Short(*hash.as_bytes())).collect()
            }
            _ => messages.iter().map(|message| self.start().update(message).finish()).collect(),
        }
    }
}

impl fmt::Debug for Function {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Blake3 => "Function(BLAKE3)",
            Kind::Keyed(_) => "Function(BLAKE3 keyed)",
            Kind::DeriveKey(_) => "Function(BLAKE3 derive-key)",
            Kind::Sha256 => "Function(SHA-256)",
        })
    }
}

/// A message in progress.
pub(crate) enum State {
    /// The hasher, and whether the whole output is wanted.
    Blake3(Box<Hasher>, bool),
    Sha256(Sha256),
}

impl State {
    pub(crate) fn update(&mut self, bytes: &[u8]) -> &mut State {
        match self {
            State::Blake3(hasher, _) => {
                hasher.update(bytes);
            }
            State::Sha256(state) => state.update(bytes),
        }
        self
    }

    pub(crate) fn finish(&self) -> Output {
        match self {
            State::Blake3(hasher, true) => Output::Extended(Box::new(hasher.finalize_xof())),
            // By its path: with the feature `digest`, a trait of `sha2` has a method of this name too.
            State::Blake3(hasher, false) => Output::Short(*Hasher::finalize(hasher).as_bytes()),
            State::Sha256(state) => Output::Short(state.clone().finalize().into()),
        }
    }
}

/// What comes out of the function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// The default 32 bytes.
    Short([u8; OUT_LEN]),
    /// BLAKE3's output from any offset, as asked for by [`Function::extended`].
    Extended(Box<OutputReader>),
}

impl Output {
    /// The 32 bytes of output at `offset`. A short output has only those at offset 0.
    pub fn bytes_at(&self, offset: u64) -> Option<[u8; OUT_LEN]> {
        match self {
            Output::Short(bytes) => (offset == 0).then_some(*bytes),
            Output::Extended(reader) => {
                offset.checked_add(OUT_LEN as u64)?;
                let mut reader = reader.clone();
                reader.set_position(offset);
                let mut bytes = [0; OUT_LEN];
                reader.fill(&mut bytes);
                Some(bytes)
            }
        }
    }
}

/// The digest of one input.
#[derive(Clone, Debug)]
pub struct Digest {
    /// The output of the function.
    pub output: Output,
    /// How many bytes were hashed.
    pub len: u64,
}
