//! Hashmill's BLAKE3 beside the official crate: what to measure, in which processes, and what came out.

pub mod lane;
pub mod row;
pub mod work;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;
use hashmill_testkit::Rng;

use crate::fleet::{self, Lane};
use crate::gates::{Gate, Judge, Level};
use crate::host::{self, Host};
use crate::judge::{self, Measured};
use crate::report::{GateReport, Report, SCHEMA};
use crate::stats;
use row::Row;

/// The official crate, pinned in `Cargo.toml`.
const RIVAL: &str = "blake3 1.8.7 (features rayon, mmap)";

/// How many of the lowest rows of a sweep are measured again.
const SECOND_LOOK: usize = 8;

/// How long and how often to measure.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Processes per lane.
    pub sessions: usize,
    /// Pairs per row and process.
    pub pairs: usize,
    /// Shortest sample.
    pub sample: Duration,
    /// Time for the pairs of one row in one process.
    pub budget: Duration,
    /// Decides orders, offsets and input bytes.
    pub seed: u64,
}

/// A row at a level: what a measurement is filed under.
type Key = (Level, Row);

/// What was measured, by level and row.
type Samples = HashMap<Key, Measured>;

/// A gate with its rows read.
struct Plan<'a> {
    gate: &'a Gate,
    rows: Vec<Row>,
}

/// Builds every lane that the gates need and that `filter` leaves in.
pub fn build(gates: &[Gate], filter: &str) -> anyhow::Result<()> {
    fleet_for(&plan(gates, filter)?).map(drop)
}

/// Measures every row of `gates` whose name contains `filter`.
///
/// `progress` is told what happens, once per process.
pub fn compare(
    gates: &[Gate],
    filter: &str,
    effort: &Effort,
    mut progress: impl FnMut(&str),
) -> anyhow::Result<Report> {
    let plans = plan(gates, filter)?;
    let fleet = fleet_for(&plans)?;
    let host = Host::read();
    let mut rng = Rng::new(effort.seed);
    let mut measured = HashMap::new();
    let (runnable, unrunnable) = split_by_level(&plans);
    run_sessions(&fleet, &rows_by_level(&runnable), effort, &mut rng, &mut measured, &mut progress)?;
    let mut reports = Vec::new();
    for plan in &plans {
        reports.push(match unrunnable.iter().find(|(level, _)| *level == plan.gate.level) {
            Some((_, why)) => judge::skipped(plan.gate, why),
            None if plan.gate.judge == Judge::Minimum => {
                let lowest = lowest_rows(plan, &measured, effort.seed);
                progress(&format!("second look at the {} lowest rows of {:?}", lowest.len(), plan.gate.name));
                let again = HashMap::from([(plan.gate.level, lowest)]);
                let mut fresh = HashMap::new();
                run_sessions(&fleet, &again, effort, &mut rng, &mut fresh, &mut progress)?;
                fresh.values_mut().for_each(|row| row.second_look = true);
                judged(plan, &measured, &fresh, effort.seed)
            }
            None => judged(plan, &measured, &Samples::new(), effort.seed),
        });
    }
    Ok(Report {
        schema: SCHEMA,
        created: host::now(),
        command: std::env::args().collect(),
        rival: RIVAL.to_owned(),
        method: method(effort),
        host,
        seed: effort.seed,
        gates: reports,
    })
}

fn method(effort: &Effort) -> String {
    format!(
        "{} processes per layout, {} pairs each in alternating order, samples of {} µs or more; \
         median of paired ratios, 95 % by a two-level bootstrap",
        effort.sessions,
        effort.pairs,
        effort.sample.as_micros()
    )
}

/// Reads the rows of every gate and drops what the filter does not name.
fn plan<'a>(gates: &'a [Gate], filter: &str) -> anyhow::Result<Vec<Plan<'a>>> {
    let mut plans = Vec::new();
    for gate in gates {
        let mut rows = Vec::new();
        for line in &gate.rows {
            rows.extend(row::expand(line).with_context(|| format!("gate {:?}", gate.name))?);
        }
        rows.retain(|row| gate.name.contains(filter) || row.to_string().contains(filter));
        if !rows.is_empty() {
            plans.push(Plan { gate, rows });
        }
    }
    anyhow::ensure!(!plans.is_empty(), "no gate and no row contains {filter:?}");
    Ok(plans)
}

