//! Which rows to measure beside which rival, in which processes, and what came out.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hashmill_testkit::Rng;

use super::engines::OURS;
use super::row::Row;
use super::worker::{Reply, Request};
use crate::builds::{self, Worker};
use crate::gates::Gate;
use crate::host::Host;
use crate::judge::{self, Measured};
use crate::report::{GateReport, Report, SCHEMA, Unit};

/// The rivals, pinned in `Cargo.toml`.
const RIVALS: &str = "automerge 0.12.0, loro 1.17.1, yrs 0.28.1, diamond-types 1.0.0";

/// The rival of gates that name none.
const OFFICIAL: &str = "automerge";

/// How long and how often to measure.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Processes.
    pub sessions: usize,
    /// Pairs per row and process.
    pub pairs: usize,
    /// Shortest sample.
    pub sample: Duration,
    /// Time for the pairs of one row in one process.
    pub budget: Duration,
    /// Decides orders.
    pub seed: u64,
}

/// A row beside a rival.
type Key = (String, String);

/// The program that measures times, and the one that counts memory.
#[derive(Debug)]
pub struct Programs {
    worker: Worker,
    memory: Worker,
}

/// Builds both programs.
pub fn build() -> anyhow::Result<Programs> {
    let build = |bin: &str| builds::build(bin, bin, &["doc-engines"]);
    Ok(Programs { worker: build("doc-worker")?, memory: build("doc-memory")? })
}

/// Measures every row of `gates` whose name contains `filter`.
///
/// `progress` is told what happens.
pub fn compare(
    gates: &[Gate],
    filter: &str,
    effort: &Effort,
    mut progress: impl FnMut(&str),
) -> anyhow::Result<Report> {
    let plans = plan(gates, filter)?;
    let programs = build()?;
    let mut measured: HashMap<Key, Measured> = HashMap::new();
    let mut skipped: HashMap<Key, String> = HashMap::new();
    let (memory, times): (Vec<Key>, Vec<Key>) = keys(&plans)?;
    let mut rng = Rng::new(effort.seed);
    let folder = fixtures()?;
    for session in 1..=effort.sessions {
        let mut rows = times.clone();
        rows.retain(|key| !measured.get(key).is_some_and(takes_minutes));
        rng.shuffle(&mut rows);
        progress(&format!("session {session}/{}: {} rows", effort.sessions, rows.len()));
        let request = Request {
            rows,
            seed: rng.next_u64(),
            pairs: effort.pairs,
            sample_us: effort.sample.as_micros() as u64,
            budget_ms: effort.budget.as_millis() as u64,
            folder: Some(folder.clone()),
        };
        for reply in programs.worker.run::<Reply>(&request, rng.below(4096))? {
            file(&programs.worker, reply, &mut measured, &mut skipped);
        }
    }
    for key in memory {
        progress(&format!("{} beside {}", key.0, key.1));
        match [&key.1, OURS].map(|engine| bytes(&programs.memory, engine, &key.0)) {
            [Ok(theirs), Ok(ours)] => {
                let entry = measured.entry(key.clone()).or_default();
                (entry.row, entry.unit) = (key.0, Unit::Bytes);
                entry.add("doc-memory", 1, vec![[theirs, ours]]);
            }
            [Err(why), _] | [_, Err(why)] => drop(skipped.insert(key, format!("{why:#}"))),
        }
    }
    let reports = plans.iter().map(|plan| judged(plan, &measured, &skipped)).collect();
    Ok(Report {
        schema: SCHEMA,
        created: hashmill_machine::date::now_utc(),
        command: std::env::args().collect(),
        rival: RIVALS.to_owned(),
        method: format!(
            "{} processes, {} pairs each in alternating order, samples of {} µs or more, one pair where a call \
             of the rival takes 0.4 s, one process where it takes {} s; median of the sessions, 99 % exact; bytes are counted once",
            effort.sessions,
            effort.pairs,
            effort.sample.as_micros(),
            MINUTES_NS / 1e9
        ),
        host: Host::read(),
        seed: effort.seed,
        gates: reports,
    })
}

/// A rival whose call takes this long is measured in the first process alone: eight of them would take the time of all
/// other rows together. Such a row proves nothing, and says so.
const MINUTES_NS: f64 = 20e9;

fn takes_minutes(measured: &Measured) -> bool {
    let pairs = measured.sessions.iter().flatten();
    measured.unit == Unit::Time && pairs.into_iter().any(|[rival, _]| *rival > MINUTES_NS)
}

/// An empty folder for what the processes of this run share.
fn fixtures() -> anyhow::Result<PathBuf> {
    let folder = builds::target().join("rivals/fixtures");
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(&folder),
    }
    .with_context(|| format!("emptying {}", folder.display()))?;
    Ok(folder)
}

/// A gate and those of its rows that the filter leaves.
struct Plan<'a> {
    gate: &'a Gate,
    rows: Vec<String>,
}

