//! Files and folders in a store, for inventories and results. Calls block.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, TryFutureExt as _};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStore, PutMode, PutOptions, PutPayload};
use parquet::errors::ParquetError;
use tokio::runtime::Runtime;

use crate::error::Error;
use crate::location::{Object, Store};
use crate::row_result::{Failure, FailureKind};
use crate::sources::fetch::{failure, is_strong};
use crate::sources::secrets::Secrets;

/// Concurrent range requests for one file.
const RANGES: usize = 8;

/// A file or folder with the client of its store.
#[derive(Clone)]
pub(crate) struct Remote {
    runtime: Arc<Runtime>,
    store: Arc<dyn ObjectStore>,
    secrets: Secrets,
    object: Object,
}

impl Remote {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        store: Arc<dyn ObjectStore>,
        secrets: Secrets,
        object: Object,
    ) -> Remote {
        Remote { runtime, store, secrets, object }
    }

    /// Another object of the same store.
    fn at(&self, path: Path) -> Remote {
        Remote { object: Object { path, ..self.object.clone() }, ..self.clone() }
    }

    /// Whether this is a bucket, which is always a folder.
    pub(crate) fn is_bucket(&self) -> bool {
        self.object.path.is_root() && !matches!(self.object.store, Store::Http(_))
    }

    /// A file of this folder, by a name that needs no escapes in any store.
    pub(crate) fn child(&self, name: &str) -> Remote {
        Remote { object: self.object.child(name), ..self.clone() }
    }

    /// Name for messages.
    pub(crate) fn name(&self) -> PathBuf {
        PathBuf::from(self.object.to_string())
    }

    /// Waits for a response.
    fn wait<T>(&self, response: impl Future<Output = Result<T, Failure>>) -> Result<T, Error> {
        self.runtime.block_on(response).map_err(|failure| self.error(failure))
    }

    fn error(&self, failure: Failure) -> Error {
        let failure = self.secrets.hide(failure);
        let kind = match failure.kind {
            FailureKind::Missing => io::ErrorKind::NotFound,
            FailureKind::Denied => io::ErrorKind::PermissionDenied,
            _ => io::ErrorKind::Other,
        };
        Error::Io(self.name(), io::Error::new(kind, failure.words))
    }

    /// Opens the file to read ranges of it; `None` if it does not exist.
    pub(crate) fn open(&self) -> Result<Option<RemoteFile>, Error> {
        // No HEAD request: signed URLs are signed for GET only. A range response has the size as well.
        let options = GetOptions {
            range: Some((0..8).into()),
            extensions: self.object.extensions(),
            ..GetOptions::default()
        };
        let meta = match self.runtime.block_on(self.store.get_opts(&self.object.path, options)) {
            Ok(response) => response.meta,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(self.error(failure(&error))),
        };
        Ok(Some(RemoteFile { remote: self.clone(), meta: Arc::new(meta) }))
    }

    /// The files directly in this folder, sorted by name.
    pub(crate) fn list(&self) -> Result<Vec<(String, Remote)>, Error> {
        if let Store::Http(_) = self.object.store {
            return Ok(Vec::new());
        }
        let prefix = Some(&self.object.path).filter(|path| !path.is_root());
        let found = self
            .wait(async { self.store.list_with_delimiter(prefix).await.map_err(|error| failure(&error)) })?;
        let file = |meta: ObjectMeta| Some((meta.location.filename()?.to_owned(), self.at(meta.location)));
        let mut files: Vec<(String, Remote)> = found.objects.into_iter().filter_map(file).collect();
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    }

    /// Content of a file of at most `most` bytes; `None` if it does not exist.
    pub(crate) fn read(&self, most: u64) -> Result<Option<Bytes>, Error> {
        let options = GetOptions { extensions: self.object.extensions(), ..GetOptions::default() };
        self.wait(async {
            match self.store.get_opts(&self.object.path, options).await {
                Ok(response) => collect(response, most).await.map(Some),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(failure(&error)),
            }
        })
    }

    /// Writes the file; replaces an existing one.
    pub(crate) fn write(&self, bytes: Vec<u8>) -> Result<(), Error> {
        self.wait(self.put(bytes.into(), PutMode::Overwrite).map(|put| put.map_err(|error| failure(&error))))
    }

    /// Writes the file unless it exists. The caller does not learn which.
    pub(crate) fn create(&self, bytes: Vec<u8>) -> Result<(), Error> {
        let bytes = PutPayload::from(bytes);
        match self.runtime.block_on(self.put(bytes.clone(), PutMode::Create)) {
            Ok(())
            | Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {
                Ok(())
            }
            // Only if the client is configured for a store without conditional writes. After any other error, another writer may have
            // been first.
            Err(object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. }) => {
                if self.read(u64::MAX)?.is_some() {
                    return Ok(());
                }
                self.wait(self.put(bytes, PutMode::Overwrite).map(|put| put.map_err(|error| failure(&error))))
            }
            Err(error) => Err(self.error(failure(&error))),
        }
    }

    async fn put(&self, bytes: PutPayload, mode: PutMode) -> object_store::Result<()> {
        let options = PutOptions { mode, ..PutOptions::default() };
        self.store.put_opts(&self.object.path, bytes, options).await.map(drop)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A client contains keys.
        f.debug_tuple("Remote").field(&self.object.to_string()).finish()
    }
}

