//! Parameters of a BLAKE3 script: the mode, the plan, and the start of the painted input.

use hashmill_hash::blake3::hazmat::{self, ContextKey, Mode};
use hashmill_hash::blake3::{Hasher, KEY_LEN, Kernel, Plan};
use hashmill_testkit::oracle::blake3::Oracle;
use hashmill_testkit::paint::paint_into;

use crate::script::Script;

/// One mode on one plan, and the oracle that knows the answers.
pub(crate) struct Subject {
    key: Key,
    pub(crate) plan: Plan,
    pub(crate) oracle: Oracle,
    /// The position in the endless painted input at which this script's inputs start.
    start: u64,
}

enum Key {
    None,
    Keyed([u8; KEY_LEN]),
    Context(ContextKey),
}

impl Subject {
    pub(crate) fn choose(script: &mut Script<'_>) -> Self {
        let plans: Vec<_> = [Plan::host()].into_iter().chain(Kernel::all().map(Plan::for_kernel)).collect();
        let plan = plans[usize::from(script.byte()) % plans.len()];
        let start = u64::from(script.byte());
        let (key, oracle) = match script.byte() % 3 {
            0 => (Key::None, Oracle::hash()),
            1 => {
                let key = std::array::from_fn(|_| script.byte());
                (Key::Keyed(key), Oracle::keyed(&key))
            }
            _ => {
                let context = String::from_utf8_lossy(script.text());
                (Key::Context(hazmat::hash_derive_key_context(&context)), Oracle::derive_key(&context))
            }
        };
        Self { key, plan, oracle, start }
    }

    pub(crate) fn mode(&self) -> Mode<'_> {
        match &self.key {
            Key::None => Mode::Hash,
            Key::Keyed(key) => Mode::KeyedHash(key),
            Key::Context(key) => Mode::DeriveKeyMaterial(key),
        }
    }

    pub(crate) fn hasher(&self) -> Hasher {
        Hasher::with_mode(&self.mode()).with_plan(self.plan)
    }

    /// Bytes `position..position + len` of the input.
    pub(crate) fn paint(&self, position: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        paint_into(&mut bytes, self.start + position as u64);
        bytes
    }
}
