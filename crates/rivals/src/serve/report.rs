//! Rounds of all sides, and the table of their medians, ratios and intervals.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use hashmill_lab::{median_of_rounds, paired_ratio};
use serde_json::{Value, json};

/// Numbers of one round of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample(Vec<Metric>);

#[derive(Clone, Debug)]
struct Metric {
    name: &'static str,
    value: f64,
    /// Is it of the server, so that sides are compared by it?
    is_compared: bool,
}

impl Sample {
    /// Adds a number that is smaller for a better server.
    pub(super) fn compare(&mut self, name: &'static str, value: f64) {
        self.0.push(Metric { name, value, is_compared: true });
    }

    /// Adds a number that describes the round.
    pub(super) fn describe(&mut self, name: &'static str, value: f64) {
        self.0.push(Metric { name, value, is_compared: false });
    }
}

impl fmt::Display for Sample {
    /// One line for the progress, so that a run that is interrupted has said something.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, metric) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{} {}", metric.name, digits(metric.value))?;
        }
        Ok(())
    }
}

/// The rounds of a measurement. A round has a result for each side.
pub(super) struct Rounds {
    sides: Vec<String>,
    rounds: Vec<Vec<Result<Sample, String>>>,
}

impl Rounds {
    pub(super) fn new(sides: Vec<String>) -> Rounds {
        Rounds { sides, rounds: Vec::new() }
    }

    pub(super) fn push(&mut self, round: Vec<Result<Sample, String>>) {
        self.rounds.push(round);
    }

    /// Did every round of every side reach its state?
    pub(super) fn is_complete(&self) -> bool {
        self.rounds.iter().flatten().all(Result::is_ok)
    }

    /// A table for people, in Markdown.
    pub(super) fn table(&self) -> String {
        let mut text = String::from("| |");
        for side in &self.sides {
            let _ = write!(text, " {side} |");
        }
        if let [baseline, candidate] = &self.sides[..] {
            let _ = write!(text, " {baseline} / {candidate} | 99 % |");
        }
        let columns = text.matches('|').count() - 1;
        let _ = writeln!(text, "\n|---|{}", "--:|".repeat(columns - 1));
        for (name, is_compared) in self.metrics() {
            let _ = write!(text, "| {name} |");
            for side in 0..self.sides.len() {
                let values: Vec<f64> =
                    self.rounds.iter().filter_map(|round| value(&round[side], name)).collect();
                let _ = write!(
                    text,
                    " {} |",
                    if values.is_empty() { "–".into() } else { digits(median_of_rounds(&values)) }
                );
            }
            if self.sides.len() == 2 {
                text.push_str(&if is_compared { self.ratio(name) } else { " | |".into() });
            }
            text.push('\n');
        }
        for failure in self.failures() {
            let _ = writeln!(text, "\n{failure}");
        }
        text
    }

    /// The ratio of two sides in a metric, and its interval.
    fn ratio(&self, name: &str) -> String {
        let pairs: Vec<(f64, f64)> = self
            .rounds
            .iter()
            .filter_map(|round| Some((value(&round[0], name)?, value(&round[1], name)?)))
            .collect();
        let Some(ratio) = paired_ratio(&pairs) else { return " – | – |".into() };
        let interval = ratio.interval.map(|(low, high)| format!("{}, {}", digits(low), digits(high)));
        format!(" {} | {} |", digits(ratio.ratio), interval.unwrap_or_else(|| "–".into()))
    }

