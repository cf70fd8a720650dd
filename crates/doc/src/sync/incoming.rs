//! Processing of a received sync message.

use hashbrown::HashSet;

use super::heads_of;
use super::message::{Have, Message};
use super::missing;
use super::state::{MOST_REFUSED, PeerMessage, Sent, State};
use crate::codec::bloom::BloomFilter;
use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::change::{Change, deps_of};
use crate::codec::chunks::container::{Chunk, ChunkType};
use crate::codec::columns::section::ChunkError;
use crate::codec::limits::Budget;
use crate::document::Document;
use crate::file::load_save::{Part, Verify};
use crate::store::incoming::dependency_queue::Applied;
use crate::types::error::{ApplyError, LimitError, LoadError};
use crate::types::small_list::SmallList;
use crate::types::{ChangeHash, ChangeIdx};

/// Maximum size in bytes of the stored summary of a peer that is in step.
const LONG: usize = 1 << 10;

/// Maximum number of requests for changes instead of a document. The first answers may be from before the request.
const MAX_CHANGE_REQUESTS: u8 = 3;

/// Maximum number of shared heads beyond those that the peer names: after one of its heads was refused, each message
/// adds some.
const MOST_ANCESTORS: usize = 16;

/// Outcome of the changes in a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// Changes that wait for missing dependencies.
    pub waiting: Vec<ChangeHash>,
    /// Changes that broke a rule or a limit, with the reason, including queued ones. They are not requested again with
    /// this state; if a limit was the reason, a new connection may try again.
    pub refused: Vec<(ChangeHash, ApplyError)>,
    /// Reasons why a whole document or another chunk of several changes could not be read. Its changes are then
    /// requested individually. If that fails, too, the peer's heads are among the refused changes.
    pub unread: Vec<LoadError>,
}

/// Outcome of the chunks of a message.
#[derive(Default)]
struct Outcome {
    received: Received,
    /// Were changes deferred to a later message?
    has_deferred: bool,
    /// Dependencies of refused changes. They may be present or refused, too.
    refused_deps: Vec<ChangeHash>,
}

pub(super) fn receive(
    doc: &mut Document,
    state: &mut State,
    message: Message,
) -> Result<Received, LoadError> {
    let before = heads_of(doc);
    let has_changes = !message.changes.is_empty();
    let takes = has_changes && !state.read_only;
    let outcome = if takes { apply_chunks(doc, state, &message.changes)? } else { Outcome::default() };
    let Outcome { mut received, has_deferred, refused_deps } = outcome;
    let is_resend_expected =
        has_deferred || !received.unread.is_empty() && state.change_requests < MAX_CHANGE_REQUESTS;
    if let Some(reason) = received.unread.last().filter(|_| state.change_requests >= MAX_CHANGE_REQUESTS) {
        let lost = |hash: &&ChangeHash| doc.state.row(hash).is_none() && !doc.queue.contains(hash);
        let refuse = |hash: &ChangeHash| (*hash, ApplyError::unreadable(*hash, reason.clone()));
        received.refused.extend(message.heads.iter().filter(lost).map(refuse));
    } else if has_deferred || !received.unread.is_empty() {
        state.needs_reset = true;
        state.change_requests += u8::from(!received.unread.is_empty());
    }
    // Nothing fails from here on.
    let Message { heads, need, mut have, flags, .. } = message;
    let (heads, need) = (heads.sorted(), need.sorted());
    state.in_flight = false;
    flags.into_iter().for_each(|flags| state.set_flags(flags));
    let now = if has_changes { heads_of(doc) } else { before.clone() };
    let refused = received.refused.iter().any(|(hash, _)| !state.has_refused(hash));
    let named = state.their_heads() != Some(&heads[..]);
    // A change that waited before is no progress: two sessions could else drop what waits for the other one without end.
    let waits = received.waiting.iter().any(|hash| !state.has_waited(hash));
    let moved = is_resend_expected || refused || named || waits || now != before;
    received.waiting.iter().for_each(|hash| state.add_waited(*hash));
    state.waited.retain(|hash| doc.state.row(hash).is_none());
    state.waited.shrink_to_fit();
    received.refused.iter().for_each(|(hash, _)| state.refuse(*hash));
    missing::remember_deps(doc, state, refused_deps);
    if has_changes && !state.read_only {
        state.shared_heads = advanced(&state.shared_heads, &before, &now);
    }
    if heads == now && have.iter().map(|have| have.bloom.len()).sum::<usize>() > LONG {
        // Its heads tell what it has, and take less memory than its summary.
        have = SmallList::one(Have { last_sync: now, bloom: BloomFilter::default() });
    }
    let known: SmallList<(ChangeHash, ChangeIdx)> =
        heads.iter().filter_map(|hash| Some((*hash, doc.state.row(hash)?))).collect();
    acknowledge(doc, &mut state.sent, &known);
    if !has_changes && heads == before {
        state.last_sent_heads.clone_from(&heads);
    }
    if known.len() == heads.len() {
        state.shared_heads.clone_from(&heads);
        if heads.is_empty() {
            // The peer has lost everything, so everything is sent again.
            state.last_sent_heads.clear();
            let whole = state.sent.whole;
            state.sent = Sent::default();
            state.sent.whole = whole;
        }
    } else {
        state.shared_heads.extend(known.iter().map(|(hash, _)| *hash));
        state.shared_heads = std::mem::take(&mut state.shared_heads).sorted();
        if state.shared_heads.len() > known.len() + MOST_ANCESTORS {
            state.shared_heads = without_ancestors(doc, &state.shared_heads);
        }
    }
    state.last_received = Some(PeerMessage { heads, need, have });
    missing::count_answer(doc, state, moved);
    Ok(received)
}

