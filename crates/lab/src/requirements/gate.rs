//! Gates: requirements on comparisons in a file, and the judgement of reports by them.
//!
//! A gate uses the ratio of the other's time to ours: `must = 1.05` requires 5 % more speed, `must = 0.99` allows 1 %
//! less. The whole 99 % interval decides: an interval that contains the threshold is unproven.

use crate::model::key::Key;
use crate::model::registry::{Registry, SelectError};
use crate::model::select::{matches, nearest};
use crate::model::units::Size;
use crate::report::schema::Report;
use hashmill_machine::Machine;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml_edit::DocumentMut;

/// File of gates. Other top-level tables belong to other tools.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Gates {
    #[serde(default)]
    pub(crate) defaults: Defaults,
    #[serde(default)]
    pub(crate) gate: Vec<Gate>,
}

/// Defaults for all gates of a file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Defaults {
    /// Effect of an unproven gate on the exit code.
    pub(crate) unproven: Unproven,
    /// Number of independent runs that must confirm a failure.
    pub(crate) confirm: usize,
    /// Program of gates without a program.
    pub(crate) program: Option<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults { unproven: Unproven::Warn, confirm: 1, program: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unproven {
    /// It is only reported.
    Warn,
    /// It counts as a failure.
    Fail,
}

/// A requirement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gate {
    /// Name.
    pub(crate) name: String,
    /// Patterns of our cases.
    pub(crate) cases: Vec<String>,
    /// Values of the star in their size segment; if empty, the usual sizes, or those of the thresholds.
    #[serde(default)]
    pub(crate) sizes: Vec<String>,
    /// Engine to compare with, in the same program; without one, the other build of a report that compares builds.
    pub(crate) rival: Option<String>,
    /// Compared amount instead of the time: something that both count, the fewer the better.
    pub(crate) metric: Option<String>,
    /// Another amount of the same case that the metric is compared with, instead of the rival's.
    pub(crate) beside: Option<String>,
    /// Maximum time of each case in microseconds, independent of others.
    pub(crate) within_us: Option<f64>,
    /// Required ratio: for all cases, or by size. Without one, ratios are only reported.
    pub(crate) must: Option<Thresholds>,
    /// Target ratio.
    pub(crate) aim: Option<f64>,
    /// How several cases are combined into a verdict.
    #[serde(default)]
    pub(crate) judge: Judge,
    /// Builds of the program that must all pass; only the program itself if absent. `self` means the program itself.
    #[serde(default)]
    pub(crate) builds: Vec<String>,
    /// Patterns of names, models or fingerprints of machines for which it applies; every machine if absent.
    #[serde(default)]
    pub(crate) machines: Vec<String>,
    /// Program that has the engines, as typed; any program if absent.
    pub(crate) program: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "`must` is a number, or a table with a number for each size")]
pub(crate) enum Thresholds {
    One(f64),
    BySize(BTreeMap<String, f64>),
}

impl Thresholds {
    fn one(&self) -> Option<f64> {
        match self {
            Thresholds::One(bar) => Some(*bar),
            Thresholds::BySize(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Judge {
    /// Each case separately.
    #[default]
    Each,
    /// Geometric mean of all cases.
    Mean,
}

/// Requirement of a gate on one case, or on the mean of several.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Demand {
    /// Index of the gate.
    pub(crate) gate: usize,
    /// At least one.
    pub(crate) pairs: Vec<Pair>,
    pub(crate) measure: Measure,
    pub(crate) must: Option<f64>,
    pub(crate) aim: Option<f64>,
    /// Labels of the builds that must have been measured; each must pass; only the program itself if empty.
    pub(crate) builds: Vec<String>,
}

/// Compared quantity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measure {
    /// The other's time divided by ours.
    Time,
    /// The other's amount divided by ours.
    Amount(String),
    /// Another amount of our case divided by the first.
    Beside(String, String),
    /// These nanoseconds divided by our time.
    Within(f64),
}

impl Measure {
    /// Whether it concerns our side only.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Measure::Beside(..) | Measure::Within(_))
    }

    /// Whether it is counted, and therefore known from one session.
    pub(crate) fn is_counted(&self) -> bool {
        matches!(self, Measure::Amount(_) | Measure::Beside(..))
    }
}

/// The case of this program and that of its rival.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) own: Key,
    /// The other case; none if builds are compared.
    pub(crate) rival: Option<Key>,
}

impl Demand {
    /// Name in tables.
    pub(crate) fn about(&self) -> String {
        let of = match &self.pairs[..] {
            [pair] => pair.own.to_string(),
            pairs => format!("mean of {} cases", pairs.len()),
        };
        match &self.measure {
            Measure::Time | Measure::Within(_) => of,
            Measure::Amount(name) => format!("{of}: {name}"),
            Measure::Beside(name, other) => format!("{of}: {name}, beside {other}"),
        }
    }
}

