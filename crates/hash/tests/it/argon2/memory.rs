//! Memory of Argon2: no allocation after the first call, and refused memory as an error.

use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{HashError, Hasher, Input, PagePolicy, Params, Plan, Threads};
use hashmill_hash::engine::{NonceEngine, NonceJob, RangeSearch, SearchMonitor, Stop, search};
use hashmill_hash::password::{Passwords, Policy};
use hashmill_testkit::alloc::{Counting, count};
use hashmill_testkit::{skip, wait};
use std::process::Command;

#[global_allocator]
static COUNTING: Counting = Counting;

fn input() -> Input<'static> {
    Input::new(b"password", b"somesalt")
}

#[test]
fn warm_hasher_does_not_allocate() {
    for (memory, passes, lanes) in [(64, 1, 1), (1 << 10, 2, 1), (8 << 10, 1, 4)] {
        let mut hasher = Hasher::new(Params::new(memory, passes, lanes).unwrap()).threads(Threads::Serial);
        let (_, first) = count(|| hasher.hash::<32>(&input()).unwrap());
        let (warm, second) = count(|| hasher.hash::<32>(&input()).unwrap());
        assert_eq!(first, second);
        assert_eq!(warm, 0, "{memory} {passes} {lanes}");
    }
}

#[test]
fn warm_hasher_does_not_allocate_on_pool_threads() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let mut hasher = Hasher::new(Params::new(8 << 10, 2, 4).unwrap()).threads(Threads::AtMost(2));
    let (calls, _) = pool.install(|| {
        hasher.hash::<32>(&input()).unwrap();
        count(|| hasher.hash::<32>(&input()).unwrap())
    });
    assert_eq!(calls, 0);
}

/// A shared `Passwords`: a verification allocates neither memory of the pool nor the tag.
#[test]
fn warm_verification_does_not_allocate() {
    let policy = Policy::new(Params::new(64, 1, 1).unwrap());
    let passwords = Passwords::new(policy).threads(Threads::Serial).memory_budget(1 << 10);
    let stored = passwords.hash(b"password", b"sixteen bytes ok").unwrap();
    let text = stored.to_string();
    for password in [&b"password"[..], b"another"] {
        let matches = password == b"password";
        let (calls, answer) = count(|| passwords.verify_decoded(password, &stored));
        assert_eq!((calls, answer.is_ok()), (0, matches));
        let (calls, answer) = count(|| passwords.verify(password, &text));
        assert_eq!((calls, answer.is_ok()), (2, matches), "salt and tag of the string");
    }
    let (calls, new_hash) = count(|| passwords.hash(b"password", b"sixteen bytes ok").unwrap());
    assert_eq!((calls, new_hash), (2, stored), "salt and tag of the new hash");
}

#[test]
fn warm_nonce_search_does_not_allocate() {
    let recipe = Recipe::NonceIsPassword { header_len: None };
    let pow = Pow::new(Params::new(64, 1, 1).unwrap(), recipe, Order::BigEndian);
    let mut engine = SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 2).unwrap();
    let job = NonceJob::new(b"a header", [0; 32]);
    search(&mut engine, &job, 0..4, &SearchMonitor::new(), &|_| {}).unwrap();
    let (monitor, stop) = (SearchMonitor::new(), Stop::new());
    let range = RangeSearch::new(&job, pow.order(), 0..50, &monitor, &|_| {});
    let (calls, ()) = count(|| engine.run(&range, &stop).unwrap());
    assert_eq!((calls, range.progress().hashes), (0, 50));
}

/// The variable that makes a second process of this program run [`hash_over_the_limit`].
const CHILD: &str = "HASHMILL_TEST_OVER_LIMIT";

/// Under a limit of 400 MB, a hash of 1 GiB is an error with every kind of pages, and the same hasher works
/// afterwards.
#[test]
fn memory_over_the_process_limit_is_an_error() {
    if std::env::var_os(CHILD).is_some() {
        return hash_over_the_limit();
    }
    let Ok(program) = std::env::current_exe() else {
        return skip("Argon2 over a memory limit", "this program cannot be started again");
    };
    let limited =
        "ulimit -v 400000 && exec \"$0\" --exact argon2::memory::memory_over_the_process_limit_is_an_error";
    let mut shell = Command::new("sh");
    let shell = wait::output(shell.arg("-c").arg(limited).arg(program).env(CHILD, "1"));
    let Ok(output) = shell else {
        return skip("Argon2 over a memory limit", "there is no shell that can set one");
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    // Neither an emulated program nor the address sanitizer, which reserves terabytes, reaches the start of
    // its tests.
    if !stdout.contains("running ") {
        return skip("Argon2 over a memory limit", "this program cannot start within the limit");
    }
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
}

fn hash_over_the_limit() {
    let large = Params::new(1 << 20, 1, 1).unwrap();
    let small = Params::new(64, 1, 1).unwrap();
    for policy in [PagePolicy::Plain, PagePolicy::Transparent, PagePolicy::Reserved, PagePolicy::Largest] {
        let mut hasher = Hasher::new(large).pages(policy);
        let refused = hasher.hash::<32>(&input()).unwrap_err();
        assert_eq!(refused, HashError::OutOfMemory { bytes: 1 << 30 }, "{policy:?}");
        hasher.set_params(small);
        hasher.hash::<32>(&input()).unwrap();
    }
}
