//! `lab.noise/3`: how often this machine reports a difference between equal programs, and the smallest difference it
//! can detect.

use crate::report::schema::{NoiseCard, Plan, Verdict};
use crate::report::view::{Line, Table, View, machine_facts};
use crate::stats::binomial::share_interval;
use crate::stats::cache_level::CacheLevel;
use crate::stats::order::{mad, median};
use crate::stats::verdict::Evidence;
use hashmill_machine::Machine;
use serde::{Deserialize, Serialize};

/// Value of [`NoiseRecord::schema`].
pub(crate) const SCHEMA: &str = "lab.noise/3";

/// Trials of several series on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct NoiseRecord {
    /// Always `lab.noise/3`.
    pub(crate) schema: String,
    /// Version of the lab.
    pub(crate) tool: String,
    /// SHA-256 of the program.
    pub(crate) program_sha256: String,
    /// Machine.
    pub(crate) machine: Machine,
    /// Plan and decision rule of every trial.
    pub(crate) plan: Plan,
    /// Series of trials.
    pub(crate) series: Vec<Series>,
    /// SHA-256 over this record with an empty seal.
    pub(crate) seal: String,
}

/// Repeated comparisons of a case with itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Case that is compared with itself.
    pub(crate) case: String,
    /// Cache level of the data; `near` if absent.
    #[serde(default, skip_serializing_if = "CacheLevel::is_near")]
    pub(crate) reach: CacheLevel,
    /// Trials of the series.
    pub(crate) trials: Vec<Trial>,
}

/// One comparison, complete under the decision rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Trial {
    /// Time of the start.
    pub(crate) created: String,
    /// Seed of the trial.
    pub(crate) seed: u64,
    /// Load average at the start.
    pub(crate) load: Option<f64>,
    /// Paired log ratio of each session, positive where the second side is faster.
    pub(crate) deltas: Vec<f64>,
    /// Verdict of the rule.
    pub(crate) verdict: Verdict,
}

/// Statistics of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SeriesStats {
    pub(crate) trials: u64,
    /// Number of differences reported, all of them false.
    pub(crate) claims: u64,
    pub(crate) same: u64,
    /// 95 % interval of the rate of false claims.
    pub(crate) share: (f64, f64),
    /// Median over the trials of the robust standard deviation of their sessions.
    pub(crate) spread: f64,
    /// Median of the measured log ratios.
    pub(crate) centre: f64,
    /// Mean number of sessions.
    pub(crate) sessions: f64,
}

impl SeriesStats {
    /// Smallest relative difference that this number of sessions would prove.
    pub(crate) fn sees(&self, sessions: f64) -> f64 {
        (self.spread * (14.0 / sessions).sqrt()).exp_m1()
    }
}

impl Series {
    pub(crate) fn stats(&self) -> SeriesStats {
        let count = |verdict| self.trials.iter().filter(|trial| trial.verdict == verdict).count() as u64;
        let (claims, same) = (count(Verdict::Slower) + count(Verdict::Faster), count(Verdict::Same));
        let trials = self.trials.len() as u64;
        let spreads: Vec<f64> = self.trials.iter().map(|trial| 1.4826 * mad(&trial.deltas)).collect();
        let centres: Vec<f64> = self.trials.iter().map(|trial| median(&trial.deltas)).collect();
        let sessions: usize = self.trials.iter().map(|trial| trial.deltas.len()).sum();
        SeriesStats {
            trials,
            claims,
            same,
            share: share_interval(claims, trials, 0.95),
            spread: median(&spreads),
            centre: median(&centres),
            sessions: sessions as f64 / trials.max(1) as f64,
        }
    }

    fn line(&self) -> Line {
        let stats = self.stats();
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let (low, high) = stats.share;
        let sees = |sessions: f64| format!("{:.1}", 100.0 * stats.sees(sessions));
        Line::plain([
            self.name(),
            stats.trials.to_string(),
            format!("{} ({})", stats.claims, percent(stats.claims as f64 / stats.trials as f64)),
            format!("[{}, {}]", percent(low), percent(high)),
            stats.same.to_string(),
            format!("{:.1}", stats.sessions),
            format!("{:.4}×", stats.centre.exp()),
            format!("{} / {} / {}", sees(10.0), sees(20.0), sees(40.0)),
        ])
    }

    pub(crate) fn name(&self) -> String {
        format!("A/A {}", self.case)
    }
}

impl NoiseRecord {
    /// Summary for reports: the worst series, but no less than the smallest claim of the rule.
    pub(crate) fn card(&self) -> Option<NoiseCard> {
        let tried = || self.series.iter().filter(|series| !series.trials.is_empty());
        let measured = tried().flat_map(|series| &series.trials).map(|trial| &trial.created).max()?;
        let rule = self.plan.rule();
        let least = |reach| {
            let sees = tried().filter(|series| series.reach == reach).map(|s| s.stats().sees(40.0));
            sees.reduce(f64::max).map(|sees| sees.max(rule.least(reach)))
        };
        Some(NoiseCard {
            measured: measured.clone(),
            near: least(CacheLevel::Near),
            far: least(CacheLevel::Far),
            seal: self.seal.clone(),
        })
    }

