//! Progress display on standard error: a bar on a terminal, lines for logs, or JSON for programs.
//!
//! A separate thread reads counters that the work maintains anyway. Short work shows nothing.

mod estimate;
mod render_line;

pub(crate) use estimate::{ExpectedFiles, ProgressState, hash_many, size};

use crate::os::{self, SignalBlock};
use clap::ValueEnum;
use console::Term;
use estimate::{Counter, ProgressSnapshot, RateMeter, Total};
use hashmill_files::Files;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use std::io::{self, IsTerminal, Write, stderr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Delay before the display appears.
const START_DELAY: Duration = Duration::from_millis(500);
/// Update interval of the bar.
const BAR_INTERVAL: Duration = Duration::from_millis(100);
/// Interval between lines of JSON.
const JSON_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between lines in a log.
const LOG_INTERVAL: Duration = Duration::from_secs(2);

/// When progress is shown, and in which form.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ProgressMode {
    /// A bar on a terminal, nothing elsewhere.
    #[default]
    Auto,
    /// A bar on a terminal, a line at intervals elsewhere.
    Always,
    Never,
    /// Lines of JSON.
    Json,
}

static CHOSEN: OnceLock<ProgressMode> = OnceLock::new();

/// Sets the mode, once.
pub(crate) fn choose(mode: ProgressMode) {
    CHOSEN.get_or_init(|| mode);
}

/// Whether `--quiet` hides the display, which it does unless the mode was given explicitly.
pub(crate) fn hushed(quiet: bool) -> bool {
    quiet && !matches!(CHOSEN.get(), Some(ProgressMode::Always | ProgressMode::Json))
}

/// Form of the display.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DisplayForm {
    Bar,
    Lines,
    Json,
}

impl DisplayForm {
    /// Terminals that cannot move the cursor get no bar. The display has no colours, so NO_COLOR does not matter.
    fn chosen() -> Option<DisplayForm> {
        let bar = || stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        match CHOSEN.get().copied().unwrap_or_default() {
            ProgressMode::Never => None,
            ProgressMode::Json => Some(DisplayForm::Json),
            ProgressMode::Auto => bar().then_some(DisplayForm::Bar),
            ProgressMode::Always => Some(if bar() { DisplayForm::Bar } else { DisplayForm::Lines }),
        }
    }
}

/// A progress display and the thread that updates it.
pub(crate) struct Bar {
    bar: ProgressBar,
    state: Arc<ProgressState>,
    ended: Arc<EndFlag>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct EndFlag {
    flag: Mutex<bool>,
    changed: Condvar,
}

impl EndFlag {
    /// Waits for the end, at most this long. Returns whether it came.
    fn wait(&self, time: Duration) -> bool {
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        let (flag, _) = self
            .changed
            .wait_timeout_while(flag, time, |ended| !*ended)
            .unwrap_or_else(PoisonError::into_inner);
        *flag
    }
}

impl Bar {
    /// A display for all `files` together, unless the mode hides it. `expected` gives the total; it is evaluated on a separate
    /// thread, and only if the work lasts.
    pub(crate) fn over(
        phase: &'static str,
        files: Vec<Arc<Files>>,
        expected: Option<ExpectedFiles>,
    ) -> Option<Bar> {
        Bar::start(phase, Counter::Files(files), Total::default(), expected)
    }

    /// A display for counted items, unless the mode hides it.
    pub(crate) fn counting(
        phase: &'static str,
        done: &Arc<AtomicU64>,
        total: Option<u64>,
        unit: &'static str,
    ) -> Option<Bar> {
        let total = Total { items: total, bytes: None };
        Bar::start(phase, Counter::Items(Arc::clone(done), unit), total, None)
    }

    /// A display for equal parts of one item, unless the mode hides it.
    pub(crate) fn parts(phase: &'static str, done: &Arc<AtomicU64>, total: u64) -> Option<Bar> {
        let total = Total { items: Some(total), bytes: None };
        Bar::start(phase, Counter::Parts(Arc::clone(done)), total, None)
    }

