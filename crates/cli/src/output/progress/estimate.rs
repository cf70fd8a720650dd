//! Progress estimate: reports of the work, counters, and an estimate of the remaining time.

use crate::output::hex::hex;
use hashmill_files::{Digest, Error, Files, HashJob, Progress, ResultSink};
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

/// Lists the files that will be processed.
pub(crate) type ExpectedFiles = Box<dyn FnOnce() -> Box<dyn Iterator<Item = PathBuf>> + Send>;

/// Time window of a rate.
const WINDOW: Duration = Duration::from_secs(5);

/// Counters of the work.
pub(super) enum Counter {
    Files(Vec<Arc<Files>>),
    Items(Arc<AtomicU64>, &'static str),
    Parts(Arc<AtomicU64>),
}

/// Totals, as far as known.
#[derive(Clone, Copy, Default)]
pub(super) struct Total {
    pub(super) items: Option<u64>,
    pub(super) bytes: Option<u64>,
}

/// State of the work: updated by the work, read by the display.
pub(crate) struct ProgressState {
    state: Mutex<State>,
    /// Files, and bytes in them, that need no reading.
    known: AtomicU64,
    known_bytes: AtomicU64,
    /// Files, and bytes in them, that are hashed a second time: the counters count them twice.
    repeated: AtomicU64,
    repeated_bytes: AtomicU64,
    ended: AtomicBool,
}

struct State {
    phase: &'static str,
    total: Total,
    /// Files that were started and have no result yet, in order.
    pending: VecDeque<PathBuf>,
}

impl ProgressState {
    pub(super) fn new(phase: &'static str, total: Total) -> ProgressState {
        let state = Mutex::new(State { phase, total, pending: VecDeque::new() });
        let [known, known_bytes, repeated, repeated_bytes] = [const { AtomicU64::new(0) }; 4];
        ProgressState { state, known, known_bytes, repeated, repeated_bytes, ended: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts another phase of the work.
    pub(crate) fn set_phase(&self, phase: &'static str) {
        self.state().phase = phase;
    }

    /// Sets the total number of files, and of their bytes if known.
    pub(crate) fn set_total(&self, files: u64, bytes: Option<u64>) {
        self.state().total = Total { items: Some(files), bytes };
    }

    /// Counts a file that needs no reading.
    pub(crate) fn add_known(&self, bytes: u64) {
        self.known.fetch_add(1, Ordering::Relaxed);
        self.known_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Announces that a hashed file of this length is hashed again, by another function.
    pub(crate) fn add_repeated(&self, bytes: u64) {
        self.repeated.fetch_add(1, Ordering::Relaxed);
        self.repeated_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Marks a file as started.
    pub(crate) fn begin_file(&self, path: &Path) {
        self.state().pending.push_back(path.to_owned());
    }

    /// Marks the first started file as done.
    pub(crate) fn end_file(&self) {
        self.state().pending.pop_front();
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Determines the total on another thread, which is never joined: a disk that does not respond must not delay the command.
    pub(super) fn find_total(self: &Arc<ProgressState>, expected: ExpectedFiles) {
        let state = Arc::clone(self);
        let find = move || {
            let mut paths = expected().take_while(|_| !state.ended.load(Ordering::Relaxed)).peekable();
            if paths.peek().is_some() {
                let (files, bytes) = sizes(paths);
                state.set_total(files, bytes);
            }
        };
        // Without the thread there is no total, which is no failure.
        let _ = thread::Builder::new().name("survey".into()).spawn(find);
    }

    /// The current progress.
    pub(super) fn snapshot<'a>(
        &self,
        counter: &'a Counter,
        rate_meter: &mut RateMeter,
    ) -> ProgressSnapshot<'a> {
        let state = self.state();
        let Total { items: total, bytes: total_bytes } = state.total;
        // Saturating: the counters move while they are read, and a file may be longer the second time.
        let without =
            |count: u64, repeated: &AtomicU64| count.saturating_sub(repeated.load(Ordering::Relaxed));
        let (done, unit, read) = match counter {
            Counter::Files(files) => {
                let sum =
                    |of: fn(&Progress) -> u64| files.iter().map(|files| of(files.progress())).sum::<u64>();
                let read = sum(Progress::bytes) + self.known_bytes.load(Ordering::Relaxed);
                let done = sum(Progress::files) + self.known.load(Ordering::Relaxed);
                (without(done, &self.repeated), "files", Some(read))
            }
            Counter::Items(done, unit) => (done.load(Ordering::Relaxed), *unit, None),
            Counter::Parts(done) => (done.load(Ordering::Relaxed), "parts", None),
        };
        let bytes = read.map(|read| without(read, &self.repeated_bytes));
        // More may be done than was expected: growing files, devices, new files. Then the total is unknown.
        let total = total.filter(|total| *total >= done);
        let total_bytes = total_bytes.filter(|total| *total >= bytes.unwrap_or(0));
        let rate = rate_meter.rate(Instant::now(), read.unwrap_or(done));
        let remaining = match bytes {
            Some(bytes) => total_bytes.map(|total| total - bytes),
            None => total.map(|total| total - done),
        };
        let left = remaining.zip(rate).and_then(|(remaining, rate)| {
            Duration::try_from_secs_f64(remaining as f64 / rate)
                .ok()
                .filter(|left| left.as_secs() < 1_000_000)
        });
        // Lines of a list without a file have an empty path.
        let file = state.pending.iter().find(|file| !file.as_os_str().is_empty()).cloned();
        ProgressSnapshot { phase: state.phase, file, done, total, unit, bytes, total_bytes, rate, left }
    }
}

/// The number of files, and of their bytes if known before they are read.
fn sizes(paths: impl Iterator<Item = PathBuf>) -> (u64, Option<u64>) {
    paths.fold((0, Some(0)), |(files, bytes), path| {
        let more = bytes.zip(size(&path));
        (files + 1, more.and_then(|(bytes, size)| bytes.checked_add(size)))
    })
}

/// Number of bytes that will be read of a file, if known in advance.
pub(crate) fn size(path: &Path) -> Option<u64> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Some(metadata.len()),
        // A directory is not read; its length has another meaning.
        Ok(metadata) if metadata.is_dir() => Some(0),
        // A pipe or a device.
        Ok(_) => None,
        // It cannot be opened.
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied => Some(0),
            _ => None,
        },
    }
}

/// As [`Files::hash_many`], and reports to the display which files are started and done.
pub(crate) fn hash_many<T: Send, S: ResultSink<T>>(
    files: &Files,
    state: Option<Arc<ProgressState>>,
    items: impl IntoIterator<Item = HashJob<T>>,
    sink: S,
) -> ControlFlow<S::Break> {
    let started = state.clone();
    let items = items.into_iter().inspect(move |item| {
        if let Some(state) = &started {
            state.begin_file(&item.path);
        }
    });
    files.hash_many(items, ReportingSink { sink, state })
}

/// Passes results on and reports each file as done.
struct ReportingSink<S> {
    sink: S,
    state: Option<Arc<ProgressState>>,
}

impl<T, S: ResultSink<T>> ResultSink<T> for ReportingSink<S> {
    type Break = S::Break;

