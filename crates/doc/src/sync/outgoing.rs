//! Generation of sync messages from the document and the state of a peer.

use super::heads_of;
use super::message::{Have, Message, MessageFlags, MessageVersion};
use super::missing::Missing;
use super::state::{PeerMessage, Sent, State};
use crate::codec::bloom::BloomFilter;
use crate::document::Document;
use crate::file::load_save::SaveOptions;
use crate::store::history::SyncSummary;
use crate::types::small_list::SmallList;
use crate::types::{ChangeHash, ChangeIdx};

/// The changes to send.
enum Payload {
    Nothing,
    /// Rows in the order in which they can be applied, with their hashes.
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
    let missing = Missing::find(doc, state);
    // Dependencies of refused changes only are requested by hash. The summary covers all others.
    let summarize = state.needs_reset || peer_has_all(state, &missing.before_heads);
    let need = missing.into_all();
    let lost = lost_shared(doc, state);
    if !lost {
        state.has_sent_reset = false;
    } else if !std::mem::replace(&mut state.has_sent_reset, true) {
        // They were last in step with a document that had more than this one, so their answer must start anew. This is
        // sent once: if they insist on a change that is refused here, the rest is requested by hash.
        state.have_responded = true;
        state.in_flight = true;
        state.last_sent_heads.clone_from(&heads);
        return Some(reset(heads));
    }
    // Hidden heads are sent after the answer. A peer without changes takes them for equal and does not answer, so that one
    // gets them at once, in a second message. No single message has both effects on an older peer: only one without heads
    // makes it forget what it has sent, and only heads that it lacks make it answer without changes of its own. A summary
    // after a change that it lacks would make it answer, too, but as often as its caller asks for a message. A peer that can
    // reset gets one message. Of the changes that an older peer may have sent since its last message nothing is known here,
    // so heads may not be sent alone either.
    let is_answered = state.last_received.as_ref().is_some_and(|peer| !peer.heads.is_empty());
    let hides = state.hid_heads && !(state.in_flight && is_answered);
    let heads_were_sent = state.have_responded && state.last_sent_heads == heads && !hides;
    if heads_were_sent && state.in_flight {
        return None;
    }
    let payload = payload(doc, state);
    if heads_were_sent && payload.is_nothing() && (state.read_only || in_step(doc, state, &heads, &need)) {
        return None;
    }
    let have =
        if summarize { SmallList::one(summary(doc, &state.shared_heads, &heads)) } else { SmallList::new() };
    let mut flags = MessageFlags::SUPPORTS_SYNC_RESET;
    if state.read_only {
        flags.set(MessageFlags::READ_ONLY);
    }
    let (version, changes) = write(doc, state, payload, &heads);
    state.have_responded = true;
    state.in_flight = true;
    state.has_requested = !need.is_empty();
    state.last_sent_heads.clone_from(&heads);
    state.hid_heads = false;
    let mut sent_heads = heads;
    if std::mem::take(&mut state.needs_reset) {
        match state.can {
            Some(can) if can.reset => flags.set(MessageFlags::SYNC_RESET),
            // An older peer forgets what it has sent when this one seems to have lost everything.
            _ => {
                state.hid_heads = !sent_heads.is_empty();
                sent_heads.clear();
            }
        }
    }
    Some(Message { heads: sent_heads, need: need.into(), have, changes, flags: Some(flags), version })
}

/// Was the peer in step with changes that are missing here?
fn lost_shared(doc: &Document, state: &State) -> bool {
    let have = state.last_received.as_ref().and_then(|peer| peer.have.first());
    have.is_some_and(|have| have.last_sync.iter().any(|hash| doc.state.row(hash).is_none()))
}

/// A message without shared history.
fn reset(heads: SmallList<ChangeHash>) -> Message {
    let flags = Some(MessageFlags::SUPPORTS_SYNC_RESET);
    Message { heads, have: SmallList::one(Have::default()), flags, ..Message::default() }
}

/// Are all of these among the peer's heads?
///
/// Not inlined: the inlined code compared absent heads before it tested for their presence, which is harmless but which
/// valgrind reports in programs that use the library.
#[inline(never)]
fn peer_has_all(state: &State, hashes: &[ChangeHash]) -> bool {
    let Some(peer) = &state.last_received else { return hashes.is_empty() };
    hashes.iter().all(|hash| peer.heads.binary_search(hash).is_ok())
}

