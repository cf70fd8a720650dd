//! Hashmill's Argon2 beside other people's, all in one process: tags are compared, then times, pair by pair.

pub mod reference;
pub mod row;
mod work;

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hashmill_testkit::Rng;

use crate::gates::Gate;
use crate::host::{self, Host};
use crate::judge::{self, Measured};
use crate::pace::{self, Pace, Samples, Side, SystemClock};
use crate::report::{Report, SCHEMA};
use row::Row;
use work::Call;

/// The rivals, pinned in `Cargo.toml`.
const RIVALS: &str = "argon2-rust 1.1.0 (pooled hasher), argon2 0.6.0 (parallel, zeroize), the C reference (argon2-sys 0.1.0, -O3 -march=native)";

/// How long and how often to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How often all rows are measured, in another order each time and with fresh memory.
    pub rounds: usize,
    /// Pairs per row and round, if the budget allows.
    pub pairs: usize,
    /// Shortest sample.
    pub sample: Duration,
    /// Time for the pairs of a row in one round.
    pub budget: Duration,
    /// Decides orders.
    pub seed: u64,
}

/// Measures every row of `gates` whose name contains `filter`.
pub fn compare(
    gates: &[Gate],
    filter: &str,
    effort: Effort,
    mut progress: impl FnMut(&str),
) -> anyhow::Result<Report> {
    let plans = plan(gates, filter)?;
    let host = Host::read();
    let mut rng = Rng::new(effort.seed);
    let mut measured: Vec<Vec<Measured>> =
        plans.iter().map(|(_, rows)| rows.iter().map(named).collect()).collect();
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (gate, (_, rows)) in plans.iter().enumerate() {
        order.extend((0..rows.len()).map(|row| (gate, row)));
    }
    for round in 1..=effort.rounds {
        rng.shuffle(&mut order);
        for &(gate, row) in &order {
            let measured = &mut measured[gate][row];
            let row = plans[gate].1[row];
            let samples = measure(row, effort, &mut rng, measured).with_context(|| row.to_string())?;
            progress(&words(round, row, &samples));
            measured.add("this process", "plain", samples.calls, samples.pairs);
        }
    }
    let judged = |((gate, _), rows): (&(&Gate, Vec<Row>), &Vec<Measured>)| {
        judge::gate(gate, &rows.iter().collect::<Vec<_>>(), effort.seed)
    };
    Ok(Report {
        schema: SCHEMA,
        created: host::now(),
        command: std::env::args().collect(),
        rival: RIVALS.to_owned(),
        method: format!(
            "{} rounds with fresh memory, up to {} pairs each in alternating order, samples of {} ms or one call; memory \
             wiped after each hash; median of paired ratios, 95 % by a two-level bootstrap",
            effort.rounds,
            effort.pairs,
            effort.sample.as_millis()
        ),
        host,
        seed: effort.seed,
        gates: plans.iter().zip(&measured).map(judged).collect(),
    })
}

/// The gates and their rows that `filter` names.
fn plan<'a>(gates: &'a [Gate], filter: &str) -> anyhow::Result<Vec<(&'a Gate, Vec<Row>)>> {
    let mut plans = Vec::new();
    for gate in gates {
        let mut rows = Vec::new();
        for name in &gate.rows {
            let row: Row = name.parse().with_context(|| format!("gate {:?}", gate.name))?;
            if gate.name.contains(filter) || name.contains(filter) {
                rows.push(row);
            }
        }
        if !rows.is_empty() {
            plans.push((gate, rows));
        }
    }
    ensure!(!plans.is_empty(), "no gate and no row contains {filter:?}");
    Ok(plans)
}

fn named(row: &Row) -> Measured {
    Measured { row: row.to_string(), bytes: row.memory, ..Measured::default() }
}

fn measure(row: Row, effort: Effort, rng: &mut Rng, measured: &mut Measured) -> anyhow::Result<Samples> {
    let (mut ours, how) = work::ours(row)?;
    let mut rival = work::rival(row)?;
    let mut tags = [vec![0; row.tag_len], vec![0; row.tag_len]];
    rival(&mut tags[0]);
    ours(&mut tags[1]);
    ensure!(tags[0] == tags[1], "the two sides disagree about the tag; nothing was timed");
    measured.how = how;
    let pace = Pace { pairs: effort.pairs, sample: effort.sample, budget: effort.budget };
    let [rival, ours] = [rival, ours].map(|call| side(row, call));
    Ok(pace::measure(&mut SystemClock::default(), rival, ours, pace, 1, rng))
}

fn side(row: Row, mut call: Call) -> Side<'static> {
    let mut tag = vec![0; row.tag_len];
    Side::new(move |calls, _| {
        for _ in 0..calls {
            call(&mut tag);
            black_box(&mut tag);
        }
    })
}

/// Fastest and median of a round, for the eyes of whoever waits.
fn words(round: usize, row: Row, samples: &Samples) -> String {
    let sorted = |side: usize| {
        let mut times: Vec<f64> = samples.pairs.iter().map(|pair| pair[side] / 1e6).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let [rival, ours] = [sorted(0), sorted(1)];
    let [of_rival, of_ours] = [rival[rival.len() / 2], ours[ours.len() / 2]];
    format!(
        "round {round}: {row}: fastest {:.3} and {:.3} ms, median {of_rival:.3} and {of_ours:.3} ms",
        rival[0], ours[0]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATES: &str = include_str!("../../../../bench/gates.toml");

    #[test]
    fn every_row_of_the_committed_gates_means_something() {
        let gates = crate::gates::parse(GATES).expect("gates.toml is valid").argon2;
        let plans = plan(&gates, "").expect("every row is known");
        assert_eq!(plans.len(), gates.len());
        assert!(plan(&gates, "no such thing").is_err());
    }

    /// Every rival, small, in every mode: equal tags and samples for each.
    #[test]
    fn every_kind_of_row_is_measured() {
        let rows = ["argon2-rust/32KiB/t3/p4", "rustcrypto/64KiB/t1/p1/tag64", "c/64KiB/t2/p2/cold"];
        let gate = Gate {
            name: "small".into(),
            rows: rows.map(str::to_owned).to_vec(),
            must: None,
            aim: None,
            rival: None,
            within_us: None,
            judge: crate::gates::Judge::Each,
            level: crate::gates::Level::Native,
            layouts: false,
        };
        let effort = Effort { rounds: 2, pairs: 2, sample: Duration::ZERO, budget: Duration::ZERO, seed: 1 };
        let report = compare(&[gate], "", effort, |_| {}).expect("a comparison");
        for (row, name) in report.gates[0].rows.iter().zip(rows) {
            assert_eq!(row.row, name);
            assert_eq!(row.sessions.len(), 2);
            assert!(row.estimate.rival_ns > 0.0 && row.estimate.ours_ns > 0.0, "{row:?}");
        }
    }
}