    fn answer(&mut self, path: PathBuf, tag: T, result: Result<Digest, Error>) -> ControlFlow<S::Break> {
        // First the sink: it may continue with the same file.
        let flow = self.sink.answer(path, tag, result);
        if let Some(state) = &self.state {
            state.end_file();
        }
        flow
    }

    fn pause(&mut self) -> ControlFlow<S::Break> {
        self.sink.pause()
    }
}

/// Rate over the last seconds, so that a slow disk after a fast cache shows.
pub(super) struct RateMeter {
    samples: VecDeque<(Instant, u64)>,
}

impl RateMeter {
    pub(super) fn new(now: Instant) -> RateMeter {
        RateMeter { samples: VecDeque::from([(now, 0)]) }
    }

    /// Increase of a counter per second.
    fn rate(&mut self, now: Instant, count: u64) -> Option<f64> {
        while self.samples.len() > 1 && self.samples.get(1).is_some_and(|(then, _)| now - *then >= WINDOW) {
            self.samples.pop_front();
        }
        let (then, before) = *self.samples.front()?;
        self.samples.push_back((now, count));
        let (seconds, more) = ((now - then).as_secs_f64(), count.saturating_sub(before));
        (seconds > 0.0 && more > 0).then(|| more as f64 / seconds)
    }
}

/// Progress at one moment.
#[derive(Clone, Debug)]
pub(super) struct ProgressSnapshot<'a> {
    pub(super) phase: &'static str,
    /// The current file.
    pub(super) file: Option<PathBuf>,
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    /// Name of the counted items.
    pub(super) unit: &'a str,
    pub(super) bytes: Option<u64>,
    pub(super) total_bytes: Option<u64>,
    /// Bytes per second, or items if bytes are unknown.
    pub(super) rate: Option<f64>,
    pub(super) left: Option<Duration>,
}

