//! Summary of all comparisons, and whether the hypotheses hold.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::measure::layouts::pairs::{EQUAL_WORK, EXTRA_WORK, Pair, WORKLOADS, pairs};

/// Verdict of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ComparisonResult {
    verdict: String,
    ratio: f64,
    /// Standard deviation of the sessions, which includes that of layouts. Not from the interval: an early look widens it.
    deviation: f64,
    /// Whether a difference of these two programs was proven, of any cause.
    proven: bool,
    /// The smallest detectable difference according to the report.
    sensitivity: Option<f64>,
    /// Instructions of the baseline over those of the candidate, if they were counted.
    instructions: Option<f64>,
}

impl ComparisonResult {
    pub(super) fn from_record(record: &Value) -> anyhow::Result<Self> {
        let number = |name: &str| record[name].as_f64().with_context(|| format!("`{name}` of {record}"));
        Ok(ComparisonResult {
            verdict: record["verdict"].as_str().context("a verdict")?.to_owned(),
            ratio: number("ratio")?,
            deviation: deviation(record)?,
            proven: number("p_family")? < 0.01 && number("ratio")?.ln().abs() >= 0.005,
            sensitivity: record["sees"].as_f64(),
            instructions: record["instructions"].as_f64(),
        })
    }

    fn claims_difference(&self) -> bool {
        ["faster", "slower"].contains(&self.verdict.as_str())
    }

    /// Whether instruction counts show that the sides of `pair` do different work. A third of the difference exceeds any error of counts.
    fn counts_show_difference(&self, pair: &Pair) -> bool {
        let sign = if pair.correct_verdict() == "slower" { -1.0 } else { 1.0 };
        self.instructions.is_some_and(|ratio| sign * (ratio - 1.0) > pair.difference() / 3.0)
    }
}

/// The standard deviation of the sessions' log ratios.
fn deviation(record: &Value) -> anyhow::Result<f64> {
    let deltas = record["deltas"]
        .as_array()
        .with_context(|| format!("`deltas` of {record}: restart the experiment"))?;
    let deltas: Vec<f64> =
        deltas.iter().map(|delta| delta.as_f64().context("a number")).collect::<Result<_, _>>()?;
    ensure!(deltas.len() > 1, "one session has no deviation: {record}");
    let count = deltas.len() as f64;
    let mean = deltas.iter().sum::<f64>() / count;
    let squares: f64 = deltas.iter().map(|delta| (delta - mean).powi(2)).sum();
    Ok((squares / (count - 1.0)).sqrt())
}

/// Totals of the comparisons of one workload, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    equal: usize,
    claimed: usize,
    /// Sorted deviations of equal work: with a link per session, and with one link.
    deviations: [Vec<f64>; 2],
    extra: usize,
    detected: usize,
    /// Comparisons whose sessions deviate by less than the difference.
    below: usize,
    below_detected: usize,
    /// Undetected differences whose report states a sensitivity.
    hidden_stated: usize,
    /// Undetected differences that instruction counts show.
    hidden_counted: usize,
    one_link: usize,
    one_link_proven: usize,
    widest: f64,
}

impl Counts {
    fn from_results<'a>(results: impl Iterator<Item = (&'a Pair, &'a ComparisonResult)>) -> Self {
        let mut counts = Counts::default();
        for (pair, result) in results {
            if EQUAL_WORK.contains(&pair.kind) {
                counts.equal += 1;
                counts.claimed += usize::from(result.claims_difference());
                counts.deviations[0].push(result.deviation);
            } else if EXTRA_WORK.contains(&pair.kind) {
                let is_detected = result.verdict == pair.correct_verdict();
                let below = result.deviation < pair.difference();
                counts.extra += 1;
                counts.detected += usize::from(is_detected);
                counts.below += usize::from(below);
                counts.below_detected += usize::from(below && is_detected);
                if !is_detected {
                    counts.hidden_stated += usize::from(result.sensitivity.is_some());
                    counts.hidden_counted += usize::from(result.counts_show_difference(pair));
                }
            } else {
                counts.one_link += 1;
                counts.deviations[1].push(result.deviation);
                counts.one_link_proven += usize::from(result.proven);
                counts.widest = counts.widest.max(result.ratio.ln().abs().exp_m1());
            }
        }
        counts.deviations.iter_mut().for_each(|all| all.sort_by(f64::total_cmp));
        counts
    }

    fn line(&self, workload: &str) -> String {
        let median = |all: &[f64]| {
            let median = all.get(all.len() / 2);
            median.map_or_else(|| "–".to_owned(), |deviation| format!("{:.2} %", deviation * 100.0))
        };
        let hidden = self.extra - self.detected;
        let cells = [
            format!("{}/{}", self.claimed, self.equal),
            median(&self.deviations[0]),
            median(&self.deviations[1]),
            format!("{}/{}", self.detected, self.extra),
            format!("{}/{}", self.below_detected, self.below),
            format!("{}/{hidden}", self.hidden_stated),
            format!("{}/{hidden}", self.hidden_counted),
            format!("{}/{}", self.one_link_proven, self.one_link),
            format!("{:.1} %", self.widest * 100.0),
        ];
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>10}")).collect();
        format!("{workload:<10} {}\n", cells.join(" "))
    }
}

