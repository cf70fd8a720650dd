//! Many independent messages at once, each lane of the widest kernel with a message of its own.
//!
//! A loop over [`hash`](super::hash) leaves fifteen of sixteen lanes empty when messages are short. Here chunks of
//! different messages share a pass, and so do parents of different trees; messages need not be of equal length.

use super::hazmat::Mode;
use super::kernel::Cv;
use super::lanes::{self, EvenPasses, Job, Key};
use super::{BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, Hash, PARENT, Plan, ROOT, dead, tree};

/// A message of more chunks than this fills the lanes by itself.
const MAX_SHARED_CHUNKS: usize = 16;

/// Chaining values that wait for their parents in one wave: 4 KiB of stack.
const SLOTS: usize = 128;

/// The digest of each message, in the order of the messages: `out[i]` is what [`hash`](super::hash) or its
/// siblings would give for `messages[i]`.
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

/// [`hash_all`] with other kernels.
///
/// # Panics
/// If `out` and `messages` differ in length.
pub fn hash_all_with(plan: Plan, mode: &Mode<'_>, messages: &[&[u8]], out: &mut [Hash]) {
    assert_eq!(messages.len(), out.len(), "one place for each digest");
    if matches!(mode, Mode::Hash) {
        hash_each(plan, mode, messages, out);
    } else {
        dead::below(|| hash_each(plan, mode, messages, out));
        dead::wipe();
    }
}

/// Never inlined: what it and its calls have of the key has to lie below their caller.
#[inline(never)]
fn hash_each(plan: Plan, mode: &Mode<'_>, messages: &[&[u8]], out: &mut [Hash]) {
    let key = mode.key();
    single_chunks(plan, &key, messages, out);
    // Nothing is left to do, as in most batches.
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
        let wave = Wave::gather(&messages[rest..]);
        let range = rest..rest + wave.messages;
        rest = range.end;
        if wave.tree_count > 0 {
            wave.hash(plan, &key, &messages[range.clone()], &mut out[range]);
        }
    }
}

/// All messages of at most a chunk: neighbours of one length together, the others lane by lane.
fn single_chunks(plan: Plan, key: &Key, messages: &[&[u8]], out: &mut [Hash]) {
    let lanes = plan.lanes();
    let wide = |group: &[&[u8]]| plan.pass_of(group.len()).filter(|_| lanes > 1);
    let mut even = EvenPasses::new(key);
    let mut uneven = false;
    for (group, out) in messages.chunks(lanes).zip(out.chunks_mut(lanes)) {
        uneven |= !wide(group).is_some_and(|wide| even.pass(wide, group, out));
    }
    if uneven {
        let is_even = |group: &[&[u8]]| wide(group).is_some_and(|wide| EvenPasses::fit(wide, group));
        let groups = messages.chunks(lanes).enumerate().filter(|(_, group)| !is_even(group));
        let ids = groups.flat_map(|(index, group)| (index * lanes..).zip(group));
        let jobs = ids.filter(|(_, message)| chunks_of(message) == 1);
        let jobs = jobs.map(|(id, &input)| Job { id, input, counter: 0, end: CHUNK_END | ROOT });
        lanes::run_jobs(plan, key, CHUNK_START, jobs, |id, cv| out[id] = Hash::from_words(cv));
    }
}

/// Several messages of a few chunks each, whose chunks go through the lanes together.
struct Wave {
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

/// Whether the chunks of a message share lanes with those of others.
fn shares(message: &[u8]) -> bool {
    (2..=MAX_SHARED_CHUNKS).contains(&chunks_of(message))
}

impl Wave {
    /// As many messages as there are slots for.
    fn gather(messages: &[&[u8]]) -> Wave {
        let mut wave = Wave { messages: 0, trees: [Tree::default(); SLOTS / 2], tree_count: 0 };
        let mut slots = 0;
        for message in messages {
            if shares(message) {
                let count = chunks_of(message);
                if slots + count > SLOTS {
                    break;
                }
                wave.trees[wave.tree_count] = Tree { message: wave.messages, first: slots, count };
                wave.tree_count += 1;
                slots += count;
            }
            wave.messages += 1;
        }
        wave
    }

    fn hash(mut self, plan: Plan, key: &Key, messages: &[&[u8]], out: &mut [Hash]) {
        let mut slots = [[0; 8]; SLOTS];
        lanes::run_jobs(plan, key, CHUNK_START, self.leaves(messages), |slot, cv| slots[slot] = *cv);
        let parent_key = Key { flags: key.flags | PARENT, ..*key };
        while self.trees[..self.tree_count].iter().any(|tree| tree.count > 0) {
            self.level(plan, &parent_key, &mut slots, out);
        }
    }

    /// Every chunk, named by its slot.
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

    /// One level up in every tree.
    fn level(&mut self, plan: Plan, key: &Key, slots: &mut [Cv; SLOTS], out: &mut [Hash]) {
        let trees = &mut self.trees[..self.tree_count];
        let mut blocks = [[0; BLOCK_LEN]; SLOTS / 2];
        let mut pairs = [(0, 0); SLOTS / 2]; // tree, place in its next level
        let mut count = 0;
        for (index, tree) in trees.iter().enumerate() {
            let values = &slots[tree.first..tree.first + tree.count];
            for (place, children) in values.as_chunks::<2>().0.iter().enumerate() {
                blocks[count] = lanes::parent_block(children);
                pairs[count] = (index, place);
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
            let (index, place) = pairs[id];
            if is_root(index) {
                out[trees[index].message] = Hash::from_words(cv);
            } else {
                slots[trees[index].first + place] = *cv;
            }
        });
        for tree in trees {
            tree.count = if tree.count == 2 { 0 } else { tree.count.div_ceil(2) };
        }
    }
}
