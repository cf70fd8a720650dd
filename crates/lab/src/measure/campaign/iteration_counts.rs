//! Iterations per sample, computed from the times of probes, and the test whether samples had equal length.
//!
//! Each sample has a fixed cost: refilling the caches and predictors that the other side's process used, and the
//! wake-up. Its iterations share that cost. With equal counts for one program the cost cancels; with samples of equal
//! time it is the same share of both sides. With neither, the side with shorter samples looks slower in every
//! session, which no number of sessions reveals.

use crate::model::key::Key;

/// Probes per side and session. The minimum counts: a disturbance makes a probe longer, never shorter.
pub(super) const PROBES: usize = 3;

/// A call this long needs neither several probes nor a long lead-in: the fixed cost is below 0.1 % of it.
pub(super) const LONG_NS: f64 = 20e6;

/// Maximum factor between samples and the intended length, and between the samples of different cases, before counts
/// change.
const FIT: f64 = 1.2;

/// Maximum factor between the sample lengths of two sides, beyond what equal counts explain.
const UNEQUAL: f64 = 1.3;

/// Maximum share of a row's sessions with unequal samples: single sessions are disturbed on any machine.
const FEW: f64 = 0.25;

/// Maximum sample length of the slower build of a case, as a multiple of the intended length.
const LONGEST: f64 = 16.0;

/// Maximum factor by which samples are lengthened so that whole iterations of two cases fill the same time.
const MOST_LENGTHENING: u64 = 4;

/// Maximum lead-in over the inputs of a session.
const LEAD_IN_NS: f64 = 1e6;

/// Maximum iterations of a sample; the worker's own limit.
const MOST_ITERATIONS: f64 = (1_u64 << 42) as f64;

/// Time of a call per side; sides of one case (its builds, and the control) share one value.
pub(super) fn of_cases(keys: &[&Key], least_ns: &[f64]) -> Vec<f64> {
    let of_case = |key: &&Key| {
        let same = keys.iter().zip(least_ns).filter(|(other, _)| other == &key).map(|(_, ns)| *ns);
        let (least, most) =
            same.fold((f64::INFINITY, 0.0_f64), |(least, most), ns| (least.min(ns), most.max(ns)));
        // The faster build fills the intended length, unless the slower one's samples would become far too long.
        least.max(most / LONGEST).max(1e-3)
    };
    keys.iter().map(of_case).collect()
}

/// Iterations per sample for calls of `call_ns`: equal counts for sides with equal times, samples of equal time for
/// the others. Counts never differ by more than the times do, so rounding makes a difference smaller and never
/// larger.
pub(super) fn choose(call_ns: &[f64], sample_ns: u64) -> Vec<u64> {
    let slowest = call_ns.iter().copied().fold(1e-3, f64::max);
    let fewest = (sample_ns as f64 / slowest).clamp(1.0, MOST_ITERATIONS) as u64;
    let with = |slow_count: u64| -> Vec<u64> {
        let length = slow_count as f64 * slowest;
        let count = |ns: &f64| match slowest / ns <= FIT {
            true => slow_count,
            false => (length / ns).clamp(1.0, MOST_ITERATIONS) as u64,
        };
        call_ns.iter().map(count).collect()
    };
    let most = if slowest < LONG_NS { fewest.saturating_mul(MOST_LENGTHENING) } else { fewest };
    // Above a few iterations, rounding does not matter.
    let tried = (fewest..=most).take(64).map(with);
    tried
        .clone()
        .find(|counts| are_alike(counts, call_ns))
        .or_else(|| tried.into_iter().next())
        .unwrap_or_default()
}

/// Whether the counts of the previous session still give samples of the intended length, equal on all sides.
pub(super) fn still_fit(counts: &[u64], call_ns: &[f64], sample_ns: u64) -> bool {
    let wanted = choose(call_ns, sample_ns);
    let shifts = || counts.iter().zip(&wanted).map(|(count, wanted)| *count as f64 / *wanted as f64);
    let (least, most) =
        shifts().fold((f64::INFINITY, 0.0_f64), |(least, most), s| (least.min(s), most.max(s)));
    shifts().all(|shift| within(shift, FIT)) && most / least <= FIT
}

fn are_alike(counts: &[u64], call_ns: &[f64]) -> bool {
    let lengths = counts.iter().zip(call_ns).map(|(count, ns)| *count as f64 * ns);
    let (least, most) =
        lengths.fold((f64::INFINITY, 0.0_f64), |(least, most), ns| (least.min(ns), most.max(ns)));
    most / least <= FIT
}

fn within(ratio: f64, factor: f64) -> bool {
    (1.0 / factor..=factor).contains(&ratio)
}

/// Calls before each sample, so that the sample does not meet an input for the first time since the other side ran.
pub(super) fn lead_in(inputs: u64, call_ns: f64) -> u64 {
    if inputs <= 1 || call_ns >= LEAD_IN_NS { 0 } else { inputs.min((LEAD_IN_NS / call_ns.max(1e-3)) as u64) }
}

