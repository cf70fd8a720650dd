//! Counted amounts side by side.

use crate::model::units::bytes;
use crate::report::schema::{Role, Row, Side};
use crate::report::view::{Line, Table, shown};
use crate::stats::ratio::{ratio, times};

const CAPTION: &str = "Counted once, not timed";

/// One line per amount of each row; none if nothing was counted. `met` has the baseline and the candidate if they are
/// the same in all rows.
pub(crate) fn table(rows: &[Row], met: Option<[&str; 2]>) -> Option<Table> {
    let mut lines: Vec<Line> = rows.iter().flat_map(lines).collect();
    if lines.is_empty() {
        return None;
    }
    if rows.iter().all(|row| row.sides.len() < 2) {
        let columns = ["case", "amount", "bytes"];
        lines.iter_mut().for_each(|line| line.cells.truncate(columns.len()));
        return Some(Table::new(columns, lines).under(CAPTION));
    }
    let [baseline, candidate] = met.unwrap_or(["other", "ours"]);
    let table = Table::new(["case", "amount", candidate, baseline, "ratio"], lines);
    Some(table.under(format!("{CAPTION}; ratio: {baseline} over {candidate}")))
}

fn lines(row: &Row) -> Vec<Line> {
    let (other, candidate) = match &row.sides[..] {
        [] => return Vec::new(),
        [alone] => (None, Some(alone)),
        [first, ..] => (Some(first), row.sides.iter().find(|side| side.role == Role::Candidate)),
    };
    let mut names: Vec<&str> = Vec::new();
    for amount in other.into_iter().chain(candidate).flat_map(|side| &side.amounts) {
        if !names.contains(&amount.name.as_str()) {
            names.push(&amount.name);
        }
    }
    let line = |name: &str| {
        let [other, candidate] = [other, candidate].map(|side| side.and_then(|side| side.amount(name)));
        let both = other.zip(candidate).filter(|(_, candidate)| *candidate > 0);
        let ratio = shown(both, |(other, candidate)| times(ratio(other as f64, candidate as f64)));
        Line::plain([row.title.clone(), name.to_owned(), shown(candidate, bytes), shown(other, bytes), ratio])
    };
    names.into_iter().map(line).collect()
}

impl Side {
    /// Counted bytes with this name.
    pub(crate) fn amount(&self, name: &str) -> Option<u64> {
        self.amounts.iter().find(|amount| amount.name == name).map(|amount| amount.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::schema::Amount;

    #[test]
    fn one_line_per_amount_without_a_ratio_if_one_side_lacks_it() {
        let mut row = crate::report::tests::report().rows[0].clone();
        assert!(table(std::slice::from_ref(&row), None).is_none());
        let amount = |name: &str, bytes| Amount { name: name.to_owned(), bytes };
        row.sides[0].amounts = vec![amount("saved", 20_480), amount("held", 7)];
        row.sides[1].amounts = vec![amount("saved", 10_240)];
        let cells = |row: &Row| -> Vec<Vec<String>> {
            let table = table(std::slice::from_ref(row), Some(["theirs", "mine"])).expect("amounts");
            assert_eq!(table.columns.len(), table.rows[0].cells.len());
            table.rows.into_iter().map(|line| line.cells[1..].to_vec()).collect()
        };
        assert_eq!(cells(&row), [["saved", "10.00 KiB", "20.00 KiB", "2.000×"], ["held", "–", "7 B", "–"]]);
        let shown = table(std::slice::from_ref(&row), Some(["theirs", "mine"])).expect("amounts");
        assert_eq!(shown.columns, ["case", "amount", "mine", "theirs", "ratio"]);
        assert_eq!(shown.caption, "Counted once, not timed; ratio: theirs over mine");
        row.sides.truncate(1);
        assert_eq!(cells(&row), [["saved", "20.00 KiB"], ["held", "7 B"]], "what is alone has no other");
    }
}
