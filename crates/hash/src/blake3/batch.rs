//! Batches of independent messages: each lane of the widest kernel has its own message.
//!
//! A loop over [`hash`](super::hash) leaves fifteen of sixteen lanes empty when messages are short. Here
//! chunks of different messages share a pass, and so do parents of different trees; message lengths may
//! differ.

use super::kernel::{Cv, GROUP};
use super::lanes::{self, CopiedBlocks, EvenPasses, Job, Key};
use super::mode::Mode;
use super::{BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, Hash, PARENT, Plan, ROOT, tree};
use crate::stack_wipe;

/// Longer messages (in chunks) fill the lanes by themselves.
const MAX_SHARED_CHUNKS: usize = 15;

/// Chaining values of one batch that wait for their parents: 4 KiB of stack.
const SLOTS: usize = 128;

/// Computes the digest of each message: `out[i]` equals [`hash`](super::hash) or its siblings of
/// `messages[i]`.
///
/// ```
/// use hashmill_hash::blake3::batch::hash_all;
/// use hashmill_hash::blake3::hazmat::Mode;
/// use hashmill_hash::blake3::{Hash, hash};
///
/// let messages: [&[u8]; 3] = [b"one", b"two", b"three"];
/// let mut digests = [Hash::from([0; 32]); 3];
/// hash_all(&Mode::Hash, &messages, &mut digests);
/// assert_eq!(digests[1], hash(b"two"));
/// ```
///
/// # Panics
/// If `out` and `messages` differ in length.
pub fn hash_all(mode: &Mode<'_>, messages: &[&[u8]], out: &mut [Hash]) {
    hash_all_with(Plan::host(), mode, messages, out);
}

/// As [`hash_all`], with another plan.
///
/// # Panics
/// If `out` and `messages` differ in length.
pub fn hash_all_with(plan: Plan, mode: &Mode<'_>, messages: &[&[u8]], out: &mut [Hash]) {
    assert_eq!(messages.len(), out.len(), "one output for each message");
    if matches!(mode, Mode::Hash) {
        hash_each(plan, mode, messages, out);
    } else {
        stack_wipe::below(|| hash_each(plan, mode, messages, out));
        stack_wipe::wipe();
    }
}

/// Never inlined: its copies of the key, and those of its calls, must be below the caller's frame.
#[inline(never)]
fn hash_each(plan: Plan, mode: &Mode<'_>, messages: &[&[u8]], out: &mut [Hash]) {
    let key = mode.key();
    single_chunks(plan, &key, messages, out);
    // The end of most batches.
    if messages.iter().all(|message| message.len() <= CHUNK_LEN) {
        return;
    }
    for (message, out) in messages.iter().zip(&mut *out) {
        if chunks_of(message) > MAX_SHARED_CHUNKS {
            *out = Hash::from_words(&tree::hash_all(plan, &key, message));
        }
    }
    let mut rest = 0;
    while rest < messages.len() {
        let batch = ChunkBatch::gather(&messages[rest..]);
        let range = rest..rest + batch.messages;
        rest = range.end;
        if batch.tree_count > 0 {
            batch.hash(plan, &key, &messages[range.clone()], &mut out[range]);
        }
    }
}

/// Hashes all messages of at most a chunk: neighbours of equal length together, the others lane by lane.
fn single_chunks(plan: Plan, key: &Key, messages: &[&[u8]], out: &mut [Hash]) {
    // Messages may overlap, so their lengths may add up to more than memory.
    let total = messages.iter().fold(0_usize, |total, message| total.saturating_add(message.len()));
    let plan = plan.for_len(total);
    // Filling the words of a second group of lanes takes a tenth of the time of two messages.
    match plan.lanes() <= GROUP {
        true => single_chunks_by::<1>(plan, key, messages, out),
        false => single_chunks_by::<2>(plan, key, messages, out),
    }
}

fn single_chunks_by<const GROUPS: usize>(plan: Plan, key: &Key, messages: &[&[u8]], out: &mut [Hash]) {
    let lanes = plan.lanes();
    let mut copies = CopiedBlocks::new();
    let mut even = EvenPasses::<GROUPS>::new(plan, key, &mut copies);
    let mut uneven = false;
    for (group, out) in messages.chunks(lanes).zip(out.chunks_mut(lanes)) {
        match common_len(group) {
            Some(len) => even.hash(group, len, out),
            None => uneven |= group.iter().any(|message| message.len() <= CHUNK_LEN),
        }
    }
    if uneven {
        let groups = messages.chunks(lanes).enumerate().filter(|(_, group)| common_len(group).is_none());
        let ids = groups.flat_map(|(index, group)| (index * lanes..).zip(group));
        let jobs = ids.filter(|(_, message)| chunks_of(message) == 1);
        let jobs = jobs.map(|(id, &input)| Job { id, input, counter: 0, end: CHUNK_END | ROOT });
        lanes::run_jobs(plan, key, CHUNK_START, jobs, |id, cv| out[id] = Hash::from_words(cv));
    }
}

