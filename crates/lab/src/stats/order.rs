//! Order statistics: median, spread and the distribution-free interval of a median.

/// Middle value, or the mean of the two middle values. `NaN` for an empty slice.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    median_of_sorted(&sorted)
}

/// Rounded to six significant digits, as stored in reports.
pub(crate) fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Median absolute deviation from the median, not scaled to a normal distribution.
pub(crate) fn mad(values: &[f64]) -> f64 {
    let centre = median(values);
    let distances: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    median(&distances)
}

/// Standard deviation with the `n - 1` divisor. Zero for fewer than two values.
pub(crate) fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (n - 1.0)).sqrt()
}

/// Interval of the median from two order statistics, exact for every continuous distribution.
///
/// `None` if even the extremes do not reach `level` (fewer than eight values at 99 %).
pub(crate) fn median_interval(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let n = values.len();
    let tail_limit = (1.0 - level) / 2.0;
    // Walk the Binomial(n, 1/2) distribution: P(fewer than r of n values lie below the median) <= tail.
    let mut term = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut below = 0.0;
    let mut rank = 0;
    while below + term <= tail_limit && rank < n {
        below += term;
        rank += 1;
        term *= (n - rank + 1) as f64 / rank as f64;
    }
    (rank > 0).then(|| {
        let sorted = sorted(values);
        (sorted[rank - 1], sorted[n - rank])
    })
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_takes_the_middle_or_the_mean_of_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn stored_numbers_have_six_digits() {
        assert_eq!(six_digits(1_234_567.0), 1_234_570.0);
        assert_eq!(six_digits(-0.000_123_456_789), -0.000_123_457);
        assert_eq!(six_digits(0.0), 0.0);
        assert!(six_digits(f64::NAN).is_nan());
    }

    #[test]
    fn spread_in_closed_form() {
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), 1.0);
        assert_eq!(standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), (32.0_f64 / 7.0).sqrt());
        assert_eq!(standard_deviation(&[5.0]), 0.0);
    }

    #[test]
    fn median_interval_uses_binomial_ranks() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        // P(X = 0) = 1/1024 <= .005 but P(X <= 1) = 11/1024 > .005: the extremes.
        assert_eq!(median_interval(&values, 0.99), Some((1.0, 10.0)));
        // P(X <= 1) = 11/1024 <= .025 < P(X <= 2) = 56/1024.
        assert_eq!(median_interval(&values, 0.95), Some((2.0, 9.0)));
        assert_eq!(median_interval(&values[..7], 0.99), None, "2/128 is more than one percent");
        assert_eq!(median_interval(&[], 0.99), None);
    }
}
