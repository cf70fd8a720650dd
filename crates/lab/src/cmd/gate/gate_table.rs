//! Output of a judgement: a table, JSON lines, pages beside the report, and the exit code.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::Exit;
use crate::cmd::context::files;
use crate::cmd::github::Annotation;
use crate::model::units::duration;
use crate::report::render::{html, markdown};
use crate::report::view::{Line, NOTHING, Table, Tone, View, Warning, machine_facts, shown};
use crate::requirements::gate::{Demand, Gates, Measure, Pair, Unproven};
use crate::requirements::judge::{Judged, Verdict};
use crate::stats::ratio::{range, times};
use hashmill_machine::Machine;
use serde::Serialize;
use std::path::Path;

/// Demands of a file with their verdicts on a machine.
pub(crate) struct GateTable<'a> {
    pub(crate) gates: &'a Gates,
    pub(crate) machine: &'a Machine,
    pub(crate) judged: Vec<(Demand, Judged)>,
}

/// A verdict as JSON.
#[derive(Serialize)]
pub(crate) struct JsonLine<'a> {
    gate: &'a str,
    cases: Vec<String>,
    /// Time of the other divided by ours, and an interval that is valid together with those of all other gates.
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    must: Option<f64>,
    aim: Option<f64>,
    verdict: String,
    /// Machines that the threshold is for, if the measured one is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_for: Option<&'a [String]>,
}

impl GateTable<'_> {
    /// Machines that the threshold of a demand is for, if the measured one is not among them.
    fn set_for(&self, demand: &Demand) -> Option<&[String]> {
        let gate = &self.gates.gate[demand.gate];
        (!gate.holds_for(self.machine)).then_some(&gate.machines)
    }

    /// Text of a verdict, with the machines of its threshold if they matter.
    fn words(&self, demand: &Demand, judged: &Judged) -> (String, Tone) {
        let (word, tone) = word(demand, judged);
        match self.set_for(demand) {
            Some(machines) => {
                (format!("{}, but set for {}", word.to_lowercase(), machines.join(" or ")), Tone::Dim)
            }
            None => (word, tone),
        }
    }

    pub(crate) fn wire<'w>(&'w self) -> Vec<JsonLine<'w>> {
        let line = |(demand, judged): &'w (Demand, Judged)| JsonLine {
            gate: &self.gates.gate[demand.gate].name,
            cases: demand.pairs.iter().map(|pair| pair.own.to_string()).collect(),
            ratio: judged.ratio,
            interval: judged.interval,
            must: demand.must,
            aim: demand.aim,
            verdict: word(demand, judged).0,
            set_for: self.set_for(demand),
        };
        self.judged.iter().map(line).collect()
    }

    pub(crate) fn table(&self) -> Table {
        let line = |(demand, judged): &(Demand, Judged)| {
            Line::new(self.cells(demand, judged), self.words(demand, judged).1)
        };
        let columns = ["gate", "case", "ratio", "interval", "must", "aim", "verdict"];
        Table::new(columns, self.judged.iter().map(line))
    }

    fn cells(&self, demand: &Demand, judged: &Judged) -> [String; 7] {
        [
            self.gates.gate[demand.gate].name.clone(),
            demand.about(),
            shown(judged.ratio, times),
            range(judged.interval),
            bar(demand),
            aim(demand.aim),
            self.words(demand, judged).0,
        ]
    }

    /// Notes that explain the numbers.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "ratio: time or bytes of the other divided by ours, so above 1 ours is better; a gate passes if the whole interval is at or above its threshold"
                .to_owned(),
            "intervals: all of them together are correct in 99 of 100 runs".to_owned(),
        ];
        let foreign = self.judged.iter().filter(|(demand, _)| self.set_for(demand).is_some()).count();
        if foreign > 0 {
            let machine = self.machine;
            notes.push(format!(
                "{foreign} thresholds are for another machine than {} ({}); they are judged, but cannot fail here",
                machine.cpu, machine.model
            ));
        }
        notes
    }

    /// The verdicts as a page, after the warnings of the report.
    pub(crate) fn view(&self, banner: Vec<Warning>, gates: &Path) -> View {
        let mut facts = machine_facts(self.machine);
        facts.push(("gates", gates.display().to_string()));
        facts.push(("evidence", "report.json, report.html".to_owned()));
        View { title: "lab gate".to_owned(), banner, facts, tables: vec![self.table()], notes: self.notes() }
    }

    /// Thresholds that are not passed; errors if the exit code says so.
    pub(crate) fn annotations(&self, strict: bool) -> Vec<Annotation> {
        let lines = self.own().filter_map(|(demand, judged)| {
            let is_error = match judged.verdict {
                Verdict::Pass | Verdict::Open => return None,
                Verdict::Fail | Verdict::Missing(_) | Verdict::Unequal | Verdict::Unfinished => true,
                Verdict::Unproven => strict || self.gates.defaults.unproven == Unproven::Fail,
            };
            let [_, _, ratio, interval, must, _, word] = self.cells(demand, judged);
            let (name, about) = (&self.gates.gate[demand.gate].name, demand.about());
            Some(Annotation {
                is_error,
                message: format!("{name}, {about}: {word}; {ratio} {interval}, must {must}"),
            })
        });
        lines.collect()
    }

    /// Demands that apply here.
    fn own(&self) -> impl Iterator<Item = &(Demand, Judged)> {
        self.judged.iter().filter(|(demand, _)| self.set_for(demand).is_none())
    }

    /// Exit code. A threshold for another machine fails nothing.
    pub(crate) fn exit(&self, strict: bool) -> Exit {
        let any = |wanted: fn(&Verdict) -> bool| self.own().any(|(_, judged)| wanted(&judged.verdict));
        let open = any(|verdict| *verdict == Verdict::Unproven);
        if any(|verdict| matches!(verdict, Verdict::Fail | Verdict::Missing(_) | Verdict::Unequal))
            || open && self.gates.defaults.unproven == Unproven::Fail
        {
            Exit::Failed
        } else if any(|verdict| *verdict == Verdict::Unfinished) || open && strict {
            Exit::Inconclusive
        } else {
            Exit::Ok
        }
    }
}