/// Work budget for the chunks of a message, with a second budget for one retry.
///
/// The first change that exceeds the rest of the first budget is retried with the second one, which is full. So a change
/// is not refused because of the cost of others. Later changes share what the retry leaves; those that exceed it are
/// deferred. Reading the chunks and applying them have separate budgets.
struct RetryBudget {
    budget: Budget,
    /// The second budget, until it is used.
    retry: Option<Budget>,
}

impl RetryBudget {
    /// The budget for another attempt at a change. A change that was refused before gets none.
    fn for_retry(&self, state: &State, hash: &ChangeHash) -> Option<Budget> {
        self.retry.filter(|_| !state.has_refused(hash))
    }
}

/// Bound of the inflated size of a message's deflated changes, as a multiple of the limit of one change and of the
/// message's length. Within it, changes beyond the limit are hashed, so that they can be refused by name. Larger ones
/// are made to cause work.
const HASHABLE: (u64, u64) = (4, 64);

/// Reads and applies the chunks. A chunk with a wrong checksum or frame refuses the whole message: nothing is applied. One that is
/// intact, but unreadable or over a limit, is listed, and the others are applied.
fn apply_chunks(doc: &mut Document, state: &State, entries: &[Vec<u8>]) -> Result<Outcome, LoadError> {
    let budget = Budget::of_call(&doc.limits);
    let mut incoming = IncomingChunks {
        work: RetryBudget { budget, retry: Some(budget) },
        state,
        parts: vec![],
        received: Received::default(),
        deferred: vec![],
        refused_deps: vec![],
    };
    let bytes = entries.concat();
    incoming.read(doc, &bytes)?;
    Ok(incoming.apply(doc))
}

/// Chunks of a message that are being processed.
struct IncomingChunks<'s> {
    work: RetryBudget,
    state: &'s State,
    parts: Vec<Part>,
    received: Received,
    /// Changes for which the budget of this message was too small, with the reason.
    deferred: Vec<(ChangeHash, ApplyError)>,
    /// Dependencies of changes that are refused or deferred.
    refused_deps: Vec<ChangeHash>,
}

