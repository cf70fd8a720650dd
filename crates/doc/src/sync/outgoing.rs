//! What to say to a peer, from what is known of it.

use super::bloom::BloomFilter;
use super::few::Few;
use super::message::{Have, Message, MessageFlags, MessageVersion};
use super::state::{Sent, State, Theirs};
use super::{Told, heads_of};
use crate::document::Document;
use crate::storage::SaveOptions;
use crate::types::{ChangeHash, ChangeIdx};

/// What is sent of the document.
enum Payload {
    Nothing,
    /// Rows in the order in which they can be applied, and their hashes.
    Changes(Vec<(ChangeIdx, ChangeHash)>),
    Whole,
}

impl Payload {
    fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Changes(changes) => changes.is_empty(),
            Self::Whole => false,
        }
    }
}

pub(super) fn generate(doc: &Document, state: &mut State) -> Option<Message> {
    let heads = heads_of(doc);
    let need = if state.read_only { vec![] } else { needed(doc, state) };
    if let Some(theirs) = &state.theirs
        && let Some(have) = theirs.have.first()
        && have.last_sync.iter().any(|hash| doc.state.row(hash).is_none())
    {
        // They were last in step with a document that had more than this one. The state stays: their answer begins anew.
        return Some(reset(heads));
    }
    let told = state.have_responded && state.last_sent_heads == heads;
    if told && state.in_flight {
        return None;
    }
    let payload = payload(doc, state);
    if told && payload.is_nothing() && (state.read_only || in_step(doc, state, &heads, &need)) {
        return None;
    }
    let have = if state.needs_reset || peer_has_all(state, &need) {
        Few::one(summary(doc, &state.shared_heads, &heads))
    } else {
        Few::new()
    };
    let mut flags = MessageFlags::SUPPORTS_SYNC_RESET;
    if state.read_only {
        flags.set(MessageFlags::READ_ONLY);
    }
    let (version, changes) = write(doc, state, payload, &heads);
    state.have_responded = true;
    state.in_flight = true;
    state.last_sent_heads.clone_from(&heads);
    let mut told = heads;
    if std::mem::take(&mut state.needs_reset) {
        match state.can {
            Some(can) if can.reset => flags.set(MessageFlags::SYNC_RESET),
            // An older peer forgets what it has sent when this one seems to have lost everything.
            _ => told.clear(),
        }
    }
    Some(Message { heads: told, need: need.into(), have, changes, flags: Some(flags), version })
}

/// Says that nothing is known of what both had.
fn reset(heads: Few<ChangeHash>) -> Message {
    let flags = Some(MessageFlags::SUPPORTS_SYNC_RESET);
    Message { heads, have: Few::one(Have::default()), flags, ..Message::default() }
}

fn their_heads(state: &State) -> &[ChangeHash] {
    state.theirs.as_ref().map_or(&[], |theirs| &theirs.heads)
}

/// Whether all of these are among the peer's heads.
///
/// A function of its own: inlined, the compiler compared heads that are not there before it asked whether they are, which is harmless
/// and which valgrind reports in programs that use the library.
#[inline(never)]
fn peer_has_all(state: &State, hashes: &[ChangeHash]) -> bool {
    let Some(theirs) = &state.theirs else { return hashes.is_empty() };
    hashes.iter().all(|hash| theirs.heads.binary_search(hash).is_ok())
}

/// What is missing to have all that is before the peer's heads, but for what was refused.
fn needed(doc: &Document, state: &State) -> Vec<ChangeHash> {
    let mut missing = doc.queue.missing_before(&doc.state, their_heads(state));
    missing.retain(|hash| !state.has_refused(hash));
    missing
}

/// Whether both have the same changes, or all that this side can have of theirs.
fn in_step(doc: &Document, state: &State, heads: &[ChangeHash], need: &[ChangeHash]) -> bool {
    let Some(theirs) = &state.theirs else { return false };
    let refused = || !state.refused.is_empty() && need.is_empty();
    // What waits for nothing but what was refused waits in vain.
    let taken = |hash: &ChangeHash| {
        state.has_refused(hash) || doc.queue.contains(hash) || doc.state.row(hash).is_some()
    };
    theirs.heads == heads || refused() && theirs.heads.iter().all(taken)
}

/// Up to this length what strangers are told is kept.
const SHORT: usize = 1 << 10;

