//! Selection of the gates that are judged here, and the message if there are none.

use crate::cmd::context::setup::LabSetup;
use crate::model::select::hint;
use crate::requirements::gate::{Defaults, Demand, Gate, GateError, Gates};
use std::collections::BTreeMap;

/// Gates of a file for this program and machine.
pub(crate) struct Scope {
    pub(crate) demands: Vec<Demand>,
    /// Requested gates that need another program, or instructions that this processor lacks.
    pub(crate) elsewhere: Vec<SkippedGate>,
}

/// A gate that is not judged here.
pub(crate) struct SkippedGate {
    pub(crate) gate: String,
    pub(crate) reason: String,
}

impl Scope {
    /// `measures` is false if reports are judged.
    pub(crate) fn from_gates(
        lab: &LabSetup<'_>,
        gates: &Gates,
        filter: &[String],
        measures: bool,
    ) -> Result<Self, GateError> {
        let mut scope = Scope { demands: Vec::new(), elsewhere: Vec::new() };
        for (index, gate) in gates.gate.iter().enumerate() {
            let named = |text: &String| gate.name.contains(text);
            let keep = |demand: &Demand| {
                let in_case = |text: &String| demand.pairs.iter().any(|p| p.own.to_string().contains(text));
                filter.iter().all(|text| named(text) || in_case(text))
            };
            let reason = match not_here(gate, &gates.defaults, lab, measures) {
                Some(reason) => reason,
                None => match gate.demands(index, lab.registry) {
                    Ok(all) => {
                        scope.demands.extend(all.into_iter().filter(keep));
                        continue;
                    }
                    // Kernels are those of this processor; all other parts of names are the same everywhere.
                    Err(error) if error.is_about_the_processor() => error.to_string(),
                    Err(error) => return Err(error),
                },
            };
            if filter.iter().all(|text| mentions(gate, text)) {
                scope.elsewhere.push(SkippedGate { gate: gate.name.clone(), reason });
            }
        }
        Ok(scope)
    }
}

/// Whether the gate's own text contains this text. Its cases are unknown without its engines.
fn mentions(gate: &Gate, text: &str) -> bool {
    gate.name.contains(text) || gate.cases.iter().any(|case| case.contains(text))
}

/// Reason why this program cannot measure a gate. Another machine is no reason: its thresholds are judged, but only
/// reported.
fn not_here(gate: &Gate, defaults: &Defaults, lab: &LabSetup<'_>, measures: bool) -> Option<String> {
    let program = gate.program.as_ref().or(defaults.program.as_ref());
    if let Some(program) = program.filter(|program| *program != lab.name) {
        return Some(format!("run `{program} gate`"));
    }
    if gate.rival.is_none() && !gate.measure().is_alone() && measures {
        return Some(
            "it compares builds: measure them with `compare` and name the report with --report".to_owned(),
        );
    }
    None
}

/// Reason why no gate is left: the filter, or the program and machine.
pub(crate) fn nothing(gates: &Gates, filter: &[String], elsewhere: &[SkippedGate]) -> String {
    let requested = filter.join("` and `");
    match elsewhere {
        [] => format!("no gate and no case contains `{requested}`{}", meant(gates, filter)),
        [one] => format!("{}: {}", one.gate, one.reason),
        many => {
            let which =
                if filter.is_empty() { String::new() } else { format!(" that contain `{requested}`") };
            format!("none of the {} gates{which} can be judged here: {}", many.len(), reasons(many))
        }
    }
}

/// Each reason once, with the number of gates if there are several.
fn reasons(elsewhere: &[SkippedGate]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in elsewhere {
        *counts.entry(&one.reason).or_default() += 1;
    }
    if let Some((reason, _)) = counts.first_key_value().filter(|_| counts.len() == 1) {
        return (*reason).to_owned();
    }
    let words = counts.iter().map(|(reason, count)| format!("{count} times: {reason}"));
    words.collect::<Vec<_>>().join("; ")
}

/// Name or part of a case that is most similar to the first text without a match.
fn meant(gates: &Gates, filter: &[String]) -> String {
    let unknown = |text: &&String| !gates.gate.iter().any(|gate| mentions(gate, text));
    let Some(text) = filter.iter().find(unknown) else { return String::new() };
    let names = gates.gate.iter().flat_map(|gate| {
        let parts = gate.cases.iter().flat_map(|case| case.split('/')).filter(|part| *part != "*");
        let words = gate.name.split([' ', ',']).filter(|word| word.len() > 2);
        std::iter::once(gate.name.as_str()).chain(words).chain(parts)
    });
    hint(text, names)
}
