//! A progress bar on standard error, for work that lasts more than a second on a terminal.

use crate::os::{self, Hold};
use console::Term;
use hashmill_files::{Files, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use std::io::{self, IsTerminal, stderr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What is not worth a bar.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// A bar with the thread that moves it.
pub(crate) struct Bar {
    bar: ProgressBar,
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
    /// A bar over the counters of all `files` together, if anybody can see one. `paths` are stated to learn the total,
    /// unless that cannot be known.
    pub(crate) fn over(files: Vec<Arc<Files>>, paths: Option<&[PathBuf]>) -> Option<Bar> {
        if !visible() {
            return None;
        }
        let paths = paths.map(<[PathBuf]>::to_vec);
        Bar::start(move |bar, ended| show_files(bar, ended, &files, paths))
    }

    /// A bar over things that are counted, if anybody can see one.
    pub(crate) fn counting(done: &Arc<AtomicU64>, total: Option<u64>, things: &'static str) -> Option<Bar> {
        if !visible() {
            return None;
        }
        let done = Arc::clone(done);
        Bar::start(move |bar, ended| show_count(bar, ended, &done, total, things))
    }

    /// A bar over equal parts of one thing, if anybody can see one.
    pub(crate) fn parts(done: &Arc<AtomicU64>, total: u64) -> Option<Bar> {
        if !visible() {
            return None;
        }
        let done = Arc::clone(done);
        Bar::start(move |bar, ended| {
            let template = "{wide_bar} {percent} % {elapsed} {eta}";
            run(bar, ended, template, Some(total), || bar.set_position(done.load(Ordering::Relaxed)));
        })
    }

    fn start(show: impl FnOnce(&ProgressBar, &Ended) + Send + 'static) -> Option<Bar> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let ended = Arc::new(Ended::default());
        let run = {
            let (bar, ended) = (bar.clone(), Arc::clone(&ended));
            move || {
                if !ended.within(PATIENCE) {
                    show(&bar, &ended);
                }
            }
        };
        let thread = thread::Builder::new().name("progress".into()).spawn(run).ok()?;
        Some(Bar { bar, ended, thread: Some(thread) })
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

/// Whether anybody can see a bar. Terminals that cannot move the cursor get none. Its style has no colours, so NO_COLOR
/// asks for nothing.
fn visible() -> bool {
    stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn show_files(bar: &ProgressBar, ended: &Ended, files: &[Arc<Files>], paths: Option<Vec<PathBuf>>) {
    let total: Option<u64> =
        paths.and_then(|paths| paths.iter().map(|path| path.metadata().ok().map(|m| m.len())).sum());
    let template = match total {
        Some(_) => "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} {msg}",
        None => "{spinner} {bytes} {binary_bytes_per_sec} {msg}",
    };
    run(bar, ended, template, total, || {
        let progress = || files.iter().map(|files| files.progress());
        bar.set_position(progress().map(Progress::bytes).sum());
        bar.set_message(format!("{} files", progress().map(Progress::files).sum::<u64>()));
    });
}

fn show_count(bar: &ProgressBar, ended: &Ended, done: &AtomicU64, total: Option<u64>, things: &'static str) {
    let template = match total {
        Some(_) => "{wide_bar} {pos}/{len} {msg} {per_sec} {eta}",
        None => "{spinner} {pos} {msg}",
    };
    bar.set_message(things);
    run(bar, ended, template, total, || bar.set_position(done.load(Ordering::Relaxed)));
}

/// Draws until the end.
fn run(bar: &ProgressBar, ended: &Ended, template: &str, total: Option<u64>, update: impl Fn()) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if let Some(total) = total {
        bar.set_length(total);
    }
    // Whoever ends the program shall find the cursor in an empty line. If signals cannot be held, it ends all the same.
    let mut hold = Hold::ending().ok();
    bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(Narrow(Term::buffered_stderr()))));
    let came = loop {
        update();
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
#[derive(Debug)]
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
