//! Change points of a series: circular binary segmentation with a permutation test.
//!
//! The algorithm takes the stretch whose mean rank differs most from the mean rank of the rest. It accepts the
//! stretch if fewer than one in a hundred shuffles reach the same difference, and then examines the parts in the same
//! way. A stretch may begin or end with the series, so the search finds a single change as well as one that was
//! reverted later; plain splits in two find the latter half as often. Ranks limit the weight of an outlier to that of
//! the largest number. On noise without order, of any distribution, one series in a hundred is split. A slow drift is
//! not noise and is reported as a change.

use super::order::median;
use super::order_rng::OrderRng;

/// Number of shuffles per decision.
const SHUFFLES: u32 = 1999;
/// Error rate of a decision.
const ALPHA: f64 = 0.01;
/// Minimum length of a part: two runs are not a level.
const FEWEST: usize = 3;
/// Maximum series length, counted from the newest value: the work grows with the square.
const MOST: usize = 400;

/// A detected change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// Index of the first number of the new level.
    pub(crate) at: usize,
    /// Median of the level before.
    pub(crate) before: f64,
    /// Median of the level after.
    pub(crate) after: f64,
}

/// All changes of a series in order, each at least `least` as a share of the level before. Deterministic.
pub(crate) fn changes(values: &[f64], least: f64) -> Vec<Change> {
    let mut cuts = Vec::new();
    let old = values.len().saturating_sub(MOST);
    segment(&values[old..], old, &mut cuts);
    cuts.sort_unstable();
    // The size of a change is known only once both levels are. A change that is too small joins its levels again.
    loop {
        let levels = levels(values, &cuts);
        let sizes = levels.windows(2).map(|pair| (pair[1] / pair[0] - 1.0).abs());
        let smallest = sizes.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        match smallest {
            Some((cut, size)) if size < least => drop(cuts.remove(cut)),
            _ => {
                let pairs = cuts.iter().zip(levels.windows(2));
                return pairs.map(|(at, l)| Change { at: *at, before: l[0], after: l[1] }).collect();
            }
        }
    }
}

/// Median of each part between `cuts`.
pub(crate) fn levels(values: &[f64], cuts: &[usize]) -> Vec<f64> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([values.len()]);
    starts.zip(ends).map(|(start, end)| median(&values[start..end])).collect()
}

fn segment(values: &[f64], offset: usize, cuts: &mut Vec<usize>) {
    let ranks = ranks(values);
    let Some((start, end, difference)) = stretch(&ranks) else { return };
    if !is_believed(&ranks, difference) {
        return;
    }
    cuts.extend([start, end].into_iter().filter(|at| (1..values.len()).contains(at)).map(|at| offset + at));
    segment(&values[..start], offset, cuts);
    segment(&values[start..end], offset + start, cuts);
    segment(&values[end..], offset + end, cuts);
}

/// Centred ranks; equal numbers share a rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| other.total_cmp(&value).is_lt()).count() as f64;
    let above = |value: f64| values.iter().filter(|other| other.total_cmp(&value).is_gt()).count() as f64;
    values.iter().map(|value| below(*value) - above(*value)).collect()
}

/// The stretch whose mean rank differs most from the mean rank of the rest: start, end, and the difference scaled by
/// its length.
fn stretch(ranks: &[f64]) -> Option<(usize, usize, f64)> {
    let n = ranks.len();
    let mut sums = vec![0.0];
    sums.extend(ranks.iter().scan(0.0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let mut best: Option<(usize, usize, f64)> = None;
    // A stretch at the start is the complement of one at the end, so it needs no separate test.
    for start in FEWEST..n {
        for end in (start + FEWEST..=n).filter(|end| *end == n || n - end >= FEWEST) {
            // The ranks sum to zero, so the rest has the negated sum.
            let length = end - start;
            let difference = f64::abs(sums[end] - sums[start]) / ((length * (n - length)) as f64).sqrt();
            if best.is_none_or(|(.., most)| difference > most) {
                best = Some((start, end, difference));
            }
        }
    }
    best.filter(|(.., difference)| *difference > 0.0)
}

/// Whether fewer than `ALPHA` of the shuffles reach the difference.
fn is_believed(ranks: &[f64], difference: f64) -> bool {
    let most = ALPHA * f64::from(SHUFFLES + 1);
    let mut orders = OrderRng::new(1);
    let mut reached = 0.0;
    for _ in 0..SHUFFLES {
        let shuffled: Vec<f64> = orders.permutation(ranks.len()).into_iter().map(|i| ranks[i]).collect();
        // Floating-point sums in another order may differ in the last digit.
        if stretch(&shuffled).is_some_and(|(.., by_chance)| by_chance >= difference * (1.0 - 1e-12)) {
            reached += 1.0;
            if reached + 1.0 > most {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::order_rng::TestNoise;

    /// Levels with 0.4 % noise and occasional outliers.
    fn series(chance: &mut TestNoise, n: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n).map(|i| level(i) * (1.0 + 0.004 * chance.disturbed(0.03, 10.0))).collect()
    }

    #[test]
    fn noise_is_cut_as_seldom_as_promised() {
        let mut chance = TestNoise::new(2026);
        let mut found = 0;
        for i in 0..1000 {
            found += usize::from(!changes(&series(&mut chance, 10 + i % 40, |_| 100.0), 0.0).is_empty());
        }
        // 1 % of 1,000 is 10; more than 20 would occur by chance once in 500 runs.
        assert!((1..=20).contains(&found), "{found} of 1000 series of noise were cut");
    }

    #[test]
    fn finds_changes_at_their_position() {
        let mut chance = TestNoise::new(7);
        let (mut right, mut both) = (0, 0);
        for _ in 0..40 {
            let one = changes(&series(&mut chance, 30, |i| if i < 20 { 100.0 } else { 102.0 }), 0.005);
            right += usize::from(matches!(one[..], [change] if change.at.abs_diff(20) <= 1));
            let step = |i: usize| if (15..30).contains(&i) { 95.0 } else { 100.0 };
            both += usize::from(changes(&series(&mut chance, 45, step), 0.005).len() == 2);
        }
        assert!(right >= 32, "2 % of noise of 0.4 % was found at its place in {right} of 40");
        assert!(both >= 32, "a change that was taken back was found whole in {both} of 40");
    }

    #[test]
    fn ignores_outliers_short_series_and_small_changes() {
        let mut chance = TestNoise::new(3);
        let mut values = series(&mut chance, 20, |_| 100.0);
        values[11] = 1e6;
        assert_eq!(changes(&values, 0.005), []);
        assert_eq!(changes(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 0.0), [], "six runs prove nothing");
        assert_eq!(changes(&[], 0.0), []);
        assert_eq!(changes(&[5.0; 40], 0.0), []);
        let small: Vec<f64> =
            (0..40).map(|i| if i < 20 { 100.0 } else { 100.2 } + f64::from(i % 3) * 0.01).collect();
        assert_eq!(changes(&small, 0.005), [], "proven, but not worth a word");
        assert_eq!(changes(&small, 0.0).len(), 1);
    }
}
