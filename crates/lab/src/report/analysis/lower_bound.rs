//! Lower bound of each row: the least possible time for its minimal work, from the machine's limits as the probes of
//! the same report measured them.

use crate::model::key::Key;
use crate::model::lower_bound::BoundKind;
use crate::model::registry::PROBE_PREFIX;
use crate::report::schema::{Floor, Row, Status};
use crate::stats::order::six_digits;

/// Speed of the machine for one kind of work.
struct Limit {
    bound: BoundKind,
    threads: u32,
    ns_per_unit: f64,
}

/// Computes the lower bound of every side that has a time and known minimal work.
pub(crate) fn conclude(rows: &mut [Row]) {
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
                .map(|limit| (limit.bound, work.amount(limit.bound) as f64 * limit.ns_per_unit));
            let slowest = times.filter(|(_, ns)| *ns > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
            side.floor = slowest.map(|(bound, ns)| Floor {
                bound,
                ns: six_digits(ns),
                share: six_digits(ns / summary.median_ns),
            });
        }
    }
}

/// Whether the row is a probe of the machine.
pub(crate) fn is_probe(row: &Row) -> bool {
    row.sides.len() == 1 && row.sides[0].key.starts_with(PROBE_PREFIX)
}

/// A probe does one kind of work.
fn limits_of(row: &Row) -> Vec<Limit> {
    let side = &row.sides[0];
    let (Some(work), Some(summary), Ok(key)) = (row.work, side.summary, side.key.parse::<Key>()) else {
        return Vec::new();
    };
    if row.status != Status::Ok && row.status != Status::Unfinished {
        return Vec::new();
    }
    let kinds = BoundKind::ALL.into_iter().filter(|bound| work.amount(*bound) > 0);
    kinds
        .map(|bound| Limit {
            bound,
            threads: key.threads,
            ns_per_unit: summary.median_ns / work.amount(bound) as f64,
        })
        .collect()
}

impl Limit {
    /// More threads do not shorten a dependency chain; the other limits apply only to the number of threads they were
    /// measured with.
    fn serves(&self, threads: u32) -> bool {
        self.bound == BoundKind::Latency || self.threads == threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::lower_bound::MinimalWork;
    use crate::report::schema::{Role, Side, Summary, Units};
    use crate::stats::cache_level::CacheLevel;

    fn row(key: &str, work: MinimalWork, median_ns: f64) -> Row {
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
            reach: CacheLevel::Near,
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

    fn floors(rows: &mut [Row]) -> Vec<Option<(BoundKind, f64, f64)>> {
        conclude(rows);
        rows.iter().map(|row| row.sides[0].floor.map(|floor| (floor.bound, floor.ns, floor.share))).collect()
    }

    #[test]
    fn the_slowest_kind_of_work_is_the_floor() {
        let work = MinimalWork { memory_bytes: 100, vector_bytes: 600, chain: 30 };
        let probe = |memory_bytes, vector_bytes, chain| MinimalWork { memory_bytes, vector_bytes, chain };
        let mut rows = [
            row("a/b/kernel/1/t1", work, 120.0),
            row("lab.stream/probe/kernel/1MiB/t1", probe(1000, 0, 0), 500.0),
            row("lab.ports/probe/kernel/10/t1", probe(0, 1000, 0), 100.0),
            row("lab.cpu/probe/kernel/10/t1", probe(0, 0, 1000), 1000.0),
        ];
        // 100 · 0.5 = 50 ns of memory, 600 · 0.1 = 60 ns of ports, 30 · 1 = 30 ns of latency.
        assert_eq!(floors(&mut rows), [Some((BoundKind::Ports, 60.0, 0.5)), None, None, None]);
    }

    #[test]
    fn limits_hold_for_their_number_of_threads_and_chains_for_any() {
        let work = MinimalWork { memory_bytes: 0, vector_bytes: 1_000_000, chain: 30 };
        let mut rows = [
            row("a/b/kernel/1/t2", work, 60.0),
            row(
                "lab.ports/probe/kernel/10/t1",
                MinimalWork { vector_bytes: 1, ..MinimalWork::default() },
                1.0,
            ),
            row("lab.cpu/probe/kernel/10/t1", MinimalWork { chain: 1, ..MinimalWork::default() }, 1.0),
        ];
        assert_eq!(floors(&mut rows)[0], Some((BoundKind::Latency, 30.0, 0.5)));
        assert_eq!(floors(&mut rows[..1]), [None], "nothing was measured to hold it against");
    }
}
