//! Trims of the journal: all that records say becomes objects first.

use std::collections::BTreeMap;
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::tail::Commands;
use super::{Defect, Delayed, Listing, ObjectKey, ObjectPurpose, Output, Replica, TombstoneVersion};
use crate::event::IoFailure;
use crate::storage::ChunkKey;

/// Delay after a trim that failed, and after one that found nothing.
const RETRY: Duration = Duration::from_secs(5);

/// The trim of a shard.
#[derive(Debug, Default)]
pub(super) struct Trim {
    step: Step,
    /// The number of the attempt. Answers to earlier ones have no effect.
    attempt: u64,
    /// None starts before this time.
    not_before: Duration,
}

#[derive(Debug, Default)]
enum Step {
    #[default]
    Nothing,
    /// The bounds of the shard are asked for: another node may have trimmed it.
    Inspecting,
    /// The objects of documents with commands are listed.
    Surveying {
        through: u64,
        left: BTreeMap<DocumentId, Commands>,
        versions: BTreeMap<DocumentId, Survey>,
    },
    /// Objects are stored.
    Storing {
        through: u64,
        left: usize,
        is_failed: bool,
    },
    /// They are stored. Lists may be older than that.
    Waiting {
        through: u64,
    },
    Trimming {
        through: u64,
    },
}

/// What is known of a document with commands.
#[derive(Debug)]
struct Survey {
    version: TombstoneVersion,
    listing: Listing,
}

impl Replica {
    /// When the next trim starts.
    pub(super) fn next_trim(&self) -> Option<Duration> {
        let shards = self.tails.iter().zip(&self.trims);
        let due = shards.filter_map(|(tail, trim)| {
            let oldest = tail.oldest().filter(|_| matches!(trim.step, Step::Nothing))?;
            let is_large = tail.bytes() >= self.config.trim_bytes;
            let at = if is_large { Duration::ZERO } else { oldest + self.config.trim_after };
            Some(at.max(trim.not_before))
        });
        due.min()
    }

    pub(super) fn start_trims(&mut self) {
        for shard in 0..self.config.shards {
            let (tail, trim) = (&self.tails[usize::from(shard)], &self.trims[usize::from(shard)]);
            let Some(oldest) = tail.oldest() else { continue };
            let is_due =
                tail.bytes() >= self.config.trim_bytes || oldest + self.config.trim_after <= self.now;
            if is_due && matches!(trim.step, Step::Nothing) && trim.not_before <= self.now {
                let trim = self.trim_mut(shard);
                trim.attempt += 1;
                trim.step = Step::Inspecting;
                self.outputs.push(Output::Inspect(shard));
            }
        }
    }

    /// The bounds are known.
    pub(super) fn continue_trim(&mut self, shard: u16) {
        if !matches!(self.trim_mut(shard).step, Step::Inspecting) {
            return;
        }
        let tail = self.tail(shard);
        let is_due = tail.oldest().is_some_and(|oldest| {
            tail.bytes() >= self.config.trim_bytes || oldest + self.config.trim_after <= self.now
        });
        let through = tail.trimmable_through();
        if !is_due || through == 0 {
            return self.postpone_trim(shard);
        }
        let documents = tail.commanded_through(through);
        let left: BTreeMap<DocumentId, Commands> =
            documents.into_iter().map(|document| (document.clone(), tail.commands_of(&document))).collect();
        if self.has(Defect::ForgetsTombstones) || left.is_empty() {
            return self.store_objects(shard, through, &BTreeMap::new());
        }
        let attempt = self.trim_mut(shard).attempt;
        for document in left.keys() {
            let id = self.ask_objects(ObjectPurpose::TrimList(shard, attempt, document.clone()));
            self.outputs.push(Output::List(id, document.clone()));
        }
        self.trim_mut(shard).step = Step::Surveying { through, left, versions: BTreeMap::new() };
    }

    /// The objects of a document with commands are known.
    pub(super) fn survey_document(
        &mut self,
        shard: u16,
        attempt: u64,
        document: &DocumentId,
        listed: Result<Listing, IoFailure>,
    ) {
        if self.trim_mut(shard).attempt != attempt {
            return;
        }
        let Step::Surveying { through, left, versions } = &mut self.trim_mut(shard).step else { return };
        let Ok(listing) = listed else { return self.postpone_trim(shard) };
        let Some(mut commands) = left.remove(document) else { return };
        commands.split_off(&(*through + 1));
        versions.insert(document.clone(), Survey { version: listing.version.after(&commands), listing });
        if left.is_empty() {
            let (through, versions) = (*through, std::mem::take(versions));
            self.store_objects(shard, through, &versions);
        }
    }

