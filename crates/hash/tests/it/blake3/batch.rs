//! Batches of messages: the same digests as one by one.

use crate::plans::{edge_lengths, plans, test_modes};
use hashmill_hash::blake3::batch::{hash_all, hash_all_with};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hash, hash};
use hashmill_testkit::{Rng, paint};

fn blank(count: usize) -> Vec<Hash> {
    vec![Hash::from_bytes([0; 32]); count]
}

#[test]
fn messages_of_unequal_length_in_every_mode() {
    let input = Rng::new(5).bytes(120_000);
    for test_mode in test_modes() {
        for plan in plans() {
            for seed in 0..40 {
                let mut rng = Rng::new(seed);
                let longest = [10, 64, 200, 1024, 3000, 20_000][seed as usize % 6];
                let messages: Vec<&[u8]> = (0..rng.below(70))
                    .map(|_| {
                        let start = rng.below(1000);
                        &input[start..start + rng.below(longest + 1)]
                    })
                    .collect();
                let mut digests = blank(messages.len());
                hash_all_with(plan, &test_mode.mode(), &messages, &mut digests);
                for (i, (digest, message)) in digests.iter().zip(&messages).enumerate() {
                    let what = || format!("{} of message {i}, {} bytes", test_mode.name, message.len());
                    assert_eq!(
                        *digest,
                        test_mode.oracle.digest(message),
                        "{}, seed {seed}, {plan:?}",
                        what()
                    );
                }
            }
        }
    }
}

#[test]
fn every_edge_length_in_one_batch() {
    let input = paint(101 * 1024);
    let mut lengths = edge_lengths();
    for plan in plans() {
        Rng::new(9).shuffle(&mut lengths);
        let messages: Vec<&[u8]> = lengths.iter().map(|&len| &input[..len]).collect();
        let mut digests = blank(messages.len());
        hash_all_with(plan, &Mode::Hash, &messages, &mut digests);
        for (digest, message) in digests.iter().zip(&messages) {
            assert_eq!(*digest, hash(message), "{} bytes, {plan:?}", message.len());
        }
    }
}

#[test]
fn every_count_of_equal_messages() {
    let input = paint(40 * 2100);
    for plan in plans() {
        for len in [0, 1, 63, 64, 65, 1000, 1024, 1025, 2048] {
            let expected: Vec<Hash> = (0..40).map(|i| hash(&input[i * 7..][..len])).collect();
            for count in 0..=40 {
                let messages: Vec<&[u8]> = (0..count).map(|i| &input[i * 7..][..len]).collect();
                let mut digests = blank(count);
                hash_all_with(plan, &Mode::Hash, &messages, &mut digests);
                assert_eq!(digests, expected[..count], "{count} messages of {len} bytes, {plan:?}");
            }
        }
    }
}

#[test]
fn batch_of_one_message_repeated() {
    let message = paint(1025);
    let mut digests = blank(500);
    hash_all(&Mode::Hash, &vec![&message[..]; 500], &mut digests);
    assert_eq!(digests, vec![hash(&message); 500]);
}
