//! `lab doctor`: what this machine can measure, and what disturbs it.

mod false_positive_trials;

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::noise_card::stored;
use crate::report::documents::noise::NoiseRecord;
use crate::report::render::text::lay_out;
use crate::report::view::{Line, Table, Tone};
use clap::Args;
use false_positive_trials::Trials;
use hashmill_machine::clock::Monotonic;
use hashmill_machine::date::{now_seconds, parse_utc};
use hashmill_machine::{Load, Machine};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time for which the machine is observed.
const WATCH: Duration = Duration::from_millis(500);
/// Days for which a noise card is valid.
const CARD_DAYS: u64 = 14;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Exit with 1 if something prevents publishable numbers.
    #[arg(long)]
    strict: bool,
    /// Measure what this machine can prove: compare identical sides and known slowdowns repeatedly.
    #[arg(long, conflicts_with = "strict")]
    noise: bool,
    #[command(flatten)]
    trials: Trials,
}

/// Facts behind the findings.
#[derive(Clone, Debug)]
struct Facts {
    machine: Machine,
    before: Load,
    after: Load,
    watched_ms: u64,
    resolution_ns: u64,
    /// Tools that work.
    tools: Vec<&'static str>,
    /// Age in days and lines of the stored noise card, or the reason why it cannot be used.
    card: Result<Option<(u64, Vec<String>)>, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    Good,
    /// Something cannot be measured, or reduces precision.
    Lack,
    /// Numbers from here should not be published.
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    what: &'static str,
    is: String,
    weight: Severity,
    means: String,
}

const TOOLS: [(&str, &str); 3] = [
    ("git", "`compare` cannot build revisions"),
    ("valgrind", "`run --explain` counts no instructions; Debian: apt-get install valgrind"),
    ("perf", "`run --explain` has neither counters nor functions; Debian: apt-get install linux-perf"),
];

pub(crate) fn main(lab: &LabSetup<'_>, args: &Doctor, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.noise {
        return false_positive_trials::main(lab, &args.trials, console);
    }
    let machine = Machine::read();
    let before = Load::read();
    std::thread::sleep(WATCH);
    let facts = Facts {
        card: stored(&machine)
            .map(|record| record.as_ref().and_then(lines_of))
            .map_err(|error| error.to_string()),
        machine,
        before,
        after: Load::read(),
        watched_ms: WATCH.as_millis() as u64,
        resolution_ns: Monotonic::new().resolution_ns(),
        tools: TOOLS.iter().map(|(name, _)| *name).filter(|name| answers(name)).collect(),
    };
    let findings = findings(&facts);
    let rows = findings.iter().map(|finding| {
        let tone = match finding.weight {
            Severity::Good => Tone::Plain,
            Severity::Lack => Tone::Dim,
            Severity::Bad => Tone::Bad,
        };
        Line::new([finding.what.to_owned(), finding.is.clone(), finding.means.clone()], tone)
    });
    let table = Table::new(["what", "is", "means"], rows);
    writeln!(
        console.out,
        "machine   {}  {} ×{}\n",
        facts.machine.id, facts.machine.cpu, facts.machine.logical_cores
    )?;
    console.out.write_all(lay_out(&table, console.colour).as_bytes())?;
    let bad = findings.iter().filter(|finding| finding.weight == Severity::Bad).count();
    match bad {
        0 => writeln!(console.out, "\nno problems found")?,
        n => writeln!(console.out, "\n{n} of these prevent publishable numbers")?,
    }
    Ok(if args.strict && bad > 0 { Exit::Failed } else { Exit::Ok })
}

