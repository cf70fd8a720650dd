//! Scaling with the number of threads: one line per group of rows that differ in this number only.

use super::lower_bound::is_probe;
use crate::model::key::Key;
use crate::report::schema::Row;
use crate::report::view::{Line, Table};

/// Groups of rows whose keys differ in one part only: the common name, then this part and the row, in ascending
/// order. `part` returns the part's value and the key's name without it.
pub(crate) fn families(rows: &[Row], part: impl Fn(Key) -> (u64, String)) -> Vec<(String, Vec<(u64, &Row)>)> {
    let mut families: Vec<(String, Vec<(u64, &Row)>)> = Vec::new();
    let alone = |row: &&Row| row.sides.len() == 1 && row.sides[0].summary.is_some() && !is_probe(row);
    for row in rows.iter().filter(alone) {
        let Ok(key) = row.sides[0].key.parse::<Key>() else { continue };
        let (value, name) = part(key);
        match families.iter_mut().find(|(other, _)| *other == name) {
            Some((_, members)) => members.push((value, row)),
            None => families.push((name, vec![(value, row)])),
        }
    }
    for (_, members) in &mut families {
        members.sort_by_key(|(value, _)| *value);
        members.dedup_by_key(|(value, _)| *value);
    }
    families
}

/// Number of threads and rate of rows that differ in their number of threads only.
pub(crate) fn by_threads(rows: &[Row]) -> Vec<(String, Vec<(u64, f64)>)> {
    let threads = |key: Key| {
        let name = key.to_string().replacen(&format!("/t{}", key.threads), "/t*", 1);
        (u64::from(key.threads), name)
    };
    let rate = |(threads, row): (u64, &Row)| {
        Some((threads, row.units.per_iteration as f64 / row.sides[0].summary?.median_ns))
    };
    let families = families(rows, threads).into_iter().filter(|(_, members)| members.len() > 1);
    families.map(|(name, members)| (name, members.into_iter().filter_map(rate).collect())).collect()
}

/// Speed for each number of threads relative to the smallest number, and the efficiency of each thread.
pub(crate) fn table(rows: &[Row]) -> Option<Table> {
    let lines = by_threads(rows).into_iter().flat_map(|(name, points)| {
        let (fewest, base) = points[0];
        points.into_iter().skip(1).map(move |(threads, rate)| {
            let speedup = rate / base;
            let share = speedup * fewest as f64 / threads as f64;
            Line::plain([
                name.clone(),
                format!("{fewest} to {threads}"),
                format!("{speedup:.2}×"),
                format!("{:.0} %", share * 100.0),
            ])
        })
    });
    let rows: Vec<Line> = lines.collect();
    let columns = ["case", "threads", "speedup", "of each thread"];
    let caption = "Scaling with threads";
    (!rows.is_empty()).then(|| Table::new(columns, rows).under(caption))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::schema::{Report, Summary};

    #[test]
    fn speedup_is_work_over_time() {
        let golden = include_str!("../../../tests/golden/report.json");
        let report: Report = serde_json::from_str(golden).expect("the golden report");
        let row = |key: &str, units: u64, median_ns: f64| {
            let mut row = report.rows[0].clone();
            row.sides.truncate(1);
            row.sides[0].key = key.to_owned();
            row.units.per_iteration = units;
            let summary = Summary { median_ns, interval_ns: None };
            row.sides[0].summary = Some(summary);
            row
        };
        let rows = [
            row("pow/workers/backend/2GiB/t4/in-flight=1", 4, 200.0),
            row("pow/workers/backend/2GiB/t1/in-flight=1", 1, 100.0),
            row("pow/workers/backend/2GiB/t1/in-flight=2", 2, 160.0),
            row("pow/workers/backend/2GiB/t2/in-flight=1", 2, 125.0),
            row("pow/workers/backend/2GiB/t2/in-flight=1", 2, 999.0),
        ];
        let table = table(&rows).expect("one family");
        let cells: Vec<&[String]> = table.rows.iter().map(|line| &line.cells[..]).collect();
        let name = "pow/workers/backend/2GiB/t*/in-flight=1";
        assert_eq!(cells, [[name, "1 to 2", "1.60×", "80 %"], [name, "1 to 4", "2.00×", "50 %"]]);
        assert!(
            super::table(&rows[2..3]).is_none() && super::table(&rows[3..]).is_none(),
            "nothing to compare"
        );
    }
}
