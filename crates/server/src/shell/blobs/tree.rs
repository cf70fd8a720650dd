//! Hash tree of a blob: chaining values from which any range can be verified against the name of the blob.
//!
//! The leaves are groups of 64 KiB, so that the tree has a thousandth of the blob's size. The file of a tree has the two values below
//! each inner node, in the order in which a walk from the root meets the nodes. A blob of one group has an empty tree.

use std::io;
use std::ops::Range;

use hashmill_hash::blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use hashmill_hash::blake3::{Hasher, hash};

/// Bytes of a group: a power of two of BLAKE3's chunks.
pub(in crate::shell) const GROUP_BYTES: usize = 64 << 10;
/// Bytes of the two values below a node.
pub(super) const PAIR_BYTES: usize = 64;

/// A hash as bytes.
pub(super) type Digest = [u8; 32];

/// Hashes a blob that arrives in parts, and collects the values of its groups.
#[derive(Clone, Default)]
pub(super) struct GroupHasher {
    groups: Vec<ChainingValue>,
    /// The last group, which may be the only one. Empty only if there is no input.
    tail: Vec<u8>,
}

impl GroupHasher {
    /// Number of bytes so far.
    pub(super) fn len(&self) -> u64 {
        (self.groups.len() * GROUP_BYTES + self.tail.len()) as u64
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.tail.len() == GROUP_BYTES {
                let offset = (self.groups.len() * GROUP_BYTES) as u64;
                self.groups.push(group_value(offset, &self.tail));
                self.tail.clear();
            }
            let (now, later) = bytes.split_at(bytes.len().min(GROUP_BYTES - self.tail.len()));
            self.tail.extend_from_slice(now);
            bytes = later;
        }
    }

    /// The hash, and the contents of the file of the tree.
    pub(super) fn finish(mut self) -> (Digest, Vec<u8>) {
        if self.groups.is_empty() {
            return (*hash(&self.tail).as_bytes(), Vec::new());
        }
        let len = self.len();
        self.groups.push(group_value((self.groups.len() * GROUP_BYTES) as u64, &self.tail));
        let mut tree = Vec::with_capacity((self.groups.len() - 1) * PAIR_BYTES);
        let (left, right) = write_pair(&self.groups, len, &mut tree);
        (*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes(), tree)
    }
}

/// Adds the nodes above several groups, and returns the two values below the highest.
fn write_pair(groups: &[ChainingValue], len: u64, tree: &mut Vec<u8>) -> (ChainingValue, ChainingValue) {
    let position = tree.len();
    tree.resize(position + PAIR_BYTES, 0);
    let left_len = left_subtree_len(len);
    let (left_groups, right_groups) = groups.split_at(group_count(left_len));
    let left = write_subtree(left_groups, left_len, tree);
    let right = write_subtree(right_groups, len - left_len, tree);
    let (left_bytes, right_bytes) = tree[position..position + PAIR_BYTES].split_at_mut(PAIR_BYTES / 2);
    left_bytes.copy_from_slice(&left);
    right_bytes.copy_from_slice(&right);
    (left, right)
}

fn write_subtree(groups: &[ChainingValue], len: u64, tree: &mut Vec<u8>) -> ChainingValue {
    if let [group] = groups {
        return *group;
    }
    let (left, right) = write_pair(groups, len, tree);
    merge_subtrees_non_root(&left, &right, Mode::Hash)
}

fn group_count(len: u64) -> usize {
    // The groups of a blob are fewer than the bytes of its tree, which is in memory where it is made.
    len.div_ceil(GROUP_BYTES as u64) as usize
}

fn group_value(offset: u64, bytes: &[u8]) -> ChainingValue {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(offset);
    hasher.update(bytes);
    hasher.finalize_non_root()
}

/// A node whose value is verified: it follows from the name of the blob.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    offset: u64,
    len: u64,
    /// Number of pairs before its own.
    pair: u64,
    value: ChainingValue,
    is_root: bool,
}

/// A group with its verified value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Group(Node);

impl Group {
    /// Bytes of the blob.
    pub(super) fn range(&self) -> Range<u64> {
        self.0.offset..self.0.offset + self.0.len
    }

    /// Are these the bytes of the group?
    pub(super) fn has_bytes(&self, bytes: &[u8]) -> bool {
        let Node { offset, len, value, is_root, .. } = self.0;
        bytes.len() as u64 == len
            && value == if is_root { *hash(bytes).as_bytes() } else { group_value(offset, bytes) }
    }
}

/// Walk over the groups of a range, from the root.
pub(super) struct GroupWalk {
    range: Range<u64>,
    /// The last one is next.
    nodes: Vec<Node>,
}

impl GroupWalk {
    /// A walk over the groups that have bytes of `range`, or over the only group of an empty blob.
    pub(super) fn new(digest: Digest, len: u64, range: Range<u64>) -> GroupWalk {
        let root = Node { offset: 0, len, pair: 0, value: digest, is_root: true };
        GroupWalk { range, nodes: vec![root] }
    }