impl Plan<'_> {
    fn rival(&self) -> &str {
        self.gate.rival.as_deref().unwrap_or(OFFICIAL)
    }
}

fn plan<'a>(gates: &'a [Gate], filter: &str) -> anyhow::Result<Vec<Plan<'a>>> {
    let mut plans = Vec::new();
    for gate in gates {
        let wanted = |row: &&String| gate.name.contains(filter) || row.contains(filter);
        let rows: Vec<String> = gate.rows.iter().filter(wanted).cloned().collect();
        for row in &rows {
            row.parse::<Row>().with_context(|| format!("gate {:?}", gate.name))?;
        }
        if !rows.is_empty() {
            plans.push(Plan { gate, rows });
        }
    }
    ensure!(!plans.is_empty(), "no gate and no row contains {filter:?}");
    Ok(plans)
}

/// What has to be measured, each once: memory, and the rest.
fn keys(plans: &[Plan<'_>]) -> anyhow::Result<(Vec<Key>, Vec<Key>)> {
    let mut all: Vec<Key> = Vec::new();
    for plan in plans {
        all.extend(plan.rows.iter().map(|row| (row.clone(), plan.rival().to_owned())));
    }
    all.sort();
    all.dedup();
    let mut keys = (Vec::new(), Vec::new());
    for key in all {
        let row: Row = key.0.parse()?;
        if row.is_memory() { keys.0.push(key) } else { keys.1.push(key) }
    }
    Ok(keys)
}

fn file(
    worker: &Worker,
    reply: Reply,
    measured: &mut HashMap<Key, Measured>,
    skipped: &mut HashMap<Key, String>,
) {
    let key = (reply.row.clone(), reply.rival);
    if let Some(why) = reply.skipped {
        skipped.insert(key, why);
        return;
    }
    let bytes = reply.row.parse::<Row>().is_ok_and(|row| row.is_bytes());
    let entry = measured.entry(key).or_default();
    entry.row = reply.row;
    entry.unit = if bytes { Unit::Bytes } else { Unit::Time };
    entry.add(&worker.name, reply.calls, reply.pairs);
}

fn judged(plan: &Plan<'_>, measured: &HashMap<Key, Measured>, skipped: &HashMap<Key, String>) -> GateReport {
    let key = |row: &String| (row.clone(), plan.rival().to_owned());
    let rows: Vec<&Measured> = plan.rows.iter().filter_map(|row| measured.get(&key(row))).collect();
    let mut report = judge::gate(plan.gate, &rows);
    report.name = format!("{}, beside {}", report.name, plan.rival());
    let mut missing: Vec<&str> =
        plan.rows.iter().filter_map(|row| skipped.get(&key(row))).map(String::as_str).collect();
    missing.dedup();
    if !missing.is_empty() {
        report.skipped = Some(missing.join("; "));
    }
    report
}

/// The bytes that one engine needs for a row, from a process that does nothing else.
fn bytes(memory: &Worker, engine: &str, row: &str) -> anyhow::Result<f64> {
    let program = |what: &str| {
        let mut command = Command::new(&memory.path);
        command.args([what, engine, row]).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    };
    let mut measure = program("measure");
    let mut saver = None;
    if !matches!(row.parse()?, Row::Held { loaded: false, .. }) {
        let mut saves = program("save").spawn().with_context(|| format!("saving {row} with {engine}"))?;
        measure.stdin(saves.stdout.take().context("its standard output")?);
        saver = Some(saves);
    }
    let output = measure.output().with_context(|| format!("measuring {row} of {engine}"))?;
    if let Some(mut saver) = saver {
        ensure!(saver.wait()?.success(), "{engine} could not save {row}");
    }
    ensure!(output.status.success(), "counting {row} of {engine} failed: {}", output.status);
    String::from_utf8_lossy(&output.stdout).trim().parse().context("a number of bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATES: &str = include_str!("../../../../bench/gates.toml");

    #[test]
    fn every_row_of_the_committed_gates_means_something() {
        let gates = crate::gates::parse(GATES).expect("gates.toml is valid").doc;
        let plans = plan(&gates, "").expect("every row is known");
        assert_eq!(plans.len(), gates.len());
        let (memory, times) = keys(&plans).expect("rows");
        assert!(memory.len() >= 3 && times.len() > 60, "{} {}", memory.len(), times.len());
        for gate in &gates {
            if let (Some(must), Some(aim)) = (gate.must, gate.aim) {
                assert!(must <= aim, "{}", gate.name);
            }
        }
    }

    #[test]
    fn a_filter_keeps_rows_and_gates_by_name() {
        let gates = crate::gates::parse(GATES).expect("gates.toml is valid").doc;
        let plans = plan(&gates, "map_get/").expect("rows");
        assert!(plans.iter().all(|plan| plan.rows.iter().all(|row| row.starts_with("map_get/"))));
        assert!(plan(&gates, "no such thing").is_err());
    }
}
