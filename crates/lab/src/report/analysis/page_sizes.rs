//! Page sizes of the memory of large cases. They affect these cases more than most code changes, and are easily
//! overlooked.

use crate::model::class::Phase;
use crate::model::key::Key;
use crate::report::schema::{Memory, Report, Row};
use crate::report::view::{Line, Table};

/// Least size of a case that can fill a huge page.
pub(crate) const LARGE: u64 = 2 << 20;

/// Shares of a session's memory by page size; they add up to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shares {
    pub(crate) small: f64,
    pub(crate) transparent: f64,
    /// Reserved pages of about 2 MiB.
    pub(crate) reserved: f64,
    /// Reserved pages of 1 GiB and more.
    pub(crate) gigantic: f64,
}

impl Shares {
    /// Mean over the sessions.
    pub(crate) fn mean(all: &[Shares]) -> Shares {
        let mean = |of: fn(&Shares) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Shares {
            small: mean(|s| s.small),
            transparent: mean(|s| s.transparent),
            reserved: mean(|s| s.reserved),
            gigantic: mean(|s| s.gigantic),
        }
    }

    fn from_session(session: &Memory) -> Option<Shares> {
        let resident = session.resident_bytes.filter(|bytes| *bytes > 0)? as f64;
        let [huge, reserved, gigantic] =
            [session.huge_bytes?, session.reserved_bytes.unwrap_or(0), session.gigantic_bytes.unwrap_or(0)]
                .map(|bytes| bytes as f64 / resident);
        let transparent = (huge - reserved).max(0.0);
        Some(Shares {
            small: (1.0 - huge).max(0.0),
            transparent,
            reserved: (reserved - gigantic).max(0.0),
            gigantic,
        })
    }

    pub(crate) fn huge(&self) -> f64 {
        1.0 - self.small
    }
}

/// Shares of each session of a large case. Cases that free their buffers after each call have no memory left to
/// measure.
fn shares(row: &Row) -> Vec<Shares> {
    let is_large = |key: &Key| key.size.0 >= LARGE && key.class.first() > Phase::Reserve;
    let key = row.sides[0].key.parse::<Key>().ok().filter(is_large);
    key.map(|_| row.sessions.iter().filter_map(Shares::from_session).collect()).unwrap_or_default()
}

/// Smallest and largest value in percent.
fn range(shares: impl Iterator<Item = f64> + Clone) -> String {
    let percent = |share: f64| (share * 100.0).round();
    let least = percent(shares.clone().fold(1.0, f64::min));
    let most = percent(shares.fold(0.0, f64::max));
    if least == most { format!("{least} %") } else { format!("{least} to {most} %") }
}

/// Page size of the machine, and the share of huge pages in the memory of large cases over all sessions.
pub(crate) fn fact(report: &Report) -> Option<String> {
    let size = report.machine.page_bytes.map(|bytes| format!("pages of {} KiB", bytes >> 10));
    let policy = report.machine.huge_pages.as_ref().map(|policy| format!("transparent huge pages {policy}"));
    let all: Vec<Shares> = report.rows.iter().flat_map(shares).collect();
    let covered = (!all.is_empty()).then(|| {
        format!("{} of the memory of large cases in huge pages", range(all.iter().map(Shares::huge)))
    });
    let message: Vec<String> = [size, policy, covered].into_iter().flatten().collect();
    (!message.is_empty()).then(|| message.join(", "))
}

/// Rows of large cases with the shares of their sessions.
pub(crate) fn of_large(rows: &[Row]) -> Vec<(&Row, Vec<Shares>)> {
    rows.iter().map(|row| (row, shares(row))).filter(|(_, shares)| !shares.is_empty()).collect()
}

