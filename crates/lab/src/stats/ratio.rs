//! Direction and text of ratios: the other's time over ours, so a value above 1 means ours is faster. Between two
//! points in time, the earlier one is "the other". No other module decides on a direction.

/// Explanation printed below ratios.
pub(crate) const MEANS: &str =
    "ratio: the baseline's time divided by the candidate's, so above 1 the candidate is faster";

/// The same with the names of both sides.
pub(crate) fn means([baseline, candidate]: [&str; 2]) -> String {
    format!("ratio: the time of {baseline} divided by that of {candidate}, so above 1 {candidate} is faster")
}

/// Speed of ours relative to the other.
pub(crate) fn ratio(other: f64, current: f64) -> f64 {
    other / current
}

/// The same as a log ratio: positive if ours is faster.
pub(crate) fn log_ratio(other: f64, current: f64) -> f64 {
    ratio(other, current).ln()
}

pub(crate) fn is_faster(log_ratio: f64) -> bool {
    log_ratio > 0.0
}

/// Bounds of the ratio from two intervals of times.
pub(crate) fn bounds(other: [f64; 2], current: [f64; 2]) -> [f64; 2] {
    [ratio(other[0], current[1]), ratio(other[1], current[0])]
}

/// `1.043×`.
pub(crate) fn times(value: f64) -> String {
    if value < 9.9995 { format!("{value:.3}×") } else { format!("{value:.1}×") }
}

/// `[1.036, 1.051]`, or a dash where there is no interval.
pub(crate) fn range(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(|| "–".to_owned(), |[low, high]| format!("[{low:.3}, {high:.3}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_time_is_twice_as_fast_in_every_form() {
        let (other, current) = (200.0, 100.0);
        assert_eq!((ratio(other, current), times(ratio(other, current))), (2.0, "2.000×".to_owned()));
        assert!(is_faster(log_ratio(other, current)) && !is_faster(log_ratio(current, other)));
        assert!(!is_faster(log_ratio(current, current)), "the same is not faster");
        let [low, high] = bounds([190.0, 210.0], [95.0, 105.0]);
        assert!(low < 2.0 && 2.0 < high && range(Some([low, high])) == "[1.810, 2.211]");
        assert_eq!((times(12.34), range(None)), ("12.3×".to_owned(), "–".to_owned()));
    }
}