/// Maximum number of misses in `count` comparisons: with more, the hypothesis of at least 95 % detection would be rejected at 5 %. `None`
/// if even no miss would not be significant.
fn max_misses(count: usize) -> Option<usize> {
    let (mut chance, mut sum) = (0.95_f64.powf(count as f64), 0.0);
    let allowed = (0..=count).take_while(|missed| {
        sum += chance;
        chance *= (count - missed) as f64 / (missed + 1) as f64 / 19.0;
        sum <= 0.05
    });
    allowed.last()
}

/// Summary of all comparisons.
pub(super) struct Summary {
    workloads: Vec<(&'static str, Counts)>,
    all: Counts,
    /// Finished and planned comparisons.
    done: [usize; 2],
}

const LEGEND: &str = "
called: equal work that was called different; deviation: the median of what its sessions deviate by, and with one layout
found: 1 % more work, 3 % in memory; below: where the sessions deviate by less than that
said, counted: of what was not found, where the report says how much could have been seen, and where instructions show it
one link: equal work, with one link of each side, of which a difference was proven; and the largest
";

impl Summary {
    pub(super) fn from_results(results: &BTreeMap<String, ComparisonResult>) -> Self {
        let pairs = pairs();
        let all: Vec<(&Pair, &ComparisonResult)> =
            pairs.iter().filter_map(|pair| Some((pair, results.get(&pair.id)?))).collect();
        let of_workload =
            |work| (work, Counts::from_results(all.iter().copied().filter(|(pair, _)| pair.work == work)));
        Summary {
            workloads: WORKLOADS.into_iter().map(of_workload).collect(),
            all: Counts::from_results(all.iter().copied()),
            done: [all.len(), pairs.len()],
        }
    }

    /// Whether all comparisons were made and both hypotheses hold.
    pub(super) fn holds(&self) -> bool {
        let [done, pairs] = self.done;
        done == pairs && self.is_sound() && self.is_sensitive()
    }

    /// Whether at most one in a hundred of equal work was called different, and each miss is explained by sensitivity and counts.
    fn is_sound(&self) -> bool {
        let Counts { equal, claimed, extra, detected, hidden_stated, hidden_counted, .. } = self.all;
        claimed * 100 <= equal && [hidden_stated, hidden_counted] == [extra - detected; 2]
    }

    /// Whether significantly more than 95 of 100 differences are detected where sessions deviate by less.
    fn is_sensitive(&self) -> bool {
        let Counts { below, below_detected, .. } = self.all;
        max_misses(below).is_some_and(|max| below - below_detected <= max)
    }

