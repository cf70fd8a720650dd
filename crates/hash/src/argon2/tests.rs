//! Known answers on every kernel of this machine, in every width and on several threads.

use super::*;
use hashmill_testkit::hex;

/// Every plan for the kernels of this machine.
fn plans() -> impl Iterator<Item = Plan> {
    let of_kernel = |kernel| (1..=4).map(move |width| Plan::for_kernel(kernel).with_width(width));
    Kernel::all().flat_map(of_kernel).flat_map(|plan| [plan, plan.with_far_from(0)])
}

fn hasher(plan: Plan, params: Params) -> Hasher {
    Hasher::with_plan(params, plan)
}

/// Checks a tag with all kernels, widths, threads and sources of memory.
fn check(params: Params, input: &Input<'_>, tag: &str) {
    let mut memory = vec![Block([!0; 128]); params.blocks() as usize];
    for plan in plans() {
        for threads in [Threads::Serial, Threads::AtMost(3)] {
            let mut output = vec![0; tag.len() / 2];
            hasher(plan, params).threads(threads).hash_into(input, &mut output).unwrap();
            assert_eq!(hex::encode(&output), tag, "{plan:?} {params:?} {threads:?}");
        }
        let mut output = vec![0; tag.len() / 2];
        hash_into_with_memory(plan, params, input, &mut memory, &mut output).unwrap();
        assert_eq!(hex::encode(&output), tag, "{plan:?} {params:?} in the caller's memory");
        assert!(memory.iter().all(|block| block.0 == [0; 128]), "wiped");
    }
}

/// The files `kats/` of the reference implementation (phc-winner-argon2, CC0): the vectors of RFC 9106,
/// sections 5.1 to 5.3, and the same in version 1.0. They list 4096 words after every pass; their BLAKE3
/// digest as little-endian bytes is here.
#[test]
fn blocks_after_every_pass_match_the_reference() {
    use Variant::{D, I, Id};
    use Version::{V10, V13};
    let known = [
        (
            V13,
            D,
            "512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb",
            [
                "7149dbd7345ee3dc42a4caf0d328fe4938858631c63b4ae858b77d082b8e7cff",
                "147fc66fc1eb9a468c5884f6dd190fac1b59a55997b020f967afa5633142f17c",
                "6e330c3214dd70be9dc5ada7f68729f550e9a8ffdb20c373b63ba484b8bf792c",
            ],
        ),
        (
            V13,
            I,
            "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8",
            [
                "82bcb941b01f7d20d0b7ddec2f107e75b3ce987c25135e9f440a5efaa43e365d",
                "14bae485a3c67825fa63ddeed53d4f234199af3f97f3cc0ed3534389644d1919",
                "1ad22149544caf9eb8f26342b42bce5e2af65f0f2fa969fe344cd282cb096884",
            ],
        ),
        (
            V13,
            Id,
            "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659",
            [
                "52911637ee08a77083b852e35fb99117554b9fde1c9c57be9bf3048ff2dc0ff8",
                "b2910d57d3f37b02cf1b786de3a16bf99702554533c8624394eabb1b76d46966",
                "d30d461ba0640215da585bf11ef24a7b8265bd884af54a1f3dd120350fb29f0d",
            ],
        ),
        (
            V10,
            D,
            "96a9d4e5a1734092c85e29f410a45914a5dd1f5cbf08b2670da68a0285abf32b",
            [
                "378b95917d84a39af9f5dfef472ff1ceebaa2f1209dcc953842486e15710a4f2",
                "17ccc444ad99cc23e19265f63e2d97abff24e0f9137fbc7c562543a89c4964e5",
                "d754f841e95d34130c6010aff7f7117ec430fa02c3abf946d9cb565dc8920da3",
            ],
        ),
        (
            V10,
            I,
            "87aeedd6517ab830cd9765cd8231abb2e647a5dee08f7c05e02fcb763335d0fd",
            [
                "c411fc6af55991c65ff4c3bb42e871b0bf9f3e8f41f9f6655c6016aea04fdc56",
                "d209da57f24f9c99ad447ba774f49685da2c29fb05c6ef9850df38f1dc639e94",
                "ba90391abac82dba0dd4b14a24e3acf9b9c1ce4b15190379f7fd27c2475aa62e",
            ],
        ),
        (
            V10,
            Id,
            "b64615f07789b66b645b67ee9ed3b377ae350b6bfcbb0fc95141ea8f322613c0",
            [
                "17f209b794537e1e5c607248e6f25e4bd55e08451b42e003a84498238b55bd84",
                "92925eeb40b20e5c5b5015144d89808eed39a8b5dd682875cb83c526d8b2f6be",
                "cf370b82e6c3c4ff9602d1d7f68def257c3758ae93d3d4634822d2d7a50b9038",
            ],
        ),
    ];
    let input = Input { password: &[1; 32], salt: &[2; 16], secret: &[3; 8], associated_data: &[4; 12] };
    for (version, variant, tag, passes) in known {
        let params = Params::new(32, 3, 4).unwrap().with_variant(variant).with_version(version);
        check(params, &input, tag);
        for plan in plans() {
            for threads in [Threads::Serial, Threads::AtMost(2)] {
                let mut steps = hasher(plan, params).threads(threads).steps(&input, 32).unwrap();
                for digest in passes {
                    for _ in 0..4 {
                        steps.step().unwrap();
                    }
                    let blocks = steps.hasher().arena().blocks(32);
                    let words = blocks.iter().flat_map(|block| plan.kernel().words(block));
                    let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
                    assert_eq!(crate::blake3::hash(&bytes).to_string(), digest, "{plan:?} {params:?}");
                }
            }
        }
    }
}

