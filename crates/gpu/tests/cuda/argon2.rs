//! Argon2 and nonce searches on NVIDIA cards: memory, tunings, several cards, wrong hits, lost cards.

use crate::engines::nonces::{HEADER, checker, salted, search_hits};
use crate::shim::{by_size, on_card};
use crate::{ExclusiveShim, device};
use hashmill_gpu::{Device, Error, Selector};
use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{Hasher, Input, Job, PagePolicy, Params, Plan};
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, RangeSearch, SearchMonitor};
use std::sync::Mutex;
use std::thread;

fn params(memory: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory, passes, lanes).unwrap()
}

/// No tuning changes a tag, a tuning with too many hashes is reduced, and the tuning in use can be requested again.
#[test]
fn every_tuning_gives_the_same_tags() {
    let Some(device) = device("tunings of Argon2") else { return };
    let memory = match &device.shim {
        Some(shim) => {
            shim.memory(3 << 20);
            3 << 20
        }
        None => device.info().memory.unwrap(),
    };
    let (params, input) = (params(by_size(1 << 18, 512), 1, 1), Input::new(b"password", b"somesalt"));
    let right: [u8; 32] = Hasher::new(params).hash(&input).unwrap();
    let tunings = device.tunings(params).unwrap();
    assert!(
        device.shim.is_none() || tunings[0].hashes == 4 * 28,
        "28 lanes for each of four multiprocessors"
    );
    let all = format!("hashes={}", tunings[0].hashes);
    let more = tunings[0].to_string().replace(&all, "hashes=4294967295").parse().unwrap();
    // Growing lanes are fewer than twice as many as fit as a whole.
    let (most, mut grown) = (2 * memory / (params.blocks() * 1024), 0);
    for tuning in tunings.into_iter().chain([more]) {
        let mut argon2 = device.argon2_tuned(params, tuning).unwrap();
        let used = argon2.tuning();
        assert!(u64::from(used.hashes) < most && used.grow == argon2.tuning().grow, "{used} of {tuning}");
        grown += usize::from(used.grow);
        let mut tags = [[0; 32]; 7];
        let jobs = tags.iter_mut().map(|tag| Job { input, tag });
        argon2.hash(&mut jobs.collect::<Vec<_>>()).unwrap();
        assert_eq!(tags, [right; 7], "{tuning}");
        drop(argon2);
        assert_eq!(device.argon2_tuned(params, used).unwrap().tuning(), used, "requested again");
    }
    assert!(on_card() || grown > 2, "{grown}");
}

#[test]
fn too_little_memory_for_one_hash_is_an_error() {
    let Some(exclusive) = ExclusiveShim::new("hashes without memory") else { return };
    let device = exclusive.device();
    exclusive.shim.memory(8 << 20);
    let error = device.argon2(params(16 << 10, 1, 1), 1).map(|_| ()).unwrap_err();
    assert_eq!(error, Error::OutOfMemory { bytes: 16 << 20 });
    let argon2 = device.argon2(params(1 << 10, 2, 1), 100).unwrap();
    assert_eq!(argon2.width(), 7, "as many as fit");
}

/// A bit flips after the self-test of the device: the wrong hit is never reported, with fixed and with growing memory.
#[test]
fn the_processor_detects_wrong_hits() {
    let Some(exclusive) = ExclusiveShim::new("wrong hits") else { return };
    let device = exclusive.device();
    for memory in [1 << 30, 4 << 20] {
        exclusive.shim.reset();
        exclusive.shim.memory(memory);
        let mut engine = device.nonces(checker(salted(1024, 1)), 8).unwrap();
        let kernel = if memory == 1 << 30 { "argon2_fill_ahead" } else { "argon2_grow" };
        let monitor = SearchMonitor::new();
        assert!(search_hits(&mut engine, [0xff; 32], 0..9, &monitor).is_ok());
        exclusive.shim.flip(kernel, 1);
        let error = search_hits(&mut engine, [0xff; 32], 0..9, &SearchMonitor::new());
        assert_eq!(error, Err(EngineError::SelfTest { engine: "Shim 0".to_owned() }), "{kernel}");
        assert!(
            search_hits(&mut engine, [0xff; 32], 0..9, &SearchMonitor::new()).is_ok(),
            "the next is right"
        );
    }
}

