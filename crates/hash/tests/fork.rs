//! What a child inherits when a process with warm pools forks: every object works on, on the threads that there are, or
//! says that it cannot. None waits for threads that stayed with the parent.
//!
//! A program of its own, one test at a time: a child must not find locks that other tests hold.
#![cfg(feature = "std")]
#![forbid(unsafe_code)]

use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread, ThreadPool};
use hashmill_hash::argon2::{self, HashError, Hasher, Input, PagePolicy, Params, Plan};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{self, Context, Subtrees};
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{EngineError, NonceEngine, NonceJob, Searched, Stop, SubtreeEngine, Tile, Watch};
use hashmill_hash::password::{Login, NewPassword, Passwords, Policy};
use hashmill_testkit::fork::{Child, alone, beside, in_child, in_fresh_process};
use hashmill_testkit::paint;
use std::ops::ControlFlow;
use std::sync::Barrier;
use std::thread;

const SALT: &[u8; 16] = b"sixteen bytes ok";

/// What these tests are about.
const WHAT: &str = "forked children";

/// Threads for all, also where the machine has one processor.
fn warm_global_pool() {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(4).build_global();
    rayon::broadcast(|_| ());
}

fn cheap(lanes: u32) -> Passwords {
    Passwords::new(Policy::new(Params::new(64, 1, lanes).expect("costs")))
}

/// Checks and makes eight hashes, as a login storm does.
fn storm(passwords: &Passwords) -> bool {
    let stored = passwords.hash(b"right", SALT).expect("a hash").to_string();
    let login = |at: usize| Login { password: if at == 3 { b"wrong" } else { b"right" }, stored: &stored };
    let logins: Vec<_> = (0..8).map(login).collect();
    let verdicts = passwords.verify_many(&logins);
    let made = passwords.hash_many(&[NewPassword { password: b"right", salt: SALT }; 8]);
    verdicts.iter().enumerate().all(|(at, verdict)| verdict.is_ok() == (at != 3))
        && made.iter().all(|hash| hash.as_ref().is_ok_and(|hash| hash.to_string() == stored))
}

#[test]
fn many_passwords_are_checked_in_a_child() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    for passwords in [cheap(1), cheap(4), cheap(1).memory_budget(200)] {
        assert!(storm(&passwords), "warm");
        assert_eq!(in_child(|| storm(&passwords)), Child::Agreed);
        // A child of the child, and threads of the child's own.
        let grandchild = || in_child(|| storm(&passwords)) == Child::Agreed && storm(&passwords);
        assert_eq!(in_child(grandchild), Child::Agreed);
        let with_pool = || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
            pool.install(|| storm(&passwords))
        };
        assert_eq!(in_child(with_pool), Child::Agreed);
    }
}

/// Nothing of ours was called before the fork, so nothing can have been noted: who warmed the pool is somebody else.
#[test]
fn a_pool_that_others_warmed_is_not_waited_for() {
    let Some(_alone) = alone(WHAT) else { return };
    in_fresh_process("a_pool_that_others_warmed_is_not_waited_for", others_warmed_it);
}

fn others_warmed_it() {
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
fn blake3_on_several_threads_goes_on_in_a_child() {
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
fn lanes_of_one_hash_are_computed_in_a_child() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    let input = Input::new(b"password", SALT);
    let mut hasher =
        Hasher::new(Params::new(8 << 10, 2, 4).expect("costs")).threads(argon2::Threads::AtMost(4));
    let tag: [u8; 32] = hasher.hash(&input).expect("a tag");
    let child = in_child(|| hasher.hash(&input) == Ok(tag));
    assert_eq!(child, Child::Agreed);
}

/// The memory of a hash at work stays with the parent: a child must not make a tag of what it has instead.
#[test]
fn a_hash_at_work_is_refused_in_a_child() {
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
        let never = in_child(|| {
            let mut other = [0; 32];
            matches!(steps.finish(&mut other), Err(HashError::Forked)) && other == [0; 32]
        });
        assert_eq!(never, Child::Agreed, "{memory} KiB");
    }
    // The same inside of a check that somebody watches: the fork happens while it waits for its caller.
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
    assert_eq!(child, Child::Agreed, "the parent of a child is not troubled");
}

/// A thread of the parent has all of the budget, and will give it back to the parent alone.
#[test]
fn a_budget_that_the_parent_uses_does_not_bind_a_child() {
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

/// Other threads are in the middle of everything when the process forks.
#[test]
fn children_of_a_busy_parent_wait_for_nobody() {
    let Some(_alone) = alone(WHAT) else { return };
    warm_global_pool();
    for passwords in [cheap(1), cheap(4), cheap(1).memory_budget(100)] {
        let forks = || (0..30).map(|_| in_child(|| storm(&passwords))).collect::<Vec<_>>();
        let children = beside(|| || assert!(storm(&passwords)), forks);
        assert_eq!(children, [Child::Agreed; 30]);
    }
}

#[test]
fn a_search_goes_on_or_is_refused() {
    let Some(_alone) = alone(WHAT) else { return };
    let recipe = Recipe::NonceIsPassword { header_len: None };
    let pow = Pow::new(Params::new(64, 1, 1).expect("costs"), recipe, Order::BigEndian);
    let job = NonceJob::new(b"a header", [0; 32]);
    let done = Ok(Searched::new(20, 20));
    let mut engine = SingleThread::new(pow, Plan::host(), PagePolicy::Transparent, 2).expect("memory");
    let mut workers =
        ThreadPool::new(pow, Plan::host(), PagePolicy::Transparent, 2, 2, |_| {}).expect("threads");
    assert_eq!(engine.search(&job, 0..20, &Watch::new(), &|_| {}), done);
    assert_eq!(workers.search(&job, 0..20, &Watch::new(), &|_| {}), done);
    assert_eq!(in_child(|| engine.search(&job, 0..20, &Watch::new(), &|_| {}) == done), Child::Agreed);
    let refused = in_child(|| {
        let refused = workers.search(&job, 0..20, &Watch::new(), &|_| {}) == Err(EngineError::Forked);
        let prefaulted = workers.prefault();
        drop(workers);
        let anew = ThreadPool::new(pow, Plan::host(), PagePolicy::Transparent, 2, 2, |_| {});
        let found = anew.and_then(|mut workers| workers.search(&job, 0..20, &Watch::new(), &|_| {}));
        refused && prefaulted.is_none() && found == done
    });
    assert_eq!(refused, Child::Agreed);
}

#[test]
fn an_engine_for_subtrees_is_refused_in_a_child() {
    let Some(_alone) = alone(WHAT) else { return };
    let (tile, stop, input) = (Tile::new(0, 0, 1024), Stop::new(), paint(1024));
    let made = || Subtrees::new(blake3::Plan::host(), &Mode::Hash, 1024, 2).expect("a tile");
    let engine = made();
    let mut lent = engine.stage();
    let refused = in_child(|| {
        let lent = std::mem::replace(&mut lent, Ok(None)).expect("memory").expect("of a tile");
        let answers = [
            engine.submit(lent, tile, &stop) == Err(EngineError::Forked),
            engine.take(&stop) == Err(EngineError::Forked),
            engine.abandon() == Err(EngineError::Forked),
            matches!(engine.stage(), Err(EngineError::Forked)),
        ];
        drop(engine);
        // What lies in memory can be computed as anywhere.
        answers == [true; 4]
            && made().compute(tile, &input).is_ok()
            && self_test(&made(), &Mode::Hash).is_ok()
    });
    assert_eq!(refused, Child::Agreed);
}
