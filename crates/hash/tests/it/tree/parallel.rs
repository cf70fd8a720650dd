//! Parallel hashing: the same digests as on one thread.

use crate::plans::{KEY, plans, test_modes};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Context, Hasher, Plan, Threads, hash, keyed_hash};
use hashmill_testkit::paint;

const LENGTHS: [usize; 12] =
    [0, 1, 1024, 1025, 100_000, 131_072, 262_144, 262_145, 524_288, 786_433, 1 << 20, (3 << 20) + 12_345];

#[test]
fn update_parallel_agrees_with_update() {
    let input = paint(LENGTHS[11]);
    for plan in plans() {
        for len in LENGTHS {
            let expected = hash(&input[..len]);
            let mut hasher = Hasher::new().with_plan(plan);
            assert_eq!(hasher.update_parallel(&input[..len]).finalize(), expected, "{len} bytes, {plan:?}");
        }
    }
    for test_mode in test_modes() {
        let expected = test_mode.hasher(Plan::host()).update(&input).finalize();
        assert_eq!(
            test_mode.hasher(Plan::host()).update_parallel(&input).finalize(),
            expected,
            "{}",
            test_mode.name
        );
    }
}

#[test]
fn parallel_and_serial_updates_mix() {
    let input = paint(5 << 20);
    let mut hasher = Hasher::new();
    let mut rest = &input[..];
    for (i, len) in [1, 700_000, 1024, 1 << 20, 333, 1 << 20, 64].into_iter().enumerate() {
        let (now, later) = rest.split_at(len);
        if i % 2 == 0 {
            hasher.update(now)
        } else {
            hasher.update_parallel(now)
        };
        rest = later;
    }
    assert_eq!(hasher.update_parallel(rest).finalize(), hash(&input));
}

#[test]
fn pools_of_any_size_agree() {
    let input = paint(LENGTHS[11]);
    let expected = hash(&input);
    for threads in [1, 2, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let digest = pool.install(|| Hasher::new().update_parallel(&input).finalize());
        assert_eq!(digest, expected, "{threads} threads");
    }
}

/// All workers wait for this very hash, so it must not wait for their help.
#[test]
fn busy_pool_does_not_block_update_parallel() {
    use std::sync::Barrier;
    let input = paint(2 << 20);
    let expected = hash(&input);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let hashed = Barrier::new(2);
    let _limit = hashmill_testkit::wait::limit("a hash in a pool that is busy");
    pool.scope(|scope| {
        scope.spawn(|_| {
            hashed.wait();
        });
        scope.spawn(|_| {
            assert_eq!(Hasher::new().update_parallel(&input).finalize(), expected);
            hashed.wait();
        });
    });
}

#[test]
fn concurrent_parallel_updates() {
    let input = paint(1 << 20);
    let expected = hash(&input);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(Hasher::new().update_parallel(&input).finalize(), expected);
                }
            });
        }
    });
}

#[test]
fn context_agrees_in_every_mode_with_any_number_of_threads() {
    let input = paint(LENGTHS[11]);
    for test_mode in test_modes() {
        for threads in [0, 1, 2, 5] {
            let mut context = Context::with(Plan::host(), &test_mode.mode(), threads).expect("threads");
            assert_eq!(context.threads(), threads.max(1));
            for len in LENGTHS {
                let input = &input[..len];
                let expected = test_mode.hasher(Plan::host()).update(input).finalize();
                let choices = [
                    Threads::Serial,
                    Threads::Auto,
                    Threads::AtMost(0),
                    Threads::AtMost(2),
                    Threads::AtMost(99),
                ];
                for choice in choices {
                    let digest = context.hash(input, choice);
                    assert_eq!(
                        digest, expected,
                        "{} of {len} bytes, {threads} threads, {choice:?}",
                        test_mode.name
                    );
                }
            }
        }
    }
}

#[test]
fn context_can_change_its_mode_and_release_memory() {
    let input = paint(1 << 20);
    let mut context = Context::new().expect("threads");
    assert_eq!(context.hash(&input, Threads::Auto), hash(&input));
    context.release_workspace();
    assert_eq!(context.set_key(KEY).hash(&input, Threads::Auto), keyed_hash(KEY, &input));
    let context_key = hashmill_hash::blake3::hazmat::hash_derive_key_context("context");
    let expected = Hasher::with_mode(&Mode::DeriveKeyMaterial(&context_key)).update(&input).finalize();
    assert_eq!(context.set_derive_key(&context_key).hash(&input, Threads::Auto), expected);
}
