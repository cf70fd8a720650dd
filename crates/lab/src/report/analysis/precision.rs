//! Numbers rounded to their uncertainty.

use crate::model::units::{Units, duration_unit};
use crate::report::schema::Side;

/// A positive number with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    /// Absent if the uncertainty is unknown because there is one sample.
    pub(crate) interval: Option<[f64; 2]>,
}

/// Maximum of significant digits: clocks and machines are no more precise.
const MOST_DIGITS: i32 = 4;

/// Significant digits of a number whose uncertainty is unknown.
const UNKNOWN_DIGITS: i32 = 2;

impl Estimate {
    /// Multiplies the number by `factor`.
    pub(crate) fn times(self, factor: f64) -> Self {
        let interval = self.interval.map(|ends| ends.map(|end| end * factor));
        Estimate { value: self.value * factor, interval }
    }

    /// Divides `numerator` by the number.
    pub(crate) fn inverse(self, numerator: f64) -> Self {
        let interval = self.interval.map(|[low, high]| [numerator / high, numerator / low]);
        Estimate { value: numerator / self.value, interval }
    }

    /// Divides by a number that was measured separately. The interval contains every quotient of values from the two
    /// intervals.
    pub(crate) fn over(self, other: Self) -> Self {
        let interval = self.interval.zip(other.interval);
        let interval = interval.map(|([low, high], [least, most])| [low / most, high / least]);
        Estimate { value: self.value / other.value, interval }
    }

    /// Distance from the number to the farther end of its interval.
    fn half_width(self) -> Option<f64> {
        let [low, high] = self.interval?;
        Some((high - self.value).max(self.value - low).max(0.0))
    }

    /// Half width relative to the number, rounded up: `±8 %`.
    pub(crate) fn plus_minus(self) -> String {
        let Some(half) = self.half_width() else { return "±?".to_owned() };
        let percent = half / self.value * 100.0;
        match percent {
            // A number that differs from a whole one only by rounding errors is that whole number.
            1.0.. => format!("±{:.0} %", (percent - 1e-9).ceil()),
            _ => format!("±{:.1} %", ((percent * 10.0 - 1e-9).ceil() / 10.0).max(0.1)),
        }
    }

    /// The number in `unit`. The last digit has the place of the first digit of the half width: the uncertainty is
    /// one to ten units of the last digit.
    pub(crate) fn digits(self, unit: f64) -> String {
        let value = self.value / unit;
        // A time below the resolution of the clock.
        if value <= 0.0 {
            return "0".to_owned();
        }
        let magnitude = |number: f64| number.log10().floor() as i32;
        let first = magnitude(value);
        let last = match self.half_width() {
            None => first - UNKNOWN_DIGITS + 1,
            Some(half) if half > 0.0 => magnitude(half / unit).clamp(first - MOST_DIGITS + 1, first),
            Some(_) => first - MOST_DIGITS + 1,
        };
        let step = 10_f64.powi(last);
        let decimals = usize::try_from(-last).unwrap_or(0);
        format!("{:.decimals$}", (value / step).round() * step)
    }

    /// The number as a time in nanoseconds.
    pub(crate) fn as_time(self) -> String {
        let (unit, name) = self.unit_after_rounding(duration_unit);
        format!("{} {name}", self.digits(unit))
    }

