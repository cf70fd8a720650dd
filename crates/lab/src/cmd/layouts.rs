//! What link layouts did to the cases of a program on this machine, kept from comparisons whose sessions had links of their
//! own for those that have one link of each side.

use super::error::Error;
use super::{Mount, files, paths};
use crate::campaign::Contest;
use crate::model::key::Key;
use crate::report::layout::shown;
use crate::report::schema::{Moved, Report, Row};
use crate::report::store::{pretty, write_atomically};
use hashmill_machine::Machine;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// So many are kept of one machine, the newest.
const MOST: usize = 1000;

/// The file of a machine.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layouts {
    seen: Vec<Seen>,
}

/// What one comparison showed of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    /// Names alone would mix up benches of two crates, and commands of two repositories.
    program: String,
    folder: PathBuf,
    workload: String,
    moved: Moved,
}

impl Layouts {
    /// What is known of this machine. A file that cannot be read is named, and nothing is known.
    pub(super) fn read(machine: &Machine) -> Self {
        // Where there is no folder for a cache nothing was ever kept, which `keep` says when it is about to.
        let Ok(path) = file(machine) else { return Layouts::default() };
        if let Ok(false) = path.try_exists() {
            return Layouts::default();
        }
        files::document(&path).unwrap_or_else(|error| {
            tell(&format!("nothing is known of layouts here: {error}"));
            Layouts::default()
        })
    }

    /// What layouts did to the cases of a contest, or else to the one of its workload that they moved most.
    fn of(&self, program: &str, folder: &Path, contest: &Contest) -> Option<Moved> {
        let here = || self.seen.iter().filter(|seen| seen.program == program && seen.folder == *folder);
        let same = here().find(|seen| seen.moved.case == contest.title);
        let workload = &contest.sides.first()?.key.workload;
        let alike = here().filter(|seen| seen.workload == *workload);
        let found = same.or_else(|| alike.max_by(|a, b| a.moved.by.total_cmp(&b.moved.by)));
        found.map(|seen| seen.moved.clone())
    }

    /// Says it to contests whose sides have one link each.
    pub(super) fn tell(&self, mount: &Mount<'_>, contests: &mut [Contest]) -> Result<(), Error> {
        let folder = std::env::current_dir().map_err(Error::Program)?;
        for contest in contests.iter_mut().filter(|contest| contest.sides.len() > 1) {
            contest.layouts = self.of(mount.name, &folder, contest);
        }
        Ok(())
    }

    /// Takes what a comparison showed, in the place of what an earlier one did.
    fn take(&mut self, program: &str, folder: &Path, shown: Vec<(&Row, Moved)>) {
        for (row, moved) in shown {
            let key = row.sides.first().and_then(|side| side.key.parse::<Key>().ok());
            let Some(Key { workload, .. }) = key else { continue };
            let is_same = |seen: &Seen| {
                seen.program == program && seen.folder == *folder && seen.moved.case == moved.case
            };
            self.seen.retain(|seen| !is_same(seen));
            self.seen.push(Seen { program: program.to_owned(), folder: folder.to_owned(), workload, moved });
        }
        self.seen.drain(..self.seen.len().saturating_sub(MOST));
    }
}

/// Keeps what a comparison showed. It is measured by then: where nothing can be kept, that is said, and no more.
pub(super) fn keep(mount: &Mount<'_>, report: &Report) {
    let shown = shown(report);
    if shown.is_empty() {
        return;
    }
    let kept = || {
        let folder = std::env::current_dir().map_err(Error::Program)?;
        let path = file(&report.machine)?;
        let mut layouts = Layouts::read(&report.machine);
        layouts.take(mount.name, &folder, shown);
        write_atomically(&path, &pretty(&layouts)).map_err(Error::write(&path))
    };
    if let Err(error) = kept() {
        tell(&format!("what layouts did is not kept: {error}"));
    }
}

fn file(machine: &Machine) -> Result<PathBuf, Error> {
    Ok(paths::cache()?.join("layouts").join(format!("{}.json", machine.id)))
}

fn tell(words: &str) {
    writeln!(std::io::stderr(), "{words}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::contests::builds;

    fn seen(program: &str, folder: &str, case: &str, by: f64) -> Seen {
        let workload = case.split('/').next().expect("a workload").to_owned();
        let moved = Moved { by, sessions: 20, case: case.to_owned(), report: "r".to_owned() };
        Seen { program: program.to_owned(), folder: folder.into(), workload, moved }
    }

    #[test]
    fn the_same_case_tells_first_and_then_the_worst_of_its_workload() {
        let (small, large) = ("sort/std/kernel/100/t1", "sort/std/kernel/1000/t1");
        let layouts = Layouts {
            seen: vec![
                seen("lab", "/a", small, 0.02),
                seen("lab", "/a", large, 0.06),
                seen("lab", "/a", "hash/std/kernel/100/t1", 0.09),
                seen("lab", "/b", "sum/std/kernel/100/t1", 0.01),
                seen("bench", "/a", "sum/std/kernel/100/t1", 0.01),
            ],
        };
        let known = |case: &str| {
            let contest = builds(&case.parse().expect("a key"), ["baseline", "candidate"], false);
            layouts.of("lab", Path::new("/a"), &contest).map(|moved| moved.by)
        };
        assert_eq!(known(small), Some(0.02));
        assert_eq!(known("sort/std/kernel/10000/t1"), Some(0.06), "the worst");
        assert_eq!(known("sum/std/kernel/100/t1"), None, "of another folder, or another program");
    }
}
