//! Behaviour of objects in a forked child of a process with warm pools: each works with the threads that
//! exist, or returns an error. None waits for threads that stayed with the parent.
//!
//! This is a program of its own, with one test at a time: a child must not inherit locks that other tests
//! hold.
#![cfg(feature = "std")]
#![forbid(unsafe_code)]

use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread, ThreadPool};
use hashmill_hash::argon2::{self, HashError, Hasher, Input, PagePolicy, Params, Plan};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{self, Context, Subtrees};
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{
    EngineError, NonceEngine, NonceJob, SearchMonitor, SearchProgress, Stop, SubtreeEngine, Tile, search,
};
use hashmill_hash::password::{Login, NewPassword, Passwords, Policy};
use hashmill_testkit::fork::{Child, alone, beside, in_child, in_fresh_process};
use hashmill_testkit::paint;
use std::ops::ControlFlow;
use std::sync::Barrier;
use std::thread;

const SALT: &[u8; 16] = b"sixteen bytes ok";

/// The subject of these tests.
const WHAT: &str = "forked children";

/// Starts threads, also on a machine with one processor.
fn warm_global_pool() {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(4).build_global();
    rayon::broadcast(|_| ());
}

fn cheap(lanes: u32) -> Passwords {
    Passwords::new(Policy::new(Params::new(64, 1, lanes).expect("costs")))
}

/// Verifies and makes eight hashes, as in a login storm.
fn storm(passwords: &Passwords) -> bool {
    let stored = passwords.hash(b"right", SALT).expect("a hash").to_string();
    let login = |at: usize| Login { password: if at == 3 { b"wrong" } else { b"right" }, stored: &stored };
    let logins: Vec<_> = (0..8).map(login).collect();
    let results = passwords.verify_many(&logins);
    let hashes = passwords.hash_many(&[NewPassword { password: b"right", salt: SALT }; 8]);
    results.iter().enumerate().all(|(at, result)| result.is_ok() == (at != 3))
        && hashes.iter().all(|hash| hash.as_ref().is_ok_and(|hash| hash.to_string() == stored))
}

#[test]
fn child_hashes_and_verifies_many_passwords() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    for passwords in [cheap(1), cheap(4), cheap(1).memory_budget(200)] {
        assert!(storm(&passwords), "warm");
        assert_eq!(in_child(|| storm(&passwords)), Child::Agreed);
        // A child of the child, and the child's own threads.
        let grandchild = || in_child(|| storm(&passwords)) == Child::Agreed && storm(&passwords);
        assert_eq!(in_child(grandchild), Child::Agreed);
        let with_pool = || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
            pool.install(|| storm(&passwords))
        };
        assert_eq!(in_child(with_pool), Child::Agreed);
    }
}

/// None of this crate's functions was called before the fork, so nothing can have been recorded: other code
/// warmed the pool.
#[test]
fn child_does_not_wait_for_a_pool_of_other_code() {
    let Some(_alone) = alone(WHAT) else { return };
    in_fresh_process("child_does_not_wait_for_a_pool_of_other_code", hash_after_other_code_warmed_the_pool);
}

fn hash_after_other_code_warmed_the_pool() {
    warm_global_pool();
    let input = paint(8 << 20);
    let children = || {
        [
            in_child(|| storm(&cheap(1))),
            in_child(|| storm(&cheap(4))),
            in_child(|| {
                let digest = blake3::Hasher::new().update_parallel(&input).finalize();
                digest == blake3::hash(&input)
            }),
        ]
    };
    assert_eq!(children(), [Child::Agreed; 3], "the pool of all");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    assert_eq!(pool.install(children), [Child::Agreed; 3], "on a thread of another pool");
}

#[test]
fn child_hashes_blake3_on_several_threads() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    let input = paint(8 << 20);
    let expected = blake3::hash(&input);
    let mut context = Context::with(blake3::Plan::host(), &Mode::Hash, 4).expect("threads");
    for _ in 0..20 {
        assert_eq!(blake3::Hasher::new().update_parallel(&input).finalize(), expected);
        assert_eq!(context.hash(&input, blake3::Threads::Auto), expected);
    }
    let parallel = || blake3::Hasher::new().update_parallel(&input).finalize() == expected;
    assert_eq!(in_child(parallel), Child::Agreed);
    let in_context = || {
        let right = context.hash(&input, blake3::Threads::AtMost(4)) == expected;
        let again = context.hash(&input, blake3::Threads::AtMost(4)) == expected;
        drop(context);
        right && again
    };
    assert_eq!(in_child(in_context), Child::Agreed);
}

#[test]
fn child_computes_lanes_of_one_hash() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    let input = Input::new(b"password", SALT);
    let mut hasher =
        Hasher::new(Params::new(8 << 10, 2, 4).expect("costs")).threads(argon2::Threads::AtMost(4));
    let tag: [u8; 32] = hasher.hash(&input).expect("a tag");
    let child = in_child(|| hasher.hash(&input) == Ok(tag));
    assert_eq!(child, Child::Agreed);
}