    /// The next group. `read_pair` reads a pair of the tree's file; `Some(Err)`: that file is damaged.
    pub(super) fn next_group(
        &mut self,
        mut read_pair: impl FnMut(u64) -> io::Result<[u8; PAIR_BYTES]>,
    ) -> io::Result<Option<Result<Group, DamagedTree>>> {
        while let Some(node) = self.nodes.pop() {
            let is_wanted = node.offset < self.range.end && self.range.start < node.offset + node.len;
            let is_empty = node.is_root && node.len == 0;
            if !(is_wanted || is_empty) {
                continue;
            }
            if node.len <= GROUP_BYTES as u64 {
                return Ok(Some(Ok(Group(node))));
            }
            let pair = read_pair(node.pair)?;
            let mut values = [[0; 32]; 2];
            values.iter_mut().zip(pair.chunks(32)).for_each(|(value, bytes)| value.copy_from_slice(bytes));
            let [left, right] = values;
            let merged = if node.is_root {
                *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
            } else {
                merge_subtrees_non_root(&left, &right, Mode::Hash)
            };
            if merged != node.value {
                return Ok(Some(Err(DamagedTree)));
            }
            let left_len = left_subtree_len(node.len);
            let (left_pair, right_pair) = (node.pair + 1, node.pair + group_count(left_len) as u64);
            let child = |offset, len, pair, value| Node { offset, len, pair, value, is_root: false };
            self.nodes.push(child(node.offset + left_len, node.len - left_len, right_pair, right));
            self.nodes.push(child(node.offset, left_len, left_pair, left));
        }
        Ok(None)
    }
}

/// The file of a tree does not belong to its blob.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DamagedTree;

#[cfg(test)]
mod tests {
    use hashmill_testkit::Rng;

    use super::*;

    fn lens() -> Vec<usize> {
        let around = |len: usize| [len.saturating_sub(1), len, len + 1];
        let groups = [0, 1, 2, 3, 4, 7, 8, 13];
        let mut lens: Vec<usize> = groups.iter().flat_map(|count| around(count * GROUP_BYTES)).collect();
        lens.extend([1024, 5000]);
        lens
    }

    fn tree_of(bytes: &[u8], rng: &mut Rng) -> (Digest, Vec<u8>) {
        let mut hasher = GroupHasher::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(1 + rng.below(3 * GROUP_BYTES)));
            hasher.update(now);
            rest = later;
        }
        assert_eq!(hasher.len(), bytes.len() as u64);
        hasher.finish()
    }

    fn pair_of(tree: &[u8], pair: u64) -> io::Result<[u8; PAIR_BYTES]> {
        let start = pair as usize * PAIR_BYTES;
        let bytes = tree.get(start..start + PAIR_BYTES).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(bytes.try_into().expect("64 bytes"))
    }

    /// Verifies a range. `None`: something does not match.
    fn verified(digest: Digest, bytes: &[u8], tree: &[u8], range: Range<u64>) -> Option<Vec<u8>> {
        let mut walk = GroupWalk::new(digest, bytes.len() as u64, range);
        let mut all = Vec::new();
        while let Some(group) = walk.next_group(|pair| pair_of(tree, pair)).ok()? {
            let range = group.ok()?.range();
            let part = &bytes[range.start as usize..range.end as usize];
            group.ok()?.has_bytes(part).then(|| all.extend_from_slice(part))?;
        }
        Some(all)
    }

    #[test]
    fn the_hash_is_that_of_the_bytes() {
        let mut rng = Rng::new(1);
        for len in lens() {
            let bytes = rng.bytes(len);
            let (digest, tree) = tree_of(&bytes, &mut rng);
            assert_eq!(digest, *hash(&bytes).as_bytes(), "{len}");
            assert_eq!(tree.len(), len.div_ceil(GROUP_BYTES).saturating_sub(1) * PAIR_BYTES, "{len}");
            assert_eq!(verified(digest, &bytes, &tree, 0..len as u64).as_deref(), Some(&bytes[..]), "{len}");
        }
    }

    /// A range is verified by its groups alone, and a bit that flips in one of them, or in a node above, is found.
    #[test]
    fn ranges_are_verified_alone() {
        let mut rng = Rng::new(2);
        for len in lens().into_iter().filter(|len| *len > 0) {
            let bytes = rng.bytes(len);
            let (digest, tree) = tree_of(&bytes, &mut rng);
            for _ in 0..8 {
                let start = rng.below(len);
                let range = start as u64..(start + 1 + rng.below(len - start)) as u64;
                let groups = start / GROUP_BYTES * GROUP_BYTES
                    ..len.min((range.end as usize).next_multiple_of(GROUP_BYTES));
                let whole = verified(digest, &bytes, &tree, range.clone());
                assert_eq!(whole.as_deref(), Some(&bytes[groups.clone()]), "{len} {range:?}");
                let mut rotten = bytes.clone();
                let place = rng.below(len);
                rotten[place] ^= 1 << rng.below(8);
                let found = verified(digest, &rotten, &tree, range.clone()).is_none();
                assert_eq!(found, groups.contains(&place), "{len} {range:?} {place}");
                if !tree.is_empty() {
                    let mut other = tree.clone();
                    other[rng.below(PAIR_BYTES)] ^= 1;
                    assert!(verified(digest, &bytes, &other, range).is_none(), "the root's pair");
                }
            }
        }
    }

    #[test]
    fn a_short_tree_is_an_error_of_reading() {
        let bytes = Rng::new(3).bytes(5 * GROUP_BYTES);
        let (digest, tree) = tree_of(&bytes, &mut Rng::new(4));
        let mut walk = GroupWalk::new(digest, bytes.len() as u64, 0..bytes.len() as u64);
        let error = walk.next_group(|pair| pair_of(&tree[..PAIR_BYTES - 1], pair)).expect_err("no pair");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