/// Iterations, and time per iteration, of one side in one session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Length {
    pub(crate) iterations: u64,
    pub(crate) ns: f64,
}

/// Whether samples of two sides were unequal in too many sessions for a verdict: their lengths differ by more than a
/// factor of 1.3, and the side with more iterations has more than its speed explains, or fewer.
pub(crate) fn are_unequal(sessions: impl Iterator<Item = [Length; 2]>) -> bool {
    let (mut all, mut unequal) = (0, 0);
    for [first, second] in sessions {
        let counts = (second.iterations as f64 / first.iterations as f64).ln();
        let equal_time = (first.ns / second.ns).ln();
        // Between equal counts and equal time, the fixed cost can only reduce the difference.
        let sound = equal_time.min(0.0)..=equal_time.max(0.0);
        let excess = (sound.start() - counts).max(counts - sound.end());
        all += 1;
        unequal += usize::from(excess > UNEQUAL.ln());
    }
    unequal as f64 > FEW * f64::from(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(call_ns: &[f64]) -> Vec<u64> {
        choose(call_ns, 500_000)
    }

    #[test]
    fn one_time_has_one_count_and_other_times_have_samples_of_equal_time() {
        assert_eq!(chosen(&[8_700.0, 8_700.0]), [57, 57]);
        assert_eq!(chosen(&[1_000.0, 1_150.0]), [434, 434], "about as fast");
        assert_eq!(chosen(&[1_000.0, 2_000.0]), [500, 250]);
        assert_eq!(chosen(&[300_000.0, 200_000.0]), [2, 3], "two of one fill what three of the other do");
        assert_eq!(chosen(&[3e9, 2e9]), [1, 1], "long calls are not repeated for it");
        assert_eq!(chosen(&[0.0, 1e15]).len(), 2);
    }

    #[test]
    fn counts_are_never_further_apart_than_the_times() {
        let mut order_rng = crate::stats::order_rng::OrderRng::new(7);
        for _ in 0..2000 {
            let mut time = || 10_f64.powf(order_rng.below(9_000) as f64 / 1000.0);
            let call_ns = [time(), time()];
            let counts = chosen(&call_ns);
            let lengths = [0, 1].map(|i: usize| Length { iterations: counts[i], ns: call_ns[i] });
            assert!(!are_unequal(std::iter::once(lengths)), "{call_ns:?} {counts:?}");
        }
    }

    #[test]
    fn builds_of_one_case_share_its_probed_time() {
        let [one, two] = ["w/a/kernel/1/t1", "w/b/kernel/1/t1"].map(|key| key.parse::<Key>().expect("a key"));
        assert_eq!(of_cases(&[&one, &one, &two], &[10.0, 12.0, 50.0]), [10.0, 10.0, 50.0]);
        assert_eq!(of_cases(&[&one, &one], &[10.0, 1600.0]), [100.0, 100.0]);
    }

    #[test]
    fn counts_change_only_if_they_no_longer_fit() {
        assert!(still_fit(&[57, 57], &[8_000.0, 8_000.0], 500_000));
        assert!(!still_fit(&[15, 15], &[8_700.0, 8_700.0], 500_000));
        assert!(
            !still_fit(&[50, 250], &[8_700.0, 2_400.0], 500_000),
            "longer on one side, shorter on the other"
        );
        assert!(still_fit(&[1, 1], &[3e9, 3e9], 500_000));
    }

    #[test]
    fn a_lead_in_passes_over_all_inputs_unless_that_takes_long() {
        assert_eq!([1, 64].map(|inputs| lead_in(inputs, 8_700.0)), [0, 64]);
        assert_eq!(lead_in(64, 100_000.0), 10);
        assert_eq!(lead_in(64, 5e6), 0);
    }

    #[test]
    fn samples_are_unequal_if_counts_and_times_differ() {
        let row = |counts: [u64; 2], ns: [f64; 2]| {
            are_unequal(std::iter::once([0, 1].map(|i| Length { iterations: counts[i], ns: ns[i] })))
        };
        assert!(row([15, 57], [9_180.0, 8_780.0]), "the two A/A runs of the review");
        assert!(row([9, 23], [9_180.0, 8_520.0]));
        assert!(row([56, 20], [8_780.0, 9_640.0]));
        assert!(!row([57, 57], [8_700.0, 87_000.0]), "equal counts");
        assert!(!row([57, 570], [8_700.0, 870.0]), "equal time");
        assert!(!row([1, 43], [1e6, 2e3]), "between the two");
        let some = |unequal: usize| {
            are_unequal((0..20).map(|session| {
                [15, if session < unequal { 57 } else { 15 }]
                    .map(|iterations| Length { iterations, ns: 1000.0 })
            }))
        };
        assert!(!some(5) && some(6), "in a quarter of the sessions at most");
    }
}
