//! Exact binomial confidence interval of a counted share.

/// Clopper–Pearson interval of the true share after `hits` of `trials`.
///
/// Exact means: it covers the true share with probability at least `level`, whatever that share is.
pub(crate) fn share_interval(hits: u64, trials: u64, level: f64) -> (f64, f64) {
    let tail = (1.0 - level) / 2.0;
    let at_most = |share: f64, most: u64| cumulative(share, trials, most);
    let low = if hits == 0 { 0.0 } else { bisect(|share| 1.0 - at_most(share, hits - 1) < tail) };
    let high = if hits >= trials { 1.0 } else { bisect(|share| at_most(share, hits) > tail) };
    (low, high)
}

/// P(X <= most) for X ~ Binomial(trials, share), with terms built up in logarithms.
fn cumulative(share: f64, trials: u64, most: u64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return if most >= trials { 1.0 } else { 0.0 };
    }
    let odds = (share / (1.0 - share)).ln();
    let mut term = trials as f64 * (1.0 - share).ln();
    let mut sum = term.exp();
    for k in 1..=most.min(trials) {
        term += ((trials - k + 1) as f64 / k as f64).ln() + odds;
        sum += term.exp();
    }
    sum.min(1.0)
}

/// The point in [0, 1] where `below` changes from true to false.
fn bisect(below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms() {
        // With no hit the upper end solves (1 - p)^n = tail.
        let (low, high) = share_interval(0, 300, 0.95);
        assert_eq!(low, 0.0);
        assert!((high - (1.0 - 0.025_f64.powf(1.0 / 300.0))).abs() < 1e-12);
        let (low, high) = share_interval(100, 100, 0.95);
        assert!((low - 0.025_f64.powf(0.01)).abs() < 1e-12);
        assert_eq!(high, 1.0);
    }

    #[test]
    fn matches_scipy() {
        // scipy.stats.binomtest(k, n).proportion_ci(0.95, 'exact'), SciPy 1.17.1.
        for (hits, trials, low, high) in [
            (1, 89, 0.000_284_429_294_702_143_9, 0.061_018_304_347_082_24),
            (97, 100, 0.914_823_947_025_719_7, 0.993_770_028_461_693_8),
            (5, 10, 0.187_086_028_447_404_5, 0.812_913_971_552_595_5),
        ] {
            let (l, h) = share_interval(hits, trials, 0.95);
            assert!((l - low).abs() < 1e-9 && (h - high).abs() < 1e-9, "{hits}/{trials}: {l} {h}");
        }
    }
}
