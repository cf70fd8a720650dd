//! The one direction of every ratio: the other's time over ours, so that above 1 ours is faster. Of two moments the earlier one is
//! the other. What decides on a direction, or says a ratio, is here; all else passes numbers on.

/// What is said wherever ratios stand.
pub(crate) const MEANS: &str =
    "ratio: the baseline's time over the candidate's, so that above 1 the candidate is faster";

/// The same of a baseline and a candidate, by their names.
pub(crate) fn means([baseline, candidate]: [&str; 2]) -> String {
    format!("ratio: the time of {baseline} over that of {candidate}, so that above 1 {candidate} is faster")
}

/// How many times as fast ours is.
pub(crate) fn ratio(other: f64, ours: f64) -> f64 {
    other / ours
}

/// The same as a log ratio, which is above zero where ours is faster.
pub(crate) fn log_ratio(other: f64, ours: f64) -> f64 {
    ratio(other, ours).ln()
}

/// Which way a log ratio points.
pub(crate) fn is_faster(log_ratio: f64) -> bool {
    log_ratio > 0.0
}

/// What two intervals of times leave possible.
pub(crate) fn bounds(other: [f64; 2], ours: [f64; 2]) -> [f64; 2] {
    [ratio(other[0], ours[1]), ratio(other[1], ours[0])]
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
        let (other, ours) = (200.0, 100.0);
        assert_eq!((ratio(other, ours), times(ratio(other, ours))), (2.0, "2.000×".to_owned()));
        assert!(is_faster(log_ratio(other, ours)) && !is_faster(log_ratio(ours, other)));
        assert!(!is_faster(log_ratio(ours, ours)), "the same is not faster");
        let [low, high] = bounds([190.0, 210.0], [95.0, 105.0]);
        assert!(low < 2.0 && 2.0 < high && range(Some([low, high])) == "[1.810, 2.211]");
        assert_eq!((times(12.34), range(None)), ("12.3×".to_owned(), "–".to_owned()));
    }
}
