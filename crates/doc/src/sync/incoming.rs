//! What a message of a peer does.

use super::bloom::BloomFilter;
use super::few::Few;
use super::heads_of;
use super::message::{Have, Message};
use super::state::{Sent, State, Theirs};
use crate::codec::change::Change;
use crate::codec::chunk::{Chunk, ChunkType};
use crate::codec::column::ChunkError;
use crate::codec::limits::Budget;
use crate::codec::reader::Reader;
use crate::document::Document;
use crate::error::{ApplyError, LimitError, LoadError};
use crate::queue::Applied;
use crate::storage::{Part, Verify};
use crate::types::{ChangeHash, ChangeIdx};

/// Bytes of a summary that need not be kept of a peer that is in step.
const LONG: usize = 1 << 10;

/// How many times a peer is asked for changes in place of a document. The first answers may have been on their way.
const MOST_ASKED: u8 = 3;

/// What became of the changes in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Wait for changes that are not here yet.
    pub waiting: Vec<ChangeHash>,
    /// Broke a rule or a limit, and why; among them changes that had waited. They are not asked for again with this state:
    /// where a limit was the reason, a new connection may try again.
    pub refused: Vec<(ChangeHash, ApplyError)>,
    /// Why a whole document or another chunk of several changes could not be read. Its changes are asked for one by one. If
    /// that does not help either, the heads of the peer are among the refused.
    pub unread: Vec<LoadError>,
}

/// What came of the chunks of a message.
#[derive(Default)]
struct Outcome {
    received: Received,
    /// Changes were put off until a later message.
    put_off: bool,
}

pub(super) fn receive(
    doc: &mut Document,
    state: &mut State,
    message: Message,
) -> Result<Received, LoadError> {
    let before = heads_of(doc);
    let came = !message.changes.is_empty();
    let takes = came && !state.read_only;
    let outcome = if takes { take(doc, state, &message.changes)? } else { Outcome::default() };
    let Outcome { mut received, put_off } = outcome;
    if let Some(why) = received.unread.last().filter(|_| state.asked_for_changes >= MOST_ASKED) {
        let lost = |hash: &&ChangeHash| doc.state.row(hash).is_none() && !doc.queue.contains(hash);
        let refuse = |hash: &ChangeHash| (*hash, ApplyError::unreadable(*hash, why.clone()));
        received.refused.extend(message.heads.iter().filter(lost).map(refuse));
    } else if put_off || !received.unread.is_empty() {
        state.needs_reset = true;
        state.asked_for_changes += u8::from(!received.unread.is_empty());
    }
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
            let whole = state.sent.whole;
            state.sent = Sent::default();
            state.sent.whole = whole;
        }
    } else {
        state.shared_heads.extend(known.iter().map(|(hash, _)| *hash));
        state.shared_heads = std::mem::take(&mut state.shared_heads).sorted();
    }
    state.theirs = Some(Theirs { heads, need, have });
    Ok(received)
}

/// The work that the chunks of a message may cost: that of one call, and as much for the first change that is left with too
/// little, so that no change is refused for what others cost: once while they are read, once while they are applied.
struct Work {
    budget: Budget,
    again: Option<Budget>,
}

impl Work {
    /// The work left for another attempt at a change.
    fn again_for(&self, state: &State, hash: &ChangeHash) -> Option<Budget> {
        self.again.filter(|_| !state.has_refused(hash))
    }
}

/// How many times the limit of one change, and how many times its own length, the deflated changes of a message may inflate to
/// so that those beyond the limit are known by name. What inflates to more was made for that.
const HASHABLE: (u64, u64) = (4, 64);

/// Takes what keeps the rules and the limits, and names what does not. When a chunk is not sound, nothing is taken.
fn take(doc: &mut Document, state: &State, entries: &[Vec<u8>]) -> Result<Outcome, LoadError> {
    let budget = Budget::of_call(&doc.limits);
    let mut incoming = Incoming {
        work: Work { budget, again: Some(budget) },
        state,
        parts: vec![],
        received: Received::default(),
        put_off: vec![],
    };
    let bytes = entries.concat();
    incoming.read(doc, &bytes)?;
    Ok(incoming.apply(doc))
}

/// The chunks of a message on their way in.
struct Incoming<'s> {
    work: Work,
    state: &'s State,
    parts: Vec<Part>,
    received: Received,
    /// Changes for which there was no room beside the others of the message, and why.
    put_off: Vec<(ChangeHash, ApplyError)>,
}

