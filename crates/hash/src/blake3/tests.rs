//! Tests of internals; the public interface is tested in `tests/it`.

use super::kernel::Kernel;
use super::*;
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

#[test]
fn tunings_do_not_change_digests() {
    let input: Vec<u8> = (0..20_000_u32).map(|index| (index * 7 + (index >> 8)) as u8).collect();
    let lens = [0, 1, 64, 65, 1024, 1025, 5000, 20_000];
    let outputs = |plan: Plan| {
        lens.map(|len| {
            let mut out = [0; 200];
            let mut hasher = Hasher::new().with_plan(plan);
            hasher.update(&input[..len]).finalize_xof().fill(&mut out);
            assert_eq!(*plan.hash(&input[..len]).as_bytes(), out[..OUT_LEN], "{len} bytes");
            out
        })
    };
    let expected = outputs(Plan::for_kernel(Kernel::portable()));
    let kernels: Vec<Kernel> = Kernel::all().collect();
    let chosen = |number: usize, role: Role| kernels[number / kernels.len().pow(role as u32) % kernels.len()];
    // A plan needs a static tuning.
    static TUNINGS: OnceLock<Vec<Tuning>> = OnceLock::new();
    let tunings = TUNINGS.get_or_init(|| {
        let tuning = |number| {
            Role::ALL.into_iter().fold(Tuning::from_plan(Plan::host()), |tuning, role| {
                tuning.kernel(role, chosen(number, role))
            })
        };
        let numbers = 0..kernels.len().pow(4);
        numbers.map(|number| tuning(number).parallel_from(0).measured("here")).collect()
    });
    for (number, tuning) in tunings.iter().enumerate() {
        let plan = tuning.plan();
        assert!(Role::ALL.into_iter().all(|role| plan.kernel(role) == chosen(number, role)), "{tuning:?}");
        assert_eq!((plan.is_measured(), plan.basis(), plan.parallel_from()), (true, "here", 0));
        assert_eq!(outputs(plan), expected, "{tuning:?}");
        let mut hasher = Hasher::new().with_plan(plan);
        hasher.update_parallel(&input);
        assert_eq!(*hasher.finalize().as_bytes(), expected[lens.len() - 1][..OUT_LEN], "{tuning:?}");
    }
}
