//! Argon2 on a device, as a program uses it: known tags, batches, what is stopped, what is refused.

use crate::{device, limited, narrow};
use hashmill_gpu::Error;
use hashmill_gpu::wgpu::{Argon2, Device};
use hashmill_hash::argon2::{HashError, Hasher, Input, Job, Params, Stop, Variant, Version};
use std::time::Duration;

fn params(memory: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory, passes, lanes).unwrap()
}

fn one(device: &Device, params: Params, input: Input<'_>) -> [u8; 32] {
    let mut tag = [0; 32];
    Argon2::new(device, params, 1).unwrap().hash(&mut [Job { input, tag: &mut tag }]).unwrap();
    tag
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 9106, sections 5.1 to 5.3; and the same in version 1.0, as the reference implementation (phc-winner-argon2, CC0) lists it.
#[test]
fn the_vectors_of_the_standard_come_out() {
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
        assert_eq!(hex(&one(device, params, input)), tag, "{params:?}");
    }
}

/// Inputs of every length, and more of them than go side by side.
#[test]
fn jobs_of_different_lengths_have_the_tags_of_the_processor() {
    let Some(device) = device("batches of Argon2") else { return };
    let bytes: Vec<u8> = (0..2000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
    for (params, most) in [(params(64, 2, 3), 4), (params(8, 1, 1), 100), (params(300, 1, 2), 1)] {
        let mut argon2 = Argon2::new(device, params, most).unwrap();
        assert_eq!(argon2.width(), most);
        // Nothing of one batch is seen in the next.
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

/// None of them changes a tag, one from a file that asks for more than there is does no harm, and what is in use can be asked for again.
#[test]
fn every_tuning_gives_the_same_tags() {
    let Some(device) = device("tunings of Argon2") else { return };
    let (params, input) = (params(64, 1, 1), Input::new(b"password", b"somesalt"));
    let right: [u8; 32] = Hasher::new(params).hash(&input).unwrap();
    let tunings = device.tunings(params);
    assert!(tunings.len() >= 4, "{tunings:?}");
    assert_eq!(Argon2::new(device, params, 3).unwrap().tuning(), tunings[0].at_most(3));
    for tuning in tunings {
        let mut argon2 = Argon2::tuned(device, params, tuning.at_most(3)).unwrap();
        assert_eq!(argon2.tuning(), tuning.at_most(3));
        let mut tags = [[0; 32]; 4];
        let jobs = tags.iter_mut().map(|tag| Job { input, tag });
        argon2.hash(&mut jobs.collect::<Vec<_>>()).unwrap();
        assert_eq!(tags, [right; 4], "{tuning}");
    }
}

#[test]
fn a_hash_that_is_stopped_says_so_and_the_next_one_is_right() {
    let Some(device) = device("hashes that are stopped") else { return };
    let params = params(4096, 100_000, 2);
    let mut argon2 = Argon2::new(device, params, 1).unwrap();
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
    // What was stopped leaves nothing behind that the next one sees.
    let (params, input) = (Params::new(4096, 1, 2).unwrap(), Input::new(b"password", b"somesalt"));
    assert_eq!(one(device, params, input), Hasher::new(params).hash(&input).unwrap());
}

#[test]
fn lengths_out_of_range_are_refused_and_cost_nothing() {
    let Some(device) = device("hashes that cannot be") else { return };
    let mut argon2 = Argon2::new(device, params(64, 1, 1), 2).unwrap();
    let (mut good, mut short) = ([0; 16], [0; 3]);
    let input = Input::new(b"password", b"somesalt");
    let mut jobs = [Job { input, tag: &mut good }, Job { input, tag: &mut short }];
    assert_eq!(argon2.hash(&mut jobs), Err(Error::Hash(HashError::TagLen { given: 3 })));
    assert_eq!(good, [0; 16], "untouched");
    argon2.hash(&mut [Job { input, tag: &mut good }]).unwrap();
    assert_eq!(good, Hasher::new(params(64, 1, 1)).hash::<16>(&input).unwrap());
}

/// A device that binds a mebibyte sees four of a hash: that much and no more. It was opened without anything that only some
/// devices have.
#[test]
fn a_hash_has_four_times_what_a_device_binds() {
    let Some(device) = narrow(1 << 20) else { return };
    let input = Input::new(b"password", b"somesalt");
    let whole = params(4096, 1, 1);
    assert_eq!(one(&device, whole, input), Hasher::new(whole).hash(&input).unwrap());
    let error = Argon2::new(&device, params(4100, 1, 1), 1).unwrap_err();
    assert!(matches!(&error, Error::Unfit { lacks, .. } if lacks.contains("1049600 bytes")), "{error:?}");
    let error = Argon2::new(&device, params(u32::MAX, 1, 1), 1).unwrap_err();
    assert!(matches!(error, Error::Unfit { .. }), "{error:?}");
}

/// As many hashes as are asked for, however little a device binds: it sees 1024 blocks of a slice, and each has 250.
#[test]
fn what_a_device_does_not_bind_together_goes_side_by_side() {
    let Some(device) = narrow(1 << 20) else { return };
    let params = params(1000, 2, 1);
    let mut argon2 = Argon2::new(&device, params, 10).unwrap();
    assert_eq!(argon2.width(), 10);
    assert!(argon2.memory() > 10 * 1000 * 1024);
    let passwords: Vec<_> = (0..26_u32).map(u32::to_be_bytes).collect();
    let mut tags = [[0; 32]; 26];
    let inputs: Vec<_> = passwords.iter().map(|password| Input::new(password, b"somesalt")).collect();
    let mut jobs: Vec<_> =
        inputs.iter().zip(&mut tags).map(|(input, tag)| Job { input: *input, tag }).collect();
    argon2.hash(&mut jobs).unwrap();
    for (input, tag) in inputs.iter().zip(&tags) {
        assert_eq!(*tag, Hasher::new(params).hash(input).unwrap());
    }
}

#[test]
fn a_device_whose_kernels_bind_too_little_is_refused() {
    let Some(device) = limited(|limits| limits.max_storage_buffers_per_shader_stage = 5) else { return };
    let error = Argon2::new(&device, params(8, 1, 1), 1).unwrap_err();
    assert!(matches!(&error, Error::Unfit { lacks, .. } if lacks == "6 buffers for a kernel"), "{error:?}");
}