/// A lane and what it is for.
struct Berth {
    level: Level,
    layout: &'static str,
    lane: Lane,
}

/// Link layouts: the one that the linker chooses, and two in which it shuffles the functions.
const LAYOUTS: [(&str, Option<&str>); 3] =
    [("plain", None), ("shuffled-1", Some("layout-1")), ("shuffled-2", Some("layout-2"))];

fn fleet_for(plans: &[Plan<'_>]) -> anyhow::Result<Vec<Berth>> {
    let mut fleet = Vec::new();
    for (level, hold_back) in
        [(Level::Native, None), (Level::Avx2, Some("official-avx2")), (Level::Sse41, Some("official-sse41"))]
    {
        let wanted = |layouts: bool| {
            plans.iter().any(|plan| plan.gate.level == level && (plan.gate.layouts || !layouts))
        };
        for (layout, shuffle) in LAYOUTS {
            if wanted(shuffle.is_some()) {
                let features: Vec<&str> = [hold_back, shuffle].into_iter().flatten().collect();
                let name = format!("blake3-{}-{layout}", level.name());
                let lane = fleet::build("blake3-lane", &name, &features)?;
                fleet.push(Berth { level, layout, lane });
            }
        }
    }
    Ok(fleet)
}

/// Separates the gates that this CPU can run from the levels that it cannot, with the reason.
fn split_by_level<'p, 'g>(plans: &'p [Plan<'g>]) -> (Vec<&'p Plan<'g>>, Vec<(Level, String)>) {
    let mut unrunnable: Vec<(Level, String)> = Vec::new();
    let mut runnable = Vec::new();
    for plan in plans {
        let level = plan.gate.level;
        match lane::forced_plan(level) {
            Ok(_) => runnable.push(plan),
            Err(why) if unrunnable.iter().all(|(known, _)| *known != level) => {
                unrunnable.push((level, why.to_string()));
            }
            Err(_) => {}
        }
    }
    (runnable, unrunnable)
}