impl IncomingChunks<'_> {
    fn read(&mut self, doc: &Document, bytes: &[u8]) -> Result<(), LoadError> {
        let (mut reader, mut number) = (Reader::new(bytes), 0);
        let limit = doc.limits.inflated_bytes.saturating_mul(HASHABLE.0);
        let mut hashable = limit.saturating_add(bytes.len() as u64 * HASHABLE.1);
        // Changes that were refused before are read after all others, with what is left of the budget.
        let mut refused_before = vec![];
        while !reader.is_empty() {
            let base = reader.offset();
            let at_chunk = |error: ChunkError| LoadError::from(error.at_chunk(number, base));
            match Chunk::read_or_name(&mut reader, &doc.limits, &mut hashable).map_err(at_chunk)? {
                Ok(chunk) if self.state.has_refused(&chunk.hash) => {
                    refused_before.push((chunk, number, base));
                }
                Ok(chunk) => self.chunk(doc, &chunk, number, base),
                Err(chunk) => {
                    self.note_deps(doc, deps_of(&chunk.start));
                    self.refuse(chunk.is_change, chunk.hash, at_chunk(chunk.reason));
                }
            }
            number += 1;
        }
        refused_before.iter().for_each(|(chunk, number, base)| self.chunk(doc, chunk, *number, *base));
        Ok(())
    }

    /// Reads a chunk with a valid checksum.
    fn chunk(&mut self, doc: &Document, chunk: &Chunk<'_>, number: usize, base: usize) {
        let read = |budget: &mut Budget| doc.part(chunk, number, base, Verify::Now, budget);
        let is_change = matches!(chunk.kind, ChunkType::Change | ChunkType::Deflated);
        let mut result = read(&mut self.work.budget);
        if is_change && result.is_err() {
            self.note_deps(doc, deps_of(&chunk.body));
        }
        if matches!(&result, Err(LoadError::Limit(limit)) if limit.is_of_work()) {
            match self.work.for_retry(self.state, &chunk.hash) {
                Some(retry) => {
                    self.work = RetryBudget { budget: retry, retry: None };
                    result = read(&mut self.work.budget);
                }
                None if is_change => {
                    let reason = result.err().map(|reason| ApplyError::unreadable(chunk.hash, reason));
                    return self.deferred.extend(reason.map(|reason| (chunk.hash, reason)));
                }
                None => {}
            }
        }
        match (result, self.parts.last_mut()) {
            (Ok(Part::Changes(changes)), Some(Part::Changes(before))) => before.extend(changes),
            (Ok(part), _) => self.parts.push(part),
            (Err(reason), _) => self.refuse(is_change, chunk.hash, reason),
        }
    }

    fn refuse(&mut self, is_change: bool, hash: ChangeHash, reason: LoadError) {
        if is_change {
            self.received.refused.push((hash, ApplyError::unreadable(hash, reason)));
        } else {
            self.received.unread.push(reason);
        }
    }

    /// Stores dependencies of a refused change: no other change may name them.
    fn note_deps(&mut self, doc: &Document, deps: impl IntoIterator<Item = ChangeHash>) {
        let missing = deps.into_iter().filter(|hash| doc.state.row(hash).is_none());
        let room = MOST_REFUSED - self.refused_deps.len();
        self.refused_deps.extend(missing.take(room));
    }

    /// Applies what was read.
    fn apply(mut self, doc: &mut Document) -> Outcome {
        let before = doc.state.history.len();
        // Reading and applying have separate budgets.
        self.work.retry = Some(Budget::of_call(&doc.limits));
        for part in std::mem::take(&mut self.parts) {
            let changes = doc.changes_of(part);
            let applied = doc.apply_valid_metered(changes.iter().cloned(), &mut self.work.budget);
            self.note(doc, applied, &changes);
        }
        self.refuse_dependents(doc);
        self.drop_arrived(doc);
        let is_new = |(hash, _): &(ChangeHash, ApplyError)| !self.state.has_refused(hash);
        let refused = self.received.refused.iter().any(is_new);
        let waits = self.received.waiting.iter().any(|hash| !self.state.has_waited(hash));
        let moved = refused || waits || doc.state.history.len() > before;
        // A retry helps only if the state of the document has changed by then.
        let has_deferred = moved && self.deferred.iter().any(is_new);
        if !has_deferred && !self.deferred.is_empty() {
            self.received.refused.append(&mut self.deferred);
            self.refuse_dependents(doc);
        }
        Outcome { received: self.received, has_deferred, refused_deps: self.refused_deps }
    }

    /// Drops refusals of changes that were applied after all. A queued change may be received again: the copy may find
    /// too little budget, while another change of the message lets the queued one be applied.
    fn drop_arrived(&mut self, doc: &Document) {
        self.received.refused.retain(|(hash, _)| doc.state.row(hash).is_none());
        self.deferred.retain(|(hash, _)| doc.state.row(hash).is_none() && !doc.queue.contains(hash));
    }

    /// Refuses queued changes that wait for refused ones: they would take up space for ever.
    fn refuse_dependents(&mut self, doc: &mut Document) {
        let refused = self.received.refused.iter().map(|(hash, _)| hash).chain(&self.state.refused);
        let dependents = doc.queue.refuse_waiting_for(refused.copied().collect());
        self.received.waiting.retain(|hash| doc.queue.contains(hash));
        for (change, reason) in dependents {
            self.note_deps(doc, change.deps().iter().copied());
            self.received.refused.push((change.hash(), reason));
        }
    }

    /// Stores the outcome of some changes, and retries a change that failed only because of the cost of others.
    fn note(&mut self, doc: &mut Document, applied: Applied, changes: &[Change]) {
        self.received.waiting.extend(applied.waiting);
        let refused: HashSet<ChangeHash> = applied.refused.iter().map(|(hash, _)| *hash).collect();
        let refused_changes = changes.iter().filter(|change| refused.contains(&change.hash()));
        self.note_deps(doc, refused_changes.flat_map(Change::deps).copied().chain(applied.waited_deps));
        for (hash, reason) in applied.refused {
            let is =
                |kind: fn(&LimitError) -> bool| matches!(&reason, ApplyError::Limit(limit) if kind(limit));
            if !is(LimitError::is_passing) {
                self.received.refused.push((hash, reason));
                continue;
            }
            let retry = self.work.for_retry(self.state, &hash).filter(|_| is(LimitError::is_of_work));
            let change =
                retry.and_then(|retry| Some((retry, changes.iter().find(|change| change.hash() == hash)?)));
            match change {
                Some((retry, change)) => {
                    self.work = RetryBudget { budget: retry, retry: None };
                    let applied = doc.apply_valid_metered([change.clone()], &mut self.work.budget);
                    self.received.waiting.extend(applied.waiting);
                    self.received.refused.extend(applied.refused);
                    self.note_deps(doc, applied.waited_deps);
                }
                None => self.deferred.push((hash, reason)),
            }
        }
    }
}

