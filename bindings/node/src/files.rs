//! BLAKE3 of files, with the reader of `hashmill sum`.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hashmill_files::{Digest, Error, Files, HashJob, Input, Mapping, Options};
use napi::bindgen_prelude::{AsyncTask, Buffer, Result};
use napi_derive::napi;

use crate::engines;
use crate::error::Failure;
use crate::mode::Function;
use crate::work::Work;

/// The concatenated digests of files, and the errors of some, whose digests are zero.
#[napi(object, object_from_js = false)]
pub struct FileDigests {
    pub digests: Buffer,
    pub failures: Vec<FileError>,
    /// Bytes hashed.
    pub bytes: f64,
}

/// The error of one file.
#[napi(object, object_from_js = false)]
pub struct FileError {
    pub index: u32,
    pub failure: Failure,
}

/// Hashing of files, with progress that can be queried meanwhile.
#[napi]
pub struct FilesJob {
    function: hashmill_files::Function,
    options: Options,
    length: usize,
    /// The engine for long files.
    engine: Option<String>,
    running: Arc<Running>,
}

/// Work of a job, shared by the threads that do and stop it.
#[derive(Default)]
struct Running {
    /// A stop may come before there are files, while a device is opened.
    is_stopped: AtomicBool,
    /// Buffers and threads, only while there is work: JavaScript collects a job later.
    files: Mutex<Weak<Files>>,
}

impl Running {
    /// Makes the files visible to `stop`; `None` if it came before.
    fn begin(&self, files: Files) -> Option<Arc<Files>> {
        let files = Arc::new(files);
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&files);
        // A later stop finds the files.
        (!self.is_stopped()).then_some(files)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        if let Some(files) = self.files() {
            files.stop();
        }
    }

    fn files(&self) -> Option<Arc<Files>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

#[napi]
impl FilesJob {
    #[napi(constructor)]
    pub fn new(
        key: Option<&[u8]>,
        context: Option<String>,
        length: u32,
        threads: u32,
        engine: Option<String>,
    ) -> Result<FilesJob> {
        let mut options = Options::default();
        // Mapping needs a signal handler, and signals belong to Node.
        options.mapping = Mapping::Never;
        options.threads = NonZero::new(threads as usize);
        let function = Function::from_args(key, context)?.for_files();
        let length = length as usize;
        let function = if length == hashmill_hash::blake3::OUT_LEN { function } else { function.extended() };
        Ok(FilesJob { function, options, length, engine, running: Arc::default() })
    }

    #[napi(catch_unwind)]
    pub fn run(&self, paths: Vec<String>) -> AsyncTask<Work<FileDigests>> {
        let length = self.length;
        let (function, options) = (self.function.clone(), self.options);
        let (running, engine) = (Arc::clone(&self.running), self.engine.clone());
        let Some(engine) = engine else {
            let files = running.begin(Files::new(function, options));
            return AsyncTask::new(Work::new(move || {
                let files = files.ok_or_else(Failure::stopped)?;
                hash(&files, paths, length)
            }));
        };
        // Opening a device takes long: another thread does it.
        AsyncTask::new(Work::new(move || {
            if running.is_stopped() {
                return Err(Failure::stopped());
            }
            let files =
                running.begin(engines::files(&engine, function, options)?).ok_or_else(Failure::stopped)?;
            let answers = hash(&files, paths, length)?;
            if answers.failures.iter().any(|failed| failed.failure.is_engine()) {
                engines::close(&engine);
            }
            Ok(answers)
        }))
    }

    #[napi(catch_unwind)]
    pub fn set(&self) {
        self.running.stop();
    }

    /// Bytes hashed so far by unfinished work.
    #[napi(getter, catch_unwind)]
    pub fn bytes(&self) -> Option<f64> {
        Some(self.running.files()?.progress().bytes() as f64)
    }
}

fn hash(files: &Files, paths: Vec<String>, length: usize) -> std::result::Result<FileDigests, Failure> {
    let mut digests = Vec::new();
    let room = paths.len().checked_mul(length).filter(|&room| digests.try_reserve_exact(room).is_ok());
    let Some(room) = room else { return Err(Failure::range(&"no memory for that many bytes of output")) };
    digests.resize(room, 0);
    let mut failures = Vec::new();
    let mut indices = 0_u32..;
    let items = paths.into_iter().map(|path| item(path.into()));
    let take = |_: PathBuf, (), result: std::result::Result<Digest, Error>| {
        let Some(index) = indices.next() else { return ControlFlow::Break(()) };
        let output = &mut digests[index as usize * length..][..length];
        let failure = match result {
            Ok(digest) if digest.output.fill(0, output) => return ControlFlow::Continue(()),
            Ok(_) => Failure::bug("the result is of another function than BLAKE3"),
            Err(Error::Stopped) => return ControlFlow::Break(()),
            Err(error) => error.into(),
        };
        failures.push(FileError { index, failure });
        ControlFlow::Continue(())
    };
    match files.hash_many(items, take) {
        ControlFlow::Continue(()) => {
            let bytes = files.progress().bytes() as f64;
            Ok(FileDigests { digests: digests.into(), failures, bytes })
        }
        ControlFlow::Break(()) => Err(Failure::stopped()),
    }
}

/// Opening a FIFO waits for a writer, and that wait cannot be aborted: only regular files are opened.
fn item(path: PathBuf) -> HashJob<()> {
    let is_other = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    let input = if is_other { Input::Failed(Error::Special) } else { Input::File };
    HashJob { path, input, tag: () }
}