fn answers(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Age and lines of a stored card; none if it fails its check.
fn lines_of(record: &NoiseRecord) -> Option<(u64, Vec<String>)> {
    let last = record
        .series
        .iter()
        .flat_map(|series| &series.trials)
        .filter_map(|trial| parse_utc(&trial.created))
        .max()?;
    let lines = record.series.iter().filter(|series| !series.trials.is_empty()).map(|series| {
        let stats = series.stats();
        let sees = 100.0 * stats.sees(40.0);
        format!(
            "{}: {} of {} claims, sees ±{sees:.1} % in 40 sessions",
            series.name(),
            stats.claims,
            stats.trials
        )
    });
    let age = now_seconds().saturating_sub(last) / 86_400;
    Some((age, lines.collect()))
}

/// A fact and its meaning if not fine; an unknown fact counts as missing.
fn finding(what: &'static str, is: Option<String>, judged: Option<(Severity, &str)>) -> Finding {
    let (weight, means) = match (&is, judged) {
        (_, Some(judged)) => judged,
        (Some(_), None) => (Severity::Good, "fine"),
        (None, None) => (Severity::Lack, "the system does not report it"),
    };
    Finding { what, is: is.unwrap_or_else(|| "unknown".to_owned()), weight, means: means.to_owned() }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let Facts { machine, before, after, .. } = facts;
    let watched_us = facts.watched_ms as f64 * 1e3;
    let share = |what, of: fn(&Load) -> Option<u64>, unit_us: f64, limit, means| {
        let grown = of(after).zip(of(before)).map(|(after, before)| after.saturating_sub(before));
        // The kernel updates the sum only every two seconds, so half a second can seem to exceed its length.
        let share = grown.map(|grown| (grown as f64 * unit_us / watched_us).min(1.0));
        let is = share.map(|share| format!("{:.1} %", share * 100.0));
        finding(what, is, share.filter(|share| *share > limit).map(|_| (Severity::Bad, means)))
    };
    let clock = machine.clock_source.as_deref().unwrap_or("unknown source");
    let busy = after.average.filter(|average| *average > f64::from(machine.logical_cores) / 2.0);
    let counters = machine.counters.strip_prefix("none").map_or(&*machine.counters, |_| "none");
    let is_virtual = machine.virtualization != "none";
    let virtualization = if is_virtual { machine.virtualization.as_str() } else { "no" };
    let mut found = vec![
        finding(
            "clock",
            Some(format!("{clock}, steps of {} ns", facts.resolution_ns)),
            (facts.resolution_ns > 1000)
                .then_some((Severity::Bad, "samples must be far longer than its steps: raise --sample-ms")),
        ),
        finding(
            "load average",
            after.average.map(|average| format!("{average:.2}")),
            busy.map(|_| {
                (Severity::Bad, "other processes are running: wait before measuring numbers for publication")
            }),
        ),
        share(
            "stolen time",
            |l| l.stolen_ms,
            1e3,
            0.01,
            "the hypervisor gives processor time to other guests",
        ),
        share("processor pressure", |l| l.cpu_pressure_us, 1.0, 0.1, "tasks wait for a processor"),
        share("memory pressure", |l| l.memory_pressure_us, 1.0, 0.01, "tasks wait for memory"),
        finding(
            "virtual machine",
            Some(virtualization.to_owned()),
            is_virtual.then_some((
                Severity::Lack,
                "other guests can disturb measurements invisibly; only compare in pairs",
            )),
        ),
        finding(
            "hardware counters",
            Some(counters.to_owned()),
            (counters == "none").then_some((
                Severity::Lack,
                "`run --explain` shows page faults, switches and huge pages instead",
            )),
        ),
        finding(
            "frequency governor",
            machine.governor.clone(),
            match machine.governor.as_deref() {
                Some("performance") => None,
                Some(_) => Some((
                    Severity::Bad,
                    "the frequency depends on the load: cpupower frequency-set -g performance",
                )),
                None => Some((Severity::Lack, "the frequency cannot be fixed here")),
            },
        ),
        finding(
            "huge pages",
            machine.huge_pages.clone(),
            (machine.huge_pages.as_deref() == Some("never"))
                .then_some((Severity::Bad, "large inputs use small pages, so processes differ randomly")),
        ),
        finding(
            "address randomisation",
            machine.aslr.map(|level| if level == 0 { "off" } else { "on" }.to_owned()),
            (machine.aslr == Some(0))
                .then_some((Severity::Lack, "sessions cannot average over code layouts")),
        ),
    ];
    found.extend(TOOLS.map(|(name, without)| {
        let missing = !facts.tools.contains(&name);
        let is = if missing { "missing" } else { "there" };
        finding(name, Some(is.to_owned()), missing.then_some((Severity::Lack, without)))
    }));
    let card = |is: String, weight, means: &str| finding("noise card", Some(is), Some((weight, means)));
    match &facts.card {
        Err(reason) => {
            let means = format!("{reason}; run `doctor --noise` again");
            found.push(card("unusable".to_owned(), Severity::Lack, &means));
        }
        Ok(None) => found.push(card(
            "none".to_owned(),
            Severity::Lack,
            "run `doctor --noise`: it is unknown what this machine can prove",
        )),
        Ok(Some((age, _))) if *age > CARD_DAYS => {
            found.push(card(format!("{age} days old"), Severity::Lack, "run `doctor --noise` again"));
        }
        Ok(Some((age, lines))) => {
            found.extend(lines.iter().map(|line| card(format!("{age} days old"), Severity::Good, line)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet() -> Facts {
        let machine = Machine {
            logical_cores: 4,
            virtualization: "none".to_owned(),
            counters: "cpu".to_owned(),
            governor: Some("performance".to_owned()),
            huge_pages: Some("madvise".to_owned()),
            aslr: Some(2),
            ..Machine::default()
        };
        let load = Load {
            average: Some(0.2),
            stolen_ms: Some(10),
            cpu_pressure_us: Some(5),
            memory_pressure_us: Some(0),
        };
        let card = Ok(Some((3, vec!["A/A x: 0 of 10 claims".to_owned()])));
        let tools = TOOLS.map(|(name, _)| name).to_vec();
        Facts { machine, before: load, after: load, watched_ms: 500, resolution_ns: 30, tools, card }
    }

    fn finding(facts: &Facts, what: &str) -> Finding {
        findings(facts).into_iter().find(|finding| finding.what == what).expect(what)
    }

    #[test]
    fn a_quiet_machine_has_no_findings() {
        assert!(findings(&quiet()).iter().all(|finding| finding.weight == Severity::Good));
    }

    #[test]
    fn each_finding_has_its_severity() {
        let mut facts = quiet();
        facts.machine.governor = Some("powersave".to_owned());
        facts.machine.huge_pages = Some("never".to_owned());
        facts.machine.counters = "none: no unit".to_owned();
        facts.after =
            Load { average: Some(3.0), stolen_ms: Some(20), cpu_pressure_us: Some(60_005), ..facts.after };
        facts.resolution_ns = 15_000_000;
        facts.tools.retain(|tool| *tool != "valgrind");
        facts.card = Ok(None);
        for (what, is, weight) in [
            ("frequency governor", "powersave", Severity::Bad),
            ("huge pages", "never", Severity::Bad),
            ("hardware counters", "none", Severity::Lack),
            ("load average", "3.00", Severity::Bad),
            ("stolen time", "2.0 %", Severity::Bad),
            ("processor pressure", "12.0 %", Severity::Bad),
            ("clock", "unknown source, steps of 15000000 ns", Severity::Bad),
            ("valgrind", "missing", Severity::Lack),
            ("noise card", "none", Severity::Lack),
        ] {
            let finding = finding(&facts, what);
            assert_eq!((finding.is.as_str(), finding.weight), (is, weight), "{what}");
        }
    }

    #[test]
    fn unknown_facts_and_old_cards_are_findings() {
        let mut facts = quiet();
        facts.before = Load::default();
        facts.after = Load::default();
        facts.card = Ok(Some((15, Vec::new())));
        for what in ["load average", "stolen time", "processor pressure", "memory pressure", "noise card"] {
            assert_eq!(finding(&facts, what).weight, Severity::Lack, "{what}");
        }
    }
}