/// Error in a file of gates.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GateError {
    #[error("{0}")]
    Syntax(String),
    #[error("`{found}` is not known here; did you mean `{meant}`?")]
    Misspelt { found: String, meant: &'static str },
    #[error("it has no gates: write at least one [[gate]]")]
    Empty,
    #[error("gate `{gate}`: must is {value}, but a ratio is a finite number above 0")]
    Bar { gate: String, value: f64 },
    #[error("gate `{gate}`: {reason}")]
    Key { gate: String, reason: String },
    #[error("gate `{gate}`: {source}")]
    Absent { gate: String, source: Box<SelectError> },
}

impl GateError {
    /// Whether a case is missing only because this processor lacks a kernel.
    pub(crate) fn is_about_the_processor(&self) -> bool {
        matches!(self, GateError::Absent { source, .. } if source.is_about_the_processor())
    }
}

/// Parses a file.
pub(crate) fn parse(text: &str) -> Result<Gates, GateError> {
    let document: DocumentMut = text.parse().map_err(|error| syntax(&error))?;
    let known = ["schema", "defaults", "gate"];
    for (key, _) in document.iter().filter(|(key, _)| !known.contains(key)) {
        if let Some(meant) = nearest(key, known) {
            return Err(GateError::Misspelt { found: key.to_owned(), meant });
        }
    }
    match document.get("schema").map(|schema| schema.as_integer()) {
        None | Some(Some(1)) => {}
        _ => return Err(GateError::Syntax("`schema` must be 1".to_owned())),
    }
    let gates: Gates = toml_edit::de::from_document(document).map_err(|error| syntax(&error))?;
    if gates.gate.is_empty() {
        return Err(GateError::Empty);
    }
    for gate in &gates.gate {
        gate.validate()?;
    }
    Ok(gates)
}

fn syntax(error: &impl ToString) -> GateError {
    GateError::Syntax(one_line(&error.to_string()))
}

/// Reduces the parser's multi-line message to one line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.lines().map(str::trim).filter(|line| !is_picture(line)).collect();
    words.join(": ")
}

fn is_picture(line: &str) -> bool {
    line.is_empty()
        || line.starts_with('|')
        || line.split_once('|').is_some_and(|(n, _)| n.trim().parse::<u32>().is_ok())
}

impl Gate {
    fn validate(&self) -> Result<(), GateError> {
        let wrong = |reason: &str| GateError::Key { gate: self.name.clone(), reason: reason.to_owned() };
        if self.cases.is_empty() {
            return Err(wrong("it names no cases"));
        }
        let mut bars: Vec<f64> = match &self.must {
            None => Vec::new(),
            Some(Thresholds::One(bar)) => vec![*bar],
            Some(Thresholds::BySize(_)) if self.judge == Judge::Mean => {
                return Err(wrong("the mean of all cases has one threshold, not one per size"));
            }
            Some(Thresholds::BySize(_)) if !self.sizes.is_empty() => {
                return Err(wrong("`must` already names the sizes, so `sizes` has no effect"));
            }
            Some(Thresholds::BySize(bars)) if bars.is_empty() => return Err(wrong("`must` names no size")),
            Some(Thresholds::BySize(bars)) => bars.values().copied().collect(),
        };
        if self.within_us.is_some()
            && (self.must.is_some() || self.aim.is_some() || self.rival.is_some() || self.metric.is_some())
        {
            return Err(wrong("`within_us` is a separate threshold, for the time of our case only"));
        }
        if self.beside.is_some() && (self.metric.is_none() || self.rival.is_some()) {
            return Err(wrong("`beside` needs a `metric` and no rival: it is a second amount of our case"));
        }
        if self.judge == Judge::Mean && self.measure().is_alone() {
            return Err(wrong("only comparisons have a mean"));
        }
        bars.extend(self.aim);
        bars.extend(self.within_us);
        match bars.into_iter().find(|bar| !bar.is_finite() || *bar <= 0.0) {
            Some(value) => Err(GateError::Bar { gate: self.name.clone(), value }),
            None => Ok(()),
        }
    }

    /// Whether it applies to this machine.
    pub(crate) fn holds_for(&self, machine: &Machine) -> bool {
        let names = [&machine.cpu, &machine.model, &machine.id];
        let fits = |pattern: &String| names.iter().any(|name| matches(pattern, name));
        self.machines.is_empty() || self.machines.iter().any(fits)
    }