    /// Metrics in their order, and whether they are compared.
    fn metrics(&self) -> Vec<(&'static str, bool)> {
        let mut metrics: Vec<(&'static str, bool)> = Vec::new();
        for metric in self.rounds.iter().flatten().flatten().flat_map(|sample| &sample.0) {
            if metrics.iter().all(|(name, _)| *name != metric.name) {
                metrics.push((metric.name, metric.is_compared));
            }
        }
        metrics
    }

    /// Reasons of failed rounds by side, with their numbers.
    fn failures(&self) -> Vec<String> {
        let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for round in &self.rounds {
            for (side, result) in round.iter().enumerate() {
                if let Err(reason) = result {
                    *counts.entry((side, reason.as_str())).or_default() += 1;
                }
            }
        }
        let all = self.rounds.len();
        let line = |((side, reason), count)| {
            format!("{}: {count} of {all} rounds failed: {reason}", self.sides[side])
        };
        counts.into_iter().map(line).collect()
    }

    /// All rounds, for programs.
    pub(super) fn json(&self) -> Value {
        let sample = |result: &Result<Sample, String>| match result {
            Ok(Sample(metrics)) => {
                metrics.iter().map(|metric| (metric.name, metric.value)).collect::<Value>()
            }
            Err(reason) => json!({ "failed": reason }),
        };
        let rounds: Vec<Vec<Value>> =
            self.rounds.iter().map(|round| round.iter().map(sample).collect()).collect();
        json!({ "sides": self.sides, "rounds": rounds })
    }
}

fn value(result: &Result<Sample, String>, name: &str) -> Option<f64> {
    result.as_ref().ok()?.0.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}

/// Three significant digits, or all before the point.
fn digits(value: f64) -> String {
    let whole = value.abs().log10().floor();
    let places = if value == 0.0 { 0.0 } else { (2.0 - whole).clamp(0.0, 6.0) };
    format!("{value:.*}", places as usize)
}

/// The value below which a share of sorted values lies, by the nearest rank.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpu: f64, sockets: f64) -> Result<Sample, String> {
        let mut sample = Sample::default();
        sample.compare("cores", cpu);
        sample.describe("sockets", sockets);
        Ok(sample)
    }

    #[test]
    fn a_table_has_medians_ratios_and_failures() {
        let mut rounds = Rounds::new(vec!["a".into(), "b".into()]);
        for round in 1..=8_u32 {
            let cpu = f64::from(round);
            rounds.push(vec![sample(cpu, 10.0), sample(cpu / 4.0, 10.0)]);
        }
        assert!(rounds.is_complete());
        let table = "| | a | b | a / b | 99 % |\n|---|--:|--:|--:|--:|\n| cores | 4.50 | 1.12 | 4.00 | 4.00, 4.00 |\n\
                     | sockets | 10.0 | 10.0 | | |\n";
        assert_eq!(rounds.table(), table);
        rounds.push(vec![Err("the server is full".into()), sample(2.0, 10.0)]);
        assert!(!rounds.is_complete());
        assert!(
            rounds.table().ends_with("\na: 1 of 9 rounds failed: the server is full\n"),
            "{}",
            rounds.table()
        );
        assert_eq!(rounds.json()["rounds"][8][0]["failed"], "the server is full");
        assert_eq!(rounds.json()["rounds"][0][1]["cores"], 0.25);
    }

    #[test]
    fn one_side_has_no_ratio_and_nothing_has_none() {
        let mut rounds = Rounds::new(vec!["a".into()]);
        rounds.push(vec![sample(0.5, 1.0)]);
        assert_eq!(rounds.table(), "| | a |\n|---|--:|\n| cores | 0.500 |\n| sockets | 1.00 |\n");
        let mut rounds = Rounds::new(vec!["a".into(), "b".into()]);
        rounds.push(vec![sample(0.0, 1.0), sample(0.0, 1.0)]);
        assert!(rounds.table().contains("| cores | 0 | 0 | – | – |"), "{}", rounds.table());
    }

    #[test]
    fn quantiles_are_values_of_the_list() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((quantile(&values, 0.5), quantile(&values, 0.99)), (Some(50.0), Some(99.0)));
        assert_eq!((quantile(&values, 1.0), quantile(&[7.0], 0.5)), (Some(100.0), Some(7.0)));
        assert_eq!(quantile(&[], 0.5), None);
    }
}
