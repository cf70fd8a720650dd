//! Which gates of a file are judged here, and what to say when there is none.

use super::GateArgs;
use crate::cmd::Mount;
use crate::gate::{Defaults, Demand, Gate, GateError, Gates};
use crate::model::select::hint;
use std::collections::BTreeMap;

/// What a file of gates means for this program on this machine.
pub(super) struct Scope {
    pub(super) demands: Vec<Demand>,
    /// Gates that were asked for, but are for another program or for instructions that this processor lacks.
    pub(super) elsewhere: Vec<Elsewhere>,
}

/// A gate that is not judged here.
pub(super) struct Elsewhere {
    pub(super) gate: String,
    pub(super) why: String,
}

impl Scope {
    pub(super) fn of(mount: &Mount<'_>, args: &GateArgs, gates: &Gates) -> Result<Self, GateError> {
        let mut scope = Scope { demands: Vec::new(), elsewhere: Vec::new() };
        for (index, gate) in gates.gate.iter().enumerate() {
            let named = |text: &String| gate.name.contains(text);
            let keep = |demand: &Demand| {
                let in_case = |text: &String| demand.pairs.iter().any(|p| p.ours.to_string().contains(text));
                args.filter.iter().all(|text| named(text) || in_case(text))
            };
            let why = match not_here(gate, &gates.defaults, mount, args) {
                Some(why) => why,
                None => match gate.demands(index, mount.registry) {
                    Ok(all) => {
                        scope.demands.extend(all.into_iter().filter(keep));
                        continue;
                    }
                    // Kernels are those of this processor; everything else in a name is the same everywhere.
                    Err(error) if error.is_about_the_processor() => error.to_string(),
                    Err(error) => return Err(error),
                },
            };
            if args.filter.iter().all(|text| mentions(gate, text)) {
                scope.elsewhere.push(Elsewhere { gate: gate.name.clone(), why });
            }
        }
        Ok(scope)
    }
}

/// Whether the gate's own words contain the text. Its cases are not known where its engines are not.
fn mentions(gate: &Gate, text: &str) -> bool {
    gate.name.contains(text) || gate.cases.iter().any(|case| case.contains(text))
}

/// Why this program cannot measure a gate. Another machine is no reason: its bars are judged there, and only said.
fn not_here(gate: &Gate, defaults: &Defaults, mount: &Mount<'_>, args: &GateArgs) -> Option<String> {
    let program = gate.program.as_ref().or(defaults.program.as_ref());
    if let Some(program) = program.filter(|program| *program != mount.name) {
        return Some(format!("run `{program} gate`"));
    }
    if gate.rival.is_none() && !gate.measure().is_alone() && args.report.is_empty() {
        return Some(
            "it compares builds: measure them with `compare` and name the report with --report".to_owned(),
        );
    }
    None
}

/// Why nothing is left to judge: the filter, or the program and the machine.
pub(super) fn nothing(gates: &Gates, filter: &[String], elsewhere: &[Elsewhere]) -> String {
    let asked = filter.join("` and `");
    match elsewhere {
        [] => format!("no gate and no case contains `{asked}`{}", meant(gates, filter)),
        [one] => format!("{}: {}", one.gate, one.why),
        many => {
            let which = if filter.is_empty() { String::new() } else { format!(" that contain `{asked}`") };
            format!("none of the {} gates{which} can be judged here: {}", many.len(), reasons(many))
        }
    }
}

/// Each reason once, with how many gates have it where there are several.
fn reasons(elsewhere: &[Elsewhere]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in elsewhere {
        *counts.entry(&one.why).or_default() += 1;
    }
    if let Some((why, _)) = counts.first_key_value().filter(|_| counts.len() == 1) {
        return (*why).to_owned();
    }
    let words = counts.iter().map(|(why, count)| format!("{count} times: {why}"));
    words.collect::<Vec<_>>().join("; ")
}

/// The name, or the part of a case, that is nearest to the first text that nothing contains.
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