/// The memory of a hash in progress stays with the parent: a child must not compute a tag from its own copy.
#[test]
fn child_cannot_continue_a_hash_of_its_parent() {
    let Some(_alone) = alone(WHAT) else { return };
    let input = Input::new(b"password", SALT);
    for memory in [64, 4 << 10] {
        let params = Params::new(memory, 2, 1).expect("costs");
        let mut tag = [0; 32];
        Hasher::new(params).hash_into(&input, &mut tag).expect("a tag");
        let mut steps = Hasher::new(params).steps(&input, 32).expect("memory");
        steps.step().expect("the same process");
        let refused = in_child(|| steps.step() == Err(HashError::Forked));
        assert_eq!(refused, Child::Agreed, "{memory} KiB");
        let mut steps = Hasher::new(params).steps(&input, 32).expect("memory");
        steps.step().expect("the same process");
        let unfinished = in_child(|| {
            let mut other = [0; 32];
            matches!(steps.finish(&mut other), Err(HashError::Forked)) && other == [0; 32]
        });
        assert_eq!(unfinished, Child::Agreed, "{memory} KiB");
    }
    // The same within a watched verification: the fork happens while it waits for its caller.
    let passwords = cheap(1);
    let stored = passwords.hash(b"right", SALT).expect("a hash");
    let child = in_child(|| {
        let mut nested = Child::Refused;
        let mut forked = false;
        let answer = passwords.verify_decoded_watched(b"right", &stored, &mut |_| {
            if !forked {
                forked = true;
                nested = in_child(|| true);
            }
            ControlFlow::Continue(())
        });
        nested == Child::Agreed && answer.is_ok()
    });
    assert_eq!(child, Child::Agreed, "the parent is not affected");
}

/// A thread of the parent has the whole budget, and will return it to the parent only.
#[test]
fn child_has_its_own_memory_budget() {
    let Some(_alone) = alone(WHAT) else { return };
    let passwords = cheap(1).memory_budget(64);
    let stored = passwords.hash(b"right", SALT).expect("a hash");
    let (inside, done) = (Barrier::new(2), Barrier::new(2));
    let child = thread::scope(|scope| {
        scope.spawn(|| {
            let mut waits = true;
            let answer = passwords.verify_decoded_watched(b"right", &stored, &mut |_| {
                if std::mem::take(&mut waits) {
                    inside.wait();
                    done.wait();
                }
                ControlFlow::Continue(())
            });
            assert_eq!(answer, Ok(()));
        });
        inside.wait();
        let child = in_child(|| passwords.verify_decoded(b"right", &stored).is_ok() && storm(&passwords));
        done.wait();
        child
    });
    assert_eq!(child, Child::Agreed);
    assert_eq!(passwords.verify_decoded(b"right", &stored), Ok(()), "the parent has its budget again");
}

/// Other threads are in the middle of all operations when the process forks.
#[test]
fn children_of_a_busy_parent_finish() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    for passwords in [cheap(1), cheap(4), cheap(1).memory_budget(100)] {
        let forks = || (0..30).map(|_| in_child(|| storm(&passwords))).collect::<Vec<_>>();
        let children = beside(|| || assert!(storm(&passwords)), forks);
        assert_eq!(children, [Child::Agreed; 30]);
    }
}

#[test]
fn child_continues_or_refuses_a_nonce_search() {
    let Some(_alone) = alone(WHAT) else { return };
    let recipe = Recipe::NonceIsPassword { header_len: None };
    let pow = Pow::new(Params::new(64, 1, 1).expect("costs"), recipe, Order::BigEndian);
    let job = NonceJob::new(b"a header", [0; 32]);
    let done = Ok(SearchProgress::new(20, 20));
    let mut engine = SingleThread::new(pow, Plan::host(), PagePolicy::Transparent, 2).expect("memory");
    let mut workers =
        ThreadPool::new(pow, Plan::host(), PagePolicy::Transparent, 2, 2, |_| {}).expect("threads");
    let search_20 =
        |engine: &mut dyn NonceEngine| search(engine, &job, 0..20, &SearchMonitor::new(), &|_| {});
    assert_eq!(search_20(&mut engine), done);
    assert_eq!(search_20(&mut workers), done);
    assert_eq!(in_child(|| search_20(&mut engine) == done), Child::Agreed);
    let refused = in_child(|| {
        let refused = search_20(&mut workers) == Err(EngineError::Forked);
        let prefaulted = workers.prefault();
        drop(workers);
        let anew = ThreadPool::new(pow, Plan::host(), PagePolicy::Transparent, 2, 2, |_| {});
        let found = anew.and_then(|mut workers| search_20(&mut workers));
        refused && prefaulted.is_none() && found == done
    });
    assert_eq!(refused, Child::Agreed);
}

#[test]
fn child_cannot_use_a_subtree_engine_of_its_parent() {
    let Some(_alone) = alone(WHAT) else { return };
    let (tile, stop, input) = (Tile::new(0, 0, 1024), Stop::new(), paint(1024));
    let subtrees = || Subtrees::new(blake3::Plan::host(), &Mode::Hash, 1024, 2).expect("a tile");
    let engine = subtrees();
    let mut staged = engine.stage();
    let refused = in_child(|| {
        let staging = std::mem::replace(&mut staged, Ok(None)).expect("memory").expect("of a tile");
        let answers = [
            engine.submit(staging, tile, &stop) == Err(EngineError::Forked),
            engine.take(&stop) == Err(EngineError::Forked),
            engine.abandon() == Err(EngineError::Forked),
            matches!(engine.stage(), Err(EngineError::Forked)),
        ];
        drop(engine);
        // Computing in place is possible in the child.
        answers == [true; 4]
            && subtrees().compute(tile, &input).is_ok()
            && self_test(&subtrees(), &Mode::Hash).is_ok()
    });
    assert_eq!(refused, Child::Agreed);
}