/// `src/test.c` of the reference implementation (phc-winner-argon2, CC0): its tests of Argon2i in both
/// versions and of Argon2id, except those that need more than 64 MiB.
#[test]
fn vectors_of_the_reference_implementation() {
    use Variant::{I, Id};
    use Version::{V10, V13};
    let cases = [
        (
            V10,
            I,
            2,
            16,
            1,
            "password",
            "somesalt",
            "f6c4db4a54e2a370627aff3db6176b94a2a209a62c8e36152711802f7b30c694",
        ),
        (
            V10,
            I,
            2,
            8,
            1,
            "password",
            "somesalt",
            "fd4dd83d762c49bdeaf57c47bdcd0c2f1babf863fdeb490df63ede9975fccf06",
        ),
        (
            V10,
            I,
            2,
            8,
            2,
            "password",
            "somesalt",
            "b6c11560a6a9d61eac706b79a2f97d68b4463aa3ad87e00c07e2b01e90c564fb",
        ),
        (
            V10,
            I,
            1,
            16,
            1,
            "password",
            "somesalt",
            "81630552b8f3b1f48cdb1992c4c678643d490b2b5eb4ff6c4b3438b5621724b2",
        ),
        (
            V10,
            I,
            4,
            16,
            1,
            "password",
            "somesalt",
            "f212f01615e6eb5d74734dc3ef40ade2d51d052468d8c69440a3a1f2c1c2847b",
        ),
        (
            V10,
            I,
            2,
            16,
            1,
            "differentpassword",
            "somesalt",
            "e9c902074b6754531a3a0be519e5baf404b30ce69b3f01ac3bf21229960109a3",
        ),
        (
            V10,
            I,
            2,
            16,
            1,
            "password",
            "diffsalt",
            "79a103b90fe8aef8570cb31fc8b22259778916f8336b7bdac3892569d4f1c497",
        ),
        (
            V13,
            I,
            2,
            16,
            1,
            "password",
            "somesalt",
            "c1628832147d9720c5bd1cfd61367078729f6dfb6f8fea9ff98158e0d7816ed0",
        ),
        (
            V13,
            I,
            2,
            8,
            1,
            "password",
            "somesalt",
            "89e9029f4637b295beb027056a7336c414fadd43f6b208645281cb214a56452f",
        ),
        (
            V13,
            I,
            2,
            8,
            2,
            "password",
            "somesalt",
            "4ff5ce2769a1d7f4c8a491df09d41a9fbe90e5eb02155a13e4c01e20cd4eab61",
        ),
        (
            V13,
            I,
            1,
            16,
            1,
            "password",
            "somesalt",
            "d168075c4d985e13ebeae560cf8b94c3b5d8a16c51916b6f4ac2da3ac11bbecf",
        ),
        (
            V13,
            I,
            4,
            16,
            1,
            "password",
            "somesalt",
            "aaa953d58af3706ce3df1aefd4a64a84e31d7f54175231f1285259f88174ce5b",
        ),
        (
            V13,
            I,
            2,
            16,
            1,
            "differentpassword",
            "somesalt",
            "14ae8da01afea8700c2358dcef7c5358d9021282bd88663a4562f59fb74d22ee",
        ),
        (
            V13,
            I,
            2,
            16,
            1,
            "password",
            "diffsalt",
            "b0357cccfbef91f3860b0dba447b2348cbefecadaf990abfe9cc40726c521271",
        ),
        (
            V13,
            Id,
            2,
            16,
            1,
            "password",
            "somesalt",
            "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7",
        ),
        (
            V13,
            Id,
            2,
            8,
            1,
            "password",
            "somesalt",
            "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe",
        ),
        (
            V13,
            Id,
            2,
            8,
            2,
            "password",
            "somesalt",
            "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037",
        ),
        (
            V13,
            Id,
            1,
            16,
            1,
            "password",
            "somesalt",
            "f6a5adc1ba723dddef9b5ac1d464e180fcd9dffc9d1cbf76cca2fed795d9ca98",
        ),
        (
            V13,
            Id,
            4,
            16,
            1,
            "password",
            "somesalt",
            "9025d48e68ef7395cca9079da4c4ec3affb3c8911fe4f86d1a2520856f63172c",
        ),
        (
            V13,
            Id,
            2,
            16,
            1,
            "differentpassword",
            "somesalt",
            "0b84d652cf6b0c4beaef0dfe278ba6a80df6696281d7e0d2891b817d8c458fde",
        ),
        (
            V13,
            Id,
            2,
            16,
            1,
            "password",
            "diffsalt",
            "bdf32b05ccc42eb15d58fd19b1f856b113da1e9a5874fdcc544308565aa8141c",
        ),
    ];
    for (version, variant, passes, log_memory, lanes, password, salt, tag) in cases {
        let params = Params::new(1 << log_memory, passes, lanes).unwrap();
        let input = Input::new(password.as_bytes(), salt.as_bytes());
        // All plans in 64 MiB would take minutes: small cases use every plan, large ones the default.
        if log_memory < 16 {
            check(params.with_variant(variant).with_version(version), &input, tag);
        }
        let mut output = [0; 32];
        Hasher::new(params.with_variant(variant).with_version(version))
            .hash_into(&input, &mut output)
            .unwrap();
        assert_eq!(
            hex::encode(&output),
            tag,
            "{version:?} {variant} {passes} {log_memory} {lanes} {password} {salt}"
        );
    }
}