impl Incoming<'_> {
    fn read(&mut self, doc: &Document, bytes: &[u8]) -> Result<(), LoadError> {
        let (mut reader, mut number) = (Reader::new(bytes), 0);
        let limit = doc.limits.inflated_bytes.saturating_mul(HASHABLE.0);
        let mut hashable = limit.saturating_add(bytes.len() as u64 * HASHABLE.1);
        // What was refused before may cost what is left in the end.
        let mut last = vec![];
        while !reader.is_empty() {
            let base = reader.offset();
            let place = |error: ChunkError| LoadError::from(error.place(number, base));
            match Chunk::read_or_name(&mut reader, &doc.limits, &mut hashable).map_err(place)? {
                Ok(chunk) if self.state.has_refused(&chunk.hash) => last.push((chunk, number, base)),
                Ok(chunk) => self.chunk(doc, &chunk, number, base),
                Err(chunk) => self.refuse(chunk.is_change, chunk.hash, place(chunk.why)),
            }
            number += 1;
        }
        last.iter().for_each(|(chunk, number, base)| self.chunk(doc, chunk, *number, *base));
        Ok(())
    }

    /// Reads a sound chunk.
    fn chunk(&mut self, doc: &Document, chunk: &Chunk<'_>, number: usize, base: usize) {
        let read = |budget: &mut Budget| doc.part(chunk, number, base, Verify::Now, budget);
        let is_change = matches!(chunk.kind, ChunkType::Change | ChunkType::Deflated);
        let mut result = read(&mut self.work.budget);
        if matches!(&result, Err(LoadError::Limit(limit)) if limit.is_of_work()) {
            match self.work.again_for(self.state, &chunk.hash) {
                Some(again) => {
                    self.work = Work { budget: again, again: None };
                    result = read(&mut self.work.budget);
                }
                None if is_change => {
                    let why = result.err().map(|why| ApplyError::unreadable(chunk.hash, why));
                    return self.put_off.extend(why.map(|why| (chunk.hash, why)));
                }
                None => {}
            }
        }
        match (result, self.parts.last_mut()) {
            (Ok(Part::Changes(changes)), Some(Part::Changes(before))) => before.extend(changes),
            (Ok(part), _) => self.parts.push(part),
            (Err(why), _) => self.refuse(is_change, chunk.hash, why),
        }
    }

    fn refuse(&mut self, is_change: bool, hash: ChangeHash, why: LoadError) {
        if is_change {
            self.received.refused.push((hash, ApplyError::unreadable(hash, why)));
        } else {
            self.received.unread.push(why);
        }
    }

    /// Applies what was read.
    fn apply(mut self, doc: &mut Document) -> Outcome {
        let before = doc.state.history.len();
        // Reading and applying are two calls.
        self.work.again = Some(Budget::of_call(&doc.limits));
        for part in std::mem::take(&mut self.parts) {
            let changes = doc.changes_of(part);
            let applied = doc.apply_valid_metered(changes.iter().cloned(), &mut self.work.budget);
            self.note(doc, applied, &changes);
        }
        self.refuse_dependents(doc);
        self.drop_arrived(doc);
        let is_new = |(hash, _): &(ChangeHash, ApplyError)| !self.state.has_refused(hash);
        let refused = self.received.refused.iter().any(is_new);
        let moved = refused || !self.received.waiting.is_empty() || doc.state.history.len() > before;
        // Coming again helps only where something is out of the way by then.
        let put_off = moved && self.put_off.iter().any(is_new);
        if !put_off && !self.put_off.is_empty() {
            self.received.refused.append(&mut self.put_off);
            self.refuse_dependents(doc);
        }
        Outcome { received: self.received, put_off }
    }

    /// Drops refusals of changes that are here in the end. A change that waits in the queue may come again: that copy may find
    /// too little work left, while another change of the message lets the waiting one be applied.
    fn drop_arrived(&mut self, doc: &Document) {
        self.received.refused.retain(|(hash, _)| doc.state.row(hash).is_none());
        self.put_off.retain(|(hash, _)| doc.state.row(hash).is_none() && !doc.queue.contains(hash));
    }

    /// What waits for refused changes would take the room of others.
    fn refuse_dependents(&mut self, doc: &mut Document) {
        let refused = self.received.refused.iter().map(|(hash, _)| hash).chain(&self.state.refused);
        let dependents = doc.queue.refuse_waiting_for(refused.copied().collect());
        self.received.waiting.retain(|hash| doc.queue.contains(hash));
        self.received.refused.extend(dependents);
    }

    /// Notes what became of some changes, and tries once more where only others stood in the way.
    fn note(&mut self, doc: &mut Document, applied: Applied, changes: &[Change]) {
        self.received.waiting.extend(applied.waiting);
        for (hash, why) in applied.refused {
            let is = |kind: fn(&LimitError) -> bool| matches!(&why, ApplyError::Limit(limit) if kind(limit));
            if !is(LimitError::is_passing) {
                self.received.refused.push((hash, why));
                continue;
            }
            let again = self.work.again_for(self.state, &hash).filter(|_| is(LimitError::is_of_work));
            let change =
                again.and_then(|again| Some((again, changes.iter().find(|change| change.hash() == hash)?)));
            match change {
                Some((again, change)) => {
                    self.work = Work { budget: again, again: None };
                    let applied = doc.apply_valid_metered([change.clone()], &mut self.work.budget);
                    self.received.waiting.extend(applied.waiting);
                    self.received.refused.extend(applied.refused);
                }
                None => self.put_off.push((hash, why)),
            }
        }
    }
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
