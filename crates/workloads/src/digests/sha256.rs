//! SHA-256 workload, to compare with BLAKE3 in the same run.
//!
//! The crate `sha2` computes it, with SHA instructions if the processor has them, as `hashmill sum` does for lists of other
//! programs. No second implementation is linked: published digests check it, and each case is compared with one call over the
//! same bytes in memory.

use crate::input::{self, Bytes};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use sha2::{Digest as _, Sha256};

/// Bytes of the pieces in which the reference hashes a message.
const PIECE: usize = 61;

pub(crate) fn register(registry: &mut Registry) {
    registry.workload(Message, &[64, 1 << 10, 64 << 10, 1 << 20]).engine(
        "sha2",
        whole(),
        EngineOffer::classes(&["kernel", "oneshot"]),
    );
}

/// The digest of bytes in memory.
pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// One message of the case's size.
struct Message;

impl Workload for Message {
    type Input = Bytes;

    fn name(&self) -> &str {
        "sha256"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Bytes, CaseError> {
        input::bytes(spec.size, seed)
    }

    fn reference(&self, _: &Spec, message: &Bytes) -> Result<Digest, CaseError> {
        let mut hasher = Sha256::new();
        message.chunks(PIECE).for_each(|piece| hasher.update(piece));
        Ok(Digest::new(&hasher.finalize()))
    }
}

fn whole() -> impl Engine<Input = Bytes> {
    let init = |spec: &Spec| match spec.threads {
        1 => Ok(()),
        _ => Err(CaseError::unavailable("SHA-256 of one message has one thread")),
    };
    let run = |(): &mut (), message: &Bytes| Ok(digest(message));
    Routine::new(init, |(): &()| "sha2".to_owned(), run, |digest: &[u8; 32]| Digest::new(digest))
}