#[test]
fn wrong_header_lengths_are_refused_and_a_lost_device_is_an_error() {
    let Some(exclusive) = ExclusiveShim::new("searches that cannot be") else { return };
    let device = exclusive.device();
    let recipe = Recipe::NonceIsPassword { header_len: Some(76) };
    let pow = Pow::new(params(64, 1, 1), recipe, Order::BigEndian);
    let mut engine = device.nonces(checker(pow), 2).unwrap();
    let refused = search_hits(&mut engine, [0xff; 32], 0..1, &SearchMonitor::new());
    assert_eq!(refused, Err(EngineError::HeaderLen { given: HEADER.len(), least: 76, most: 76 }));
    let mut engine = device.nonces(checker(salted(64, 1)), 2).unwrap();
    exclusive.shim.lose(2);
    let error = search_hits(&mut engine, [0xff; 32], 0..1, &SearchMonitor::new()).unwrap_err();
    assert!(matches!(&error, EngineError::System { reason } if reason.contains("719")), "{error:?}");
}

/// Two cards and the processor find the same as the processor alone; a lost card leaves its part to the
/// others.
#[test]
fn several_cards_and_the_processor_search_together() {
    let Some(exclusive) = ExclusiveShim::new("searches by several cards") else { return };
    exclusive.shim.devices(2);
    let pow = salted(64, 1);
    let processor = || SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 1).unwrap();
    let mut target = [0xff; 32];
    target[0] = 0x7f;
    let right = search_hits(&mut processor(), target, 0..600, &SearchMonitor::new()).unwrap();
    for lost in [false, true] {
        exclusive.shim.reset();
        exclusive.shim.devices(2);
        let card = |number| {
            let device = Device::open_by_driver(&exclusive.driver, Selector::Number(number)).unwrap();
            Box::new(device.nonces(checker(pow), 9).unwrap()) as Box<dyn NonceEngine>
        };
        let mut engines = vec![card(0), card(1), Box::new(processor())];
        if lost {
            exclusive.shim.lose(30);
        }
        // Repeated until the card has had enough launches.
        let ended = (0..500).any(|_| {
            let (monitor, hits) = (SearchMonitor::new(), Mutex::new(Vec::new()));
            let note = |hit| hits.lock().unwrap().push(hit);
            let job = NonceJob::new(HEADER, target);
            let range = RangeSearch::new(&job, pow.order(), 0..600, &monitor, &note);
            let mut failed = Vec::new();
            // The others may have ended before the lost card gave its nonces back.
            while range.progress().next < 600 {
                let results: Vec<_> = thread::scope(|scope| {
                    let run = |engine: &mut Box<dyn NonceEngine>| engine.run(&range, monitor.stop());
                    let threads: Vec<_> =
                        engines.iter_mut().map(|engine| scope.spawn(move || run(engine))).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                let mut results = results.into_iter();
                engines.retain(|engine| {
                    let is_whole = results.next().unwrap().is_ok();
                    failed.extend((!is_whole).then(|| engine.name().to_owned()));
                    is_whole
                });
            }
            assert_eq!(monitor.hashes(), range.progress().hashes);
            let mut hits = hits.into_inner().unwrap();
            hits.sort_unstable_by_key(|hit: &Hit| hit.nonce);
            assert_eq!(hits, right.1);
            match &failed[..] {
                [] => !lost,
                [name] => {
                    assert!(lost && name.starts_with("Shim "));
                    true
                }
                _ => panic!("{failed:?}"),
            }
        });
        assert!(ended, "the lost card gets work");
    }
}
