//! Fuzz target for lowered limits: they may refuse an input, but never accept a part of it silently, nor anything that higher limits
//! refuse.

use hashmill_doc::{ApplyError, Document, Limits, LoadError, Shortcuts};

use crate::accepted::{accepted, same};
use crate::script::Script;
use crate::targets::doc::{FRAMES, LIMITS, framed, options, refused, small_within};
use crate::verdict::Verdict;

/// The first bytes choose the limits and the mode, the rest is an input of
/// [`doc_load`](crate::doc_load).
pub fn doc_limits(data: &[u8]) -> Verdict {
    let mut script = Script::new(data);
    let (limits, mode) = (lowered(&mut script), script.byte());
    let bytes = framed(mode % FRAMES, script.rest());
    if (mode / FRAMES).is_multiple_of(2) { load(&bytes, limits) } else { incremental(&bytes, limits) }
}

/// Number of bytes that [`doc_limits`] reads before the mode and the file.
pub(crate) const HEAD: usize = 5;

fn lowered(script: &mut Script<'_>) -> Limits {
    // Each limit by powers of two; the greatest is that of the other targets.
    let mut lower = |limit: u64, powers: u32| limit >> (u32::from(script.byte()) % powers);
    Limits {
        inflated_bytes: lower(LIMITS.inflated_bytes, 16),
        operations: lower(LIMITS.operations, 17),
        total: lower(LIMITS.total, 18),
        changes: lower(LIMITS.changes, 13),
        steps: lower(LIMITS.steps, 14),
        parallel_from: u64::MAX,
        shortcuts: Shortcuts::DEFAULT,
    }
}

fn load(bytes: &[u8], limits: Limits) -> Verdict {
    let low = Document::load_with(bytes, options().limits(limits));
    let high = Document::load_with(bytes, options());
    match (low, high) {
        (Ok(low), Ok(high)) => {
            same(&low, &high);
            accepted(&low);
            if low.is_empty() { Verdict::Refused } else { Verdict::Accepted }
        }
        (Ok(_), Err(error)) => panic!("lower limits accept what higher limits refuse: {error}"),
        (Err(error), Err(_)) if is_limit(&error) => Verdict::Refused,
        (Err(error), Ok(_)) if is_limit(&error) => Verdict::Refused,
        (Err(low), Err(high)) => {
            // With higher limits the reader may reach the heads or another fault.
            assert!(!low.to_string().is_empty() && !high.to_string().is_empty());
            match high {
                LoadError::Heads { computed, .. } => Verdict::OtherHeads(computed),
                _ => Verdict::Refused,
            }
        }
        (Err(error), Ok(_)) => panic!("lower limits report a fault that does not exist: {error}"),
    }
}

fn incremental(bytes: &[u8], limits: Limits) -> Verdict {
    let Ok(mut low) = Document::load_with(&[], options().limits(limits)) else {
        panic!("nothing at all does not fit {limits:?}")
    };
    let base = small_within(LIMITS);
    if low.merge(&base).is_err() {
        return Verdict::Refused;
    }
    let before = low.clone();
    match low.load_incremental(bytes) {
        Ok(_) => {
            let mut high = base;
            if let Err(error) = high.load_incremental(bytes) {
                panic!("lower limits accept what higher limits refuse: {error}");
            }
            same(&low, &high);
            accepted(&low);
            if low.get_heads() == before.get_heads() { Verdict::Refused } else { Verdict::Accepted }
        }
        Err(error) => refused(&low, &before, &error),
    }
}

fn is_limit(error: &LoadError) -> bool {
    matches!(error, LoadError::Limit(_) | LoadError::Apply(ApplyError::Limit(_)))
}
