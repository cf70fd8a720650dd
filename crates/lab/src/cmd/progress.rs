//! What the user sees while a campaign runs: one line on a terminal, nothing elsewhere.

use crate::campaign::{Measured, Outcome};
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

pub(super) struct Display {
    bar: ProgressBar,
}

impl Display {
    /// `rows` sessions, one for each row, are the first thing to wait for.
    pub(super) fn new(rows: usize) -> Self {
        let bar = ProgressBar::new(rows as u64);
        let style = ProgressStyle::with_template("[{elapsed}] {bar:30} {pos} of {len} sessions  {wide_msg}");
        bar.set_style(style.expect("the template is a constant"));
        // A session of `run --for` lasts minutes, and nothing else moves meanwhile.
        bar.enable_steady_tick(Duration::from_secs(1));
        Display { bar }
    }

    /// Contest `index` has got one session more, of `wanted` until its next look.
    pub(super) fn show(&self, index: usize, wanted: usize, all: &[Measured]) {
        let open = all.iter().filter(|m| m.outcome == Outcome::Running);
        let done: usize = all.iter().map(|m| m.sessions.len()).sum();
        let left: usize = open.map(|m| wanted.saturating_sub(m.sessions.len())).sum();
        self.set(done, done + left, &all[index].contest.title);
    }

    pub(super) fn set(&self, done: usize, all: usize, what: &str) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
