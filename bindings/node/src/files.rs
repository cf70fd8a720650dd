//! BLAKE3 of files, by the reader that `hashmill sum` has.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use hashmill_files::{Digest, Error, Files, Input, Item, Mapping, Options};
use napi::bindgen_prelude::{AsyncTask, Buffer, Result};
use napi_derive::napi;

use crate::failure::Failure;
use crate::mode::Function;
use crate::work::Work;

/// The digests of files one behind another, and what went wrong with some, whose places hold zeroes.
#[napi(object, object_from_js = false)]
pub struct Answers {
    pub digests: Buffer,
    pub failures: Vec<Place>,
    /// Bytes hashed.
    pub bytes: f64,
}

/// What went wrong with one file.
#[napi(object, object_from_js = false)]
pub struct Place {
    pub index: u32,
    pub failure: Failure,
}

/// Hashing of files; how far it is can be asked meanwhile.
#[napi]
pub struct FilesJob {
    function: hashmill_files::Function,
    options: Options,
    length: usize,
    /// Buffers and threads, for as long as there is work: JavaScript forgets a job some time later.
    files: Mutex<Weak<Files>>,
}

#[napi]
impl FilesJob {
    #[napi(constructor)]
    pub fn new(key: Option<&[u8]>, context: Option<String>, length: u32, threads: u32) -> Result<FilesJob> {
        let mut options = Options::default();
        // What is mapped needs a handler for a signal, and signals are Node's.
        options.mapping = Mapping::Never;
        options.threads = NonZero::new(threads as usize);
        let function = Function::of(key, context)?.of_files();
        let length = length as usize;
        let function = if length == hashmill_hash::blake3::OUT_LEN { function } else { function.extended() };
        Ok(FilesJob { function, options, length, files: Mutex::default() })
    }

    #[napi(catch_unwind)]
    pub fn run(&self, paths: Vec<String>) -> AsyncTask<Work<Answers>> {
        let length = self.length;
        let files = Arc::new(Files::new(self.function.clone(), self.options));
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&files);
        AsyncTask::new(Work::new(move || hash(&files, paths, length)))
    }

    #[napi(catch_unwind)]
    pub fn set(&self) {
        if let Some(files) = self.under_way() {
            files.stop();
        }
    }

    /// Bytes hashed so far, by work that is not done.
    #[napi(getter, catch_unwind)]
    pub fn bytes(&self) -> Option<f64> {
        Some(self.under_way()?.progress().bytes() as f64)
    }

    fn under_way(&self) -> Option<Arc<Files>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

fn hash(files: &Files, paths: Vec<String>, length: usize) -> std::result::Result<Answers, Failure> {
    let mut digests = Vec::new();
    let room = paths.len().checked_mul(length).filter(|&room| digests.try_reserve_exact(room).is_ok());
    let Some(room) = room else { return Err(Failure::range(&"no memory for that many bytes of output")) };
    digests.resize(room, 0);
    let mut failures = Vec::new();
    let mut indices = 0_u32..;
    let items = paths.into_iter().map(|path| item(path.into()));
    let take = |_: PathBuf, (), result: std::result::Result<Digest, Error>| {
        let Some(index) = indices.next() else { return ControlFlow::Break(()) };
        let place = &mut digests[index as usize * length..][..length];
        let failure = match result {
            Ok(digest) if digest.output.fill(0, place) => return ControlFlow::Continue(()),
            Ok(_) => Failure::ours("another function than BLAKE3 answered"),
            Err(Error::Stopped) => return ControlFlow::Break(()),
            Err(error) => error.into(),
        };
        failures.push(Place { index, failure });
        ControlFlow::Continue(())
    };
    match files.hash_many(items, take) {
        ControlFlow::Continue(()) => {
            let bytes = files.progress().bytes() as f64;
            Ok(Answers { digests: digests.into(), failures, bytes })
        }
        ControlFlow::Break(()) => Err(Failure::stopped()),
    }
}

/// The open of a FIFO waits for whoever writes to it, and nothing ends that wait: what is no file is left alone.
fn item(path: PathBuf) -> Item<()> {
    let is_other = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    let input = if is_other { Input::Failed(Error::Special) } else { Input::File };
    Item { path, input, tag: () }
}
