//! What the user sees while a campaign runs: one line on a terminal, nothing elsewhere.

use crate::campaign::{Measured, Outcome};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What fits every terminal. A line that is broken in two cannot be taken back.
const WIDTH: usize = 79;

pub(super) struct Display {
    state: Arc<Mutex<State>>,
    /// Moves the clock on: a sustained case lasts minutes, and nothing else moves meanwhile.
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

struct State {
    start: Instant,
    done: usize,
    all: usize,
    /// What is counted.
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

impl Display {
    /// `rows` sessions, one for each row, are the first thing to wait for.
    pub(super) fn new(rows: usize) -> Self {
        Display::counting(rows, "sessions")
    }

    /// The same for something else than sessions.
    pub(super) fn counting(all: usize, of: &'static str) -> Self {
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
        Display { state, ticker }
    }

    /// Contest `index` has got one session more, of `wanted` until its next look.
    pub(super) fn show(&self, index: usize, wanted: usize, all: &[Measured]) {
        let open = all.iter().filter(|m| m.outcome == Outcome::Running);
        let done: usize = all.iter().map(|m| m.sessions.len()).sum();
        let left: usize = open.map(|m| wanted.saturating_sub(m.sessions.len())).sum();
        self.set(done, done + left, &all[index].contest.title);
    }

    pub(super) fn set(&self, done: usize, all: usize, what: &str) {
        let Ok(mut state) = self.state.lock() else { return };
        (state.done, state.all) = (done, all);
        what.clone_into(&mut state.what);
        if self.ticker.is_some() {
            state.draw();
        }
    }
}

impl Drop for Display {
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