    /// Quantity of its ratio.
    pub(crate) fn measure(&self) -> Measure {
        match (self.within_us, &self.metric, &self.beside) {
            (Some(us), ..) => Measure::Within(us * 1e3),
            (None, Some(metric), Some(other)) => Measure::Beside(metric.clone(), other.clone()),
            (None, Some(metric), None) => Measure::Amount(metric.clone()),
            (None, None, _) => Measure::Time,
        }
    }

    /// Its requirements on the cases of this program.
    pub(crate) fn demands(&self, index: usize, registry: &Registry) -> Result<Vec<Demand>, GateError> {
        let mut demands: Vec<Demand> = Vec::new();
        for (pattern, must) in self.patterns()? {
            let keys = registry.select(&[&pattern]).map_err(|source| self.absent(source))?;
            for own in keys {
                let rival = self.rival.as_ref().map(|engine| Key { engine: engine.clone(), ..own.clone() });
                if let Some(rival) = &rival {
                    registry.select(&[rival.to_string()]).map_err(|source| self.absent(source))?;
                }
                let pair = Pair { own, rival };
                match demands.last_mut() {
                    Some(all) if self.judge == Judge::Mean => all.pairs.push(pair),
                    _ => demands.push(Demand {
                        gate: index,
                        pairs: vec![pair],
                        measure: self.measure(),
                        must: must.or(self.within_us.map(|_| 1.0)),
                        aim: self.aim,
                        builds: self.builds.clone(),
                    }),
                }
            }
        }
        Ok(demands)
    }

    /// Whether a report has any of its cases, by name.
    pub(crate) fn is_in(&self, report: &Report) -> Result<bool, GateError> {
        let patterns = self.patterns()?;
        let fits = |key: &str| {
            patterns.iter().any(|(case, _)| matches(case, key) || matches(&format!("{case}/*"), key))
        };
        Ok(report.rows.iter().flat_map(|row| &row.sides).any(|side| fits(&side.key)))
    }

    fn absent(&self, source: SelectError) -> GateError {
        GateError::Absent { gate: self.name.clone(), source: Box::new(source) }
    }

