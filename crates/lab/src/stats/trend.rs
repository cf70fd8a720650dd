//! Robust slope of a series over time (Theil–Sen).

use super::order::median;

/// Maximum number of points. Longer series are thinned evenly, because the slope uses all pairs of points.
const MAX_POINTS: usize = 600;

/// Median of the slopes between all pairs of points `(x, y)`. `None` if no two points differ in `x`.
pub(crate) fn theil_sen(points: &[(f64, f64)]) -> Option<f64> {
    let step = points.len().div_ceil(MAX_POINTS).max(1);
    let thinned: Vec<(f64, f64)> = points.iter().copied().step_by(step).collect();
    let mut slopes = Vec::new();
    for (i, (x0, y0)) in thinned.iter().enumerate() {
        slopes
            .extend(thinned[i + 1..].iter().filter(|(x1, _)| x1 != x0).map(|(x1, y1)| (y1 - y0) / (x1 - x0)));
    }
    (!slopes.is_empty()).then(|| median(&slopes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_one_wild_point_keeps_its_slope() {
        let mut points: Vec<(f64, f64)> = (0..21).map(|x| (f64::from(x), 5.0 - 0.5 * f64::from(x))).collect();
        points[10].1 = 1e6;
        assert_eq!(theil_sen(&points), Some(-0.5));
    }

    #[test]
    fn nothing_to_fit() {
        assert_eq!(theil_sen(&[]), None);
        assert_eq!(theil_sen(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    #[test]
    fn long_series_are_thinned_not_refused() {
        let points: Vec<(f64, f64)> = (0..100_000).map(|x| (f64::from(x), 2.0 * f64::from(x))).collect();
        assert_eq!(theil_sen(&points), Some(2.0));
    }
}