    pub(super) fn text(&self) -> String {
        let names =
            ["called", "deviation", "one layout", "found", "below", "said", "counted", "one link", "largest"];
        let names: Vec<String> = names.iter().map(|name| format!("{name:>10}")).collect();
        let mut text = format!("\n{:<10} {}\n", "", names.join(" "));
        for (work, counts) in &self.workloads {
            text += &counts.line(work);
        }
        text += &self.all.line("all");
        text += LEGEND;
        let [done, pairs] = self.done;
        let without_below: Vec<&str> =
            self.workloads.iter().filter(|(_, counts)| counts.below == 0).map(|(work, _)| *work).collect();
        let conclusion = match (self.is_sound(), self.is_sensitive()) {
            (false, _) => "it does not hold".to_owned(),
            _ if done < pairs => "so far no result contradicts it".to_owned(),
            (true, false) => {
                "that 95 of 100 are found where sessions deviate by less is not shown".to_owned()
            }
            (true, true) if without_below.is_empty() => "it holds".to_owned(),
            (true, true) => {
                format!("it holds, but no session of {} deviated by less", without_below.join(", "))
            }
        };
        text + &format!("{done} of {pairs} comparisons: {conclusion}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Correct verdicts of all comparisons, after `change`.
    fn summary(change: impl Fn(&Pair, &mut ComparisonResult)) -> Summary {
        let id_and_result = |pair: Pair| {
            let more = EXTRA_WORK.contains(&pair.kind);
            let name = if more { pair.correct_verdict() } else { "same" };
            let ratio = 1.0
                / (1.0
                    + if pair.correct_verdict() == "slower" {
                        pair.difference()
                    } else {
                        -pair.difference()
                    });
            let mut result = ComparisonResult {
                verdict: name.to_owned(),
                ratio,
                deviation: 0.005,
                proven: more,
                sensitivity: None,
                instructions: Some(ratio),
            };
            change(&pair, &mut result);
            (pair.id, result)
        };
        Summary::from_results(&pairs().into_iter().map(id_and_result).collect())
    }

    fn make_inconclusive(result: &mut ComparisonResult) {
        result.verdict = "inconclusive".to_owned();
        result.sensitivity = Some(0.02);
    }

    #[test]
    fn wrong_claims_and_misses_refute_the_hypotheses() {
        let wrong = |pair: &Pair, result: &mut ComparisonResult, count: usize| {
            let is_wrong = (0..count).any(|n| pair.id == format!("layout-{n}"));
            if is_wrong {
                "faster".clone_into(&mut result.verdict);
            }
        };
        assert!(summary(|_, _| ()).text().ends_with(": it holds\n"));
        assert!(summary(|pair, result| wrong(pair, result, 3)).is_sound());
        assert!(!summary(|pair, result| wrong(pair, result, 4)).is_sound());
        let missed = |pair: &Pair, result: &mut ComparisonResult, count: usize| {
            if (0..count).any(|n| pair.id == format!("more-{n}")) {
                make_inconclusive(result);
            }
        };
        assert!(summary(|pair, result| missed(pair, result, 4)).holds());
        assert!(!summary(|pair, result| missed(pair, result, 5)).holds());
        let quiet = |count: usize| {
            summary(|pair, result| {
                let is_noisy = !(0..count).any(|n| pair.id == format!("more-{n}"));
                if EXTRA_WORK.contains(&pair.kind) && is_noisy {
                    result.deviation = 0.04;
                }
            })
        };
        let quiet = [58, 59].map(quiet);
        assert_eq!(quiet.each_ref().map(Summary::holds), [false, true]);
        assert_eq!(quiet.each_ref().map(Summary::is_sound), [true; 2]);
        assert!(quiet[0].text().ends_with("is not shown\n"), "{}", quiet[0].text());
        assert!(quiet[1].text().ends_with("no session of memory deviated by less\n"), "{}", quiet[1].text());
        let text = Summary::from_results(&BTreeMap::new()).text();
        assert!(text.contains("so far no result contradicts it"), "{text}");
    }

    #[test]
    fn misses_are_bounded_by_significance() {
        assert_eq!(
            [58, 59, 92, 93, 100, 200].map(max_misses),
            [None, Some(0), Some(0), Some(1), Some(1), Some(4)]
        );
    }

    #[test]
    fn deviation_is_that_of_the_sessions() {
        let record = |deltas: Value| serde_json::json!({ "deltas": deltas });
        let value = deviation(&record(serde_json::json!([0.01, 0.03]))).expect("two sessions");
        assert!((value - 0.02 / 2.0_f64.sqrt()).abs() < 1e-12, "{value}");
        assert!(
            deviation(&record(Value::Null)).is_err() && deviation(&record(serde_json::json!([1]))).is_err()
        );
    }

    #[test]
    fn misses_need_a_sensitivity_and_counts() {
        let hidden = |change: fn(&mut ComparisonResult)| {
            let summary = summary(|pair, result| {
                if pair.id == "more-3" {
                    make_inconclusive(result);
                    result.deviation = 0.04;
                    change(result);
                }
            });
            (summary.all.below, summary.is_sound())
        };
        assert_eq!(hidden(|_| ()), (199, true), "a noisy comparison is not counted in `below`");
        assert_eq!(hidden(|result| result.sensitivity = None), (199, false));
        assert_eq!(hidden(|result| result.instructions = None), (199, false));
        assert_eq!(hidden(|result| result.instructions = Some(1.0)), (199, false));
    }
}
