//! Fuzz target for batches, extended output and trees from subtrees, in every mode.

use hashmill_hash::blake3::hazmat::{self, HasherExt};
use hashmill_hash::blake3::{Hash, Hasher, batch};

use crate::script::Script;
use crate::subject::Subject;

/// Maximum number of bytes that all steps of a script hash.
const BUDGET: usize = 256 * 1024;
/// Maximum length of a compared output.
const OUTPUT_LIMIT: usize = 2048;

/// Each step of the script runs one of these operations with one mode and plan.
pub fn blake3_modes(data: &[u8]) {
    let mut script = Script::new(data);
    let subject = Subject::choose(&mut script);
    let mut budget = BUDGET;
    while budget > 0
        && let Some(step) = script.step()
    {
        let used = match step % 4 {
            0 => ragged_batch(&subject, &mut script),
            1 => output_from_anywhere(&subject, &mut script),
            2 => subtree_anywhere(&subject, &mut script),
            _ => tree_from_subtrees(&subject, &mut script),
        };
        // Even an empty input has a cost, so that long scripts end.
        budget = budget.saturating_sub(used + 64);
    }
}

/// Messages of any lengths, side by side in the lanes.
fn ragged_batch(subject: &Subject, script: &mut Script<'_>) -> usize {
    let count = usize::from(script.byte()) % 40;
    let messages: Vec<_> = (0..count).map(|at| subject.paint(at, script.length() % 20_000)).collect();
    let slices: Vec<_> = messages.iter().map(Vec::as_slice).collect();
    let mut digests = vec![Hash::from_bytes([0; 32]); count];
    batch::hash_all_with(subject.plan, &subject.mode(), &slices, &mut digests);
    for (message, digest) in messages.iter().zip(&digests) {
        assert_eq!(*digest.as_bytes(), subject.oracle.digest(message), "{} bytes", message.len());
    }
    messages.iter().map(Vec::len).sum()
}

/// Output at a position, and the output after it without a new position.
fn output_from_anywhere(subject: &Subject, script: &mut Script<'_>) -> usize {
    let input = subject.paint(0, script.length() % 5000);
    let (first, second) = (script.short() % OUTPUT_LIMIT, script.short() % OUTPUT_LIMIT);
    let seek = script.long().min(u64::MAX - (first + second) as u64);
    let mut reader = subject.hasher().update(&input).finalize_xof();
    reader.set_position(seek);
    let mut output = vec![0; first + second];
    let (front, back) = output.split_at_mut(first);
    reader.fill(front);
    assert_eq!(reader.position(), seek + first as u64);
    reader.fill(back);
    assert_eq!(output, subject.oracle.xof(&input, seek, first + second), "from {seek}");
    input.len() + output.len()
}

/// A subtree at any chunk number up to the maximum.
fn subtree_anywhere(subject: &Subject, script: &mut Script<'_>) -> usize {
    let chunk = script.long() >> 10;
    let longest = hazmat::max_subtree_len(chunk * 1024).unwrap_or(u64::MAX).min(40 * 1024) as usize;
    let input = subject.paint(0, 1 + script.length() % longest);
    let (front, back) = input.split_at(script.short() % input.len());
    let mut hasher = subject.hasher();
    hasher.set_input_offset(chunk * 1024).update(front).update(back);
    assert_eq!(hasher.finalize_non_root(), subject.oracle.subtree(&input, chunk), "from chunk {chunk}");
    input.len()
}

/// The whole digest from the two top subtrees, each hashed alone.
fn tree_from_subtrees(subject: &Subject, script: &mut Script<'_>) -> usize {
    let input = subject.paint(0, 1025 + script.length());
    let left = hazmat::left_subtree_len(input.len() as u64);
    let (front, back) = input.split_at(left as usize);
    let value = |offset: u64, input: &[u8]| {
        let mut hasher: Hasher = subject.hasher();
        hasher.set_input_offset(offset).update(input).finalize_non_root()
    };
    let (front, back) = (value(0, front), value(left, back));
    let expected = subject.oracle.xof(&input, 0, 100);
    let root = hazmat::merge_subtrees_root(&front, &back, subject.mode());
    assert_eq!(*root.as_bytes(), expected[..32], "{} bytes", input.len());
    let mut output = [0; 100];
    hazmat::merge_subtrees_root_xof(&front, &back, subject.mode()).fill(&mut output);
    assert_eq!(output[..], expected, "{} bytes", input.len());
    let above = hazmat::merge_subtrees_non_root(&front, &back, subject.mode());
    assert_eq!(above, subject.oracle.parent(&front, &back).non_root());
    input.len()
}
