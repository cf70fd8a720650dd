//! Effects of code layout on the cases of a program on this machine. Comparisons with relinked sessions record them,
//! for comparisons with one link per side.

use crate::cmd::context::error::Error;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::context::{cache_dir, files};
use crate::measure::campaign::CaseGroup;
use crate::model::key::Key;
use crate::report::analysis::layout::shown;
use crate::report::schema::{LayoutEffect, Report, Row};
use crate::report::store::{pretty, write_atomically};
use hashmill_machine::Machine;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Maximum number of entries per machine; the newest are kept.
const MOST: usize = 1000;

/// The file of a machine.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayoutHistory {
    #[serde(rename = "seen")]
    entries: Vec<LayoutEntry>,
}

/// Result of one comparison for one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutEntry {
    /// Names alone would confuse benches of two crates, or commands of two repositories.
    program: String,
    folder: PathBuf,
    workload: String,
    moved: LayoutEffect,
}

impl LayoutHistory {
    /// Reads the history of this machine. An unreadable file is reported, and the history is empty.
    pub(crate) fn read(machine: &Machine) -> Self {
        // Without a cache folder nothing was ever stored; `keep` reports this when it stores something.
        let Ok(path) = file(machine) else { return LayoutHistory::default() };
        if let Ok(false) = path.try_exists() {
            return LayoutHistory::default();
        }
        files::document(&path).unwrap_or_else(|error| {
            tell(&format!("the layout history cannot be read: {error}"));
            LayoutHistory::default()
        })
    }

    /// Effect of layouts on the cases of a group, or else the largest effect in its workload.
    fn effect(&self, program: &str, folder: &Path, group: &CaseGroup) -> Option<LayoutEffect> {
        let here = || self.entries.iter().filter(|entry| entry.program == program && entry.folder == *folder);
        let same = here().find(|entry| entry.moved.case == group.title);
        let workload = &group.sides.first()?.key.workload;
        let alike = here().filter(|entry| entry.workload == *workload);
        let found = same.or_else(|| alike.max_by(|a, b| a.moved.by.total_cmp(&b.moved.by)));
        found.map(|entry| entry.moved.clone())
    }

    /// Sets it in groups whose sides have one link each.
    pub(crate) fn tell(&self, lab: &LabSetup<'_>, groups: &mut [CaseGroup]) -> Result<(), Error> {
        let folder = std::env::current_dir().map_err(Error::Program)?;
        for group in groups.iter_mut().filter(|group| group.sides.len() > 1) {
            group.layouts = self.effect(lab.name, &folder, group);
        }
        Ok(())
    }

    /// Replaces an earlier result of the same case.
    fn take(&mut self, program: &str, folder: &Path, shown: Vec<(&Row, LayoutEffect)>) {
        for (row, moved) in shown {
            let key = row.sides.first().and_then(|side| side.key.parse::<Key>().ok());
            let Some(Key { workload, .. }) = key else { continue };
            let is_same = |entry: &LayoutEntry| {
                entry.program == program && entry.folder == *folder && entry.moved.case == moved.case
            };
            self.entries.retain(|entry| !is_same(entry));
            self.entries.push(LayoutEntry {
                program: program.to_owned(),
                folder: folder.to_owned(),
                workload,
                moved,
            });
        }
        self.entries.drain(..self.entries.len().saturating_sub(MOST));
    }
}

/// Stores the result of a comparison. The measurement is complete, so an error here is only reported.
pub(crate) fn keep(lab: &LabSetup<'_>, report: &Report) {
    let shown = shown(report);
    if shown.is_empty() {
        return;
    }
    let store = || {
        let folder = std::env::current_dir().map_err(Error::Program)?;
        let path = file(&report.machine)?;
        let mut layouts = LayoutHistory::read(&report.machine);
        layouts.take(lab.name, &folder, shown);
        write_atomically(&path, &pretty(&layouts)).map_err(Error::write(&path))
    };
    if let Err(error) = store() {
        tell(&format!("the layout history cannot be written: {error}"));
    }
}

fn file(machine: &Machine) -> Result<PathBuf, Error> {
    Ok(cache_dir::cache()?.join("layouts").join(format!("{}.json", machine.id)))
}

fn tell(words: &str) {
    writeln!(std::io::stderr(), "{words}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::measuring::pairings::builds;

    fn entry(program: &str, folder: &str, case: &str, by: f64) -> LayoutEntry {
        let workload = case.split('/').next().expect("a workload").to_owned();
        let moved = LayoutEffect { by, sessions: 20, case: case.to_owned(), report: "r".to_owned() };
        LayoutEntry { program: program.to_owned(), folder: folder.into(), workload, moved }
    }

    #[test]
    fn prefers_the_same_case_then_the_largest_effect_of_its_workload() {
        let (small, large) = ("sort/std/kernel/100/t1", "sort/std/kernel/1000/t1");
        let layouts = LayoutHistory {
            entries: vec![
                entry("lab", "/a", small, 0.02),
                entry("lab", "/a", large, 0.06),
                entry("lab", "/a", "hash/std/kernel/100/t1", 0.09),
                entry("lab", "/b", "sum/std/kernel/100/t1", 0.01),
                entry("bench", "/a", "sum/std/kernel/100/t1", 0.01),
            ],
        };
        let known = |case: &str| {
            let group = builds(&case.parse().expect("a key"), ["baseline", "candidate"], false);
            layouts.effect("lab", Path::new("/a"), &group).map(|moved| moved.by)
        };
        assert_eq!(known(small), Some(0.02));
        assert_eq!(known("sort/std/kernel/10000/t1"), Some(0.06), "the worst");
        assert_eq!(known("sum/std/kernel/100/t1"), None, "of another folder, or another program");
    }
}