impl ProgressSnapshot<'_> {
    /// The line of JSON. `docs/sum.md` documents the fields.
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
        let rated_unit = if self.bytes.is_some() { "bytes" } else { self.unit };
        set(format!("{rated_unit}_per_second"), json!(self.rate.map(|rate| (rate * 10.0).round() / 10.0)));
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
    use hashmill_files::checksum_list::Algorithm;
    use hashmill_files::{Function, Options};

    #[test]
    fn rate_covers_the_last_seconds() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut meter = RateMeter::new(begin);
        assert_eq!(meter.rate(begin, 0), None);
        assert_eq!(meter.rate(after(1), 100), Some(100.0));
        assert_eq!(meter.rate(after(2), 200), Some(100.0));
        for second in 3..20 {
            meter.rate(after(second), 200 + 10 * (second - 2));
        }
        assert_eq!(meter.rate(after(20), 380), Some(10.0));
    }

    #[test]
    fn current_file_is_the_first_pending() {
        let state = ProgressState::new("hashing", Total::default());
        let counter = Counter::Items(Arc::new(AtomicU64::new(3)), "files");
        let mut meter = RateMeter::new(Instant::now());
        state.begin_file(Path::new("a"));
        state.begin_file(Path::new("b"));
        state.end_file();
        state.set_phase("checking");
        state.set_total(2, Some(0));
        let snapshot = state.snapshot(&counter, &mut meter);
        assert_eq!((snapshot.phase, snapshot.file), ("checking", Some(PathBuf::from("b"))));
        assert_eq!((snapshot.done, snapshot.total), (3, None), "more than the total");
    }

    #[test]
    fn unknown_sizes_give_no_total() {
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
    fn repeated_files_count_once() {
        let state = ProgressState::new("checking", Total { items: Some(2), bytes: Some(8) });
        let files = Arc::new(Files::new(Function::by(Algorithm::Sha256), Options::default()));
        let counter = Counter::Files(vec![Arc::clone(&files)]);
        let mut meter = RateMeter::new(Instant::now());
        let mut now = || {
            let ProgressSnapshot { done, total, bytes, total_bytes, .. } =
                state.snapshot(&counter, &mut meter);
            (done, total, bytes, total_bytes)
        };
        let hash = |text: &[u8]| drop(files.hash_reader(text).expect("a digest"));
        hash(b"12345");
        assert_eq!(now(), (1, Some(2), Some(5), Some(8)));
        state.add_repeated(5);
        assert_eq!(now(), (0, Some(2), Some(0), Some(8)));
        hash(b"12345");
        hash(b"678");
        assert_eq!(now(), (2, Some(2), Some(8), Some(8)));
    }
}
