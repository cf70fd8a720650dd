//! `--check`: reads lists, hashes what they name, compares.

mod lines;
mod list;
mod tally;
mod which;
mod words;

use crate::out::progress::Survey;
use crate::out::{Out, shown};
use crate::program::Program;
use crate::sum::files_below;
use hashmill_files::Files;
use hashmill_files::checkfile::{Algorithm, Mode, Style};
use list::{Check, Stop};
use std::fs::File;
use std::io::BufReader;
use std::iter;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use tally::Tally;

pub(in crate::sum) use list::same;

/// What to tolerate and what to show.
pub(super) struct How {
    pub(super) program: Program,
    /// The function, if the user said so.
    pub(super) said: Option<Algorithm>,
    pub(super) mode: Mode,
    pub(super) seek: u64,
    pub(super) tree: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) status: bool,
    pub(super) ignore_missing: bool,
    pub(super) warn: bool,
    pub(super) strict: bool,
}

/// Whoever hashes, by function.
pub(super) struct Hashers {
    /// As in [`Algorithm::ALL`].
    pub(super) files: [Arc<Files>; 5],
    /// For trees, which are BLAKE3 whatever files are.
    pub(super) tree: Arc<Files>,
}

impl Hashers {
    /// One for each function, of which one is there.
    pub(super) fn new(
        algorithm: Algorithm,
        files: &Arc<Files>,
        make: impl Fn(Algorithm) -> Files,
    ) -> Hashers {
        let of = |known| if known == algorithm { Arc::clone(files) } else { Arc::new(make(known)) };
        Hashers { files: Algorithm::ALL.map(of), tree: Arc::new(make(Algorithm::Blake3)) }
    }

    /// All of them, for a bar.
    pub(super) fn all(&self) -> Vec<Arc<Files>> {
        self.files.iter().chain([&self.tree]).map(Arc::clone).collect()
    }

    pub(super) fn of(&self, algorithm: Algorithm) -> &Files {
        let index = Algorithm::ALL.iter().position(|known| *known == algorithm);
        &self.files[index.unwrap_or(0)]
    }
}

/// The files that lists name, read a second time, if they can be.
pub(super) fn survey(lists: &[PathBuf], how: &How, style: Style) -> Option<Survey> {
    if lists.iter().any(|list| !list.is_file()) {
        return None;
    }
    let (lists, program, tree, rules) = (lists.to_vec(), how.program, how.tree, Arc::default());
    Some(Box::new(move || {
        let opened = lists.into_iter().filter_map(|list| File::open(list).ok());
        let lines = opened.flat_map(move |list| lines::lines(Box::new(BufReader::new(list)), style, program));
        let entries = lines.filter_map(|line| match line.task {
            lines::Task::Compare(entry) => Some(entry),
            _ => None,
        });
        Box::new(entries.flat_map(move |entry| -> Box<dyn Iterator<Item = PathBuf>> {
            if tree || entry.is_tree() {
                Box::new(files_below(entry.path, &rules))
            } else {
                Box::new(iter::once(entry.path))
            }
        }))
    }))
}

pub(super) fn run(hashers: &Hashers, lists: &[PathBuf], how: &How, style: Style, out: &mut Out) {
    let mut all = Tally::default();
    let all_lists = lists;
    let mut lists = lists.iter();
    for list in lists.by_ref() {
        let mut check = Check::new(hashers, list, all_lists, how, style, out);
        let flow = check.run();
        all += check.conclude(flow);
        match flow {
            ControlFlow::Break(Stop::Closed) => break,
            ControlFlow::Break(Stop::Unread) => return,
            _ => {}
        }
    }
    for list in lists {
        out.fail(&format!("{}: not checked", shown(list)));
    }
    // GNU's programs only warn of lines that say nothing.
    let passed = if matches!(how.program, Program::Gnu(_)) && !how.strict { all.malformed } else { 0 };
    out.failed |= all.failures() > passed;
    // They have told the numbers of each list.
    if !how.status && !matches!(how.program, Program::Gnu(_)) {
        words::warnings(how.program, &all).iter().for_each(|warning| out.note(warning));
    }
}