/// Irregular shapes: lanes that do not divide the memory, segments of two blocks, segments longer than an
/// address block and than a segment range, tags of all lengths. Every plan agrees with the portable kernel.
#[test]
fn every_plan_agrees_with_the_portable_kernel() {
    let shapes =
        [(8, 1, 1), (9, 2, 1), (16, 3, 2), (71, 2, 3), (100, 1, 5), (127, 2, 7), (1024, 2, 1), (4200, 1, 1)];
    for (memory, passes, lanes) in shapes {
        for variant in Variant::ALL {
            for version in [Version::V10, Version::V13] {
                let params = Params::new(memory, passes, lanes).unwrap();
                let params = params.with_variant(variant).with_version(version);
                let input = Input { password: b"", salt: b"", secret: b"s", associated_data: &[7; 200] };
                let len = 4 + memory as usize % 97;
                let mut expected = vec![0; len];
                let portable = Plan::for_kernel(Kernel::portable()).with_width(1);
                hasher(portable, params).hash_into(&input, &mut expected).unwrap();
                for plan in plans() {
                    let mut output = vec![0; len];
                    hasher(plan, params).threads(Threads::AtMost(2)).hash_into(&input, &mut output).unwrap();
                    assert_eq!(output, expected, "{plan:?} {params:?}");
                }
            }
        }
    }
}

