//! Lost devices: an error each time, never a digest, a panic or an endless wait.

use crate::engines::buffer;
use crate::engines::nonces::{HEADER, checker, pow, salted, search_hits};
use crate::{limited, narrow, raw};
use hashmill_gpu::{Device, Error};
use hashmill_hash::argon2::pow::{Order, Recipe};
use hashmill_hash::argon2::{Input, Job, Params};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::{EngineError, SearchMonitor, Stop, Tile};
use hashmill_testkit::paint;
use std::time::Duration;

const TILE: usize = 256 * 1024;

/// A device that a test may destroy: no other test uses it.
fn disposable_device() -> Option<Device> {
    narrow(64 << 20)
}

fn destroy(device: &Device) {
    raw(device).0.destroy();
}

fn is_system_error(error: &EngineError) -> bool {
    matches!(error, EngineError::System { .. })
}

#[test]
fn inputs_in_flight_and_later_ones_end_in_errors() {
    let Some(device) = disposable_device() else { return };
    let blake3 = device.blake3(&Mode::KeyedHash(&[7; 32])).unwrap();
    let input = paint(3 << 20);
    let there = buffer(&device, &input, 0);
    let expected = blake3.hash_buffer(&there, 0, input.len() as u64).unwrap();
    let before = blake3.start(&there, 0, input.len() as u64).unwrap();
    destroy(&device);
    // The work may have been done already.
    match before.finish() {
        Ok(digest) => assert_eq!(digest, expected),
        Err(error) => assert!(matches!(error, Error::Lost | Error::Driver { .. }), "{error:?}"),
    }
    for len in [100, input.len() as u64] {
        let error = blake3.hash_buffer(&there, 0, len).unwrap_err();
        assert!(matches!(error, Error::Lost | Error::Driver { .. }), "{error:?}");
    }
    let error = blake3.hash_many(&[b"abc"], &mut [Hash::from_bytes([0; 32])]).unwrap_err();
    assert!(matches!(error, Error::Lost | Error::Driver { .. }), "{error:?}");
    let error = device.subtrees(&Mode::Hash, TILE, 1).map(|_| ()).unwrap_err();
    assert!(!matches!(error, Error::SelfTest { .. }), "{error:?}");
}

#[test]
fn an_engine_of_a_lost_device_returns_the_error_to_every_thread() {
    let Some(device) = disposable_device() else { return };
    let engine = device.subtrees(&Mode::Hash, TILE, 2).unwrap();
    let (bytes, never, tile) = (paint(TILE), Stop::new(), Tile::new(0, 0, TILE));
    let value = engine.compute(tile, &bytes).unwrap();
    let mut staging = engine.stage().unwrap().expect("memory");
    staging.copy_from_slice(&bytes);
    engine.submit(staging, tile, &never).unwrap();
    destroy(&device);
    match engine.take(&never) {
        Ok(found) => assert_eq!(found, Some(value)),
        Err(error) => assert!(is_system_error(&error), "{error:?}"),
    }
    let error = engine.compute(tile, &bytes).unwrap_err();
    assert!(is_system_error(&error), "{error:?}");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert!(engine.compute(tile, &bytes).is_err()));
        }
    });
}

#[test]
fn a_hash_on_a_lost_device_has_no_tag() {
    let Some(device) = disposable_device() else { return };
    let mut argon2 = device.argon2(Params::new(1024, 1_000_000, 2).unwrap(), 2).unwrap();
    let mut tags = [[0xa5; 32]; 2];
    let mut jobs: Vec<_> =
        tags.iter_mut().map(|tag| Job { input: Input::new(b"password", b"somesalt"), tag }).collect();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            destroy(&device);
        });
        argon2.hash(&mut jobs).unwrap_err()
    });
    assert!(matches!(error, Error::Lost | Error::Driver { .. }), "{error:?}");
    let error = argon2.hash(&mut jobs).unwrap_err();
    assert!(matches!(error, Error::Lost | Error::Driver { .. }), "{error:?}");
    let error = device.argon2(Params::new(8, 1, 1).unwrap(), 1).unwrap_err();
    assert!(matches!(error, Error::Lost | Error::Driver { .. }), "{error:?}");
    assert_eq!(tags, [[0xa5; 32]; 2], "untouched");
}

#[test]
fn wrong_header_lengths_are_refused_and_a_lost_device_is_an_error() {
    let Some(device) = limited(|_| ()) else { return };
    let recipe = Recipe::NonceIsPassword { header_len: Some(76) };
    let mut engine = device.nonces(checker(pow(64, 1, 1, recipe, Order::BigEndian)), 2).unwrap();
    let refused = search_hits(&mut engine, [0xff; 32], 0..1, &SearchMonitor::new());
    assert_eq!(refused, Err(EngineError::HeaderLen { given: HEADER.len(), least: 76, most: 76 }));
    let mut engine = device.nonces(checker(salted(64, 1)), 2).unwrap();
    raw(&device).0.destroy();
    let error = search_hits(&mut engine, [0xff; 32], 0..1, &SearchMonitor::new()).unwrap_err();
    assert!(matches!(error, EngineError::System { .. }), "{error:?}");
}
