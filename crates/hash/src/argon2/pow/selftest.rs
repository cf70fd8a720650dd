//! Known answers, asked of a kernel before it is trusted with work: a miner with wrong digests works for nothing.

use super::single_thread::SingleThread;
use super::{DIGEST_LEN, Order, Pow, Recipe};
use crate::argon2::{PagePolicy, Params, Plan};
use crate::engine::{EngineError, self_test};

/// Cost, and the digests of nonces 0 to 3 with the header below, as the reference implementation in C computes them.
struct Known {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    digests: [&'static str; 4],
}

const HEADER: &[u8] = b"hashmill: known answers, asked of every kernel";

/// One pass over segments with two blocks of addresses; then later passes, and lanes.
const KNOWN: [Known; 2] = [
    Known {
        memory_kib: 1024,
        passes: 1,
        lanes: 1,
        digests: [
            "7b6ebecbfa1503954f0db46a96c4bd0c287053b64242a27c0bd66ace577252b4",
            "8423923ff52fde1014a09b62f0735a2b32c46ff7b8eec8e395bf87906c96ae00",
            "e07183d919caf412f412f90037d5161a2c2ca94b03492f45d50ce97dd7647558",
            "818b77ddaee72b07218437d7f606f9b5f28c1b8724b5912004a695450a2b8397",
        ],
    },
    Known {
        memory_kib: 100,
        passes: 3,
        lanes: 3,
        digests: [
            "f9f46e275796c8929b9ba587eda0601c395333bce1ad980dc57c8d91e90f0bbd",
            "c3323aff68bcdfbe0bd906766dd6b771a8bd0cc782575e4b75e42247b85373f1",
            "816f2a845e431b17bba7a76cef6da9f62955e112484da8779b4bd3dc2e51b7b0",
            "8ee35ed5780f07db10d02fb192092b118bae1fc3879fc346399025704f99be9f",
        ],
    },
];

/// Tests the kernel of `plan` with so many hashes in flight, a millisecond or two.
pub(super) fn check(plan: Plan, in_flight: usize) -> Result<(), EngineError> {
    check_against(&KNOWN, plan, in_flight)
}

fn check_against(answers: &[Known], plan: Plan, in_flight: usize) -> Result<(), EngineError> {
    for known in answers {
        let params = Params::new(known.memory_kib, known.passes, known.lanes).expect("within the limits");
        let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
        let mut engine = SingleThread::untested(pow, plan, PagePolicy::Plain, in_flight)?;
        self_test(&mut engine, HEADER, 0..4, |nonce| bytes(known.digests[nonce as usize]))?;
    }
    Ok(())
}

/// What `hex` says.
fn bytes(hex: &str) -> [u8; DIGEST_LEN] {
    let digit =
        |at: usize| char::from(hex.as_bytes()[at]).to_digit(16).expect("digits of known answers") as u8;
    core::array::from_fn(|index| digit(2 * index) << 4 | digit(2 * index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argon2::Kernel;

    #[test]
    fn every_kernel_passes_and_another_answer_fails() {
        for kernel in Kernel::all() {
            for in_flight in 1..=4 {
                assert_eq!(check(Plan::of(kernel), in_flight), Ok(()));
                assert_eq!(check(Plan::of(kernel).with_far_from(0), in_flight), Ok(()));
            }
            for wrong in 0..4 {
                let mut known = KNOWN;
                // The answer to another question.
                known[1].digests[wrong] = KNOWN[0].digests[wrong];
                let failed = check_against(&known, Plan::of(kernel), 2);
                assert_eq!(failed, Err(EngineError::SelfTest { engine: kernel.name().to_owned() }));
            }
        }
    }
}
