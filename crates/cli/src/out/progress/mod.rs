//! What is under way, on standard error: a bar where a terminal shows it, lines for logs, JSON for programs.
//!
//! A thread of its own looks at counters that whoever works moves anyway. Nothing is shown of work that is over soon.

mod facts;
mod line;

pub(crate) use facts::{Job, Survey, hash_many, size};

use crate::os::{self, Hold};
use clap::ValueEnum;
use console::Term;
use facts::{Counter, Facts, Pace, Total};
use hashmill_files::Files;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use std::io::{self, IsTerminal, Write, stderr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What is not worth a bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a bar moves.
const TICK: Duration = Duration::from_millis(100);
/// How often there is a line of JSON.
const PACE: Duration = Duration::from_millis(500);
/// How often there is a line in a log.
const LOG: Duration = Duration::from_secs(2);

/// When, and in which form, something is shown.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum When {
    /// A bar on a terminal, nothing elsewhere.
    #[default]
    Auto,
    /// A bar on a terminal, now and then a line elsewhere.
    Always,
    Never,
    /// Lines of JSON.
    Json,
}

static CHOSEN: OnceLock<When> = OnceLock::new();

/// Settles it.
pub(crate) fn choose(when: When) {
    CHOSEN.get_or_init(|| when);
}

/// Whether a command that is to be quiet shows nothing: it was not asked to in so many words.
pub(crate) fn hushed(quiet: bool) -> bool {
    quiet && !matches!(CHOSEN.get(), Some(When::Always | When::Json))
}

/// In which form it is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Bar,
    Lines,
    Json,
}

impl Form {
    /// Terminals that cannot move the cursor get no bar. There are no colours, so NO_COLOR asks for nothing.
    fn chosen() -> Option<Form> {
        let bar = || stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        match CHOSEN.get().copied().unwrap_or_default() {
            When::Never => None,
            When::Json => Some(Form::Json),
            When::Auto => bar().then_some(Form::Bar),
            When::Always => Some(if bar() { Form::Bar } else { Form::Lines }),
        }
    }
}

/// A display with the thread that moves it.
pub(crate) struct Bar {
    bar: ProgressBar,
    job: Arc<Job>,
    ended: Arc<Ended>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Ended {
    flag: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    /// Waits, but not longer than until the end. Whether it came.
    fn within(&self, time: Duration) -> bool {
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        let (flag, _) = self
            .changed
            .wait_timeout_while(flag, time, |ended| !*ended)
            .unwrap_or_else(PoisonError::into_inner);
        *flag
    }
}

impl Bar {
    /// A display over the counters of all `files` together, if anybody sees it. What the survey finds is the total; it is
    /// asked on a thread of its own, and only if the work lasts.
    pub(crate) fn over(phase: &'static str, files: Vec<Arc<Files>>, survey: Option<Survey>) -> Option<Bar> {
        Bar::start(phase, Counter::Files(files), Total::default(), survey)
    }

    /// A display over things that are counted, if anybody sees it.
    pub(crate) fn counting(
        phase: &'static str,
        done: &Arc<AtomicU64>,
        total: Option<u64>,
        things: &'static str,
    ) -> Option<Bar> {
        let total = Total { things: total, bytes: None };
        Bar::start(phase, Counter::Things(Arc::clone(done), things), total, None)
    }

    /// A display over equal parts of one thing, if anybody sees it.
    pub(crate) fn parts(phase: &'static str, done: &Arc<AtomicU64>, total: u64) -> Option<Bar> {
        let total = Total { things: Some(total), bytes: None };
        Bar::start(phase, Counter::Parts(Arc::clone(done)), total, None)
    }

    fn start(phase: &'static str, counter: Counter, total: Total, survey: Option<Survey>) -> Option<Bar> {
        let form = Form::chosen()?;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let ended = Arc::new(Ended::default());
        let job = Arc::new(Job::new(phase, total));
        let display = {
            let (bar, ended, job) = (bar.clone(), Arc::clone(&ended), Arc::clone(&job));
            move || {
                let mut pace = Pace::new(Instant::now());
                let mut facts = || job.facts(&counter, &mut pace);
                if !ended.within(PATIENCE) {
                    if let Some(survey) = survey {
                        job.find_total(survey);
                    }
                    match form {
                        Form::Bar => run(&bar, &ended, &mut facts),
                        Form::Lines => {
                            write_lines(&ended, LOG, &mut facts, |facts| line::text(facts, usize::MAX));
                        }
                        Form::Json => write_lines(&ended, PACE, &mut facts, |facts| facts.json(false)),
                    }
                }
                job.end();
                if form == Form::Json {
                    write_line(&facts().json(true));
                }
            }
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(display).ok()?;
        Some(Bar { bar, job, ended, thread: Some(thread) })
    }

    /// What whoever works tells the display.
    pub(crate) fn job(&self) -> Arc<Job> {
        Arc::clone(&self.job)
    }

    /// Runs `print` while the bar is out of the way.
    pub(crate) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    /// Takes the bar away.
    pub(crate) fn finish(mut self) {
        *self.ended.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A display that failed is no reason to fail.
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

/// Writes a line now and then, until the end.
fn write_lines<'a>(
    ended: &Ended,
    pace: Duration,
    facts: &mut dyn FnMut() -> Facts<'a>,
    text: impl Fn(&Facts<'a>) -> String,
) {
    loop {
        write_line(&text(&facts()));
        if ended.within(pace) {
            break;
        }
    }
}

/// In one piece, as others write to standard error, too. If nobody reads it, the work goes on.
fn write_line(line: &str) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

/// Draws until the end.
fn run<'a>(bar: &ProgressBar, ended: &Ended, facts: &mut dyn FnMut() -> Facts<'a>) {
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        bar.set_style(style);
    }
    let terminal = Narrow(Term::buffered_stderr());
    // Whoever ends the program shall find the cursor in an empty line. If signals cannot be held, it ends all the same.
    let mut hold = Hold::ending().ok();
    bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
    let came = loop {
        // Asked each time: a window may change its width.
        bar.set_message(line::text(&facts(), terminal.width().into()));
        bar.tick();
        let signal = hold.as_mut().and_then(Hold::next);
        if signal.is_some() || ended.within(TICK) {
            break signal;
        }
    };
    bar.finish_and_clear();
    drop(hold);
    if let Some((signal, _)) = came {
        os::give_in(signal);
    }
}

/// A terminal on which lines end before the edge. The `^C` that a terminal shows when somebody types it would otherwise go to
/// the next line, and only that one would be cleared.
#[derive(Clone, Debug)]
struct Narrow(Term);

/// Columns that stay free.
const EDGE: u16 = 4;

impl TermLike for Narrow {
    fn width(&self) -> u16 {
        TermLike::width(&self.0).saturating_sub(EDGE)
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
