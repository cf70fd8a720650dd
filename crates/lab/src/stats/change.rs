//! Where a series changes its level: circular binary segmentation with a permutation test.
//!
//! Of all stretches of a series, the one is taken whose mean rank differs most from that of the rest. Were the order of the
//! numbers chance, shuffling them would give as large a difference as often as not; the stretch is believed if fewer than one
//! in a hundred shuffles do. Its parts are then looked at in the same way. A stretch may begin or end with the series, so that
//! one change is found as well as one that was taken back, which plain cuts in two find half as often. Ranks make an outlier
//! no more than the largest number. On noise whose order is chance, whatever its shape, one series in a hundred is cut; a slow
//! drift is no chance, and is found as what it is, a change.

use super::order::median;
use crate::plan::Orders;

/// Shuffles behind a decision.
const SHUFFLES: u32 = 1999;
/// Error of a decision.
const ALPHA: f64 = 0.01;
/// Fewest numbers of a part: two runs alone are no level.
const FEWEST: usize = 3;
/// Most numbers that are looked at, the newest of a longer series: the work grows with the square of them.
const MOST: usize = 400;

/// A believed change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// Index of the first number of the new level.
    pub(crate) at: usize,
    /// Median of the level before.
    pub(crate) before: f64,
    /// Median of the level after.
    pub(crate) after: f64,
}

/// All changes of a series, in order, of which each is at least `least` as a share of the level before. The same series
/// gives the same changes.
pub(crate) fn changes(values: &[f64], least: f64) -> Vec<Change> {
    let mut cuts = Vec::new();
    let old = values.len().saturating_sub(MOST);
    segment(&values[old..], old, &mut cuts);
    cuts.sort_unstable();
    // What a cut amounts to is known only when both of its levels are; one that amounts to nothing joins them again.
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

/// The median of each part between cuts.
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

/// Ranks around zero; equal numbers share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| other.total_cmp(&value).is_lt()).count() as f64;
    let above = |value: f64| values.iter().filter(|other| other.total_cmp(&value).is_gt()).count() as f64;
    values.iter().map(|value| below(*value) - above(*value)).collect()
}

/// The stretch whose mean rank differs most from that of the rest: its start, its end, and by how much, for its length.
fn stretch(ranks: &[f64]) -> Option<(usize, usize, f64)> {
    let n = ranks.len();
    let mut sums = vec![0.0];
    sums.extend(ranks.iter().scan(0.0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let mut best: Option<(usize, usize, f64)> = None;
    // One that begins with the series is the rest of one that ends with it.
    for start in FEWEST..n {
        for end in (start + FEWEST..=n).filter(|end| *end == n || n - end >= FEWEST) {
            // The ranks sum up to zero, so the rest has the same sum with the other sign.
            let length = end - start;
            let difference = f64::abs(sums[end] - sums[start]) / ((length * (n - length)) as f64).sqrt();
            if best.is_none_or(|(.., most)| difference > most) {
                best = Some((start, end, difference));
            }
        }
    }
    best.filter(|(.., difference)| *difference > 0.0)
}

/// Whether so few shuffles reach the difference that chance is no explanation.
fn is_believed(ranks: &[f64], difference: f64) -> bool {
    let most = ALPHA * f64::from(SHUFFLES + 1);
    let mut orders = Orders::new(1);
    let mut reached = 0.0;
    for _ in 0..SHUFFLES {
        let shuffled: Vec<f64> = orders.permutation(ranks.len()).into_iter().map(|i| ranks[i]).collect();
        // Sums in another order may differ in the last digit.
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
    use crate::stats::chance::Chance;

    /// Levels with noise of 0.4 %, and with a wild number now and then.
    fn series(chance: &mut Chance, n: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n).map(|i| level(i) * (1.0 + 0.004 * chance.disturbed(0.03, 10.0))).collect()
    }

    #[test]
    fn noise_is_cut_as_seldom_as_promised() {
        let mut chance = Chance::new(2026);
        let mut found = 0;
        for i in 0..1000 {
            found += usize::from(!changes(&series(&mut chance, 10 + i % 40, |_| 100.0), 0.0).is_empty());
        }
        // 1 % of a thousand is ten; more than twenty would come by chance once in five hundred times.
        assert!((1..=20).contains(&found), "{found} of 1000 series of noise were cut");
    }

    #[test]
    fn changes_are_found_where_they_are() {
        let mut chance = Chance::new(7);
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
    fn an_outlier_a_short_series_and_a_small_change_are_none() {
        let mut chance = Chance::new(3);
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
