//! Self-test of an engine after a failure, with the costs of the work that it is to get.

use hashmill_hash::argon2::{HashError, Hasher, Input, Job, Kernel, Params, Plan};

const PASSWORD: &[u8] = b"self-test of an engine";

/// Rounds alternate between two inputs: a result that is left over from the round before is wrong then.
const SALTS: [&[u8]; 2] = [b"even rounds salt", b"odd rounds' salt"];

/// Result of a self-test.
pub(super) enum SelfTestResult<E> {
    Passed,
    /// The engine computed a wrong tag.
    WrongTag,
    /// The engine failed.
    Failed(E),
    /// The CPU could not compute the right tags.
    NotTested(HashError),
}

/// Computes `rounds` batches of `width` equal hashes and compares each tag with that of the CPU's portable kernel. Every slot of
/// the engine computes each hash.
pub(super) fn run_self_test<E>(
    params: Params,
    (rounds, width): (u32, usize),
    mut compute: impl FnMut(&mut [Job<'_>]) -> Result<(), E>,
) -> SelfTestResult<E> {
    let mut right = [[0; 32]; SALTS.len()];
    let mut hasher = Hasher::with_plan(params, Plan::for_kernel(Kernel::portable()));
    for (tag, salt) in right.iter_mut().zip(SALTS).take(rounds as usize) {
        if let Err(error) = hasher.hash_into(&Input::new(PASSWORD, salt), tag) {
            return SelfTestResult::NotTested(error);
        }
    }
    drop(hasher);
    let mut tags = vec![[0; 32]; width.max(1)];
    for round in 0..rounds as usize {
        let parity = round % SALTS.len();
        let input = Input::new(PASSWORD, SALTS[parity]);
        let mut jobs: Vec<Job<'_>> = tags.iter_mut().map(|tag| Job { input, tag }).collect();
        if let Err(error) = compute(&mut jobs) {
            return SelfTestResult::Failed(error);
        }
        if tags.iter().any(|tag| *tag != right[parity]) {
            return SelfTestResult::WrongTag;
        }
    }
    SelfTestResult::Passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_tag_in_any_slot_of_any_round_is_found() {
        let params = Params::new(16, 1, 1).expect("good costs");
        let test = |faulty: Option<usize>, stale: bool| {
            let mut count = 0;
            let mut first: Option<Vec<u8>> = None;
            run_self_test(params, (3, 4), |jobs| {
                for job in jobs {
                    Hasher::new(params).hash_into(&job.input, job.tag).map_err(drop)?;
                    job.tag[3] ^= u8::from(faulty == Some(count));
                    let before = first.get_or_insert_with(|| job.tag.to_vec());
                    if stale {
                        job.tag.copy_from_slice(before);
                    }
                    count += 1;
                }
                Ok::<(), ()>(())
            })
        };
        assert!(matches!(test(None, false), SelfTestResult::Passed));
        for faulty in 0..12 {
            assert!(matches!(test(Some(faulty), false), SelfTestResult::WrongTag), "{faulty}");
        }
        assert!(matches!(test(None, true), SelfTestResult::WrongTag), "tags of the first round");
        let failed = run_self_test(params, (1, 1), |_| Err("lost"));
        assert!(matches!(failed, SelfTestResult::Failed("lost")));
    }
}
