//! Tightens the thresholds of a file to the proven values and keeps all comments.

use super::gate::{Demand, Gate, Thresholds};
use super::judge::{Judged, Verdict};
use crate::model::units::Size;
use toml_edit::{DocumentMut, Item, TomlError, Value};

/// Minimum change of a threshold: smaller ones would rewrite the file after every run.
const STEP: f64 = 0.01;

/// A raised threshold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moved {
    pub(crate) gate: String,
    /// Its size, if thresholds are by size.
    pub(crate) size: Option<String>,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// Raises each threshold to the lower end of its interval, rounded down, if all of its cases passed. Returns the new
/// text.
pub(crate) fn tighten(
    text: &str,
    gates: &[Gate],
    judged: &[(Demand, Judged)],
) -> Result<(String, Vec<Moved>), TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let mut moved = Vec::new();
    for (index, gate) in gates.iter().enumerate() {
        let of_gate = judged.iter().filter(|(demand, _)| demand.gate == index);
        let of_gate: Vec<&(Demand, Judged)> = of_gate.collect();
        let bars: Vec<(Option<String>, f64)> = match &gate.must {
            None => Vec::new(),
            Some(Thresholds::One(bar)) => vec![(None, *bar)],
            Some(Thresholds::BySize(bars)) => {
                bars.iter().map(|(size, bar)| (Some(size.clone()), *bar)).collect()
            }
        };
        for (size, from) in bars {
            let under = of_gate.iter().filter(|(demand, _)| is_of(demand, size.as_deref()));
            let Some(to) = proven(under.map(|(_, judged)| judged)) else { continue };
            if to < from + STEP {
                continue;
            }
            if let Some(value) = threshold(&mut document, index, size.as_deref()) {
                let decor = value.decor().clone();
                *value = Value::from(to);
                *value.decor_mut() = decor;
                moved.push(Moved { gate: gate.name.clone(), size, from, to });
            }
        }
    }
    Ok((document.to_string(), moved))
}

fn is_of(demand: &Demand, size: Option<&str>) -> bool {
    size.is_none_or(|size| size.parse::<Size>().is_ok_and(|size| size == demand.pairs[0].own.size))
}

/// Highest threshold that all of them pass, to two decimals; none if one did not pass or there is none.
fn proven<'a>(all: impl Iterator<Item = &'a Judged>) -> Option<f64> {
    let mut lowest = f64::INFINITY;
    for judged in all {
        match (&judged.verdict, judged.interval) {
            (Verdict::Pass, Some([low, _])) => lowest = lowest.min(low),
            _ => return None,
        }
    }
    lowest.is_finite().then(|| (lowest * 100.0).floor() / 100.0)
}

fn threshold<'a>(document: &'a mut DocumentMut, gate: usize, size: Option<&str>) -> Option<&'a mut Value> {
    let must: &mut Item =
        document.get_mut("gate")?.as_array_of_tables_mut()?.get_mut(gate)?.get_mut("must")?;
    match size {
        None => must.as_value_mut(),
        Some(size) => must.as_table_like_mut()?.get_mut(size)?.as_value_mut(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::gate::{Measure, Pair, parse};

    const TEXT: &str = "# why\n[[gate]]\nname = \"a\"\ncases = [\"lab.cpu/probe/kernel/*/t1\"]\nmust = { 64 = 1.0, 128 = 1.5 } # as of May\n";

    fn demand(size: u64, must: f64) -> Demand {
        let own = format!("lab.cpu/probe/kernel/{size}/t1").parse().expect("a key");
        Demand {
            gate: 0,
            pairs: vec![Pair { own, rival: None }],
            measure: Measure::Time,
            must: Some(must),
            aim: None,
            builds: Vec::new(),
        }
    }

    fn pass(low: f64) -> Judged {
        Judged { verdict: Verdict::Pass, ratio: Some(low + 0.1), interval: Some([low, low + 0.2]) }
    }

    #[test]
    fn raises_only_proven_thresholds_and_keeps_comments() {
        let gates = parse(TEXT).expect("a file").gate;
        let judged = [(demand(64, 1.0), pass(1.2399)), (demand(128, 1.5), pass(1.505))];
        let (text, moved) = tighten(TEXT, &gates, &judged).expect("a file");
        assert_eq!(text, TEXT.replace("64 = 1.0", "64 = 1.23"));
        let expected = Moved { gate: "a".into(), size: Some("64".into()), from: 1.0, to: 1.23 };
        assert_eq!(moved, [expected]);
    }

    #[test]
    fn one_failed_case_keeps_the_threshold() {
        let text = TEXT.replace("{ 64 = 1.0, 128 = 1.5 }", "1.0");
        let gates = parse(&text).expect("a file").gate;
        let unproven = Judged { verdict: Verdict::Unproven, ..pass(2.0) };
        let judged = [(demand(64, 1.0), pass(2.0)), (demand(128, 1.0), unproven)];
        assert_eq!(tighten(&text, &gates, &judged).expect("a file"), (text.clone(), Vec::new()));
        let judged = [(demand(64, 1.0), pass(2.0)), (demand(128, 1.0), pass(1.5))];
        assert_eq!(tighten(&text, &gates, &judged).expect("a file").1[0].to, 1.5);
        assert!(tighten("[[gate", &gates, &judged).is_err(), "no file of gates is no file without movement");
    }
}
