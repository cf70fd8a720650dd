//! Hash functions with their modes, keys and kernels, and their outputs.

use crate::checksum_list::Algorithm;
use hashmill_hash::blake3::hazmat::{self, Mode};
use hashmill_hash::blake3::{Hash, Hasher, KEY_LEN, OUT_LEN, OutputReader, Plan, batch};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
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
    Serial(Serial),
}

/// Functions that take their input strictly in order.
#[derive(Clone, Copy)]
enum Serial {
    Sha256,
    Sha512,
    Sha1,
    Md5,
}

impl Function {
    /// BLAKE3.
    pub fn blake3() -> Function {
        Function::from_kind(Kind::Blake3)
    }

    /// BLAKE3 under a secret key. The key is wiped with the last clone of this value.
    pub fn keyed(key: Zeroizing<[u8; KEY_LEN]>) -> Function {
        Function::from_kind(Kind::Keyed(key))
    }

    /// BLAKE3 as a key derivation: the file is the key material.
    pub fn derive_key(context: &str) -> Function {
        Function::from_kind(Kind::DeriveKey(hazmat::hash_derive_key_context(context)))
    }

    /// SHA-256, for lists made by other programs. One thread per file: its rounds depend on each other.
    pub fn sha256() -> Function {
        Function::from_kind(Kind::Serial(Serial::Sha256))
    }

    /// The function of a checksum list, in its usual mode.
    pub fn by(algorithm: Algorithm) -> Function {
        Function::from_kind(match algorithm {
            Algorithm::Blake3 => Kind::Blake3,
            Algorithm::Sha256 => Kind::Serial(Serial::Sha256),
            Algorithm::Sha512 => Kind::Serial(Serial::Sha512),
            Algorithm::Sha1 => Kind::Serial(Serial::Sha1),
            Algorithm::Md5 => Kind::Serial(Serial::Md5),
        })
    }

    fn from_kind(kind: Kind) -> Function {
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
    pub fn mode(&self) -> Option<Mode<'_>> {
        match &self.kind {
            Kind::Blake3 => Some(Mode::Hash),
            Kind::Keyed(key) => Some(Mode::KeyedHash(key)),
            Kind::DeriveKey(key) => Some(Mode::DeriveKeyMaterial(key)),
            Kind::Serial(_) => None,
        }
    }

    /// Is this plain BLAKE3 with its default output, on any kernel?
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.kind, Kind::Blake3) && !self.extended
    }

    /// A state that takes a message piece by piece.
    pub(crate) fn start(&self) -> State {
        let mode = match (self.mode(), &self.kind) {
            (_, Kind::Serial(Serial::Sha256)) => return State::Sha256(Sha256::new()),
            (_, Kind::Serial(Serial::Sha512)) => return State::Sha512(Box::default()),
            (_, Kind::Serial(Serial::Sha1)) => return State::Sha1(Sha1::new()),
            (_, Kind::Serial(Serial::Md5)) => return State::Md5(Md5::new()),
            (mode, _) => mode.expect("all but serial functions are trees"),
        };
        State::Blake3(Box::new(Hasher::with_mode(&mode).with_plan(self.plan)), self.extended)
    }

    /// The chaining value of `bytes` at `offset` of a longer message.
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
    /// Omits the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            Kind::Blake3 => "Function(BLAKE3)",
            Kind::Keyed(_) => "Function(BLAKE3 keyed)",
            Kind::DeriveKey(_) => "Function(BLAKE3 derive-key)",
            Kind::Serial(Serial::Sha256) => "Function(SHA-256)",
            Kind::Serial(Serial::Sha512) => "Function(SHA-512)",
            Kind::Serial(Serial::Sha1) => "Function(SHA-1)",
            Kind::Serial(Serial::Md5) => "Function(MD5)",
        })
    }
}

/// A message in progress.
pub(crate) enum State {
    /// The hasher, and whether the extended output is requested.
    Blake3(Box<Hasher>, bool),
    Sha256(Sha256),
    Sha512(Box<Sha512>),
    Sha1(Sha1),
    Md5(Md5),
}

impl State {
    pub(crate) fn update(&mut self, bytes: &[u8]) -> &mut State {
        match self {
            State::Blake3(hasher, _) => {
                hasher.update(bytes);
            }
            State::Sha256(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
            State::Sha1(state) => state.update(bytes),
            State::Md5(state) => state.update(bytes),
        }
        self
    }

    pub(crate) fn finish(&self) -> Output {
        match self {
            State::Blake3(hasher, true) => Output::Extended(Box::new(hasher.finalize_xof())),
            // By its path: with the feature `digest`, a trait of `sha2` has a method of this name too.
            State::Blake3(hasher, false) => Output::Short(*Hasher::finalize(hasher).as_bytes()),
            State::Sha256(state) => Output::Short(state.clone().finalize().into()),
            State::Sha512(state) => Output::Whole(state.clone().finalize().as_slice().into()),
            State::Sha1(state) => Output::Whole(state.clone().finalize().as_slice().into()),
            State::Md5(state) => Output::Whole(state.clone().finalize().as_slice().into()),
        }
    }
}

/// Output of a hash function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Output {
    /// The default 32 bytes.
    Short([u8; OUT_LEN]),
    /// The whole output of a function whose output is longer or shorter.
    Whole(Box<[u8]>),
    /// BLAKE3's output from any offset, as requested by [`Function::extended`].
    Extended(Box<OutputReader>),
}

impl Output {
    /// The 32 bytes of output at `offset`. A short output has only those at offset 0.
    pub fn bytes_at(&self, offset: u64) -> Option<[u8; OUT_LEN]> {
        let mut bytes = [0; OUT_LEN];
        self.fill(offset, &mut bytes).then_some(bytes)
    }

    /// Writes the output from `offset` on; `false` if the output is shorter.
    pub fn fill(&self, offset: u64, bytes: &mut [u8]) -> bool {
        let Some(end) = offset.checked_add(bytes.len() as u64) else { return false };
        let all: &[u8] = match self {
            Output::Short(all) => all,
            Output::Whole(all) => all,
            Output::Extended(reader) => {
                let mut reader = reader.clone();
                reader.set_position(offset);
                reader.fill(bytes);
                return true;
            }
        };
        if end > all.len() as u64 {
            return false;
        }
        bytes.copy_from_slice(&all[offset as usize..end as usize]);
        true
    }
}

/// The digest of one input.
#[derive(Clone, Debug)]
pub struct Digest {
    /// The output of the function.
    pub output: Output,
    /// The number of hashed bytes.
    pub len: u64,
}
