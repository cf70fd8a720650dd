//! What races show.

use super::TuneRecord;
use super::standing::difference;
use crate::model::key::Key;
use crate::model::units::{Size, percent};
use crate::report::view::{Line, Table, Tone, View, machine_facts};
use hashmill_machine::date::utc;

/// All races of a command; there is at least one.
pub(crate) fn view(records: &[TuneRecord]) -> View {
    let (first, last) = (&records[0], &records[records.len() - 1]);
    let mut facts = machine_facts(&first.machine);
    let raced = if first.created == last.created {
        first.created.clone()
    } else {
        format!("{} to {}", first.created, last.created)
    };
    facts.push(("raced", raced));
    facts.push(("profile", format!("{}: {}", first.profile.name(), first.profile.about())));
    let mut tables: Vec<Table> = records.iter().map(TuneRecord::table).collect();
    tables.extend(boundaries(records));
    let mut notes = Vec::new();
    if records.iter().any(|record| !record.is_finished()) {
        notes.push("A race was interrupted: nothing was chosen and nothing kept of it.".to_owned());
    }
    if records.iter().any(TuneRecord::is_finished) {
        notes.push(format!("believed until {}", utc(first.expires())));
        notes.push(RULE.to_owned());
    }
    View { title: "lab tune".to_owned(), facts, tables, notes }
}

const RULE: &str = "ties: the same within the rule; not proven slower: the sessions do not tell them apart; among those \
that stay, the fewest threads are chosen, then the first in the list";

/// From which size on which setting is chosen: a line for each change, in races that differ in their size alone.
fn boundaries(records: &[TuneRecord]) -> Option<Table> {
    let mut choices: Vec<(String, Size, String)> = Vec::new();
    for record in records.iter().filter(|record| record.is_finished()) {
        let candidate = &record.candidates[record.chosen];
        let Ok(key) = candidate.case.parse::<Key>() else { continue };
        let of = format!("{}/{}/{}", key.workload, key.engine, key.class);
        choices.push((of, key.size, setting(&key)));
    }
    choices.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    let mut rows: Vec<Line> = Vec::new();
    for family in choices.chunk_by(|a, b| a.0 == b.0).filter(|family| family.len() > 1) {
        for alike in family.chunk_by(|a, b| a.2 == b.2) {
            let ((of, from, choice), (_, to, _)) = (&alike[0], &alike[alike.len() - 1]);
            let cells = vec![of.clone(), from.to_string(), to.to_string(), choice.clone()];
            rows.push(Line { cells, tone: Tone::Plain });
        }
    }
    let columns = vec!["case", "from", "to", "choice"];
    (!rows.is_empty()).then(|| Table { caption: "By size".to_owned(), columns, rows })
}

/// What a candidate has of its own.
fn setting(key: &Key) -> String {
    let kernel = key.kernel.as_deref().unwrap_or("its own choice of a kernel");
    let knobs = key.knobs.iter().map(|(name, value)| format!(", {name}={value}"));
    format!("t{}, {kernel}{}", key.threads, knobs.collect::<String>())
}

impl TuneRecord {
    fn table(&self) -> Table {
        let rows = self.candidates.iter().enumerate().map(|(index, candidate)| {
            let chosen = self.is_finished() && index == self.chosen;
            let cells = vec![
                candidate.case.clone(),
                candidate.kernel.clone(),
                percent(self.ratio(index)),
                candidate.relative.len().to_string(),
                self.place(index).to_owned(),
            ];
            Line { cells, tone: if chosen { Tone::Good } else { Tone::Plain } }
        });
        let columns = vec!["candidate", "kernel", "to the fastest", "sessions", "standing"];
        Table { caption: self.subject.clone(), columns, rows: rows.collect() }
    }

    fn place(&self, index: usize) -> &'static str {
        if !self.is_finished() {
            return if self.tied.contains(&index) { "still in the race" } else { "slower" };
        }
        let stays = self.tied.contains(&index);
        let ties = stays && self.is_same_as_best(index);
        match (index == self.chosen, index == self.best) {
            (true, true) => "chosen: fastest",
            (true, false) if ties => "chosen: ties, and is the cheapest",
            (true, false) if stays => "chosen: not proven slower, and is the cheapest",
            (true, false) => "chosen: fast enough, and is the cheapest",
            (false, true) => "fastest",
            (false, false) if ties => "ties",
            (false, false) if stays => "not proven slower",
            (false, false) => "slower",
        }
    }

    fn is_same_as_best(&self, index: usize) -> bool {
        let relative = |index: usize| &self.candidates[index].relative;
        self.plan.rule().is_same(&difference(relative(index), relative(self.best)))
    }
}