/// Do both have the same changes, or does this side have all that it can get?
fn in_step(doc: &Document, state: &State, heads: &[ChangeHash], need: &[ChangeHash]) -> bool {
    let Some(peer) = &state.last_received else { return false };
    let refused = || !(state.refused.is_empty() && state.given_up.is_empty()) && need.is_empty();
    // A queued change that waits only for refused or missing changes will never be applied.
    let taken = |hash: &ChangeHash| {
        state.has_given_up(hash) || doc.queue.contains(hash) || doc.state.row(hash).is_some()
    };
    peer.heads == heads || refused() && peer.heads.iter().all(taken)
}

/// Maximum length of a cached summary for peers with no shared history.
const SHORT: usize = 1 << 10;

/// Summary of the changes after `last_sync`.
fn summary(doc: &Document, last_sync: &SmallList<ChangeHash>, heads: &SmallList<ChangeHash>) -> Have {
    let state = &doc.state;
    if last_sync.is_empty()
        && let Some(cached) = state.history.sync_summary()
    {
        return Have { last_sync: SmallList::new(), bloom: cached.bloom.clone() };
    }
    let filter = |count: usize, rows: &mut dyn Iterator<Item = ChangeIdx>| {
        let mut bloom = BloomFilter::with_room(count);
        state.each_hash(rows, |_, hash| bloom.insert(&hash));
        bloom
    };
    // A peer with no shared history gets all rows, so they need no list.
    let bloom = if last_sync.is_empty() {
        let all = ChangeIdx::default()..state.history.next();
        let bloom = filter(state.history.len() as usize, &mut ChangeIdx::each(all));
        if bloom.len() <= SHORT {
            state.history.cache_sync_summary(SyncSummary { heads: heads.clone(), bloom: bloom.clone() });
        }
        bloom
    } else {
        let rows = rows_after(doc, last_sync);
        filter(rows.len(), &mut rows.into_iter())
    };
    Have { last_sync: last_sync.clone(), bloom }
}

/// The rows that are not ancestors of these changes, ascending. Unknown hashes are skipped: a peer that was in step
/// with more than this document gets a [`reset`].
fn rows_after(doc: &Document, hashes: &[ChangeHash]) -> Vec<ChangeIdx> {
    let known: Vec<ChangeIdx> = hashes.iter().filter_map(|hash| doc.state.row(hash)).collect();
    doc.state.rows_since(&known)
}

/// The changes of the document that the peer needs.
fn payload(doc: &Document, state: &State) -> Payload {
    let Some(peer) = state.last_received.as_ref().filter(|_| !state.peer_read_only) else {
        return Payload::Nothing;
    };
    let whole = state.can.is_some() && !state.by_change;
    if peer.heads.is_empty() && whole {
        return if doc.state.history.len() == 0 { Payload::Nothing } else { Payload::Whole };
    }
    let changes = lacked(doc, peer, &state.sent);
    if whole && changes.len() > doc.state.history.len() as usize / 3 {
        return Payload::Whole;
    }
    Payload::Changes(changes)
}

/// The changes that the peer lacks, by its summaries and requests, and that were not sent yet. Requested ones first,
/// then ascending.
fn lacked(doc: &Document, peer: &PeerMessage, sent: &Sent) -> Vec<(ChangeIdx, ChangeHash)> {
    let mut found: Vec<(ChangeIdx, ChangeHash)> = vec![];
    if !peer.have.is_empty() {
        let last_sync: Vec<ChangeHash> = peer.have.iter().flat_map(|have| &have.last_sync).copied().collect();
        let rows = rows_after(doc, &last_sync);
        // A peer that lacks a change lacks all its descendants, whatever the summaries say.
        doc.state.each_hash(rows, |row, hash| {
            let unknown = peer.have.iter().all(|have| !have.bloom.contains_hash(&hash));
            let deps = || doc.state.history.at(row).deps();
            if unknown || deps().iter().any(|dep| is_among(&found, *dep)) {
                found.push((row, hash));
            }
        });
    }
    let named = peer.need.iter().filter_map(|hash| Some((doc.state.row(hash)?, *hash)));
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

/// Is a row among these, which are ascending?
fn is_among(rows: &[(ChangeIdx, ChangeHash)], row: ChangeIdx) -> bool {
    rows.binary_search_by_key(&row, |(row, _)| *row).is_ok()
}

/// Encodes the changes to send, and records them as sent.
fn write(
    doc: &Document,
    state: &mut State,
    payload: Payload,
    heads: &SmallList<ChangeHash>,
) -> (MessageVersion, Vec<Vec<u8>>) {
    let version = if state.can.is_some() { MessageVersion::V2 } else { MessageVersion::V1 };
    let entries = match payload {
        Payload::Nothing => vec![],
        Payload::Whole => {
            state.sent.upto = heads.clone();
            state.sent.whole = true;
            // With queued changes: the peer may have their dependencies.
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