/// The shared heads after the peer's changes were applied: new heads, and current heads that were shared before.
fn advanced(shared: &[ChangeHash], before: &[ChangeHash], now: &[ChangeHash]) -> SmallList<ChangeHash> {
    let both = |head: &&ChangeHash| before.binary_search(head).is_err() || shared.contains(head);
    now.iter().filter(both).copied().collect()
}

/// Removes hashes of changes that are ancestors of others in the list. Unknown hashes stay.
fn without_ancestors(doc: &Document, hashes: &[ChangeHash]) -> SmallList<ChangeHash> {
    let rows = hashes.iter().filter_map(|hash| doc.state.row(hash));
    let mut deps: Vec<ChangeIdx> = rows.flat_map(|row| doc.state.history.at(row).deps()).collect();
    deps.sort_unstable();
    deps.dedup();
    let since = doc.state.rows_since(&deps);
    let is_last = |row: ChangeIdx| since.binary_search(&row).is_ok();
    hashes.iter().filter(|hash| doc.state.row(hash).is_none_or(is_last)).copied().collect()
}

/// Removes from the sent changes those that the peer has.
fn acknowledge(doc: &Document, sent: &mut Sent, known: &[(ChangeHash, ChangeIdx)]) {
    if known.is_empty() || sent.is_empty() {
        return;
    }
    let known_rows: Vec<ChangeIdx> = known.iter().map(|(_, row)| *row).collect();
    let lacked = doc.state.rows_since(&known_rows);
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
