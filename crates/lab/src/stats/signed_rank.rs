//! Exact Wilcoxon signed-rank test, and the Hodges–Lehmann estimate with the interval that inverts it.
//!
//! Under the null hypothesis every value is positive or negative with equal probability, so the sum of the positive
//! ranks is a sum of independent fair choices "rank or nothing". The distribution is built by adding one rank at a
//! time: `after[t] = (before[t] + before[t - rank]) / 2`. Every entry is a multiple of `2^-n`, so up to 53 values the
//! table is exact in `f64`; beyond that the error stays near one unit in the last place.

use super::order::median_of_sorted;

/// Two-sided exact p-value of "the values are symmetric about zero".
///
/// Zeros are dropped (Wilcoxon's method); tied magnitudes share their mean rank, and the null distribution is that of
/// exactly these ranks. 1 if nothing remains.
pub(crate) fn p_value(values: &[f64]) -> f64 {
    let Ranks { doubled, positive } = Ranks::from_values(values);
    let null = subset_sums(&doubled);
    let lower: f64 = null[..=positive].iter().sum();
    let upper: f64 = null[positive..].iter().sum();
    (2.0 * lower.min(upper)).min(1.0)
}

/// Hodges–Lehmann estimate of the centre: the median of all pairwise means. `NaN` for an empty slice.
pub(crate) fn hodges_lehmann(values: &[f64]) -> f64 {
    median_of_sorted(&walsh_averages(values))
}

/// Values of the centre that the exact test does not reject at `1 - level`.
///
/// `None` if too few values reach `level` (fewer than eight at 99 %).
pub(crate) fn interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let doubled: Vec<usize> = (1..=values.len()).map(|rank| 2 * rank).collect();
    let null = subset_sums(&doubled);
    let tail_limit = (1.0 - level) / 2.0;
    // Walsh averages to cut from each end: P(T <= cut - 1) is within the tail.
    let mut tail = 0.0;
    let mut cut = 0;
    for rank_sum in null.iter().step_by(2) {
        tail += rank_sum;
        if tail > tail_limit {
            break;
        }
        cut += 1;
    }
    let averages = walsh_averages(values);
    (cut > 0 && 2 * cut <= averages.len()).then(|| (averages[cut - 1], averages[averages.len() - cut]))
}

/// Sum of the ranks that contradict a positive centre.
pub(super) fn against(values: &[f64]) -> usize {
    let Ranks { doubled, positive } = Ranks::from_values(values);
    (doubled.iter().sum::<usize>() - positive) / 2
}

/// Largest such sum of `n` values that a two-sided test at `alpha` accepts as proof; `None` if there is none.
pub(super) fn most_against(n: usize, alpha: f64) -> Option<usize> {
    let ranks: Vec<usize> = (1..=n).collect();
    let mut tail = 0.0;
    let within = subset_sums(&ranks).into_iter().take_while(|probability| {
        tail += probability;
        2.0 * tail < alpha
    });
    within.count().checked_sub(1)
}

/// Ranks of magnitudes, doubled so that the mean of two neighbouring ranks is still an integer.
struct Ranks {
    doubled: Vec<usize>,
    /// Sum of the doubled ranks of the positive values.
    positive: usize,
}

impl Ranks {
    fn from_values(values: &[f64]) -> Self {
        let mut signed: Vec<f64> = values.iter().copied().filter(|v| *v != 0.0).collect();
        signed.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let mut doubled = Vec::with_capacity(signed.len());
        let mut positive = 0;
        for tied in signed.chunk_by(|a, b| a.abs() == b.abs()) {
            let first = doubled.len() + 1;
            let last = doubled.len() + tied.len();
            let rank = first + last;
            positive += rank * tied.iter().filter(|v| **v > 0.0).count();
            doubled.extend(std::iter::repeat_n(rank, tied.len()));
        }
        Ranks { doubled, positive }
    }
}

/// Probability of each possible sum if every rank is included with probability 1/2.
fn subset_sums(ranks: &[usize]) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut probability = vec![0.0; total + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for rank in ranks {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with_it = if sum >= *rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = f64::midpoint(probability[sum], with_it);
        }
    }
    probability
}

fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, a) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// SciPy's numbers; `tests/data/signed_rank.py` made them and says how.
    #[derive(Deserialize)]
    struct Reference {
        tables: Vec<Table>,
        cases: Vec<Case>,
        large: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Table {
        n: usize,
        counts: Vec<u64>,
    }

    #[derive(Deserialize)]
    struct Case {
        values: Vec<f64>,
        p: f64,
    }

    fn reference() -> Reference {
        let text = include_str!("../../tests/data/signed_rank.json");
        serde_json::from_str(text).expect("committed file parses")
    }

    #[test]
    fn null_tables_equal_scipys_to_the_last_count() {
        for Table { n, counts } in reference().tables {
            assert!(n <= 53, "counts of {n} values are not exact");
            let ranks: Vec<usize> = (1..=n).collect();
            let patterns = 2.0_f64.powi(n as i32);
            let of_sum: Vec<u64> = subset_sums(&ranks).iter().map(|p| (p * patterns) as u64).collect();
            assert_eq!(of_sum, counts, "n = {n}");
        }
    }

    #[test]
    fn p_values_equal_scipys() {
        let Reference { cases, large, .. } = reference();
        assert!(cases.len() > 35 && large.len() == 9, "the file holds untied, tied and large cases");
        for case in cases.iter().chain(&large) {
            let p = p_value(&case.values);
            assert!((p - case.p).abs() <= 1e-13 * case.p, "{p} against {} for {:?}", case.p, case.values);
        }
    }

    #[test]
    fn null_distribution_of_three_is_the_textbook_one() {
        // Subsets of {1, 2, 3}: sums 0 1 2 3 3 4 5 6.
        let eighths: Vec<f64> = subset_sums(&[1, 2, 3]).iter().map(|p| p * 8.0).collect();
        assert_eq!(eighths, [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn all_of_one_sign_has_p_two_in_two_to_the_n() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(p_value(&ten), 2.0 / 1024.0);
        let four = [-1.0, -2.0, -3.0, -4.0];
        assert_eq!(p_value(&four), 0.125, "four pairs can never go below one in eight");
    }

    #[test]
    fn zeros_are_dropped_and_ties_share_ranks() {
        assert_eq!(p_value(&[0.0, 0.0]), 1.0);
        assert_eq!(p_value(&[]), 1.0);
        // Ranks 1.5, 1.5, 3; positive sum 4.5 of 6. P(T >= 4.5): {3,1.5} twice and all three: 3 of 8.
        assert_eq!(p_value(&[1.0, -1.0, 2.0, 0.0]), 0.75);
    }

    #[test]
    fn hodges_lehmann_in_closed_form() {
        // Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 6.0]), 2.75);
        assert_eq!(hodges_lehmann(&[7.0]), 7.0);
        assert!(hodges_lehmann(&[]).is_nan());
    }

    #[test]
    fn interval_cuts_as_many_averages_as_the_tail_allows() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        // Critical value for n = 10 at 1 % two-sided is 3, so four averages go at each end.
        let averages = walsh_averages(&ten);
        assert_eq!(interval(&ten, 0.99), Some((averages[3], averages[averages.len() - 4])));
        assert_eq!(interval(&ten[..7], 0.99), None, "2/128 is more than one percent");
        assert!(interval(&ten[..8], 0.99).is_some());
        assert_eq!(interval(&[], 0.99), None);
    }

    #[test]
    fn the_interval_excludes_zero_iff_the_test_rejects() {
        // Irregular spacing, so no ties and no zero average.
        let base: Vec<f64> = (0..20).map(|i| f64::from(i * i) * 0.37 - 31.0 + f64::from(i % 3)).collect();
        for shift in (-300..300).map(|s| f64::from(s) * 0.411) {
            let values: Vec<f64> = base.iter().map(|v| v + shift).collect();
            let (low, high) = interval(&values, 0.99).expect("twenty values reach 99 %");
            assert_eq!(p_value(&values) <= 0.01, !(low..=high).contains(&0.0), "shift {shift}");
        }
    }
}
