//! Sizes, offers and digests of document workloads in the lab.

use super::case::Answer;
use hashmill_hash::blake3;
use hashmill_lab::model::engine::{CaseError, Digest, Spec};
use hashmill_lab::model::registry::EngineOffer;

pub(super) fn offer() -> EngineOffer {
    EngineOffer::classes(&["kernel"])
}

/// Digest of an answer, which the lab compares.
#[must_use]
pub fn digest(answer: &Answer) -> Digest {
    match answer {
        Answer::Number(number) => Digest::new(&number.to_be_bytes()),
        Answer::Text(text) => Digest::new(blake3::hash(text.as_bytes()).as_bytes()),
    }
}

/// Number of operations of a case. Even a document per operation must fit into memory, and zero operations are no work.
pub(super) fn size(spec: &Spec) -> Result<usize, CaseError> {
    const MOST: u64 = 20_000_000;
    match spec.size {
        1..=MOST => Ok(spec.size as usize),
        size => Err(CaseError::failed(format!("{size} operations: choose 1 to {MOST}"))),
    }
}
