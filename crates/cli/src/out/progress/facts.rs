//! How far the work is: what whoever works tells, what the counters say, and what can be known of the rest.

use hashmill_files::{Digest, Error, Files, Item, Progress, Sink};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The files that there will be, one by one.
pub(crate) type Survey = Box<dyn FnOnce() -> Box<dyn Iterator<Item = PathBuf>> + Send>;

/// A rate is that of so much time before now.
const WINDOW: Duration = Duration::from_secs(5);

/// What moves.
pub(super) enum Counter {
    Files(Vec<Arc<Files>>),
    Things(Arc<AtomicU64>, &'static str),
    Parts(Arc<AtomicU64>),
}

/// How much there is in all, as far as that is known.
#[derive(Clone, Copy, Default)]
pub(super) struct Total {
    pub(super) things: Option<u64>,
    pub(super) bytes: Option<u64>,
}

/// What is being done: said by whoever does it, read by the display.
pub(crate) struct Job {
    state: Mutex<State>,
    /// Files, and bytes in them, that needed no reading.
    known: AtomicU64,
    known_bytes: AtomicU64,
    ended: AtomicBool,
}

struct State {
    phase: &'static str,
    total: Total,
    /// Files that were begun and have no answer yet, in order.
    asked: VecDeque<PathBuf>,
}

impl Job {
    pub(super) fn new(phase: &'static str, total: Total) -> Job {
        let state = Mutex::new(State { phase, total, asked: VecDeque::new() });
        Job { state, known: AtomicU64::new(0), known_bytes: AtomicU64::new(0), ended: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work goes on with something else.
    pub(crate) fn phase(&self, phase: &'static str) {
        self.state().phase = phase;
    }

    /// So many files, with so many bytes, there will be.
    pub(crate) fn expect(&self, files: u64, bytes: u64) {
        self.state().total = Total { things: Some(files), bytes: Some(bytes) };
    }

    /// A file that needs no reading.
    pub(crate) fn know(&self, bytes: u64) {
        self.known.fetch_add(1, Ordering::Relaxed);
        self.known_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file is begun.
    pub(crate) fn begin(&self, path: &Path) {
        self.state().asked.push_back(path.to_owned());
    }

    /// The first of the files that were begun is done.
    pub(crate) fn end_file(&self) {
        self.state().asked.pop_front();
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Asks on another thread what there will be. Nobody waits for it: a disk that does not answer must hold up nothing.
    pub(super) fn find_total(self: &Arc<Job>, survey: Survey) {
        let job = Arc::clone(self);
        let find = move || {
            let (mut files, mut bytes) = (0, 0_u64);
            for path in survey() {
                if job.ended.load(Ordering::Relaxed) {
                    return;
                }
                files += 1;
                bytes = bytes.saturating_add(fs::metadata(&path).map_or(0, |metadata| metadata.len()));
            }
            if files > 0 {
                job.expect(files, bytes);
            }
        };
        // Without it there is no total, which is no reason to fail.
        let _ = thread::Builder::new().name("survey".into()).spawn(find);
    }

    /// How far it is.
    pub(super) fn facts<'a>(&self, counter: &'a Counter, pace: &mut Pace) -> Facts<'a> {
        let state = self.state();
        let Total { things: total, bytes: total_bytes } = state.total;
        let (done, unit, bytes) = match counter {
            Counter::Files(files) => {
                let sum =
                    |of: fn(&Progress) -> u64| files.iter().map(|files| of(files.progress())).sum::<u64>();
                let bytes = sum(Progress::bytes) + self.known_bytes.load(Ordering::Relaxed);
                let done = sum(Progress::files) + self.known.load(Ordering::Relaxed);
                (done, "files", Some(bytes))
            }
            Counter::Things(done, things) => (done.load(Ordering::Relaxed), *things, None),
            Counter::Parts(done) => (done.load(Ordering::Relaxed), "parts", None),
        };
        // There may be more than was found: files that grow, devices, what was made meanwhile. Then nobody knows the rest.
        let total = total.filter(|total| *total >= done);
        let total_bytes = total_bytes.filter(|total| *total >= bytes.unwrap_or(0));
        let rate = pace.rate(Instant::now(), bytes.unwrap_or(done));
        let rest = match bytes {
            Some(bytes) => total_bytes.map(|total| total - bytes),
            None => total.map(|total| total - done),
        };
        let left = rest.zip(rate).and_then(|(rest, rate)| {
            Duration::try_from_secs_f64(rest as f64 / rate).ok().filter(|left| left.as_secs() < 1_000_000)
        });
        let file = state.asked.front().cloned();
        Facts { phase: state.phase, file, done, total, unit, bytes, total_bytes, rate, left }
    }
}

/// The same as [`Files::hash_many`], and the display hears which files are begun and done.
pub(crate) fn hash_many<T: Send, S: Sink<T>>(
    files: &Files,
    job: Option<Arc<Job>>,
    items: impl IntoIterator<Item = Item<T>>,
    sink: S,
) -> ControlFlow<S::Break> {
    let told = job.clone();
    let items = items.into_iter().inspect(move |item| {
        if let Some(job) = &told {
            job.begin(&item.path);
        }
    });
    files.hash_many(items, Watched { sink, job })
}

struct Watched<S> {
    sink: S,
    job: Option<Arc<Job>>,
}

impl<T, S: Sink<T>> Sink<T> for Watched<S> {
    type Break = S::Break;

    fn answer(&mut self, path: PathBuf, tag: T, result: Result<Digest, Error>) -> ControlFlow<S::Break> {
        if let Some(job) = &self.job {
            job.end_file();
        }
        self.sink.answer(path, tag, result)
    }

    fn pause(&mut self) -> ControlFlow<S::Break> {
        self.sink.pause()
    }
}

/// How fast it goes: over the last seconds, so that a slow disk after a fast cache is seen.
pub(super) struct Pace {
    seen: VecDeque<(Instant, u64)>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Pace {
        Pace { seen: VecDeque::from([(now, 0)]) }
    }

    /// By how much a counter moves in a second.
    fn rate(&mut self, now: Instant, count: u64) -> Option<f64> {
        while self.seen.len() > 1 && self.seen.get(1).is_some_and(|(then, _)| now - *then >= WINDOW) {
            self.seen.pop_front();
        }
        let (then, before) = *self.seen.front()?;
        self.seen.push_back((now, count));
        let (seconds, more) = ((now - then).as_secs_f64(), count.saturating_sub(before));
        (seconds > 0.0 && more > 0).then(|| more as f64 / seconds)
    }
}

/// How far the work is.
#[derive(Clone, Debug)]
pub(super) struct Facts<'a> {
    pub(super) phase: &'static str,
    /// The file at hand.
    pub(super) file: Option<PathBuf>,
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    /// What is counted.
    pub(super) unit: &'a str,
    pub(super) bytes: Option<u64>,
    pub(super) total_bytes: Option<u64>,
    /// Bytes in a second, or things where there are none.
    pub(super) rate: Option<f64>,
    pub(super) left: Option<Duration>,
}

impl Facts<'_> {
    /// The line for programs. The names of the fields are in `docs/sum.md`.
    pub(super) fn json(&self, ended: bool) -> String {
        let mut fields = Map::new();
        let mut set = |name: String, value: Value| drop(fields.insert(name, value));
        set("progress".to_owned(), json!(self.phase));
        set("ended".to_owned(), json!(ended));
        set("file".to_owned(), json!(self.file.as_ref().map(|file| file.to_string_lossy())));
        set(format!("{}_done", self.unit), json!(self.done));
        set(format!("{}_total", self.unit), json!(self.total));
        if let Some(bytes) = self.bytes {
            set("bytes_done".to_owned(), json!(bytes));
            set("bytes_total".to_owned(), json!(self.total_bytes));
        }
        let of = if self.bytes.is_some() { "bytes" } else { self.unit };
        set(format!("{of}_per_second"), json!(self.rate.map(|rate| (rate * 10.0).round() / 10.0)));
        set(
            "seconds_left".to_owned(),
            json!(self.left.map(|left| (left.as_secs_f64() * 10.0).round() / 10.0)),
        );
        Value::Object(fields).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_seconds() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut pace = Pace::new(begin);
        assert_eq!(pace.rate(begin, 0), None);
        assert_eq!(pace.rate(after(1), 100), Some(100.0));
        assert_eq!(pace.rate(after(2), 200), Some(100.0));
        for second in 3..20 {
            pace.rate(after(second), 200 + 10 * (second - 2));
        }
        assert_eq!(pace.rate(after(20), 380), Some(10.0));
    }

    #[test]
    fn the_first_file_without_an_answer_is_at_hand() {
        let job = Job::new("hashing", Total::default());
        let counter = Counter::Things(Arc::new(AtomicU64::new(3)), "files");
        let mut pace = Pace::new(Instant::now());
        job.begin(Path::new("a"));
        job.begin(Path::new("b"));
        job.end_file();
        job.phase("checking");
        job.expect(2, 0);
        let facts = job.facts(&counter, &mut pace);
        assert_eq!((facts.phase, facts.file), ("checking", Some(PathBuf::from("b"))));
        assert_eq!((facts.done, facts.total), (3, None), "more than was expected");
    }
}
