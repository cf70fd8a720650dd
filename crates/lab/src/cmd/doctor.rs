//! `lab doctor`: what this machine allows to be measured, and what stands in the way.

use super::error::Error;
use super::noise::{self, Trials};
use super::{Console, Exit, Mount, paths};
use crate::report::noise::NoiseRecord;
use crate::report::store::read_bytes;
use crate::report::text::lay_out;
use crate::report::view::{Line, Table, Tone};
use clap::Args;
use hashmill_machine::clock::Monotonic;
use hashmill_machine::date::{now_seconds, parse_utc};
use hashmill_machine::{Load, Machine};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long the machine is watched.
const WATCH: Duration = Duration::from_millis(500);
/// Days for which a noise card is believed.
const CARD_DAYS: u64 = 14;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Exit with 1 when something stands in the way of numbers that could be published.
    #[arg(long)]
    strict: bool,
    /// Find out what this machine can prove: identical sides and known slowdowns, compared again and again.
    #[arg(long, conflicts_with = "strict")]
    noise: bool,
    #[command(flatten)]
    trials: Trials,
}

/// Everything that the findings follow from.
#[derive(Clone, Debug, Default)]
struct Facts {
    machine: Machine,
    before: Load,
    after: Load,
    watched_ms: u64,
    resolution_ns: u64,
    /// Tools that answer.
    tools: Vec<&'static str>,
    /// What the stored noise card says, and its age in days.
    card: Option<(u64, Vec<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Good,
    /// Something cannot be measured, or costs precision.
    Lack,
    /// Numbers from here should not be published.
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    what: &'static str,
    is: String,
    weight: Weight,
    means: String,
}

const TOOLS: [(&str, &str); 3] = [
    ("git", "`compare` cannot build revisions"),
    ("valgrind", "`run --explain` counts no instructions; Debian: apt-get install valgrind"),
    ("perf", "`run --explain` has neither counters nor functions; Debian: apt-get install linux-perf"),
];

/// Where `doctor --noise` keeps the card of a machine.
pub(super) fn card(machine: &Machine) -> Result<PathBuf, Error> {
    Ok(paths::cache()?.join("noise").join(format!("{}.json", machine.id)))
}

/// This machine's card, if there is one that stands its check.
pub(super) fn stored(machine: &Machine) -> Option<NoiseRecord> {
    let bytes = read_bytes(&card(machine).ok()?).ok()?;
    let record: NoiseRecord = serde_json::from_slice(&bytes).ok()?;
    (record.machine.id == machine.id && record.problems().is_empty()).then_some(record)
}

pub(super) fn main(mount: &Mount<'_>, args: &Doctor, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.noise {
        return noise::main(mount, &args.trials, console);
    }
    let machine = Machine::read();
    let before = Load::read();
    std::thread::sleep(WATCH);
    let facts = Facts {
        card: stored(&machine).as_ref().and_then(lines_of),
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
            Weight::Good => Tone::Plain,
            Weight::Lack => Tone::Dim,
            Weight::Bad => Tone::Bad,
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
    let bad = findings.iter().filter(|finding| finding.weight == Weight::Bad).count();
    match bad {
        0 => writeln!(console.out, "\nnothing stands in the way")?,
        n => writeln!(console.out, "\n{n} of these stand in the way of numbers that could be published")?,
    }
    Ok(if args.strict && bad > 0 { Exit::Failed } else { Exit::Ok })
}

fn answers(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Age and lines of a stored card; nothing of one that does not stand its check.
fn lines_of(record: &NoiseRecord) -> Option<(u64, Vec<String>)> {
    let last = record
        .series
        .iter()
        .flat_map(|series| &series.trials)
        .filter_map(|trial| parse_utc(&trial.created))
        .max()?;
    let lines = record.series.iter().filter(|series| !series.trials.is_empty()).map(|series| {
        let tally = series.tally();
        let sees = 100.0 * tally.sees(40.0);
        format!(
            "{}: {} of {} claims, sees ±{sees:.1} % in 40 sessions",
            series.name(),
            tally.claims,
            tally.trials
        )
    });
    let age = now_seconds().saturating_sub(last) / 86_400;
    Some((age, lines.collect()))
}

/// A fact, and what it means where it is not fine; one that the system does not tell is a lack.
fn finding(what: &'static str, is: Option<String>, judged: Option<(Weight, &str)>) -> Finding {
    let (weight, means) = match (&is, judged) {
        (_, Some(judged)) => judged,
        (Some(_), None) => (Weight::Good, "fine"),
        (None, None) => (Weight::Lack, "this system does not say"),
    };
    Finding { what, is: is.unwrap_or_else(|| "unknown".to_owned()), weight, means: means.to_owned() }
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let Facts { machine, before, after, .. } = facts;
    let watched_us = facts.watched_ms as f64 * 1e3;
    let share = |what, of: fn(&Load) -> Option<u64>, unit_us: f64, limit, means| {
        let grown = of(after).zip(of(before)).map(|(after, before)| after.saturating_sub(before));
        // The kernel sums up every two seconds only, so half a second may seem to hold more than itself.
        let share = grown.map(|grown| (grown as f64 * unit_us / watched_us).min(1.0));
        let is = share.map(|share| format!("{:.1} %", share * 100.0));
        finding(what, is, share.filter(|share| *share > limit).map(|_| (Weight::Bad, means)))
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
                .then_some((Weight::Bad, "samples must be far longer than its steps: raise --sample-ms")),
        ),
        finding(
            "load average",
            after.average.map(|average| format!("{average:.2}")),
            busy.map(|_| (Weight::Bad, "others are at work: wait before you measure what will be published")),
        ),
        share("stolen time", |l| l.stolen_ms, 1e3, 0.01, "the hypervisor gives the processor to others"),
        share("processor pressure", |l| l.cpu_pressure_us, 1.0, 0.1, "tasks wait for a processor"),
        share("memory pressure", |l| l.memory_pressure_us, 1.0, 0.01, "tasks wait for memory"),
        finding(
            "virtual machine",
            Some(virtualization.to_owned()),
            is_virtual
                .then_some((Weight::Lack, "neighbours can disturb without a trace; compare in pairs alone")),
        ),
        finding(
            "hardware counters",
            Some(counters.to_owned()),
            (counters == "none").then_some((
                Weight::Lack,
                "`run --explain` shows page faults, switches and huge pages instead",
            )),
        ),
        finding(
            "frequency governor",
            machine.governor.clone(),
            match machine.governor.as_deref() {
                Some("performance") => None,
                Some(_) => {
                    Some((Weight::Bad, "the clock follows the load: cpupower frequency-set -g performance"))
                }
                None => Some((Weight::Lack, "the clock cannot be held here")),
            },
        ),
        finding(
            "huge pages",
            machine.huge_pages.clone(),
            (machine.huge_pages.as_deref() == Some("never"))
                .then_some((Weight::Bad, "large inputs lie in small pages, and processes differ by luck")),
        ),
        finding(
            "address randomisation",
            machine.aslr.map(|level| if level == 0 { "off" } else { "on" }.to_owned()),
            (machine.aslr == Some(0))
                .then_some((Weight::Lack, "sessions cannot average over the luck of a layout")),
        ),
    ];
    found.extend(TOOLS.map(|(name, without)| {
        let missing = !facts.tools.contains(&name);
        let is = if missing { "missing" } else { "there" };
        finding(name, Some(is.to_owned()), missing.then_some((Weight::Lack, without)))
    }));
    let card = |is: String, weight, means: &str| finding("noise card", Some(is), Some((weight, means)));
    match &facts.card {
        None => found.push(card(
            "none".to_owned(),
            Weight::Lack,
            "run `doctor --noise`: nobody knows what this machine can prove",
        )),
        Some((age, _)) if *age > CARD_DAYS => {
            found.push(card(format!("{age} days old"), Weight::Lack, "run `doctor --noise` again"));
        }
        Some((age, lines)) => {
            found.extend(lines.iter().map(|line| card(format!("{age} days old"), Weight::Good, line)));
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
        let card = Some((3, vec!["A/A x: 0 of 10 claims".to_owned()]));
        let tools = TOOLS.map(|(name, _)| name).to_vec();
        Facts { machine, before: load, after: load, watched_ms: 500, resolution_ns: 30, tools, card }
    }

    fn of(facts: &Facts, what: &str) -> Finding {
        findings(facts).into_iter().find(|finding| finding.what == what).expect(what)
    }

    #[test]
    fn a_quiet_machine_has_nothing_in_its_way() {
        assert!(findings(&quiet()).iter().all(|finding| finding.weight == Weight::Good));
    }

    #[test]
    fn each_obstacle_is_named_with_its_weight() {
        let mut facts = quiet();
        facts.machine.governor = Some("powersave".to_owned());
        facts.machine.huge_pages = Some("never".to_owned());
        facts.machine.counters = "none: no unit".to_owned();
        facts.after =
            Load { average: Some(3.0), stolen_ms: Some(20), cpu_pressure_us: Some(60_005), ..facts.after };
        facts.resolution_ns = 15_000_000;
        facts.tools.retain(|tool| *tool != "valgrind");
        facts.card = None;
        for (what, is, weight) in [
            ("frequency governor", "powersave", Weight::Bad),
            ("huge pages", "never", Weight::Bad),
            ("hardware counters", "none", Weight::Lack),
            ("load average", "3.00", Weight::Bad),
            ("stolen time", "2.0 %", Weight::Bad),
            ("processor pressure", "12.0 %", Weight::Bad),
            ("clock", "unknown source, steps of 15000000 ns", Weight::Bad),
            ("valgrind", "missing", Weight::Lack),
            ("noise card", "none", Weight::Lack),
        ] {
            let finding = of(&facts, what);
            assert_eq!((finding.is.as_str(), finding.weight), (is, weight), "{what}");
        }
    }

    #[test]
    fn what_a_system_cannot_say_is_a_lack_and_an_old_card_too() {
        let mut facts = quiet();
        facts.before = Load::default();
        facts.after = Load::default();
        facts.card = Some((15, Vec::new()));
        for what in ["load average", "stolen time", "processor pressure", "memory pressure", "noise card"] {
            assert_eq!(of(&facts, what).weight, Weight::Lack, "{what}");
        }
    }
}
