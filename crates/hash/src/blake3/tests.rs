//! Tests of internals; the public interface is tested in `tests/it`.

use super::kernel::Kernel;
use super::*;
use hashmill_testkit::Rng;
use std::collections::BTreeSet;
use std::sync::OnceLock;

fn painted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

#[test]
fn empty_message_has_the_published_digest() {
    for kernel in Kernel::all() {
        let digest = Plan::for_kernel(kernel).hash(b"");
        assert_eq!(
            digest.to_hex().as_str(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
    }
}

#[test]
fn every_kernel_agrees_with_the_portable_kernel() {
    let input = painted(70 * 1024);
    let portable = Plan::for_kernel(Kernel::portable());
    for kernel in Kernel::all() {
        let plan = Plan::for_kernel(kernel);
        for len in (0..=1100).chain((1100..70 * 1024).step_by(509)) {
            let input = &input[len % 64..][..len];
            assert_eq!(plan.hash(input), portable.hash(input), "{kernel:?}, {len} bytes");
        }
    }
}

#[test]
fn batches_and_streams_agree_on_every_plan() {
    let input = painted(20 * 1024);
    for plan in Kernel::all().map(Plan::for_kernel).chain([Plan::host()]) {
        let messages: Vec<&[u8]> = (0..300).map(|i| &input[i..][..(i * i * 7) % 19_000]).collect();
        let mut out = vec![Hash::from_bytes([0; 32]); messages.len()];
        batch::hash_all_with(plan, &hazmat::Mode::Hash, &messages, &mut out);
        for (message, digest) in messages.iter().zip(&out) {
            assert_eq!(*digest, hash(message), "{plan:?}, {} bytes", message.len());
            let mut hasher = Hasher::new().with_plan(plan);
            for piece in message.chunks(1 + message.len() / 7) {
                hasher.update(piece);
            }
            assert_eq!(hasher.finalize(), *digest, "{plan:?}, {} bytes in pieces", message.len());
        }
    }
}

#[test]
fn output_blocks_are_equal_on_every_kernel_at_any_position() {
    let mut whole = vec![0; 5000];
    Hasher::new()
        .with_plan(Plan::for_kernel(Kernel::portable()))
        .update(b"abc")
        .finalize_xof()
        .fill(&mut whole);
    for kernel in Kernel::all() {
        let mut hasher = Hasher::new().with_plan(Plan::for_kernel(kernel));
        let mut reader = hasher.update(b"abc").finalize_xof();
        for (start, len) in [(0, 5000), (1, 64), (63, 2), (64, 1024), (100, 4900), (4999, 1)] {
            let mut part = vec![0; len];
            reader.set_position(start as u64);
            reader.fill(&mut part);
            assert_eq!(part, whole[start..start + len], "{kernel:?} at {start}, {len} bytes");
        }
    }
}

#[test]
fn parallel_and_context_agree_with_serial() {
    let input = painted(3 << 20);
    let mut context = Context::new().unwrap();
    for len in [0, 1, 1024, 1025, 128 << 10, (128 << 10) + 1, (512 << 10) + 77, 1 << 20, (3 << 20) - 1] {
        let input = &input[..len];
        let digest = hash(input);
        assert_eq!(Hasher::new().update_parallel(input).finalize(), digest, "{len} bytes");
        for threads in [Threads::Serial, Threads::Auto, Threads::AtMost(2)] {
            assert_eq!(context.hash(input, threads), digest, "{len} bytes, {threads:?}");
        }
    }
}

/// Kernels by role: every pair of kernels for every pair of roles, the other roles at random; then only random ones.
fn choices(kernels: &[Kernel]) -> Vec<[Kernel; Role::ALL.len()]> {
    const RANDOM: usize = 200;
    let mut rng = Rng::new(1);
    let mut random = || [(); Role::ALL.len()].map(|()| kernels[rng.below(kernels.len())]);
    let mut choices = Vec::new();
    for second in 0..Role::ALL.len() {
        for first in 0..second {
            for (one, other) in kernels.iter().flat_map(|one| kernels.iter().map(move |other| (*one, *other)))
            {
                let mut choice = random();
                (choice[first], choice[second]) = (one, other);
                choices.push(choice);
            }
        }
    }
    choices.extend((0..RANDOM).map(|_| random()));
    choices
}

#[test]
fn tunings_do_not_change_digests() {
    let input: Vec<u8> = (0..LONG_LEN as u32 + 5000).map(|index| (index * 7 + (index >> 8)) as u8).collect();
    let outputs = |plan: Plan, lens: &[usize]| -> Vec<[u8; 200]> {
        let output = |len: &usize| {
            let mut out = [0; 200];
            let mut hasher = Hasher::new().with_plan(plan);
            hasher.update(&input[..*len]).finalize_xof().fill(&mut out);
            assert_eq!(*plan.hash(&input[..*len]).as_bytes(), out[..OUT_LEN], "{len} bytes");
            let mut hasher = Hasher::new().with_plan(plan);
            assert_eq!(
                *hasher.update_parallel(&input[..*len]).finalize().as_bytes(),
                out[..OUT_LEN],
                "{len} bytes, parallel"
            );
            out
        };
        lens.iter().map(output).collect()
    };
    let lens = [0, 1, 64, 65, 1024, 1025, 5000, 20_000, input.len()];
    let short_lens = &lens[..lens.len() - 1];
    let expected = outputs(Plan::for_kernel(Kernel::portable()), &lens);
    let kernels: Vec<Kernel> = Kernel::all().collect();
    // A plan needs a static tuning.
    static TUNINGS: OnceLock<Vec<(Tuning, [Kernel; Role::ALL.len()])>> = OnceLock::new();
    let tunings = TUNINGS.get_or_init(|| {
        let tuning = |choice: [Kernel; Role::ALL.len()]| {
            Role::ALL
                .into_iter()
                .zip(choice)
                .fold(Tuning::from_plan(Plan::host()), |tuning, (role, kernel)| tuning.kernel(role, kernel))
        };
        let measured = |choice| (tuning(choice).parallel_from(0).measured("here"), choice);
        choices(&kernels).into_iter().map(measured).collect()
    });
    let mut pairs = BTreeSet::new();
    for (tuning, choice) in tunings {
        let plan = tuning.plan();
        assert_eq!(Role::ALL.map(|role| plan.kernel(role)), *choice, "{tuning:?}");
        assert_eq!((plan.is_measured(), plan.basis(), plan.parallel_from()), (true, "here", 0));
        let name = |role: Role| plan.kernel(role).name();
        // Long messages are slow under emulators, and only these two roles decide about their passes.
        let is_new =
            pairs.insert([(Role::Many as usize, name(Role::Many)), (Role::Long as usize, name(Role::Long))]);
        let lens = if is_new { &lens } else { short_lens };
        assert_eq!(outputs(plan, lens), expected[..lens.len()], "{tuning:?}");
        for second in 0..Role::ALL.len() {
            for first in 0..second {
                pairs.insert([first, second].map(|role| (role, name(Role::ALL[role]))));
            }
        }
    }
    let pairs_of_roles = Role::ALL.len() * (Role::ALL.len() - 1) / 2;
    assert_eq!(pairs.len(), pairs_of_roles * kernels.len().pow(2), "pairs of roles and kernels: {pairs:?}");
}
