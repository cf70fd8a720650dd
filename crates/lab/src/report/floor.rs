//! The floor of each row: its least work at the speed of the machine's limits, as the probes of the same report saw
//! them.

use super::schema::{Floor, Row, Status};
use crate::model::floor::Bound;
use crate::model::key::Key;
use crate::probe::PREFIX;
use crate::stats::order::six_digits;

/// How fast the machine does one kind of work alone.
struct Limit {
    bound: Bound,
    threads: u32,
    ns_per_unit: f64,
}

/// Computes the floor of every side that has a time and whose least work is known.
pub(super) fn conclude(rows: &mut [Row]) {
    let limits: Vec<Limit> = rows.iter().filter(|row| is_probe(row)).flat_map(limits_of).collect();
    for row in rows {
        let probe = is_probe(row);
        let work = row.work.filter(|_| !probe);
        for side in &mut row.sides {
            side.floor = None;
            let (Some(work), Some(summary)) = (work, side.summary) else { continue };
            let Ok(key) = side.key.parse::<Key>() else { continue };
            let times = limits
                .iter()
                .filter(|limit| limit.serves(key.threads))
                .map(|limit| (limit.bound, work.of(limit.bound) as f64 * limit.ns_per_unit));
            let slowest = times.filter(|(_, ns)| *ns > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
            side.floor = slowest.map(|(bound, ns)| Floor {
                bound,
                ns: six_digits(ns),
                share: six_digits(ns / summary.median_ns),
            });
        }
    }
}

/// Whether the row is there to measure the machine.
pub(super) fn is_probe(row: &Row) -> bool {
    row.sides.len() == 1 && row.sides[0].key.starts_with(PREFIX)
}

/// A probe does one kind of work and nothing else.
fn limits_of(row: &Row) -> Vec<Limit> {
    let side = &row.sides[0];
    let (Some(work), Some(summary), Ok(key)) = (row.work, side.summary, side.key.parse::<Key>()) else {
        return Vec::new();
    };
    if row.status != Status::Ok && row.status != Status::Unfinished {
        return Vec::new();
    }
    let kinds = Bound::ALL.into_iter().filter(|bound| work.of(*bound) > 0);
    kinds
        .map(|bound| Limit {
            bound,
            threads: key.threads,
            ns_per_unit: summary.median_ns / work.of(bound) as f64,
        })
        .collect()
}

impl Limit {
    /// More threads make a chain no shorter; the other limits hold for as many threads as they were measured with.
    fn serves(&self, threads: u32) -> bool {
        self.bound == Bound::Latency || self.threads == threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::floor::Work;
    use crate::model::reach::Reach;
    use crate::report::schema::{Role, Side, Summary, Units};

    fn row(key: &str, work: Work, median_ns: f64) -> Row {
        let summary = Summary { median_ns, interval_ns: None };
        let side = Side {
            label: String::new(),
            role: Role::Baseline,
            build: 0,
            key: key.to_owned(),
            kernel: String::new(),
            iterations: 1,
            session_iterations: Vec::new(),
            units_per_iteration: None,
            digest: String::new(),
            reference: String::new(),
            session_ns: vec![median_ns],
            deltas: Vec::new(),
            amounts: Vec::new(),
            summary: Some(summary),
            floor: None,
        };
        Row {
            title: key.to_owned(),
            class: "kernel".to_owned(),
            units: Units { kind: "bytes".to_owned(), per_iteration: 1 },
            work: Some(work),
            reach: Reach::Near,
            layouts: None,
            together: true,
            rounds: 1,
            status: Status::Ok,
            sides: vec![side],
            sessions: Vec::new(),
            windows_ns: Vec::new(),
            retried: Vec::new(),
            comparisons: Vec::new(),
            instructions: Vec::new(),
            commands: None,
        }
    }

    fn floors(rows: &mut [Row]) -> Vec<Option<(Bound, f64, f64)>> {
        conclude(rows);
        rows.iter().map(|row| row.sides[0].floor.map(|floor| (floor.bound, floor.ns, floor.share))).collect()
    }

    #[test]
    fn the_slowest_kind_of_work_is_the_floor() {
        let work = Work { memory_bytes: 100, vector_bytes: 600, chain: 30 };
        let probe = |memory_bytes, vector_bytes, chain| Work { memory_bytes, vector_bytes, chain };
        let mut rows = [
            row("a/b/kernel/1/t1", work, 120.0),
            row("lab.stream/probe/kernel/1MiB/t1", probe(1000, 0, 0), 500.0),
            row("lab.ports/probe/kernel/10/t1", probe(0, 1000, 0), 100.0),
            row("lab.cpu/probe/kernel/10/t1", probe(0, 0, 1000), 1000.0),
        ];
        // 100 · 0.5 = 50 ns of memory, 600 · 0.1 = 60 ns of ports, 30 · 1 = 30 ns of latency.
        assert_eq!(floors(&mut rows), [Some((Bound::Ports, 60.0, 0.5)), None, None, None]);
    }

    #[test]
    fn limits_hold_for_their_number_of_threads_and_chains_for_any() {
        let work = Work { memory_bytes: 0, vector_bytes: 1_000_000, chain: 30 };
        let mut rows = [
            row("a/b/kernel/1/t2", work, 60.0),
            row("lab.ports/probe/kernel/10/t1", Work { vector_bytes: 1, ..Work::default() }, 1.0),
            row("lab.cpu/probe/kernel/10/t1", Work { chain: 1, ..Work::default() }, 1.0),
        ];
        assert_eq!(floors(&mut rows)[0], Some((Bound::Latency, 30.0, 0.5)));
        assert_eq!(floors(&mut rows[..1]), [None], "nothing was measured to hold it against");
    }
}
