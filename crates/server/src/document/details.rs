//! Details of a document for the operator: its size, its heads and its latest changes.

use std::collections::{BTreeSet, BinaryHeap};

use hashmill_doc::{ActorId, ChangeHash, ChangeMetadata, Document};

/// Maximum number of characters of a change's message.
const MAX_MESSAGE_CHARS: usize = 1000;

/// Size, heads and latest changes of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DocumentDetails {
    /// The heads.
    pub heads: Vec<ChangeHash>,
    /// Number of changes.
    pub changes: u64,
    /// Number of operations.
    pub operations: u64,
    /// Number of actors.
    pub actors: u64,
    /// The latest changes by the counters of their operations, the newest first.
    pub latest: Vec<ChangeSummary>,
}

/// A change without its operations.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChangeSummary {
    /// The hash.
    pub hash: ChangeHash,
    /// The actor.
    pub actor: ActorId,
    /// Its number among the changes of the actor, from 1.
    pub seq: u64,
    /// Seconds since 1970 by the author's clock.
    pub time: i64,
    /// The message, or the start of a long one.
    pub message: Option<String>,
    /// Number of operations.
    pub operations: u64,
}

impl DocumentDetails {
    /// Reads a document. Costs one step for each of the latest changes.
    pub(super) fn new(doc: &Document, max_changes: usize) -> DocumentDetails {
        let heads = doc.get_heads();
        let stats = doc.stats();
        let latest = latest_changes(doc, &heads, max_changes);
        DocumentDetails {
            heads,
            changes: stats.changes,
            operations: stats.operations,
            actors: stats.actors,
            latest,
        }
    }
}

/// Follows dependencies from the heads. The counters of a change are above those of its dependencies.
fn latest_changes(doc: &Document, heads: &[ChangeHash], max: usize) -> Vec<ChangeSummary> {
    let rank = |hash: &ChangeHash| Some((doc.get_change_meta_by_hash(hash)?.start_op, *hash));
    let mut queue: BinaryHeap<(u64, ChangeHash)> = heads.iter().filter_map(rank).collect();
    let mut queued: BTreeSet<ChangeHash> = heads.iter().copied().collect();
    let mut latest = Vec::new();
    while latest.len() < max {
        let Some((_, hash)) = queue.pop() else { break };
        let Some(change) = doc.get_change_meta_by_hash(&hash) else { continue };
        queue.extend(change.deps.iter().filter(|dep| queued.insert(**dep)).filter_map(rank));
        latest.push(ChangeSummary::new(&change));
    }
    latest
}

impl ChangeSummary {
    fn new(change: &ChangeMetadata<'_>) -> ChangeSummary {
        ChangeSummary {
            hash: change.hash,
            actor: change.actor.clone(),
            seq: change.seq,
            time: change.timestamp,
            message: change.message.map(|message| message.chars().take(MAX_MESSAGE_CHARS).collect()),
            operations: (change.max_op + 1).saturating_sub(change.start_op),
        }
    }
}

#[cfg(test)]
mod tests {
    use hashmill_doc::{ROOT, Transactable as _};

    use super::*;

    #[test]
    fn the_latest_changes_come_first() {
        let mut ann = Document::new().with_actor(ActorId::from(&b"ann"[..]));
        let mut ben = Document::new().with_actor(ActorId::from(&b"ben"[..]));
        assert!(DocumentDetails::new(&ann, 9).latest.is_empty());
        for value in 0..3_i64 {
            ann.transact(|tx| tx.put(ROOT, "a", value)).expect("there is room");
        }
        ben.merge(&ann).expect("there is room");
        for value in 0..2_i64 {
            ben.transact(|tx| {
                tx.put(ROOT, "b", value)?;
                tx.put(ROOT, "c", value)
            })
            .expect("there is room");
        }
        ann.transact(|tx| tx.put(ROOT, "d", 1_i64)).expect("there is room");
        ann.merge(&ben).expect("there is room");
        let details = DocumentDetails::new(&ann, 4);
        assert_eq!((details.heads.len(), details.changes, details.operations, details.actors), (2, 6, 8, 2));
        let mut rows: Vec<_> = details.latest.iter().map(|change| (change.seq, change.operations)).collect();
        // Two are concurrent.
        rows[1..3].sort_unstable();
        assert_eq!(rows, [(2, 2), (1, 2), (4, 1), (3, 1)]);
        let all = DocumentDetails::new(&ann, 100).latest;
        let mut hashes: Vec<ChangeHash> = all.iter().map(|change| change.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!((all.len(), hashes.len()), (6, 6), "each once");
    }
}