    /// Unit after rounding: 996 ± 300 becomes 1000, which is 1 of the next unit.
    fn unit_after_rounding(self, unit_of: fn(f64) -> (f64, &'static str)) -> (f64, &'static str) {
        let (unit, _) = unit_of(self.value);
        let shown = self.digits(unit).parse::<f64>().unwrap_or(0.0) * unit;
        unit_of(shown.max(self.value))
    }

    /// The rate for this time of an iteration in nanoseconds.
    pub(crate) fn as_rate(self, units: Units) -> String {
        let rate = self.inverse(units.count() as f64);
        let (unit, name) = units.rate_step(rate.value);
        format!("{} {name}", rate.digits(unit))
    }

    /// The number as a count: `187`, `25 thousand`, `16.6 million`.
    pub(crate) fn as_count(self) -> String {
        // Below ten thousand, digits are shorter than words.
        let (unit, name) = self.unit_after_rounding(|value| match value {
            1e9.. => (1e9, " billion"),
            1e6.. => (1e6, " million"),
            1e4.. => (1e3, " thousand"),
            _ => (1.0, ""),
        });
        format!("{}{name}", self.digits(unit))
    }
}

/// Time of an iteration. With too few sessions for a 99 % interval, the interval spans all sessions.
pub(crate) fn time_of(side: &Side) -> Option<Estimate> {
    let summary = side.summary?;
    let ends = || {
        let low = side.session_ns.iter().copied().fold(f64::INFINITY, f64::min);
        let high = side.session_ns.iter().copied().fold(0.0, f64::max);
        (side.session_ns.len() > 1).then_some([low, high])
    };
    Some(Estimate { value: summary.median_ns, interval: summary.interval_ns.or_else(ends) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::order_rng::OrderRng;

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate { value, interval: Some([value - half, value + half]) }
    }

    #[test]
    fn digits_follow_the_interval() {
        for (value, half, shown, plus_minus) in [
            (5.7123, 0.06, "5.71", "±2 %"),
            (5.7123, 0.05, "5.71", "±0.9 %"),
            (10.83, 3.2, "11", "±30 %"),
            (187.2, 65.0, "190", "±35 %"),
            (187.2, 0.0, "187.2", "±0.1 %"),
            (60.21, 4.8, "60", "±8 %"),
            (0.0312, 0.0004, "0.0312", "±2 %"),
            (9.97, 0.3, "10.0", "±4 %"),
            (3.0, 14.0, "3", "±467 %"),
            (1234.6, 0.001, "1235", "±0.1 %"),
        ] {
            let estimate = estimate(value, half);
            assert_eq!((&*estimate.digits(1.0), &*estimate.plus_minus()), (shown, plus_minus));
        }
        assert_eq!(estimate(0.0, 0.0).digits(1.0), "0");
        let alone = Estimate { value: 187.2, interval: None };
        assert_eq!((alone.digits(1.0), alone.plus_minus()), ("190".to_owned(), "±?".to_owned()));
    }

    /// For any number and half width: the unit of the last digit is at most the half width and more than a tenth of
    /// it, within one to four digits; and the shown text is the number rounded to that unit.
    #[test]
    fn the_last_digit_matches_the_uncertainty() {
        let mut random = OrderRng::new(40);
        let mut fraction = || random.below(1 << 30) as f64 / f64::from(1 << 30);
        for _ in 0..20_000 {
            let value = 10_f64.powf(fraction() * 12.0 - 4.0);
            let half = value * 10_f64.powf(fraction() * 8.0 - 6.0);
            let shown = estimate(value, half).digits(1.0);
            let number: f64 = shown.parse().expect("a number");
            let first = value.log10().floor() as i32;
            let wanted = half.log10().floor() as i32;
            let step = 10_f64.powi(wanted.clamp(first - 3, first));
            assert!((number - value).abs() <= step * 0.500_001, "{value} ± {half}: {shown}");
            if (first - 3..=first).contains(&wanted) {
                assert!(step <= half * 1.000_001 && half < step * 10.000_001, "{value} ± {half}: {shown}");
            }
            let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            assert_eq!(decimals, usize::try_from(-step.log10().round() as i32).unwrap_or(0), "{shown}");
            let percent: f64 = estimate(value, half).plus_minus()["±".len()..]
                .trim_end_matches(" %")
                .parse()
                .expect("a number");
            assert!(
                percent >= half / value * 100.0 - 1e-6,
                "never rounded down: {percent} of {half}/{value}"
            );
        }
    }

    /// A result computed from values in the intervals lies in the computed interval.
    #[test]
    fn derived_numbers_carry_their_uncertainty() {
        let (a, b) = (estimate(10.0, 1.0), estimate(4.0, 0.5));
        let ratio = a.over(b).interval.expect("both are known");
        for x in [9.0, 10.0, 11.0] {
            for y in [3.5, 4.0, 4.5] {
                assert!(ratio[0] <= x / y && x / y <= ratio[1]);
            }
        }
        assert_eq!(a.inverse(99.0).interval, Some([9.0, 11.0]));
        assert_eq!(a.times(2.0).interval, Some([18.0, 22.0]));
        assert_eq!(a.over(Estimate { value: 1.0, interval: None }).interval, None);
    }

    #[test]
    fn units_and_words() {
        assert_eq!(estimate(60.2, 5.0).as_time(), "60 ns");
        assert_eq!(estimate(2_300_000.0, 50_000.0).as_time(), "2.30 ms");
        assert_eq!(estimate(996_000.0, 300_000.0).as_time(), "1.0 ms");
        assert_eq!(estimate(47_000_000.0, 500_000.0).as_rate(Units::Bytes(256 << 20)), "5.32 GiB/s");
        assert_eq!(estimate(21_000_000.0, 3e6).as_rate(Units::Hashes(2)), "100 H/s");
        for (value, words) in [
            (187.0, "187"),
            (9_870.0, "9900"),
            (25_200.0, "25 thousand"),
            (999_900.0, "1.00 million"),
            (16.6e6, "16.6 million"),
            (8.21e9, "8.2 billion"),
        ] {
            assert_eq!(estimate(value, value * 0.05).as_count(), words);
        }
    }
}
