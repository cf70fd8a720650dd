//! Argon2 on a device through the public interface: known tags, batches, stops, refused input.

use crate::device;
use hashmill_gpu::{Device, Error};
use hashmill_hash::argon2::{
    Batches, HashError, Hasher, Input, Job, PagePolicy, Params, Plan, Stop, Variant, Version,
};
use hashmill_hash::engine::{BatchEngine, EngineGroup};
use hashmill_testkit::hex;
use std::time::Duration;

fn params(memory: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory, passes, lanes).unwrap()
}

fn one(device: &Device, params: Params, input: Input<'_>) -> [u8; 32] {
    let mut tag = [0; 32];
    device.argon2(params, 1).unwrap().hash(&mut [Job { input, tag: &mut tag }]).unwrap();
    tag
}

/// RFC 9106, sections 5.1 to 5.3, and the same in version 1.0, from the reference implementation
/// (phc-winner-argon2, CC0).
#[test]
fn vectors_of_the_standard_match() {
    let Some(device) = device("vectors of Argon2") else { return };
    let known = [
        (Version::V13, Variant::D, "512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb"),
        (Version::V13, Variant::I, "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8"),
        (Version::V13, Variant::Id, "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"),
        (Version::V10, Variant::D, "96a9d4e5a1734092c85e29f410a45914a5dd1f5cbf08b2670da68a0285abf32b"),
        (Version::V10, Variant::I, "87aeedd6517ab830cd9765cd8231abb2e647a5dee08f7c05e02fcb763335d0fd"),
        (Version::V10, Variant::Id, "b64615f07789b66b645b67ee9ed3b377ae350b6bfcbb0fc95141ea8f322613c0"),
    ];
    let input = Input::new(&[1; 32], &[2; 16]).with_secret(&[3; 8]).with_associated_data(&[4; 12]);
    for (version, variant, tag) in known {
        let params = params(32, 3, 4).with_variant(variant).with_version(version);
        assert_eq!(hex::encode(&one(&device, params, input)), tag, "{params:?}");
    }
}

/// Inputs of many lengths, and more of them than run side by side.
#[test]
fn jobs_of_different_lengths_have_the_tags_of_the_processor() {
    let Some(device) = device("batches of Argon2") else { return };
    let bytes: Vec<u8> = (0..2000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
    for (params, most) in [(params(64, 2, 3), 4), (params(8, 1, 1), 40), (params(300, 1, 2), 1)] {
        let mut argon2 = device.argon2(params, most).unwrap();
        assert_eq!(argon2.width(), most);
        // Results of one batch do not show in the next.
        for count in [0, 1, most, 2 * most + 1] {
            let input = |i: usize| {
                Input::new(&bytes[..i * 13 % 700], &bytes[i..i + i * 5 % 300])
                    .with_secret(&bytes[..i % 3 * 40])
                    .with_associated_data(&bytes[..i % 4 * 99])
            };
            let mut tags: Vec<_> = (0..count).map(|i| vec![0; 4 + i * 11 % 140]).collect();
            let mut jobs: Vec<_> =
                tags.iter_mut().enumerate().map(|(i, tag)| Job { input: input(i), tag }).collect();
            argon2.hash(&mut jobs).unwrap();
            let mut hasher = Hasher::new(params);
            for (i, tag) in tags.iter().enumerate() {
                let mut right = vec![0; tag.len()];
                hasher.hash_into(&input(i), &mut right).unwrap();
                assert_eq!(*tag, right, "{params:?}, {i} of {count}");
            }
        }
    }
}

#[test]
fn a_stopped_hash_is_an_error_and_the_next_is_right() {
    let Some(device) = device("hashes that are stopped") else { return };
    let params = params(4096, 100_000, 2);
    let mut argon2 = device.argon2(params, 1).unwrap();
    let (stop, mut tag) = (Stop::new(), [0xa5; 32]);
    let mut job = [Job { input: Input::new(b"password", b"somesalt"), tag: &mut tag }];
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop.set();
        });
        argon2.hash_until(&mut job, &stop)
    });
    assert_eq!(stopped, Err(Error::Hash(HashError::Stopped)));
    assert_eq!(tag, [0xa5; 32], "untouched");
    // A stopped hash does not affect the next one.
    let (params, input) = (Params::new(4096, 1, 2).unwrap(), Input::new(b"password", b"somesalt"));
    assert_eq!(one(&device, params, input), Hasher::new(params).hash(&input).unwrap());
}