/// One line per large case by page size, if that says more than [`fact`]: cases differ, or some had reserved pages.
pub(crate) fn table(rows: &[Row]) -> Option<Table> {
    let large = of_large(rows);
    let all = || large.iter().flat_map(|(_, shares)| shares);
    let least = all().map(Shares::huge).fold(1.0, f64::min);
    let most = all().map(Shares::huge).fold(0.0, f64::max);
    let is_reserved = all().any(|shares| shares.reserved + shares.gigantic > 0.0);
    if large.is_empty() || (most - least < WORTH_TELLING && !is_reserved) {
        return None;
    }
    let line = |(row, shares): &(&Row, Vec<Shares>)| {
        let of = |kind: fn(&Shares) -> f64| range(shares.iter().map(kind));
        Line::plain([
            row.title.clone(),
            of(|shares| shares.small),
            of(|shares| shares.transparent),
            of(|shares| shares.reserved),
            of(|shares| shares.gigantic),
        ])
    };
    let columns = ["case", "small", "transparent huge", "reserved 2 MiB", "reserved 1 GiB"];
    Some(Table::new(columns, large.iter().map(line)).under("Memory by pages"))
}

/// Smaller differences are differences between sessions and not between cases.
const WORTH_TELLING: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A case whose sessions have this much memory in GiB: resident, huge, reserved and gigantic.
    fn report(cases: &[(&str, &[[u64; 4]])]) -> Report {
        let golden = include_str!("../../../tests/golden/report.json");
        let mut report: Report = serde_json::from_str(golden).expect("the golden report");
        let template = report.rows[0].clone();
        report.machine.huge_pages = Some("madvise".to_owned());
        report.machine.page_bytes = Some(4096);
        let row = |(case, sessions): &(&str, &[[u64; 4]])| {
            let mut row = template.clone();
            row.title = (*case).to_owned();
            row.sides[0].key = (*case).to_owned();
            let session = |[resident, huge, reserved, gigantic]: &[u64; 4]| Memory {
                resident_bytes: Some(resident * GIB),
                huge_bytes: Some(huge * GIB),
                reserved_bytes: Some(reserved * GIB),
                gigantic_bytes: Some(gigantic * GIB),
            };
            row.sessions = sessions.iter().map(session).collect();
            row
        };
        report.rows = cases.iter().map(row).collect();
        report
    }

    fn cells(report: &Report) -> Vec<Vec<String>> {
        table(&report.rows)
            .map_or(Vec::new(), |table| table.rows.into_iter().map(|line| line.cells).collect())
    }

    #[test]
    fn distinguishes_2_mib_and_1_gib_pages() {
        let report = report(&[
            ("pow/workers/backend/2GiB/t1/pages=plain", &[[4, 0, 0, 0]]),
            ("pow/workers/backend/2GiB/t1/pages=reserved", &[[4, 4, 3, 0], [4, 4, 4, 0]]),
            ("pow/workers/backend/2GiB/t1/pages=largest", &[[4, 3, 3, 2]]),
        ]);
        let expected = [
            ["pow/workers/backend/2GiB/t1/pages=plain", "100 %", "0 %", "0 %", "0 %"],
            ["pow/workers/backend/2GiB/t1/pages=reserved", "0 %", "0 to 25 %", "75 to 100 %", "0 %"],
            ["pow/workers/backend/2GiB/t1/pages=largest", "25 %", "0 %", "25 %", "50 %"],
        ];
        assert_eq!(cells(&report), expected);
        let message = fact(&report).expect("something");
        assert_eq!(
            message,
            "pages of 4 KiB, transparent huge pages madvise, 0 to 100 % of the memory of large cases in huge pages"
        );
    }

    #[test]
    fn shows_one_line_if_all_cases_are_equal() {
        let alike = report(&[
            ("pow/workers/backend/2GiB/t1", &[[100, 93, 0, 0], [100, 97, 0, 0]]),
            // A case too small for huge pages, and a case whose memory is freed before it is measured.
            ("pow/workers/backend/1MiB/t1", &[[100, 0, 0, 0]]),
            ("pow/workers/end-to-end/2GiB/t1", &[[100, 0, 0, 0]]),
        ]);
        assert_eq!(cells(&alike), Vec::<Vec<String>>::new());
        let message = fact(&alike).expect("something");
        assert!(message.ends_with(", 93 to 97 % of the memory of large cases in huge pages"), "{message}");
        let mut unknown = report(&[("pow/workers/backend/2GiB/t1", &[])]);
        (unknown.machine.huge_pages, unknown.machine.page_bytes) = (None, None);
        assert_eq!(fact(&unknown), None);
    }
}
