//! `--check`: reads lists, hashes what they name, compares.

mod lines;
mod list;
mod tally;
mod which;

use crate::out::{Out, shown};
use hashmill_files::Files;
use hashmill_files::checkfile::{Algorithm, Style};
use list::{Check, Stop};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use tally::Tally;

/// What to tolerate and what to show.
pub(super) struct How {
    /// The function, if the user said so.
    pub(super) said: Option<Algorithm>,
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
    pub(super) blake3: Arc<Files>,
    pub(super) sha256: Arc<Files>,
}

impl Hashers {
    fn of(&self, algorithm: Algorithm) -> &Files {
        match algorithm {
            Algorithm::Sha256 => &self.sha256,
            _ => &self.blake3,
        }
    }
}

pub(super) fn run(hashers: &Hashers, lists: &[PathBuf], how: &How, style: Style, out: &mut Out) {
    let mut all = Tally::default();
    let mut lists = lists.iter();
    for list in lists.by_ref() {
        let mut check = Check::new(hashers, list, how, style, out);
        let flow = check.run();
        all += check.conclude(flow);
        if flow == ControlFlow::Break(Stop::Closed) {
            break;
        }
    }
    for list in lists {
        out.fail(&format!("{}: not checked", shown(list)));
    }
    out.failed |= all.failures() > 0;
    if !how.status {
        all.warnings().iter().for_each(|warning| out.note(warning));
    }
}
