//! How far the work is: what whoever works tells, what the counters say, and what can be known of the rest.

use crate::out::hex;
use hashmill_files::{Digest, Error, Files, Item, Progress, Sink};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::fs;
use std::io::ErrorKind;
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
    /// Files, and bytes in them, that are hashed once more: they were counted the first time.
    again: AtomicU64,
    again_bytes: AtomicU64,
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
        let [known, known_bytes, again, again_bytes] = [const { AtomicU64::new(0) }; 4];
        Job { state, known, known_bytes, again, again_bytes, ended: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work goes on with something else.
    pub(crate) fn phase(&self, phase: &'static str) {
        self.state().phase = phase;
    }

    /// So many files, with so many bytes if that is known, there will be.
    pub(crate) fn expect(&self, files: u64, bytes: Option<u64>) {
        self.state().total = Total { things: Some(files), bytes };
    }

    /// A file that needs no reading.
    pub(crate) fn know(&self, bytes: u64) {
        self.known.fetch_add(1, Ordering::Relaxed);
        self.known_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file that was hashed, with so many bytes, is hashed by another function, and not done until then.
    pub(crate) fn again(&self, bytes: u64) {
        self.again.fetch_add(1, Ordering::Relaxed);
        self.again_bytes.fetch_add(bytes, Ordering::Relaxed);
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
            let mut paths = survey().take_while(|_| !job.ended.load(Ordering::Relaxed)).peekable();
            if paths.peek().is_some() {
                let (files, bytes) = sizes(paths);
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
        // The counters are read one after another while they move, and a file may be longer the second time.
        let less = |count: u64, again: &AtomicU64| count.saturating_sub(again.load(Ordering::Relaxed));
        let (done, unit, read) = match counter {
            Counter::Files(files) => {
                let sum =
                    |of: fn(&Progress) -> u64| files.iter().map(|files| of(files.progress())).sum::<u64>();
                let read = sum(Progress::bytes) + self.known_bytes.load(Ordering::Relaxed);
                let done = sum(Progress::files) + self.known.load(Ordering::Relaxed);
                (less(done, &self.again), "files", Some(read))
            }
            Counter::Things(done, things) => (done.load(Ordering::Relaxed), *things, None),
            Counter::Parts(done) => (done.load(Ordering::Relaxed), "parts", None),
        };
        let bytes = read.map(|read| less(read, &self.again_bytes));
        // There may be more than was found: files that grow, devices, what was made meanwhile. Then nobody knows the rest.
        let total = total.filter(|total| *total >= done);
        let total_bytes = total_bytes.filter(|total| *total >= bytes.unwrap_or(0));
        let rate = pace.rate(Instant::now(), read.unwrap_or(done));
        let rest = match bytes {
            Some(bytes) => total_bytes.map(|total| total - bytes),
            None => total.map(|total| total - done),
        };
        let left = rest.zip(rate).and_then(|(rest, rate)| {
            Duration::try_from_secs_f64(rest as f64 / rate).ok().filter(|left| left.as_secs() < 1_000_000)
        });
        // Lines without a file have no name.
        let file = state.asked.iter().find(|file| !file.as_os_str().is_empty()).cloned();
        Facts { phase: state.phase, file, done, total, unit, bytes, total_bytes, rate, left }
    }
}

/// How many files there are, and how many bytes in all of them, if that can be known before they are read.
fn sizes(paths: impl Iterator<Item = PathBuf>) -> (u64, Option<u64>) {
    paths.fold((0, Some(0)), |(files, bytes), path| {
        let more = bytes.zip(size(&path));
        (files + 1, more.and_then(|(bytes, size)| bytes.checked_add(size)))
    })
}

/// How many bytes of it will be read, if that can be known before.
pub(crate) fn size(path: &Path) -> Option<u64> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Some(metadata.len()),
        // Nobody reads it. The length that it has is something else.
        Ok(metadata) if metadata.is_dir() => Some(0),
        // A pipe, or a device.
        Ok(_) => None,
        // It will not be opened.
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied => Some(0),
            _ => None,
        },
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
        // Whoever takes it may go on with the same file.
        let flow = self.sink.answer(path, tag, result);
        if let Some(job) = &self.job {
            job.end_file();
        }
        flow
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
        if let Some(file) = self.file.as_ref().filter(|file| file.to_str().is_none()) {
            set("file_hex".to_owned(), json!(hex(file.as_os_str().as_encoded_bytes())));
        }
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
    use hashmill_files::checkfile::Algorithm;
    use hashmill_files::{Function, Options};

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
        job.expect(2, Some(0));
        let facts = job.facts(&counter, &mut pace);
        assert_eq!((facts.phase, facts.file), ("checking", Some(PathBuf::from("b"))));
        assert_eq!((facts.done, facts.total), (3, None), "more than was expected");
    }

    #[test]
    fn a_size_that_nobody_knows_is_none() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "12345").expect("a file");
        fs::write(path("b"), "678").expect("a file");
        let of = |names: &[&str]| sizes(names.iter().map(|name| path(name)));
        assert_eq!(of(&["a", "b"]), (2, Some(8)));
        assert_eq!(
            of(&["a", "", "none", "a/none"]),
            (4, Some(5)),
            "a directory, and files that are not there"
        );
        #[cfg(unix)]
        assert_eq!(of(&["a", "/dev/null", "b"]), (3, None), "a device");
        fs::File::options()
            .write(true)
            .open(path("b"))
            .and_then(|file| file.set_len(1 << 40))
            .expect("holes");
        assert_eq!(of(&["a", "b"]), (2, Some(5 + (1 << 40))));
    }

    #[test]
    fn what_is_hashed_twice_counts_once() {
        let job = Job::new("checking", Total { things: Some(2), bytes: Some(8) });
        let files = Arc::new(Files::new(Function::by(Algorithm::Sha256), Options::default()));
        let counter = Counter::Files(vec![Arc::clone(&files)]);
        let mut pace = Pace::new(Instant::now());
        let mut now = || {
            let Facts { done, total, bytes, total_bytes, .. } = job.facts(&counter, &mut pace);
            (done, total, bytes, total_bytes)
        };
        let hash = |text: &[u8]| drop(files.hash_reader(text).expect("a digest"));
        hash(b"12345");
        assert_eq!(now(), (1, Some(2), Some(5), Some(8)));
        job.again(5);
        assert_eq!(now(), (0, Some(2), Some(0), Some(8)));
        hash(b"12345");
        hash(b"678");
        assert_eq!(now(), (2, Some(2), Some(8), Some(8)));
    }
}