/// Which rows each level has to run, and whether in every layout.
fn rows_by_level(plans: &[&Plan<'_>]) -> HashMap<Level, Vec<(Row, bool)>> {
    let mut levels: HashMap<Level, Vec<(Row, bool)>> = HashMap::new();
    for plan in plans {
        let rows = levels.entry(plan.gate.level).or_default();
        for &row in &plan.rows {
            match rows.iter_mut().find(|(known, _)| *known == row) {
                Some((_, layouts)) => *layouts |= plan.gate.layouts,
                None => rows.push((row, plan.gate.layouts)),
            }
        }
    }
    levels
}

/// Runs `effort.sessions` fresh processes of every lane, lanes and rows in random order each time.
fn run_sessions(
    fleet: &[Berth],
    levels: &HashMap<Level, Vec<(Row, bool)>>,
    effort: &Effort,
    rng: &mut Rng,
    measured: &mut Samples,
    progress: &mut impl FnMut(&str),
) -> anyhow::Result<()> {
    for session in 1..=effort.sessions {
        let mut order: Vec<&Berth> = fleet.iter().filter(|berth| levels.contains_key(&berth.level)).collect();
        rng.shuffle(&mut order);
        for berth in order {
            let plain = berth.layout == LAYOUTS[0].0;
            let rows = levels[&berth.level].iter().filter(|(_, layouts)| plain || *layouts);
            let mut rows: Vec<String> = rows.map(|(row, _)| row.to_string()).collect();
            if rows.is_empty() {
                continue;
            }
            rng.shuffle(&mut rows);
            progress(&format!(
                "session {session}/{}: {} ({} rows)",
                effort.sessions,
                berth.lane.name,
                rows.len()
            ));
            let request = lane::Request {
                level: berth.level,
                rows,
                seed: rng.next_u64(),
                pairs: effort.pairs,
                sample_us: effort.sample.as_micros() as u64,
                budget_ms: effort.budget.as_millis() as u64,
            };
            let replies: Vec<lane::Reply> = berth.lane.run(&request, rng.below(4096))?;
            for reply in replies {
                file(berth, reply, measured)?;
            }
        }
    }
    Ok(())
}

fn file(berth: &Berth, reply: lane::Reply, measured: &mut Samples) -> anyhow::Result<()> {
    let row: Row = reply.row.parse()?;
    let entry = measured.entry((berth.level, row)).or_default();
    entry.row = reply.row;
    entry.bytes = row.bytes();
    entry.how = reply.kernel;
    entry.clocks.extend(reply.clock_ghz);
    entry.add(&berth.lane.name, berth.layout, reply.calls, reply.pairs);
    Ok(())
}

/// The lowest rows of a sweep, to be measured once more.
///
/// The lowest of a hundred noisy ratios is low partly because it was picked for being low. Samples taken after the
/// picking do not know about it, so only they judge the gate.
fn lowest_rows(plan: &Plan<'_>, measured: &Samples, seed: u64) -> Vec<(Row, bool)> {
    let mut rows: Vec<(f64, Row)> = plan
        .rows
        .iter()
        .filter_map(|&row| {
            let seen = measured.get(&(plan.gate.level, row))?;
            Some((stats::estimate(&seen.sessions, seed)?.ratio, row))
        })
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.truncate(SECOND_LOOK);
    rows.into_iter().map(|(_, row)| (row, false)).collect()
}

/// Judges a gate by the samples in `fresh`, or by those in `measured` where there are none.
fn judged(plan: &Plan<'_>, measured: &Samples, fresh: &Samples, seed: u64) -> GateReport {
    let rows: Vec<&Measured> = plan
        .rows
        .iter()
        .filter_map(|&row| {
            let key = (plan.gate.level, row);
            fresh.get(&key).or_else(|| measured.get(&key))
        })
        .collect();
    judge::gate(plan.gate, &rows, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATES: &str = include_str!("../../../../bench/gates.toml");

    #[test]
    fn every_row_of_the_committed_gates_means_something() {
        let gates = crate::gates::parse(GATES).expect("gates.toml is valid").blake3;
        let plans = plan(&gates, "").expect("every row is known");
        assert_eq!(plans.len(), gates.len());
        assert!(plans.iter().map(|plan| plan.rows.len()).sum::<usize>() > 136);
        for gate in &gates {
            if let (Some(must), Some(aim)) = (gate.must, gate.aim) {
                assert!(must <= aim, "{}", gate.name);
            }
        }
    }

    #[test]
    fn a_filter_keeps_rows_and_gates_by_name() {
        let gates = crate::gates::parse(GATES).expect("gates.toml is valid").blake3;
        let plans = plan(&gates, "xof/").expect("rows");
        assert!(plans.iter().all(|plan| plan.rows.iter().all(|row| row.to_string().starts_with("xof/"))));
        assert!(plan(&gates, "no such thing").is_err());
    }

    /// Every kind of row, small, on both sides: equal results, and samples for each.
    #[test]
    fn a_lane_answers_every_kind_of_row() {
        let rows = [
            "hash/0",
            "hash/1/dependent",
            "hash/33/dependent",
            "hash/3000",
            "keyed/100",
            "derive/100",
            "hasher/64",
            "stream/5000/64",
            "hasher-stream/5000/64",
            "xof/200",
            "batch/5x100",
            "parallel/64KiB/hot",
            "parallel/64KiB/cold",
            "context/64KiB/hot",
            "serial/64KiB/cold",
        ];
        let request = lane::Request {
            level: Level::Native,
            rows: rows.map(str::to_owned).to_vec(),
            seed: 1,
            pairs: 2,
            sample_us: 1,
            budget_ms: 1,
        };
        let mut output = Vec::new();
        lane::run(&*serde_json::to_vec(&request).expect("plain data"), &mut output).expect("a lane");
        let replies: Vec<lane::Reply> = serde_json::Deserializer::from_slice(&output)
            .into_iter()
            .collect::<Result<_, _>>()
            .expect("a reply on each line");
        assert_eq!(replies.iter().map(|reply| reply.row.as_str()).collect::<Vec<_>>(), rows);
        for reply in replies {
            assert_eq!(reply.pairs.len(), 2, "{}", reply.row);
            assert!(reply.pairs.iter().flatten().all(|&ns| ns > 0.0), "{reply:?}");
        }
    }
}