/// A file in the state in which it was opened.
#[derive(Clone, Debug)]
pub(crate) struct RemoteFile {
    remote: Remote,
    meta: Arc<ObjectMeta>,
}

impl RemoteFile {
    pub(crate) fn len(&self) -> u64 {
        self.meta.size
    }

    /// The last `most` bytes, or all.
    pub(crate) fn tail(&self, most: u64) -> Result<Bytes, Error> {
        let size = self.meta.size;
        self.remote.wait(self.range(size.saturating_sub(most)..size))
    }

    /// Waits for a read.
    pub(crate) fn wait<T>(&self, response: impl Future<Output = T>) -> T {
        self.remote.runtime.block_on(response)
    }

    /// Reads several ranges, some of them at the same time.
    pub(crate) async fn ranges(
        &self,
        ranges: impl Iterator<Item = Range<u64>>,
    ) -> Result<Vec<Bytes>, ParquetError> {
        // Errors of the store are I/O errors, not errors of Parquet.
        let hidden = |failure| io::Error::other(self.remote.secrets.hide(failure));
        let read =
            |range| self.range(range).map_err(|failure| ParquetError::External(Box::new(hidden(failure))));
        stream::iter(ranges).map(read).buffered(RANGES).try_collect().await
    }

    async fn range(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let (object, first) = (&self.remote.object, &self.meta);
        let options = GetOptions {
            range: Some(range.clone().into()),
            if_match: first.e_tag.clone().filter(|tag| is_strong(tag)),
            extensions: object.extensions(),
            ..GetOptions::default()
        };
        let response =
            self.remote.store.get_opts(&object.path, options).await.map_err(|error| failure(&error))?;
        let GetResult { meta: ObjectMeta { size, e_tag, last_modified, .. }, .. } = &response;
        if (size, e_tag, last_modified) != (&first.size, &first.e_tag, &first.last_modified) {
            return Err(Failure::new(FailureKind::Changed, "it changed while it was read"));
        }
        let len = range.end - range.start;
        let bytes = collect(response, len).await?;
        if bytes.len() as u64 != len {
            return Err(Failure::new(
                FailureKind::Failed,
                format!("{} bytes came of {range:?}", bytes.len()),
            ));
        }
        Ok(bytes)
    }
}

/// The body of a response, or an error after `most` bytes: a server may send any number of them.
async fn collect(response: GetResult, most: u64) -> Result<Bytes, Failure> {
    let mut body = response.into_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = body.try_next().await.map_err(|error| failure(&error))? {
        if (bytes.len() + piece.len()) as u64 > most {
            return Err(Failure::new(FailureKind::Failed, format!("more than {most} bytes came")));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}