    fn store_objects(&mut self, shard: u16, through: u64, surveys: &BTreeMap<DocumentId, Survey>) {
        let tail = self.tail(shard);
        let is_purged =
            |document: &DocumentId| surveys.get(document).is_some_and(|survey| survey.version.is_purged);
        let (mut puts, mut deletions) = (Vec::new(), Vec::new());
        for (key, bytes) in tail.uncovered_through(through) {
            if !is_purged(&key.document) {
                puts.push((Some(key.clone()), ObjectKey::of_chunk(&key), bytes));
            }
        }
        for (document, sequence, name) in tail.owners_through(through) {
            if !is_purged(&document) {
                puts.push((None, ObjectKey::of_owner(&document, sequence, &name), Vec::new()));
            }
        }
        for (document, Survey { version, listing }) in surveys {
            puts.push((None, ObjectKey::of_tombstone(document, version), Vec::new()));
            // A node that had not heard of the purge may have stored more.
            let chunks = listing.chunks.iter().filter(|_| version.is_purged);
            deletions.extend(chunks.map(ObjectKey::of_chunk));
        }
        if self.has(Defect::TrimsEarly) {
            self.trim_mut(shard).step = Step::Waiting { through };
            return self.trim(shard);
        }
        let left = puts.len() + deletions.len();
        self.trim_mut(shard).step = Step::Storing { through, left, is_failed: false };
        let attempt = self.trim_mut(shard).attempt;
        for (key, object, bytes) in puts {
            let id = self.ask_objects(ObjectPurpose::TrimPut(shard, attempt, key));
            self.outputs.push(Output::Put(id, object, bytes));
        }
        for object in deletions {
            let id = self.ask_objects(ObjectPurpose::TrimPut(shard, attempt, None));
            self.outputs.push(Output::Delete(id, object));
        }
        if left == 0 {
            self.wait_for_lists(shard, through);
        }
    }

    pub(super) fn finish_trim_put(
        &mut self,
        shard: u16,
        attempt: u64,
        key: Option<&ChunkKey>,
        result: &Result<(), IoFailure>,
    ) {
        let goes_on = self.has(Defect::TrimsAfterFailure);
        if let (Ok(()), Some(key)) = (result, key) {
            self.cover(key);
        }
        if self.trim_mut(shard).attempt != attempt {
            return;
        }
        let Step::Storing { through, left, is_failed } = &mut self.trim_mut(shard).step else { return };
        let through = *through;
        *left -= 1;
        *is_failed |= result.is_err() && !goes_on;
        if *left > 0 {
            return;
        }
        if *is_failed {
            return self.postpone_trim(shard);
        }
        self.wait_for_lists(shard, through);
    }

    fn wait_for_lists(&mut self, shard: u16, through: u64) {
        self.trim_mut(shard).step = Step::Waiting { through };
        self.delay(self.config.list_lag, Delayed::Trim(shard));
    }

    pub(super) fn trim(&mut self, shard: u16) {
        let Step::Waiting { through } = self.trim_mut(shard).step else { return };
        let through = if self.has(Defect::TrimsUnread) { u64::MAX } else { through };
        self.trim_mut(shard).step = Step::Trimming { through };
        self.outputs.push(Output::Trim { shard, through });
    }

    pub(super) fn finish_trim(&mut self, shard: u16, result: &Result<(), IoFailure>) {
        let Step::Trimming { through } = self.trim_mut(shard).step else { return };
        match result {
            Ok(()) => {
                let through = through.min(self.tail(shard).last);
                self.tail_mut(shard).forget_through(through);
                self.trim_mut(shard).step = Step::Nothing;
            }
            Err(_) => self.postpone_trim(shard),
        }
    }

    /// The bounds are not known.
    pub(super) fn abandon_inspection(&mut self, shard: u16) {
        if matches!(self.trim_mut(shard).step, Step::Inspecting) {
            self.postpone_trim(shard);
        }
    }

    /// Ends an attempt. The next one starts later.
    fn postpone_trim(&mut self, shard: u16) {
        let not_before = self.now + RETRY;
        let trim = self.trim_mut(shard);
        (trim.step, trim.not_before) = (Step::Nothing, not_before);
    }

    fn trim_mut(&mut self, shard: u16) -> &mut Trim {
        &mut self.trims[usize::from(shard)]
    }
}
