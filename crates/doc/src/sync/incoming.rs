//! What a message of a peer does.

use super::bloom::BloomFilter;
use super::few::Few;
use super::heads_of;
use super::message::{Have, Message};
use super::state::{Sent, State, Theirs};
use crate::codec::limits::Budget;
use crate::document::Document;
use crate::error::{ApplyError, LoadError};
use crate::types::{ChangeHash, ChangeIdx};

/// Bytes of a summary that need not be kept of a peer that is in step.
const LONG: usize = 1 << 10;

/// What became of the changes in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Wait for changes that are not here yet.
    pub waiting: Vec<ChangeHash>,
    /// Broke a rule or a limit, and why; among them changes that had waited. They are not asked for again with this state:
    /// where a limit was the reason, a new connection may try again.
    pub refused: Vec<(ChangeHash, ApplyError)>,
}

pub(super) fn receive(
    doc: &mut Document,
    state: &mut State,
    message: Message,
) -> Result<Received, LoadError> {
    let before = heads_of(doc);
    let came = !message.changes.is_empty();
    let received = if came && !state.read_only { take(doc, &message.changes)? } else { Received::default() };
    // From here on nothing fails.
    let Message { heads, need, mut have, flags, .. } = message;
    let (heads, need) = (heads.sorted(), need.sorted());
    state.in_flight = false;
    flags.into_iter().for_each(|flags| state.hear(flags));
    received.refused.iter().for_each(|(hash, _)| state.refuse(*hash));
    let now = if came { heads_of(doc) } else { before.clone() };
    if came && !state.read_only {
        state.shared_heads = advanced(&state.shared_heads, &before, &now);
    }
    if heads == now && have.iter().map(|have| have.bloom.len()).sum::<usize>() > LONG {
        // Its heads say what it has, in less memory than its summary does.
        have = Few::one(Have { last_sync: now, bloom: BloomFilter::default() });
    }
    let known: Few<(ChangeHash, ChangeIdx)> =
        heads.iter().filter_map(|hash| Some((*hash, doc.state.row(hash)?))).collect();
    acknowledge(doc, &mut state.sent, &known);
    if !came && heads == before {
        state.last_sent_heads.clone_from(&heads);
    }
    if known.len() == heads.len() {
        state.shared_heads.clone_from(&heads);
        if heads.is_empty() {
            // It has lost everything: all is sent again.
            state.last_sent_heads.clear();
            state.sent = Sent::default();
        }
    } else {
        state.shared_heads.extend(known.iter().map(|(hash, _)| *hash));
        state.shared_heads = std::mem::take(&mut state.shared_heads).sorted();
    }
    state.theirs = Some(Theirs { heads, need, have });
    Ok(received)
}

/// Takes what keeps the rules; nothing at all where something cannot be read.
fn take(doc: &mut Document, entries: &[Vec<u8>]) -> Result<Received, LoadError> {
    let mut budget = Budget::of_call(&doc.limits);
    let parts = doc.parts(&entries.concat(), &mut budget)?;
    let mut received = Received::default();
    for part in parts {
        let applied = doc.take_part(part, &mut budget)?;
        received.waiting.extend(applied.waiting);
        received.refused.extend(applied.refused);
    }
    Ok(received)
}

/// The heads of what both have once the peer's changes are here: those that came, and those shared before that are still
/// heads.
fn advanced(shared: &[ChangeHash], before: &[ChangeHash], now: &[ChangeHash]) -> Few<ChangeHash> {
    let both = |head: &&ChangeHash| before.binary_search(head).is_err() || shared.contains(head);
    now.iter().filter(both).copied().collect()
}

/// Forgets of what was sent all that the peer has.
fn acknowledge(doc: &Document, sent: &mut Sent, known: &[(ChangeHash, ChangeIdx)]) {
    if known.is_empty() || sent.is_empty() {
        return;
    }
    let theirs: Vec<ChangeIdx> = known.iter().map(|(_, row)| *row).collect();
    let lacked = doc.state.rows_since(&theirs);
    if lacked.is_empty() {
        *sent = Sent::default();
        return;
    }
    sent.retain(|hash| doc.state.row(hash).is_none_or(|row| lacked.binary_search(&row).is_ok()));
    let upto: Vec<ChangeIdx> =
        std::mem::take(&mut sent.upto).iter().filter_map(|hash| doc.state.row(hash)).collect();
    if !upto.is_empty() {
        let unsent = doc.state.rows_since(&upto);
        let rows = lacked.into_iter().filter(|row| unsent.binary_search(row).is_err());
        let mut hashes = vec![];
        doc.state.each_hash(rows, |_, hash| hashes.push(hash));
        sent.extend(hashes.into_iter());
    }
}