#[test]
fn wipe_policy_is_followed() {
    let params = Params::new(4096, 1, 4).unwrap();
    let input = Input::new(b"password", b"somesalt");
    for policy in [PagePolicy::Plain, PagePolicy::Transparent] {
        for threads in [Threads::Serial, Threads::AtMost(2)] {
            let mut hasher = Hasher::new(params).pages(policy).threads(threads);
            hasher.hash::<32>(&input).unwrap();
            assert!(hasher.arena().is_zero(4096));
            let mut hasher = hasher.wipe(Wipe::OnDrop);
            hasher.hash::<32>(&input).unwrap();
            assert!(!hasher.arena().is_zero(4096));
            hasher.arena().wipe();
            assert!(hasher.arena().is_zero(4096));
        }
    }
}

/// A hash in pieces equals the whole hash, reports which pieces read known blocks, and wipes as much.
#[test]
fn steps_equal_a_whole_hash() {
    let input = Input::new(b"password", b"somesalt");
    let independent =
        [(Variant::D, "ddddddddddd"), (Variant::I, "iiiiiiiiiii"), (Variant::Id, "iiddddddddd")];
    for (variant, kinds) in independent {
        for (threads, lanes) in [(Threads::Serial, 1), (Threads::Serial, 4), (Threads::AtMost(2), 4)] {
            let params = Params::new(4096, 3, lanes).unwrap().with_variant(variant);
            let expected = Hasher::new(params).hash::<40>(&input).unwrap();
            let mut steps = Hasher::new(params).threads(threads).steps(&input, 40).unwrap();
            for (done, kind) in (1..).zip(kinds.chars()) {
                let step = steps.step().unwrap().unwrap();
                assert_eq!(step, Step { done, of: 12, is_independent: kind == 'i' }, "{variant}");
            }
            let mut tag = [0; 40];
            let mut hasher = steps.finish(&mut tag).unwrap();
            assert_eq!(tag, expected);
            assert!(hasher.arena().is_zero(4096));
            let mut steps = hasher.steps(&input, 40).unwrap();
            while steps.step().unwrap().is_some() {}
            assert_eq!(steps.step(), Ok(None), "it ends");
            steps.finish(&mut tag).unwrap();
            assert_eq!(tag, expected);
        }
    }
    assert!(matches!(
        Hasher::new(Params::new(64, 1, 1).unwrap()).steps(&input, 3),
        Err(HashError::TagLen { given: 3 })
    ));
}

#[test]
fn stopped_hash_is_an_error_and_wipes_its_memory() {
    let input = Input::new(b"password", b"somesalt");
    for threads in [Threads::Serial, Threads::AtMost(2)] {
        let mut hasher = Hasher::new(Params::new(1 << 16, u32::MAX, 4).unwrap()).threads(threads);
        let stop = Stop::new();
        let mut tag = [7; 32];
        let _limit = hashmill_testkit::wait::limit("the end of a hash that is stopped");
        let result = std::thread::scope(|scope| {
            let running = scope.spawn(|| hasher.hash_until(&input, &mut tag, &stop));
            std::thread::sleep(std::time::Duration::from_millis(20));
            stop.set();
            running.join().unwrap()
        });
        assert_eq!(result, Err(HashError::Stopped));
        assert_eq!(tag, [7; 32]);
        assert!(hasher.arena().is_zero(1 << 16));
        stop.clear();
        hasher.set_params(Params::new(64, 1, 4).unwrap());
        let again = hasher.hash_until(&input, &mut tag, &stop);
        assert_eq!(again, Ok(()));
        assert_ne!(tag, [7; 32]);
    }
}

#[test]
fn limit_errors_name_the_limit() {
    let params = Params::new(64, 1, 1).unwrap();
    let input = Input::new(b"password", b"somesalt");
    let mut hasher = Hasher::new(params);
    assert_eq!(hasher.hash_into(&input, &mut [0; 3]), Err(HashError::TagLen { given: 3 }));
    let mut memory = vec![Block::ZERO; 63];
    let few = hash_into_with_memory(Plan::host(), params, &input, &mut memory, &mut [0; 32]);
    assert_eq!(few, Err(HashError::TooFewBlocks { given: 63, needed: 64 }));
    // 4 TiB: more than any machine that runs this grants to one process at once.
    let mut huge = Hasher::new(Params::new(u32::MAX, 1, 1).unwrap());
    let refused = huge.hash_into(&input, &mut [0; 32]).unwrap_err();
    assert!(matches!(refused, HashError::OutOfMemory { .. }), "{refused}");
    assert_eq!(format!("{:?}", Input::new(b"password", b"somesalt")), "Input { .. }");
}
