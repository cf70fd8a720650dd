//! The 2 GiB proof of work: published digests, once, on this machine's preferred kernel.

use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{PagePolicy, Params, Plan};
use hashmill_hash::engine::{NonceJob, SearchMonitor, search};
use hashmill_testkit::{size, skip};
use std::fs;
use std::sync::Mutex;

/// The digests of several miners and RustCrypto's crate for the header whose byte `i` is `31 * i + 7`.
const DIGESTS: [&str; 2] = [
    "f0a24a78aad19aa74b6831d9ac1aa85237bdd2eddb6de1d1aa124d0846bbe1c0",
    "167685a6f599a7bc916fa3a42ad8068547c22b0bf7d604212f4b47a9e435677f",
];

/// Available memory in KiB, if the system reports it.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn digests_of_two_gibibytes() {
    let what = "the digests of a 2 GiB proof of work";
    if !size::is_full() {
        return size::skip(what);
    }
    if available().is_none_or(|kib| kib < 3 << 20) {
        return skip(what, "less than 3 GiB of memory are free");
    }
    if cfg!(not(target_arch = "x86_64")) {
        return skip(what, "other processors are emulated, which would take minutes");
    }
    let header: Vec<u8> = (0..92).map(|i| (31 * i + 7) as u8).collect();
    let recipe = Recipe::NonceIsPassword { header_len: Some(92) };
    let pow = Pow::new(Params::new(2 << 20, 1, 1).expect("within the limits"), recipe, Order::BigEndian);
    let mut engine =
        SingleThread::new(pow, Plan::host(), PagePolicy::Transparent, 1).expect("3 GiB are free");
    let hits = Mutex::new(Vec::new());
    let watch = SearchMonitor::new();
    let job = NonceJob::new(&header, [0xff; 32]);
    search(&mut engine, &job, 0..2, &watch, &|hit| hits.lock().unwrap().push(hit)).unwrap();
    let hits = hits.into_inner().unwrap();
    assert_eq!((hits.len(), watch.hashes()), (2, 2));
    for (hit, expected) in hits.iter().zip(DIGESTS) {
        assert_eq!(hashmill_testkit::hex::encode(&hit.digest), expected, "nonce {}", hit.nonce);
    }
}
