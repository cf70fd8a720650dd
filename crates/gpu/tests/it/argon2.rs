//! Argon2 by wgpu: tunings, and the limits of a device's bindings.

use crate::{device, limited, narrow};
use hashmill_gpu::{Device, Error};
use hashmill_hash::argon2::{Hasher, Input, Job, Params};

fn params(memory: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory, passes, lanes).unwrap()
}

fn one(device: &Device, params: Params, input: Input<'_>) -> [u8; 32] {
    let mut tag = [0; 32];
    device.argon2(params, 1).unwrap().hash(&mut [Job { input, tag: &mut tag }]).unwrap();
    tag
}

/// No tuning changes a tag, and the tuning in use can be requested again.
#[test]
fn every_tuning_gives_the_same_tags() {
    let Some(device) = device("tunings of Argon2") else { return };
    let (params, input) = (params(64, 1, 1), Input::new(b"password", b"somesalt"));
    let right: [u8; 32] = Hasher::new(params).hash(&input).unwrap();
    let tunings = device.tunings(params).unwrap();
    assert!(tunings.len() >= 4, "{tunings:?}");
    assert_eq!(device.argon2(params, 3).unwrap().tuning(), tunings[0].at_most(3));
    for tuning in tunings {
        let mut argon2 = device.argon2_tuned(params, tuning.at_most(3)).unwrap();
        assert_eq!(argon2.tuning(), tuning.at_most(3));
        let mut tags = [[0; 32]; 4];
        let jobs = tags.iter_mut().map(|tag| Job { input, tag });
        argon2.hash(&mut jobs.collect::<Vec<_>>()).unwrap();
        assert_eq!(tags, [right; 4], "{tuning}");
    }
}

/// A device that binds one MiB has hashes of at most four MiB. It is opened without optional features.
#[test]
fn a_hash_has_at_most_four_times_the_bytes_that_a_device_binds() {
    let Some(device) = narrow(1 << 20) else { return };
    let input = Input::new(b"password", b"somesalt");
    let whole = params(4096, 1, 1);
    assert_eq!(one(&device, whole, input), Hasher::new(whole).hash(&input).unwrap());
    let error = device.argon2(params(4100, 1, 1), 1).unwrap_err();
    assert!(matches!(&error, Error::Unfit { lacks, .. } if lacks.contains("1049600 bytes")), "{error:?}");
    let error = device.argon2(params(u32::MAX, 1, 1), 1).unwrap_err();
    assert!(matches!(error, Error::Unfit { .. }), "{error:?}");
}

/// The requested number of hashes, even if a device binds only 1024 blocks of a slice: each hash has 250.
#[test]
fn splits_memory_at_the_binding_limit() {
    let Some(device) = narrow(1 << 20) else { return };
    let params = params(1000, 2, 1);
    let mut argon2 = device.argon2(params, 10).unwrap();
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
    let error = device.argon2(params(8, 1, 1), 1).unwrap_err();
    assert!(matches!(&error, Error::Unfit { lacks, .. } if lacks == "6 buffers for a kernel"), "{error:?}");
}
