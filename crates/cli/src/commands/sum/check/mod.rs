//! `--check`: reads checksum lists and verifies the files in them.

mod counts;
mod guess_algorithm;
mod lines;
mod list;
mod messages;

use crate::commands::sum::files_below;
use crate::output::progress::ExpectedFiles;
use crate::output::{Out, display_path};
use crate::personality::Personality;
use counts::LineCounts;
use hashmill_files::Files;
use hashmill_files::checksum_list::{Algorithm, ListFormat, Mode};
use list::{Check, Stop};
use std::fs::File;
use std::io::BufReader;
use std::iter;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

pub(in crate::commands::sum) use list::same;

/// Options of `--check`.
pub(super) struct CheckOptions {
    pub(super) personality: Personality,
    /// The hash function, if the flags determine it.
    pub(super) requested: Option<Algorithm>,
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

/// File hashers by hash function.
pub(super) struct Hashers {
    /// In the order of [`Algorithm::ALL`].
    pub(super) files: [Arc<Files>; 5],
    /// For trees, which always use BLAKE3.
    pub(super) tree: Arc<Files>,
}

impl Hashers {
    /// One hasher per function; that of `algorithm` exists.
    pub(super) fn new(
        algorithm: Algorithm,
        files: &Arc<Files>,
        make: impl Fn(Algorithm) -> Files,
    ) -> Hashers {
        let of = |known| if known == algorithm { Arc::clone(files) } else { Arc::new(make(known)) };
        Hashers { files: Algorithm::ALL.map(of), tree: Arc::new(make(Algorithm::Blake3)) }
    }

    /// All hashers, for the progress display.
    pub(super) fn all(&self) -> Vec<Arc<Files>> {
        self.files.iter().chain([&self.tree]).map(Arc::clone).collect()
    }

    pub(super) fn by(&self, algorithm: Algorithm) -> &Files {
        let index = Algorithm::ALL.iter().position(|known| *known == algorithm);
        &self.files[index.unwrap_or(0)]
    }
}

/// Lists the files named by the lists, if the lists can be read twice.
pub(super) fn expected_files(
    lists: &[PathBuf],
    options: &CheckOptions,
    style: ListFormat,
) -> Option<ExpectedFiles> {
    if lists.iter().any(|list| !list.is_file()) {
        return None;
    }
    let (lists, personality, tree, rules) =
        (lists.to_vec(), options.personality, options.tree, Arc::default());
    Some(Box::new(move || {
        let opened = lists.into_iter().filter_map(|list| File::open(list).ok());
        let lines =
            opened.flat_map(move |list| lines::lines(Box::new(BufReader::new(list)), style, personality));
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

pub(super) fn run(
    hashers: &Hashers,
    lists: &[PathBuf],
    options: &CheckOptions,
    style: ListFormat,
    out: &mut Out,
) {
    let mut all = LineCounts::default();
    let all_lists = lists;
    let mut lists = lists.iter();
    for list in lists.by_ref() {
        let mut check = Check::new(hashers, list, all_lists, options, style, out);
        let flow = check.run();
        all += check.conclude(flow);
        match flow {
            ControlFlow::Break(Stop::StdoutClosed) => break,
            ControlFlow::Break(Stop::ReadError) => return,
            _ => {}
        }
    }
    for list in lists {
        out.fail(&format!("{}: not checked", display_path(list)));
    }
    // GNU's programs only warn of malformed lines.
    let tolerated =
        if matches!(options.personality, Personality::Gnu(_)) && !options.strict { all.malformed } else { 0 };
    out.failed |= all.failures() > tolerated;
    // GNU's programs print the counts after each list.
    if !options.status && !matches!(options.personality, Personality::Gnu(_)) {
        messages::warnings(options.personality, &all).iter().for_each(|warning| out.note(warning));
    }
}