    /// Noise card: the results and the smallest detectable effects.
    pub(crate) fn view(&self) -> View {
        let tried = || self.series.iter().filter(|series| !series.trials.is_empty());
        let columns = [
            "series",
            "trials",
            "claims",
            "95 % interval",
            "same",
            "sessions",
            "ratio",
            "sees ±% at 10/20/40",
        ];
        let mut facts = machine_facts(&self.machine);
        let mut dates: Vec<&str> =
            tried().flat_map(|series| &series.trials).map(|trial| trial.created.as_str()).collect();
        dates.sort_unstable();
        if let (Some(first), Some(last)) = (dates.first(), dates.last()) {
            facts.push(("measured", format!("{first} to {last}")));
        }
        let rule = self.plan.rule();
        let least = |reach| rule.least(reach) * 100.0;
        let notes = vec![
            "claims: all are false".to_owned(),
            format!(
                "a claim is proven, and at least {} %; {} % where the data exceed the caches of one core",
                least(CacheLevel::Near),
                least(CacheLevel::Far)
            ),
        ];
        let table = Table::new(columns, tried().map(Series::line));
        View { title: "lab doctor --noise".to_owned(), banner: Vec::new(), facts, tables: vec![table], notes }
    }
}

impl NoiseRecord {
    /// Seal of the rest of the record.
    pub(crate) fn compute_seal(&self) -> String {
        let unsealed = NoiseRecord { seal: String::new(), ..self.clone() };
        crate::fingerprint::sha256_hex(&serde_json::to_vec(&unsealed).expect("a record is plain data"))
    }

    /// Errors in the record; none if every verdict follows from its sessions.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        // Older records have inverse ratios.
        if self.schema != SCHEMA {
            found.push(format!("`schema` is `{}`, this version reads {SCHEMA}", self.schema));
        }
        if self.machine.id != self.machine.fingerprint() {
            found.push(format!("the machine's id {} belongs to another machine", self.machine.id));
        }
        let rule = self.plan.rule();
        if let Err(error) = rule.validate() {
            found.push(format!("plan: {error}"));
            return found;
        }
        for series in &self.series {
            for (i, trial) in series.trials.iter().enumerate() {
                let location = format!("{}, trial {}", series.name(), i + 1);
                let sound =
                    trial.deltas.len() <= rule.most_sessions() && trial.deltas.iter().all(|d| d.is_finite());
                let evidence = Evidence { deltas: trial.deltas.clone(), reach: series.reach, layouts: None };
                if !sound || rule.sessions_wanted(1, &evidence).is_some() {
                    found.push(format!("{location}: its sessions do not make a complete comparison"));
                    continue;
                }
                let verdict = rule.judge(&[evidence])[0].verdict;
                if verdict != trial.verdict {
                    let (stated, computed) = (trial.verdict.word(), verdict.word());
                    found.push(format!("{location}: stated as {stated}, but its sessions say {computed}"));
                }
            }
        }
        if self.seal != self.compute_seal() {
            found.push("seal: the record was changed after it was written".to_owned());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::verdict::Rule;

    /// Trials of ten sessions with the given delta, judged by the standard rule.
    fn series(case: &str, deltas: &[f64]) -> Series {
        let trial = |delta: &f64| {
            let deltas: Vec<f64> = (0..20).map(|i| delta + 1e-6 * f64::from(i % 5)).collect();
            let verdict = Rule::standard().judge(&[Evidence::near(&deltas)])[0].verdict;
            Trial { created: String::new(), seed: 1, load: None, deltas, verdict }
        };
        let trials = deltas.iter().map(trial).collect();
        Series { case: case.to_owned(), reach: CacheLevel::Near, trials }
    }

    #[test]
    fn claims_about_identical_sides_are_counted_in_both_directions() {
        let stats = series("x", &[0.02, 0.0, -0.02, 0.0]).stats();
        assert_eq!((stats.trials, stats.claims, stats.same), (4, 2, 2));
        assert!(stats.share.0 < 0.5 && stats.share.1 > 0.5, "{:?}", stats.share);
    }

    #[test]
    fn a_report_quotes_the_worst_of_the_identical_sides() {
        let mut record = NoiseRecord {
            schema: SCHEMA.to_owned(),
            tool: String::new(),
            program_sha256: String::new(),
            machine: Machine::default(),
            plan: crate::report::assemble::wire_plan(&crate::measure::plan::Plan::default(), 1, true),
            series: vec![series("calm", &[0.0])],
            seal: "seal".to_owned(),
        };
        let card = record.card().expect("a card");
        assert_eq!((card.near, card.far), (Some(0.005), None), "no less than the rule lets claim");
        let mut rough = series("rough", &[0.0]);
        rough.trials[0].deltas = (0..20).map(|i| if i % 2 == 0 { 0.1 } else { -0.1 }).collect();
        let sees = rough.stats().sees(40.0);
        assert!(sees > 0.05, "{sees}");
        record.series.push(rough);
        assert_eq!(record.card().expect("a card").near, Some(sees));
        record.series.clear();
        assert_eq!(record.card(), None);
    }
}
