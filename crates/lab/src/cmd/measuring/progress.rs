//! Progress of a campaign: one line on a terminal, nothing elsewhere.

use crate::measure::campaign::{GroupResult, Outcome};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum width. A wrapped line cannot be erased.
const WIDTH: usize = 79;

pub(crate) struct ProgressLine {
    state: Arc<Mutex<State>>,
    /// Updates the elapsed time: a sustained case runs for minutes without other updates.
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

struct State {
    start: Instant,
    done: usize,
    all: usize,
    /// Counted unit.
    of: &'static str,
    what: String,
}

impl State {
    fn line(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let State { done, all, of, what, .. } = self;
        let line = format!("[{hours:02}:{minutes:02}:{seconds:02}] {done} of {all} {of}  {what}");
        line.chars().filter(|c| !c.is_control()).take(WIDTH).collect()
    }

    fn draw(&self) {
        write!(std::io::stderr(), "\r\x1b[K{}", self.line(self.start.elapsed())).ok();
    }
}

impl ProgressLine {
    /// Expects `rows` sessions first, one per row.
    pub(crate) fn new(rows: usize) -> Self {
        ProgressLine::counting(rows, "sessions")
    }

    /// The same for another unit than sessions.
    pub(crate) fn counting(all: usize, of: &'static str) -> Self {
        let state = State { start: Instant::now(), done: 0, all, of, what: String::new() };
        let state = Arc::new(Mutex::new(state));
        let ticker = std::io::stderr().is_terminal().then(|| {
            let (stop, stopped) = channel();
            let state = Arc::clone(&state);
            let tick = move || {
                while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                    state.lock().map(|state| state.draw()).ok();
                }
            };
            (stop, std::thread::spawn(tick))
        });
        ProgressLine { state, ticker }
    }

    /// Group `index` has one more session of `wanted` until its next analysis.
    pub(crate) fn show(&self, index: usize, wanted: usize, all: &[GroupResult]) {
        let open = all.iter().filter(|m| m.outcome == Outcome::Running);
        let done: usize = all.iter().map(|m| m.sessions.len()).sum();
        let left: usize = open.map(|m| wanted.saturating_sub(m.sessions.len())).sum();
        self.set(done, done + left, &all[index].group.title);
    }

    pub(crate) fn set(&self, done: usize, all: usize, what: &str) {
        let Ok(mut state) = self.state.lock() else { return };
        (state.done, state.all) = (done, all);
        what.clone_into(&mut state.what);
        if self.ticker.is_some() {
            state.draw();
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        let Some((stop, thread)) = self.ticker.take() else { return };
        drop(stop);
        thread.join().ok();
        write!(std::io::stderr(), "\r\x1b[K").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_a_terminal() {
        let mut state =
            State { start: Instant::now(), done: 3, all: 40, of: "sessions", what: "sort/1000".to_owned() };
        assert_eq!(state.line(Duration::from_secs(3661)), "[01:01:01] 3 of 40 sessions  sort/1000");
        state.what = "a\nb".repeat(100);
        let line = state.line(Duration::ZERO);
        assert_eq!((line.chars().count(), line.contains('\n')), (WIDTH, false));
    }
}