/// The changes here that were not before `last_sync`.
fn summary(doc: &Document, last_sync: &Few<ChangeHash>, heads: &Few<ChangeHash>) -> Have {
    let state = &doc.state;
    if last_sync.is_empty()
        && let Some(told) = state.history.told()
    {
        return Have { last_sync: Few::new(), bloom: told.bloom.clone() };
    }
    let filter = |count: usize, rows: &mut dyn Iterator<Item = ChangeIdx>| {
        let mut bloom = BloomFilter::with_room(count);
        state.each_hash(rows, |_, hash| bloom.insert(&hash));
        bloom
    };
    // Whoever was never in step gets all: they need not be listed.
    let bloom = if last_sync.is_empty() {
        let all = ChangeIdx::default()..state.history.next();
        let bloom = filter(state.history.len() as usize, &mut ChangeIdx::each(all));
        if bloom.len() <= SHORT {
            state.history.keep_told(Told { heads: heads.clone(), bloom: bloom.clone() });
        }
        bloom
    } else {
        let rows = rows_after(doc, last_sync);
        filter(rows.len(), &mut rows.into_iter())
    };
    Have { last_sync: last_sync.clone(), bloom }
}

/// The rows that are not before these, ascending. Hashes that are not here are left out: who was in step with more than this
/// document is told so by [`reset`].
fn rows_after(doc: &Document, hashes: &[ChangeHash]) -> Vec<ChangeIdx> {
    let known: Vec<ChangeIdx> = hashes.iter().filter_map(|hash| doc.state.row(hash)).collect();
    doc.state.rows_since(&known)
}

/// What of the document the peer needs.
fn payload(doc: &Document, state: &State) -> Payload {
    let Some(theirs) = state.theirs.as_ref().filter(|_| !state.peer_read_only) else {
        return Payload::Nothing;
    };
    let whole = state.can.is_some() && !state.by_change;
    if theirs.heads.is_empty() && whole {
        return if doc.state.history.len() == 0 { Payload::Nothing } else { Payload::Whole };
    }
    let changes = lacked(doc, theirs, &state.sent);
    if whole && changes.len() > doc.state.history.len() as usize / 3 {
        return Payload::Whole;
    }
    Payload::Changes(changes)
}

/// What the peer lacks, by its summaries and as it says itself, and was not sent. Those that it asks for first, then
/// ascending.
fn lacked(doc: &Document, theirs: &Theirs, sent: &Sent) -> Vec<(ChangeIdx, ChangeHash)> {
    let mut found: Vec<(ChangeIdx, ChangeHash)> = vec![];
    if !theirs.have.is_empty() {
        let last_sync: Vec<ChangeHash> =
            theirs.have.iter().flat_map(|have| &have.last_sync).copied().collect();
        let rows = rows_after(doc, &last_sync);
        // Whoever lacks a change lacks what was made after it, whatever the summaries say.
        doc.state.each_hash(rows, |row, hash| {
            let unknown = theirs.have.iter().all(|have| !have.bloom.contains_hash(&hash));
            let deps = || doc.state.history.at(row).deps();
            if unknown || deps().iter().any(|dep| is_among(&found, *dep)) {
                found.push((row, hash));
            }
        });
    }
    let named = theirs.need.iter().filter_map(|hash| Some((doc.state.row(hash)?, *hash)));
    let mut all: Vec<(ChangeIdx, ChangeHash)> = named.filter(|(row, _)| !is_among(&found, *row)).collect();
    if all.is_empty() {
        all = found;
    } else {
        all.extend(found);
    }
    if !sent.is_empty() {
        let unsent = (!sent.upto.is_empty()).then(|| rows_after(doc, &sent.upto));
        all.retain(|(row, hash)| {
            !sent.contains(hash) && unsent.as_ref().is_none_or(|rows| rows.binary_search(row).is_ok())
        });
    }
    all
}

/// Whether a row is among some, which are ascending.
fn is_among(rows: &[(ChangeIdx, ChangeHash)], row: ChangeIdx) -> bool {
    rows.binary_search_by_key(&row, |(row, _)| *row).is_ok()
}

/// Writes what is sent, and remembers that it was.
fn write(
    doc: &Document,
    state: &mut State,
    payload: Payload,
    heads: &Few<ChangeHash>,
) -> (MessageVersion, Vec<Vec<u8>>) {
    let version = if state.can.is_some() { MessageVersion::V2 } else { MessageVersion::V1 };
    let entries = match payload {
        Payload::Nothing => vec![],
        Payload::Whole => {
            state.sent.upto = heads.clone();
            state.sent.whole = true;
            // With what waits here: the peer may have what it waits for.
            vec![doc.write(SaveOptions::default())]
        }
        Payload::Changes(changes) => {
            let entries = doc.state.chunks(changes.iter().map(|(row, _)| *row));
            state.sent.extend(changes.into_iter().map(|(_, hash)| hash));
            match version {
                MessageVersion::V1 => entries,
                MessageVersion::V2 if entries.is_empty() => entries,
                MessageVersion::V2 => vec![entries.concat()],
            }
        }
    };
    (version, entries)
}