    fn start(
        phase: &'static str,
        counter: Counter,
        total: Total,
        expected: Option<ExpectedFiles>,
    ) -> Option<Bar> {
        let form = DisplayForm::chosen()?;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let ended = Arc::new(EndFlag::default());
        let state = Arc::new(ProgressState::new(phase, total));
        let display = {
            let (bar, ended, state) = (bar.clone(), Arc::clone(&ended), Arc::clone(&state));
            move || {
                let mut rate = RateMeter::new(Instant::now());
                let mut snapshot = || state.snapshot(&counter, &mut rate);
                if !ended.wait(START_DELAY) {
                    if let Some(expected) = expected {
                        state.find_total(expected);
                    }
                    match form {
                        DisplayForm::Bar => run(&bar, &ended, &mut snapshot),
                        DisplayForm::Lines => {
                            write_lines(&ended, LOG_INTERVAL, &mut snapshot, |snapshot| {
                                render_line::text(snapshot, usize::MAX)
                            });
                        }
                        DisplayForm::Json => {
                            write_lines(&ended, JSON_INTERVAL, &mut snapshot, |snapshot| {
                                snapshot.json(false)
                            });
                        }
                    }
                }
                state.end();
                if form == DisplayForm::Json {
                    write_line(&snapshot().json(true));
                }
            }
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(display).ok()?;
        Some(Bar { bar, state, ended, thread: Some(thread) })
    }

    /// The state that the work updates.
    pub(crate) fn state(&self) -> Arc<ProgressState> {
        Arc::clone(&self.state)
    }

    /// Runs `print` while the bar is hidden.
    pub(crate) fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    /// Ends the display.
    pub(crate) fn finish(mut self) {
        *self.ended.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A failed display does not fail the command.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

/// Writes lines at intervals, until the end.
fn write_lines<'a>(
    ended: &EndFlag,
    interval: Duration,
    snapshot: &mut dyn FnMut() -> ProgressSnapshot<'a>,
    text: impl Fn(&ProgressSnapshot<'a>) -> String,
) {
    loop {
        write_line(&text(&snapshot()));
        if ended.wait(interval) {
            break;
        }
    }
}

/// Writes a line in one call, as other programs write to standard error, too. Ignores failures.
fn write_line(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

/// Draws the bar until the end.
fn run<'a>(bar: &ProgressBar, ended: &EndFlag, snapshot: &mut dyn FnMut() -> ProgressSnapshot<'a>) {
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        bar.set_style(style);
    }
    let terminal = NarrowTerm(Term::buffered_stderr());
    // A signal that ends the program waits until the line is cleared. If signals cannot be blocked, it ends at once.
    let mut signals = SignalBlock::ending().ok();
    bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
    let received = loop {
        // Query the width each time: a window may be resized.
        bar.set_message(render_line::text(&snapshot(), terminal.width().into()));
        bar.tick();
        let signal = signals.as_mut().and_then(SignalBlock::next);
        if signal.is_some() || ended.wait(BAR_INTERVAL) {
            break signal;
        }
    };
    bar.finish_and_clear();
    drop(signals);
    if let Some((signal, _)) = received {
        os::deliver_signal(signal);
    }
}

/// A terminal whose lines end before the right edge. The `^C` that a terminal echoes would otherwise wrap to the next line,
/// and only that line would be cleared.
#[derive(Clone, Debug)]
struct NarrowTerm(Term);

/// Columns left free.
const RIGHT_MARGIN: u16 = 4;

impl TermLike for NarrowTerm {
    fn width(&self) -> u16 {
        TermLike::width(&self.0).saturating_sub(RIGHT_MARGIN)
    }

    fn height(&self) -> u16 {
        TermLike::height(&self.0)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.0.write_line(line)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}