    /// Each pattern with its threshold: the size segment takes the sizes of the thresholds, or the listed ones.
    fn patterns(&self) -> Result<Vec<(String, Option<f64>)>, GateError> {
        let sizes: Vec<(&String, Option<f64>)> = match &self.must {
            Some(Thresholds::BySize(bars)) => bars.iter().map(|(size, bar)| (size, Some(*bar))).collect(),
            Some(Thresholds::One(bar)) => self.sizes.iter().map(|size| (size, Some(*bar))).collect(),
            None => self.sizes.iter().map(|size| (size, None)).collect(),
        };
        if sizes.is_empty() {
            let bar = self.must.as_ref().and_then(Thresholds::one);
            return Ok(self.cases.iter().map(|case| (case.clone(), bar)).collect());
        }
        let wrong = |reason: String| GateError::Key { gate: self.name.clone(), reason };
        let mut patterns = Vec::new();
        for (size, bar) in sizes {
            let size: Size =
                size.parse().map_err(|error: crate::model::units::SizeError| wrong(error.to_string()))?;
            for case in &self.cases {
                let mut segments: Vec<String> = case.split('/').map(str::to_owned).collect();
                match segments.get_mut(3) {
                    Some(segment) if segment == "*" => *segment = size.to_string(),
                    _ => {
                        return Err(wrong(format!(
                            "it names sizes, so the size segment of `{case}` must be *"
                        )));
                    }
                }
                patterns.push((size, segments.join("/"), bar));
            }
        }
        patterns.sort_by_key(|(size, _, _)| *size);
        Ok(patterns.into_iter().map(|(_, pattern, bar)| (pattern, bar)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        parse(text).expect_err("a bad file").to_string()
    }

    #[test]
    fn bad_files_take_one_line_each() {
        for (text, words) in [
            ("", "it has no gates: write at least one [[gate]]"),
            ("[[gates]]\n", "`gates` is not known here; did you mean `gate`?"),
            ("schema = 2\n", "`schema` must be 1"),
            ("[[gate]]\nname = \"x\"\ncases = []\nmust = 1\n", "gate `x`: it names no cases"),
            (
                "[[gate]]\nname = \"x\"\ncases = [\"a\"]\nmust = 0\n",
                "gate `x`: must is 0, but a ratio is a finite number above 0",
            ),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\nmust = -1.5\n", "gate `x`: must is -1.5,"),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\nmust = { 64 = nan }\n", "gate `x`: must is NaN,"),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\nmust = {}\n", "`must` names no size"),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\nmist = 1\n", "mist"),
            (
                "[[gate]]\nname = \"x\"\ncases = [\"a\"]\njudge = \"mean\"\nmust = { 64 = 1 }\n",
                "one threshold, not one per size",
            ),
            (
                "[[gate]]\nname = \"x\"\ncases = [\"a\"]\nsizes = [\"1\"]\nmust = { 64 = 1 }\n",
                "already names the sizes",
            ),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\naim = 0\n", "must is 0,"),
            (
                "[[gate]]\nname = \"x\"\ncases = [\"a\"]\nmust = \"fast\"\n",
                "`must` is a number, or a table with a number for each size",
            ),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\nwithin_us = 4\nmust = 2\n", "a separate threshold"),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\nwithin_us = 0\n", "must is 0,"),
            ("[[gate]]\nname = \"x\"\ncases = [\"a\"]\nbeside = \"held\"\n", "needs a `metric`"),
            ("name = \n", "TOML"),
        ] {
            let found = problem(text);
            assert!(found.contains(words), "{text:?}: {found}");
            assert_eq!(found.lines().count(), 1, "{found}");
        }
    }

    #[test]
    fn tables_of_other_tools_are_left_alone() {
        let text = "[[blake3]]\nx = 1\n[[gate]]\nname = \"x\"\ncases = [\"lab.cpu\"]\nmust = 1\n";
        let gates = parse(text).expect("a file");
        assert_eq!(gates.defaults, Defaults { unproven: Unproven::Warn, confirm: 1, program: None });
        assert_eq!(gates.gate.len(), 1);
    }

    #[test]
    fn thresholds_by_size_select_these_sizes() {
        let text = "[[gate]]\nname = \"x\"\ncases = [\"lab.cpu/probe/kernel/*/t1\"]\nmust = { 4KiB = 1.1, 64 = 1.2 }\n";
        let gates = parse(text).expect("a file");
        let demands = gates.gate[0].demands(0, &Registry::new()).expect("known cases");
        let shown: Vec<(String, f64)> = demands.iter().map(|d| (d.about(), d.must.expect("a bar"))).collect();
        let expected = [("lab.cpu/probe/kernel/64/t1", 1.2), ("lab.cpu/probe/kernel/4KiB/t1", 1.1)];
        assert_eq!(shown, expected.map(|(key, must)| (key.to_owned(), must)));
        assert!(demands.iter().all(|demand| demand.pairs[0].rival.is_none()));
    }

    #[test]
    fn a_mean_is_one_demand_without_thresholds_too() {
        let text =
            "[[gate]]\nname = \"x\"\ncases = [\"lab.cpu/probe/kernel/*\"]\nsizes = [\"128\", \"64\"]\n";
        for (judge, about) in [
            ("", &["lab.cpu/probe/kernel/64/t1", "lab.cpu/probe/kernel/128/t1"][..]),
            ("judge = \"mean\"\naim = 1.5\n", &["mean of 2 cases"]),
        ] {
            let gates = parse(&format!("{text}{judge}")).expect("a file");
            let demands = gates.gate[0].demands(0, &Registry::new()).expect("known cases");
            assert_eq!(demands.iter().map(Demand::about).collect::<Vec<_>>(), about);
            assert!(demands.iter().all(|demand| demand.must.is_none()));
        }
    }

    #[test]
    fn absent_cases_and_rivals_are_named() {
        let text = |case: &str| {
            format!("[[gate]]\nname = \"x\"\ncases = [\"{case}\"]\nrival = \"prob\"\nmust = 1\n")
        };
        for (case, words) in [
            ("lab.cpo", "gate `x`: no workload matches `lab.cpo` in `lab.cpo` (did you mean `lab.cpu`?)"),
            ("lab.cpu", "no engine matches `prob`"),
        ] {
            let gates = parse(&text(case)).expect("a file");
            let error = gates.gate[0].demands(0, &Registry::new()).expect_err("absent").to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn machines_are_patterns() {
        let machine = Machine { cpu: "AMD EPYC".into(), model: "25-17-1".into(), ..Machine::default() };
        let gate = |machines: &[&str]| Gate {
            name: String::new(),
            cases: Vec::new(),
            sizes: Vec::new(),
            rival: None,
            metric: None,
            beside: None,
            within_us: None,
            must: None,
            aim: None,
            judge: Judge::Each,
            builds: Vec::new(),
            machines: machines.iter().map(|m| (*m).to_owned()).collect(),
            program: None,
        };
        for (machines, holds) in
            [(&[][..], true), (&["*"], true), (&["Intel*", "25-17-*"], true), (&["Intel*"], false)]
        {
            assert_eq!(gate(machines).holds_for(&machine), holds, "{machines:?}");
        }
    }
}
