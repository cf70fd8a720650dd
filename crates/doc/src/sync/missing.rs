//! Missing changes of a peer: which are requested by hash, and when requests end.

use super::state::{MOST_REFUSED, State};
use crate::document::Document;
use crate::types::ChangeHash;

/// Number of consecutive messages without progress after which the peer is told to forget what it has sent: the first
/// ones may be from before the request. After as many again, the missing changes are given up.
const MOST_UNANSWERED: u8 = 3;

/// Changes to request by hash.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// Heads of the peer, and missing dependencies of queued changes. Ascending.
    pub(super) before_heads: Vec<ChangeHash>,
    /// Missing dependencies of refused changes only, to which no head leads. Ascending.
    before_refused: Vec<ChangeHash>,
}

impl Missing {
    pub(super) fn find(doc: &Document, state: &State) -> Self {
        if state.read_only {
            return Self::default();
        }
        let missing = |from: &[ChangeHash]| {
            let mut missing = doc.queue.missing_before(&doc.state, from);
            missing.retain(|hash| !state.has_given_up(hash));
            missing
        };
        let before_heads = missing(state.their_heads().unwrap_or_default());
        let mut before_refused = missing(&state.refused_deps);
        before_refused.retain(|hash| before_heads.binary_search(hash).is_err());
        Self { before_heads, before_refused }
    }

    /// All of them, ascending.
    pub(super) fn into_all(self) -> Vec<ChangeHash> {
        let Self { before_heads: mut all, before_refused } = self;
        if !before_refused.is_empty() {
            all.extend(before_refused);
            all.sort_unstable();
        }
        all
    }
}

/// Stores dependencies of refused changes, and removes those that are present or given up.
pub(super) fn remember_deps(doc: &Document, state: &mut State, deps: Vec<ChangeHash>) {
    let mut all = std::mem::take(&mut state.refused_deps);
    all.extend(deps);
    all.retain(|hash| doc.state.row(hash).is_none() && !state.has_given_up(hash));
    all.sort_unstable();
    all.dedup();
    all.truncate(MOST_REFUSED);
    all.shrink_to_fit();
    state.refused_deps = all;
}

/// Counts messages that do not answer a request. Without a bound, both sides would answer each other for ever.
pub(super) fn count_answer(doc: &Document, state: &mut State, moved: bool) {
    let has_requested = std::mem::take(&mut state.has_requested);
    if moved {
        state.unanswered = 0;
    } else if has_requested {
        state.unanswered = state.unanswered.saturating_add(1);
        if state.unanswered == MOST_UNANSWERED {
            // It may have sent them before, and they were dropped here with the changes that depend on them.
            state.needs_reset = true;
        } else if state.unanswered >= 2 * MOST_UNANSWERED {
            Missing::find(doc, state).into_all().into_iter().for_each(|hash| state.give_up(hash));
            state.unanswered = 0;
        }
    }
}
