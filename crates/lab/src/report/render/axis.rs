//! Axes of charts: position of a number on an axis, and the ticks. Positions are shares of the length, so that charts
//! scale with the page.

/// Logarithmic axis for positive numbers: equal ratios have equal distances.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
}

/// Distances between ticks on a short axis, as shares of the power of ten at its end.
const STEPS: [f64; 9] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
/// Maximum number of ticks: their labels must fit side by side on a phone.
const MOST_TICKS: usize = 6;

impl Axis {
    /// An axis for all of the numbers, with a margin.
    pub(crate) fn over(values: impl Iterator<Item = f64>) -> Self {
        let sound = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = sound.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 1.0) };
        let margin = (high / low).powf(0.04).max(1.000_5);
        Axis { low: low / margin, high: high * margin }
    }

    /// Position of a number as a share of the axis, clamped to the axis.
    pub(crate) fn at(&self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Round numbers on the axis.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let within = |value: &f64| (self.low..=self.high).contains(value);
        let power = 10_f64.powf(self.high.log10().floor());
        let linear = STEPS.iter().map(|share| {
            let step = share * power;
            let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
            (first..=last.min(first + 50)).map(|i| round(i as f64 * step)).collect()
        });
        let powers = self.low.log10().floor() as i32..=self.high.log10().floor() as i32;
        let decades = |factors: &'static [f64]| -> Vec<f64> {
            let all =
                powers.clone().flat_map(|power| factors.iter().map(move |f| round(f * 10_f64.powi(power))));
            all.filter(within).collect()
        };
        let close = self.high / self.low < 3.0;
        let linear: Vec<Vec<f64>> = if close { linear.collect() } else { Vec::new() };
        let mut all = linear.into_iter().chain([decades(&[1.0, 2.0, 5.0]), decades(&[1.0])]);
        all.find(|ticks| ticks.len() <= MOST_TICKS).unwrap_or_else(|| thinned(&decades(&[1.0])))
    }
}

/// Linear axis: equal differences have equal distances.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    low: f64,
    high: f64,
}

impl Line {
    /// The range is at least `least` of its middle, so that noise does not fill the chart.
    pub(crate) fn over(values: impl Iterator<Item = f64>, least: f64) -> Self {
        let sound = values.filter(|value| value.is_finite());
        let (low, high) = sound.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let middle = f64::midpoint(low, high);
        let half = ((high - low) * 0.55).max(middle.abs() * least / 2.0).max(f64::MIN_POSITIVE);
        Line { low: middle - half, high: middle + half }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// About `n` round numbers, in units of `unit`.
    pub(crate) fn ticks(&self, n: f64, unit: f64) -> Vec<f64> {
        let (low, high) = (self.low / unit, self.high / unit);
        let rough = (high - low) / n;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last.min(first + 20)).map(|i| round(i as f64 * step)).collect()
    }
}

/// Removes rounding errors of sums of steps such as 0.1.
fn round(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

fn thinned(ticks: &[f64]) -> Vec<f64> {
    ticks.iter().copied().step_by(ticks.len().div_ceil(MOST_TICKS).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few_on_axes_of_any_span() {
        let ticks = |low: f64, high: f64| Axis::over([low, high].into_iter()).ticks();
        assert_eq!(ticks(0.99, 1.04), [0.99, 1.0, 1.01, 1.02, 1.03, 1.04]);
        assert_eq!(ticks(0.8, 2.2), [1.0, 1.5, 2.0]);
        assert_eq!(ticks(136.0, 291.0), [150.0, 200.0, 250.0]);
        assert_eq!(ticks(0.5, 8.0), [0.5, 1.0, 2.0, 5.0]);
        assert_eq!(ticks(0.9, 50_000.0), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        for span in 1..300 {
            let ticks = ticks(1.0, 1.02_f64.powi(span));
            assert!((1..=MOST_TICKS).contains(&ticks.len()), "{span}: {ticks:?}");
        }
        assert!(ticks(f64::NAN, -1.0).contains(&1.0), "nothing to show is an axis, too");
    }

    #[test]
    fn places_are_shares_and_stay_on_the_axis() {
        let axis = Axis { low: 0.5, high: 2.0 };
        assert_eq!([0.1, 0.5, 1.0, 2.0, 9.0].map(|value| axis.at(value)), [0.0, 0.0, 0.5, 1.0, 1.0]);
        let line = Line { low: 10.0, high: 20.0 };
        assert_eq!([0.0, 15.0, 99.0].map(|value| line.at(value)), [0.0, 0.5, 1.0]);
        assert_eq!(line.ticks(5.0, 1.0), [10.0, 12.0, 14.0, 16.0, 18.0, 20.0]);
        let flat = Line::over([3.0, 3.0].into_iter(), 0.1);
        assert!((flat.at(3.0) - 0.5).abs() < 1e-9, "a flat series has an axis");
    }
}