/// Writes the verdicts beside their report.
pub(crate) fn write_pages(view: &View, folder: &Path) -> Result<(), Error> {
    let pages = [("gates.html", html::page(view, "", "")), ("gates.md", markdown::lay_out_view(view))];
    files::write(folder, pages)
}

/// Verdict as a word, or with its reason.
fn word(demand: &Demand, judged: &Judged) -> (String, Tone) {
    let beyond = |aim: f64| judged.interval.is_some_and(|[low, _]| low >= aim);
    match &judged.verdict {
        Verdict::Pass if demand.aim.is_some_and(beyond) => ("aim".to_owned(), Tone::Good),
        Verdict::Pass => ("pass".to_owned(), Tone::Good),
        Verdict::Fail => ("FAIL".to_owned(), Tone::Bad),
        Verdict::Unproven => ("unproven".to_owned(), Tone::Dim),
        Verdict::Open => (NOTHING.to_owned(), Tone::Dim),
        Verdict::Unfinished => ("unfinished".to_owned(), Tone::Dim),
        Verdict::Missing(reason) => (format!("MISSING: {reason}"), Tone::Bad),
        Verdict::Unequal => ("NO VERDICT: samples of unequal length".to_owned(), Tone::Bad),
    }
}

fn bar(demand: &Demand) -> String {
    match demand.measure {
        Measure::Within(ns) => duration(ns),
        _ => aim(demand.must),
    }
}

fn aim(aim: Option<f64>) -> String {
    shown(aim, |aim| format!("{aim:.2}"))
}

/// Lists the demands of a file without judging them.
pub(crate) fn demanded(gates: &Gates, demands: &[Demand], machine: &Machine) -> Table {
    let line = |demand: &Demand, pair: &Pair| {
        let gate = &gates.gate[demand.gate];
        let rival = match (&pair.rival, &demand.measure) {
            (Some(rival), _) => rival.to_string(),
            (None, Measure::Beside(_, other)) => format!("its `{other}`"),
            (None, Measure::Within(_)) => "the clock".to_owned(),
            (None, _) => "the other build".to_owned(),
        };
        let case = match &demand.measure {
            Measure::Amount(name) | Measure::Beside(name, _) => format!("{}: {name}", pair.own),
            Measure::Time | Measure::Within(_) => pair.own.to_string(),
        };
        let here = match gate.holds_for(machine) {
            true => "yes".to_owned(),
            false => format!("set for {}", gate.machines.join(" or ")),
        };
        Line::plain([gate.name.clone(), case, rival, bar(demand), aim(demand.aim), here])
    };
    let of_demand = |demand: &Demand| demand.pairs.iter().map(|p| line(demand, p)).collect::<Vec<_>>();
    let columns = ["gate", "case", "rival", "must", "aim", "counts here"];
    Table::new(columns, demands.iter().flat_map(of_demand))
}
