//! Input in pieces: updates, resets and clones.

use crate::plans::{plans, test_modes};
use hashmill_hash::blake3::{BufferedHasher, Hasher, hash};
use hashmill_testkit::paint;

#[test]
fn two_pieces_split_at_every_edge() {
    let input = paint(5000);
    let edges = [0, 1, 63, 64, 65, 128, 1023, 1024, 1025, 2047, 2048, 2049, 3072, 4096, 4097, 5000];
    for plan in plans() {
        for &len in &edges {
            let expected = hash(&input[..len]);
            for &split in edges.iter().filter(|&&split| split <= len) {
                let (first, second) = input[..len].split_at(split);
                let mut hasher = Hasher::new().with_plan(plan);
                hasher.update(first).update(second);
                assert_eq!(hasher.finalize(), expected, "{split} + {}, {plan:?}", second.len());
                assert_eq!(hasher.count(), len as u64);
            }
        }
    }
}

#[test]
fn pieces_of_equal_length() {
    let input = paint(70 * 1024 + 77);
    let expected = hash(&input);
    for plan in plans() {
        for piece in [3, 63, 64, 65, 1000, 1024, 1025, 2048, 5000, 16 * 1024, 16 * 1024 + 1, 40_000] {
            let mut hasher = Hasher::new().with_plan(plan);
            let mut buffered = BufferedHasher::new(Hasher::new().with_plan(plan));
            for piece in input.chunks(piece) {
                hasher.update(piece);
                buffered.update(piece);
            }
            assert_eq!(hasher.finalize(), expected, "pieces of {piece}, {plan:?}");
            assert_eq!(buffered.finalize(), expected, "pieces of {piece}, {plan:?}, buffered");
            assert_eq!((hasher.count(), buffered.count()), (input.len() as u64, input.len() as u64));
        }
    }
}

#[test]
fn finalize_does_not_change_the_state() {
    let input = paint(9000);
    let mut hasher = Hasher::new();
    let mut buffered = BufferedHasher::new(Hasher::new());
    let mut consumed = 0;
    for piece in input.chunks(517) {
        consumed += piece.len();
        let expected = hash(&input[..consumed]);
        assert_eq!(hasher.update(piece).finalize(), expected, "{consumed} bytes");
        assert_eq!(buffered.update(piece).finalize(), expected, "{consumed} bytes, buffered");
        let mut output = [0; 32];
        hasher.finalize_xof().fill(&mut output);
        assert_eq!(expected, output, "{consumed} bytes");
        buffered.finalize_xof().fill(&mut output);
        assert_eq!(expected, output, "{consumed} bytes, buffered");
    }
}

#[test]
fn empty_updates_change_nothing() {
    let mut hasher = Hasher::new();
    hasher.update(b"").update(&[7; 1024]).update(b"").update(&[7; 1024]).update(b"");
    assert_eq!(hasher.finalize(), hash(&[7; 2048]));
}

#[test]
fn reset_keeps_the_mode_and_clears_the_input() {
    let input = paint(40_000);
    for test_mode in test_modes() {
        for len in [0, 10, 1024, 1025, 20_000, 40_000] {
            let plan = hashmill_hash::blake3::Plan::host();
            let mut hasher = test_mode.hasher(plan);
            let mut buffered = BufferedHasher::new(test_mode.hasher(plan));
            hasher.update(&input[..len]);
            buffered.update(&input[..len]);
            assert_eq!((hasher.reset().count(), buffered.reset().count()), (0, 0));
            let expected = test_mode.oracle.digest(&input[..3333]);
            assert_eq!(hasher.update(&input[..3333]).finalize(), expected, "{} after {len}", test_mode.name);
            assert_eq!(
                buffered.update(&input[..3333]).finalize(),
                expected,
                "{} after {len}",
                test_mode.name
            );
        }
    }
}

#[test]
fn clone_is_independent() {
    let input = paint(6000);
    let mut first = Hasher::default();
    first.update(&input[..3000]);
    let mut second = first.clone();
    first.update(&input[3000..]);
    second.update(b"something else");
    assert_eq!(first.finalize(), hash(&input));
    assert_eq!(second.finalize(), hash(&[&input[..3000], b"something else"].concat()));
}