/// The length of all messages of a group, if it is one and at most a chunk.
fn common_len(group: &[&[u8]]) -> Option<usize> {
    let len = group[0].len();
    (len <= CHUNK_LEN && group.iter().all(|message| message.len() == len)).then_some(len)
}

/// Several messages of a few chunks each, whose chunks share the lanes.
struct ChunkBatch {
    messages: usize,
    trees: [Tree; SLOTS / 2],
    tree_count: usize,
}

/// A message of more than one chunk: its values are in `slots[first..first + count]`.
#[derive(Clone, Copy, Default)]
struct Tree {
    message: usize,
    first: usize,
    count: usize,
}

fn chunks_of(message: &[u8]) -> usize {
    message.len().div_ceil(CHUNK_LEN).max(1)
}

/// Does a message share lanes with others?
fn shares(message: &[u8]) -> bool {
    (2..=MAX_SHARED_CHUNKS).contains(&chunks_of(message))
}

impl ChunkBatch {
    /// Takes as many messages as fit into the slots.
    fn gather(messages: &[&[u8]]) -> ChunkBatch {
        let mut batch = ChunkBatch { messages: 0, trees: [Tree::default(); SLOTS / 2], tree_count: 0 };
        let mut slots = 0;
        for message in messages {
            if shares(message) {
                let count = chunks_of(message);
                if slots + count > SLOTS {
                    break;
                }
                batch.trees[batch.tree_count] = Tree { message: batch.messages, first: slots, count };
                batch.tree_count += 1;
                slots += count;
            }
            batch.messages += 1;
        }
        batch
    }

    fn hash(mut self, plan: Plan, key: &Key, messages: &[&[u8]], out: &mut [Hash]) {
        let mut slots = [[0; 8]; SLOTS];
        lanes::run_jobs(plan, key, CHUNK_START, self.leaves(messages), |slot, cv| slots[slot] = *cv);
        let parent_key = Key { flags: key.flags | PARENT, ..*key };
        while self.trees[..self.tree_count].iter().any(|tree| tree.count > 0) {
            self.level(plan, &parent_key, &mut slots, out);
        }
    }

    /// All chunks, identified by their slots.
    fn leaves<'a>(&self, messages: &'a [&'a [u8]]) -> impl Iterator<Item = Job<'a>> {
        self.trees[..self.tree_count].iter().flat_map(move |tree| {
            messages[tree.message].chunks(CHUNK_LEN).enumerate().map(move |(index, input)| Job {
                id: tree.first + index,
                input,
                counter: index as u64,
                end: CHUNK_END,
            })
        })
    }

    /// Computes the next level of every tree.
    fn level(&mut self, plan: Plan, key: &Key, slots: &mut [Cv; SLOTS], out: &mut [Hash]) {
        let trees = &mut self.trees[..self.tree_count];
        let mut blocks = [[0; BLOCK_LEN]; SLOTS / 2];
        let mut pairs = [(0, 0); SLOTS / 2]; // tree, position in its next level
        let mut count = 0;
        for (index, tree) in trees.iter().enumerate() {
            let values = &slots[tree.first..tree.first + tree.count];
            for (position, children) in values.as_chunks::<2>().0.iter().enumerate() {
                blocks[count] = lanes::parent_block(children);
                pairs[count] = (index, position);
                count += 1;
            }
        }
        for tree in trees.iter().filter(|tree| tree.count % 2 == 1) {
            slots[tree.first + tree.count / 2] = slots[tree.first + tree.count - 1];
        }
        let is_root = |index: usize| trees[index].count == 2;
        let jobs = blocks[..count].iter().zip(&pairs).enumerate().map(|(id, (block, &(tree, _)))| Job {
            id,
            input: block,
            counter: 0,
            end: if is_root(tree) { ROOT } else { 0 },
        });
        lanes::run_jobs(plan, key, 0, jobs, |id, cv| {
            let (index, position) = pairs[id];
            if is_root(index) {
                out[trees[index].message] = Hash::from_words(cv);
            } else {
                slots[trees[index].first + position] = *cv;
            }
        });
        for tree in trees {
            tree.count = if tree.count == 2 { 0 } else { tree.count.div_ceil(2) };
        }
    }
}
