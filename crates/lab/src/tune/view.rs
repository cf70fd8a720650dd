//! What a race shows.

use super::TuneRecord;
use crate::report::view::{Line, Table, Tone, View, machine_facts};
use crate::time::utc;

impl TuneRecord {
    pub(crate) fn view(&self) -> View {
        let mut facts = machine_facts(&self.machine);
        facts.push(("raced", self.created.clone()));
        facts.push(("subject", self.subject.clone()));
        facts.push(("profile", self.profile.name().to_owned()));
        let notes = vec![format!("believed until {}", utc(self.expires()))];
        View { title: "lab tune".to_owned(), facts, tables: vec![self.table()], notes }
    }

    pub(crate) fn table(&self) -> Table {
        let rows = self.candidates.iter().enumerate().map(|(index, candidate)| {
            let cells = vec![
                candidate.case.clone(),
                candidate.kernel.clone(),
                format!("{:+.2} %", (self.ratio(index) - 1.0) * 100.0),
                candidate.relative.len().to_string(),
                self.place(index).to_owned(),
            ];
            Line { cells, tone: if index == self.chosen { Tone::Good } else { Tone::Plain } }
        });
        let columns = vec!["candidate", "kernel", "to the fastest", "sessions", "standing"];
        Table { columns, rows: rows.collect() }
    }

    fn place(&self, index: usize) -> &'static str {
        let tied = self.tied.contains(&index);
        match (index == self.chosen, index == self.best) {
            (true, true) => "chosen: fastest",
            (true, false) if tied => "chosen: ties, and is the cheapest",
            (true, false) => "chosen: fast enough, and is the cheapest",
            (false, true) => "fastest",
            (false, false) if tied => "ties",
            (false, false) => "slower",
        }
    }
}
