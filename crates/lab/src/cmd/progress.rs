//! What the user sees while a campaign runs: one line on a terminal, nothing elsewhere.

use crate::campaign::{Measured, Outcome};
use indicatif::{ProgressBar, ProgressStyle};

pub(super) struct Display {
    bar: ProgressBar,
}

impl Display {
    pub(super) fn new(rows: usize) -> Self {
        let bar = ProgressBar::new(rows as u64);
        let style =
            ProgressStyle::with_template("{spinner} [{elapsed}] {pos} of {len} rows settled  {wide_msg}");
        bar.set_style(style.expect("the template is a constant"));
        Display { bar }
    }

    pub(super) fn show(&self, index: usize, wanted: usize, all: &[Measured]) {
        let settled =
            all.iter().filter(|m| m.outcome != Outcome::Running || m.sessions.len() > wanted).count();
        self.bar.set_position(settled as u64);
        let measured = &all[index];
        self.bar.set_message(format!(
            "{}: session {} of {wanted}",
            measured.contest.title,
            measured.sessions.len()
        ));
        self.bar.tick();
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