#[test]
fn memory_of_a_stopped_batch_gives_right_tags_afterwards() {
    let Some(device) = device("memory of stopped batches") else { return };
    let params = params(4096, 3, 1);
    let mut argon2 = device.argon2(params, 1).unwrap();
    let (stop, mut tag, input) = (Stop::new(), [0; 32], Input::new(b"password", b"somesalt"));
    let mut stopped = 0;
    // Shorter pauses, then none: the thread that stops may run only after the end of the hash.
    let pauses = [4000, 2000, 1000, 500, 250].into_iter().chain(std::iter::repeat_n(0, 1000));
    for micros in pauses {
        if micros == 0 && stopped > 0 {
            break;
        }
        stop.clear();
        stopped += std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_micros(micros));
                stop.set();
            });
            u32::from(argon2.hash_until(&mut [Job { input, tag: &mut tag }], &stop).is_err())
        });
        stop.clear();
        tag = [0; 32];
        argon2.hash(&mut [Job { input, tag: &mut tag }]).unwrap();
        assert_eq!(tag, Hasher::new(params).hash::<32>(&input).unwrap());
    }
    assert!(stopped > 0, "at least one hash was stopped");
}

#[test]
fn lengths_out_of_range_are_refused_before_any_hash() {
    let Some(device) = device("hashes of invalid lengths") else { return };
    let mut argon2 = device.argon2(params(64, 1, 1), 2).unwrap();
    let (mut good, mut short) = ([0; 16], [0; 3]);
    let input = Input::new(b"password", b"somesalt");
    let mut jobs = [Job { input, tag: &mut good }, Job { input, tag: &mut short }];
    assert_eq!(argon2.hash(&mut jobs), Err(Error::Hash(HashError::TagLen { given: 3 })));
    assert_eq!(good, [0; 16], "untouched");
    argon2.hash(&mut [Job { input, tag: &mut good }]).unwrap();
    assert_eq!(good, Hasher::new(params(64, 1, 1)).hash::<16>(&input).unwrap());
}

#[test]
fn a_device_and_the_processor_hash_a_list_together() {
    let Some(device) = device("batches by a device and the processor") else { return };
    let params = params(64, 2, 1);
    let engines: Vec<Box<dyn BatchEngine>> = vec![
        Box::new(device.argon2(params, 8).unwrap()),
        Box::new(Batches::new(params, Plan::host(), PagePolicy::default(), 1).unwrap()),
    ];
    assert_eq!((engines[0].limits().width, engines[0].name()), (8, device.info().name.as_str()));
    let mut engine = EngineGroup::hashing(engines).unwrap();
    let passwords: Vec<_> = (0..100_u32).map(u32::to_le_bytes).collect();
    let mut tags = [[0; 32]; 100];
    let input = |password| Input::new(password, b"somesalt");
    let mut jobs: Vec<_> =
        passwords.iter().zip(&mut tags).map(|(password, tag)| Job { input: input(password), tag }).collect();
    assert_eq!(engine.hash(&mut jobs, &Stop::new()), Ok(100));
    let shares: Vec<_> = engine.shares().map(|share| (share.done, share.failed)).collect();
    assert!(matches!(shares[..], [(a, None), (b, None)] if a + b == 100), "{shares:?}");
    let mut hasher = Hasher::new(params);
    for (password, tag) in passwords.iter().zip(&tags) {
        assert_eq!(*tag, hasher.hash::<32>(&input(password)).unwrap());
    }
}
