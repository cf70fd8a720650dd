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

const TOOLS: [(&str, &str); 4] = [
    ("git", "`compare` cannot build revisions"),
    ("valgrind", "`run --explain` counts no instructions; Debian: apt-get install valgrind"),
    ("perf", "`run --explain` has neither counters nor functions; Debian: apt-get install linux-perf"),
    ("samply", "no sampled profile with a picture; cargo install samply"),
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
    let rows = findings.iter().map(|finding| Line {
        cells: vec![finding.what.to_owned(), finding.is.clone(), finding.means.clone()],
        tone: match finding.weight {
            Weight::Good => Tone::Plain,
            Weight::Lack => Tone::Dim,
            Weight::Bad => Tone::Bad,
        },
    });
    let table = Table { caption: String::new(), columns: vec!["what", "is", "means"], rows: rows.collect() };
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
            tally.slower + tally.faster,
            tally.trials
        )
    });
    let age = now_seconds().saturating_sub(last) / 86_400;
    Some((age, lines.collect()))
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = vec![clock(facts), load(facts)];
    let finding = |what, is: &str, weight, means: &str| Finding {
        what,
        is: is.to_owned(),
        weight,
        means: means.to_owned(),
    };
    let watched_us = facts.watched_ms as f64 * 1e3;
    let share = |field: fn(&Load) -> Option<u64>, unit_us: f64| {
        let grown = field(&facts.after)?.saturating_sub(field(&facts.before)?) as f64 * unit_us;
        // The kernel sums up every two seconds only, so half a second may seem to hold more than itself.
        Some((grown / watched_us).min(1.0))
    };
    for (what, share, limit, means) in [
        (
            "stolen time",
            share(|load| load.stolen_ms, 1e3),
            0.01,
            "the hypervisor gives the processor to others",
        ),
        ("processor pressure", share(|load| load.cpu_pressure_us, 1.0), 0.1, "tasks wait for a processor"),
        ("memory pressure", share(|load| load.memory_pressure_us, 1.0), 0.01, "tasks wait for memory"),
    ] {
        found.push(match share {
            None => finding(what, "unknown", Weight::Lack, "this system does not say"),
            Some(share) if share > limit => finding(what, &percent(share), Weight::Bad, means),
            Some(share) => finding(what, &percent(share), Weight::Good, "fine"),
        });
    }
    let machine = &facts.machine;
    found.push(match machine.virtualization.as_str() {
        "none" => finding("virtual machine", "no", Weight::Good, "fine"),
        name => finding(
            "virtual machine",
            name,
            Weight::Lack,
            "neighbours can disturb without a trace; compare in pairs alone",
        ),
    });
    found.push(match machine.counters.strip_prefix("none") {
        None => finding("hardware counters", &machine.counters, Weight::Good, "fine"),
        Some(_) => finding(
            "hardware counters",
            "none",
            Weight::Lack,
            "`run --explain` shows page faults, switches and huge pages instead",
        ),
    });
    found.push(match machine.governor.as_deref() {
        Some("performance") => finding("frequency governor", "performance", Weight::Good, "fine"),
        Some(other) => finding(
            "frequency governor",
            other,
            Weight::Bad,
            "the clock follows the load: cpupower frequency-set -g performance",
        ),
        None => finding("frequency governor", "unknown", Weight::Lack, "the clock cannot be held here"),
    });
    found.push(match machine.huge_pages.as_deref() {
        Some("never") => finding(
            "huge pages",
            "never",
            Weight::Bad,
            "large inputs lie in small pages, and processes differ by luck",
        ),
        Some(mode) => finding("huge pages", mode, Weight::Good, "fine"),
        None => finding("huge pages", "unknown", Weight::Lack, "this system does not say"),
    });
    found.push(match machine.aslr {
        Some(0) => finding(
            "address randomisation",
            "off",
            Weight::Lack,
            "sessions cannot average over the luck of a layout",
        ),
        Some(_) => finding("address randomisation", "on", Weight::Good, "fine"),
        None => finding("address randomisation", "unknown", Weight::Lack, "this system does not say"),
    });
    for (name, without) in TOOLS {
        found.push(match facts.tools.contains(&name) {
            true => finding(name, "there", Weight::Good, "fine"),
            false => finding(name, "missing", Weight::Lack, without),
        });
    }
    found.extend(noise_card(facts));
    found
}

fn clock(facts: &Facts) -> Finding {
    let source = facts.machine.clock_source.as_deref().unwrap_or("unknown source");
    let fine = facts.resolution_ns <= 1000;
    Finding {
        what: "clock",
        is: format!("{source}, steps of {} ns", facts.resolution_ns),
        weight: if fine { Weight::Good } else { Weight::Bad },
        means: if fine { "fine" } else { "samples must be far longer than its steps: raise --sample-ms" }
            .to_owned(),
    }
}

fn load(facts: &Facts) -> Finding {
    let Some(average) = facts.after.average else {
        let means = "this system does not say".to_owned();
        return Finding { what: "load average", is: "unknown".to_owned(), weight: Weight::Lack, means };
    };
    let busy = average > f64::from(facts.machine.logical_cores) / 2.0;
    Finding {
        what: "load average",
        is: format!("{average:.2}"),
        weight: if busy { Weight::Bad } else { Weight::Good },
        means: if busy { "others are at work: `--publish` refuses" } else { "fine" }.to_owned(),
    }
}

fn noise_card(facts: &Facts) -> Vec<Finding> {
    let finding =
        |is: String, weight, means: &str| Finding { what: "noise card", is, weight, means: means.to_owned() };
    match &facts.card {
        None => vec![finding(
            "none".to_owned(),
            Weight::Lack,
            "run `doctor --noise`: nobody knows what this machine can prove",
        )],
        Some((age, _)) if *age > CARD_DAYS => {
            vec![finding(format!("{age} days old"), Weight::Lack, "run `doctor --noise` again")]
        }
        Some((age, lines)) => {
            lines.iter().map(|line| finding(format!("{age} days old"), Weight::Good, line)).collect()
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
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
