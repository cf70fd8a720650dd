//! Argon2 and searches for nonces on cards of NVIDIA: memory, tunings, several cards, wrong hits, cards that are lost.

use crate::engines::nonces::{HEADER, found, salted};
use crate::shim::{by_size, on_card};
use crate::{Alone, device};
use hashmill_gpu::Error;
use hashmill_gpu::cuda::{Argon2, Device, Nonces};
use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{Hasher, Input, Job, PagePolicy, Params, Plan};
use hashmill_hash::engine::{EngineError, NonceEngine, Together, Watch};

fn params(memory: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory, passes, lanes).unwrap()
}

/// None of them changes a tag, one from a file that asks for more than there is does no harm, and what is in use can be asked for again.
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
    // Lanes that grow are fewer than twice as many as fit as a whole.
    let (most, mut grown) = (2 * memory / (params.blocks() * 1024), 0);
    for tuning in tunings.into_iter().chain([more]) {
        let mut argon2 = Argon2::tuned(&device, params, tuning).unwrap();
        let used = argon2.tuning();
        assert!(u64::from(used.hashes) < most && used.grow == argon2.grows(), "{used} of {tuning}");
        grown += usize::from(used.grow);
        let mut tags = [[0; 32]; 7];
        let jobs = tags.iter_mut().map(|tag| Job { input, tag });
        argon2.hash(&mut jobs.collect::<Vec<_>>()).unwrap();
        assert_eq!(tags, [right; 7], "{tuning}");
        drop(argon2);
        assert_eq!(Argon2::tuned(&device, params, used).unwrap().tuning(), used, "asked for again");
    }
    assert!(on_card() || grown > 2, "{grown}");
}

#[test]
fn a_hash_for_which_there_is_no_memory_is_an_error() {
    let Some(alone) = Alone::new("hashes without memory") else { return };
    let device = alone.device();
    alone.shim.memory(8 << 20);
    let error = Argon2::new(&device, params(16 << 10, 1, 1), 1).map(|_| ()).unwrap_err();
    assert_eq!(error, Error::OutOfMemory { bytes: 16 << 20 });
    let argon2 = Argon2::new(&device, params(1 << 10, 2, 1), 100).unwrap();
    assert_eq!(argon2.width(), 7, "as many as fit");
}

/// A bit that flips after the device was tested: its hit is never told, whichever way memory is given.
#[test]
fn a_wrong_hit_is_found_out_by_the_processor() {
    let Some(alone) = Alone::new("wrong hits") else { return };
    let device = alone.device();
    for memory in [1 << 30, 4 << 20] {
        alone.shim.reset();
        alone.shim.memory(memory);
        let mut engine = Nonces::new(&device, salted(1024, 1), 8).unwrap();
        let kernel = if memory == 1 << 30 { "argon2_fill_ahead" } else { "argon2_grow" };
        let watch = Watch::new();
        assert!(found(&mut engine, [0xff; 32], 0..9, &watch).is_ok());
        alone.shim.flip(kernel, 1);
        let error = found(&mut engine, [0xff; 32], 0..9, &Watch::new());
        assert_eq!(error, Err(EngineError::SelfTest { engine: "Shim 0".to_owned() }), "{kernel}");
        assert!(found(&mut engine, [0xff; 32], 0..9, &Watch::new()).is_ok(), "the next is right");
    }
}

#[test]
fn a_search_that_cannot_be_is_refused_and_a_lost_one_says_so() {
    let Some(alone) = Alone::new("searches that cannot be") else { return };
    let device = alone.device();
    let recipe = Recipe::NonceIsPassword { header_len: Some(76) };
    let mut engine = Nonces::new(&device, Pow::new(params(64, 1, 1), recipe, Order::BigEndian), 2).unwrap();
    let refused = found(&mut engine, [0xff; 32], 0..1, &Watch::new());
    assert_eq!(refused, Err(EngineError::HeaderLen { given: HEADER.len(), least: 76, most: 76 }));
    let mut engine = Nonces::new(&device, salted(64, 1), 2).unwrap();
    alone.shim.lose(2);
    let error = found(&mut engine, [0xff; 32], 0..1, &Watch::new()).unwrap_err();
    assert!(matches!(&error, EngineError::System { reason } if reason.contains("719")), "{error:?}");
}

/// Two cards and the processor find what it finds alone; one that is lost on the way leaves its part to the others.
#[test]
fn several_cards_and_the_processor_search_together() {
    let Some(alone) = Alone::new("searches by several cards") else { return };
    alone.shim.devices(2);
    let pow = salted(64, 1);
    let processor = || SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 1).unwrap();
    let mut target = [0xff; 32];
    target[0] = 0x7f;
    let right = found(&mut processor(), target, 0..600, &Watch::new()).unwrap();
    for lost in [false, true] {
        alone.shim.reset();
        alone.shim.devices(2);
        let card = |number| {
            let device = Device::open_of(&alone.driver, number).unwrap();
            Box::new(Nonces::new(&device, pow, 9).unwrap()) as Box<dyn NonceEngine>
        };
        let mut engine = Together::searching(vec![card(0), card(1), Box::new(processor())]).unwrap();
        assert_eq!(engine.limits().in_flight, 19);
        if lost {
            alone.shim.lose(30);
        }
        // Until a card has had something to do for so long.
        let ended = (0..500).any(|_| {
            let (searched, hits) = found(&mut engine, target, 0..600, &Watch::new()).unwrap();
            assert_eq!((searched.next, &hits), (600, &right.1));
            let failed: Vec<_> =
                engine.shares().filter(|share| share.failed.is_some()).map(|share| share.name).collect();
            match failed[..] {
                [] => !lost,
                [name] => {
                    assert!(lost && name.starts_with("Shim "));
                    true
                }
                _ => panic!("{failed:?}"),
            }
        });
        assert!(ended, "a card that is to be lost is asked");
    }
}
