//! The native part of `hashmill.inventory`: Arrow batches in and out, and runs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, RecordBatch, StructArray};
use arrow_schema::DataType;
use hashmill_hash::process::PerProcess;
use hashmill_inventory::inventory::{Columns, Inventory, rows};
use hashmill_inventory::run::{PART_ROWS, run, verify as run_verify};
use hashmill_inventory::{AllowList, Error, FailureKind, Hasher, Options, RunHandle, Shard, output};
use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyPermissionError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::boundary;
use crate::long_call::{interruptible, os_error, watched};

/// Adds it to `parent`.
pub(crate) fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "inventory")?;
    module.add_class::<Engine>()?;
    module.add_class::<Results>()?;
    module.add("PART_ROWS", PART_ROWS)?;
    module.add_function(wrap_pyfunction!(is_known_option, &module)?)?;
    parent.add_submodule(&module)
}

/// Whether any store has an option of this name.
#[pyfunction]
fn is_known_option(option: &str) -> bool {
    Hasher::is_known_option(option)
}

/// Hashes the objects that batches and inventories list. Threads and connections start with the first call, separately in each
/// process.
#[pyclass(frozen, name = "Engine", module = "hashmill._hashmill.inventory")]
struct Engine {
    options: Options,
    columns: Columns,
    hasher: PerProcess<OnceLock<Arc<Hasher>>>,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (columns, store, only, *, connections, max_threads, retries, timeout, split))]
    #[expect(clippy::too_many_arguments, reason = "one wrapper in Python calls it, with names")]
    fn new(
        columns: BTreeMap<String, String>,
        store: BTreeMap<String, String>,
        only: Option<Vec<String>>,
        connections: usize,
        max_threads: isize,
        retries: usize,
        timeout: f64,
        split: u64,
    ) -> PyResult<Engine> {
        let mut options = Options::default();
        options.connections =
            NonZero::new(connections).ok_or_else(|| PyValueError::new_err("no connections"))?;
        options.threads = crate::blake3::max_threads_arg(max_threads)?;
        options.retries = retries;
        options.timeout = Duration::try_from_secs_f64(timeout)
            .ok()
            .filter(|timeout| !timeout.is_zero())
            .ok_or_else(|| PyValueError::new_err("a timeout is more than no seconds"))?;
        options.split = split;
        options.store = store;
        options.only = only.map(AllowList::new).transpose().map_err(failure)?;
        let hasher = PerProcess::new(OnceLock::new());
        Ok(Engine { options, columns: named(columns)?, hasher })
    }

    /// The results of the rows of one or several batches: a row for each, in one batch.
    fn hash_rows(&self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<Results> {
        let mut all = Vec::new();
        for chunk in boundary::chunks(batch)? {
            if !matches!(chunk.data_type(), DataType::Struct(_)) || chunk.null_count() > 0 {
                return Err(PyTypeError::new_err("a record batch or a table is needed"));
            }
            let batch = RecordBatch::from(chunk.as_struct());
            all.extend(rows(&batch, &self.columns).map_err(PyValueError::new_err)?);
        }
        let (hasher, work) = (self.hasher()?, RunHandle::new());
        let stopping = work.clone();
        let results = interruptible(
            py,
            || stopping.stop(),
            move || hasher.hash_rows(all, &work).map(|results| output::batch(&results)),
        )?;
        let batch = results.map_err(failure)?.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Results(batch.into()))
    }

    /// Hashes a shard of an inventory into a folder. Returns the number of rows per kind of result. During the run `progress` gets the
    /// number of rows, of finished and of failed ones, and the bytes read; an exception from it ends the run.
    #[pyo3(signature = (inventory, out, shard, part_rows, verify, progress))]
    #[expect(clippy::too_many_arguments, reason = "one wrapper in Python calls it")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inventory: Vec<PathBuf>,
        out: PathBuf,
        shard: (u64, u64),
        part_rows: u64,
        verify: bool,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (index, count) = shard;
        let shard = Shard::new(index, count)
            .ok_or_else(|| PyValueError::new_err(format!("there is no shard {index} of {count}")))?;
        let part_rows = NonZero::new(part_rows).ok_or_else(|| PyValueError::new_err("parts without rows"))?;
        let (hasher, work, columns) = (self.hasher()?, RunHandle::new(), self.columns.clone());
        let watching = work.clone();
        let tell = |_: Python<'_>| match progress {
            Some(progress) => {
                let now = watching.progress();
                progress.call1((now.rows, now.done, now.failed, now.bytes)).map(drop)
            }
            None => Ok(()),
        };
        let outcome = watched(
            py,
            || watching.stop(),
            tell,
            move || {
                let inventory = Inventory::open(&hasher, &inventory, columns)?;
                let run = if verify { run_verify } else { run };
                run(&hasher, &inventory, &out, shard, part_rows, &work)
            },
        )?;
        let outcome = outcome.map_err(failure)?;
        tell(py)?;
        let (dict, summary) = (PyDict::new(py), outcome.summary);
        for (name, count) in [
            ("rows", summary.rows),
            ("hashed", summary.hashed),
            ("bytes", summary.bytes),
            ("matched", summary.matched),
            ("mismatched", summary.mismatched),
            ("parts", outcome.parts),
            ("skipped", outcome.skipped),
        ] {
            dict.set_item(name, count)?;
        }
        let without_digest = PyDict::new(py);
        for (kind, count) in FailureKind::ALL.into_iter().zip(summary.failed) {
            without_digest.set_item(kind.name(), count)?;
        }
        dict.set_item("without_digest", without_digest)?;
        Ok(dict)
    }
}

impl Engine {
    fn hasher(&self) -> PyResult<Arc<Hasher>> {
        let hasher = self.hasher.get_or(OnceLock::new);
        if let Some(hasher) = hasher.get() {
            return Ok(Arc::clone(hasher));
        }
        // If two threads make the first call at the same time, one starts some threads in vain.
        let new = Arc::new(Hasher::new(self.options.clone()).map_err(failure)?);
        Ok(Arc::clone(hasher.get_or_init(|| new)))
    }
}

/// Names of columns by their meaning.
fn named(names: BTreeMap<String, String>) -> PyResult<Columns> {
    let mut columns = Columns::default();
    for (meaning, name) in names {
        let property = match meaning.as_str() {
            "url" => &mut columns.url,
            "bucket" => &mut columns.bucket,
            "key" => &mut columns.key,
            "scheme" => &mut columns.scheme,
            "size" => &mut columns.size,
            "etag" => &mut columns.etag,
            "version" => &mut columns.version,
            "blake3" => &mut columns.blake3,
            _ => return Err(PyValueError::new_err(format!("{meaning}: no column has this meaning"))),
        };
        *property = Some(name);
    }
    Ok(columns)
}

fn failure(error: Error) -> PyErr {
    match error {
        Error::Io(path, error) => {
            if error.raw_os_error().is_some() {
                return os_error(&path, &error);
            }
            // Errors of a store have no number.
            let words = format!("{}: {error}", path.display());
            match error.kind() {
                ErrorKind::NotFound => PyFileNotFoundError::new_err(words),
                ErrorKind::PermissionDenied => PyPermissionError::new_err(words),
                _ => PyOSError::new_err(words),
            }
        }
        Error::Refused(_) | Error::Inventory(..) | Error::Other(..) => {
            PyValueError::new_err(error.to_string())
        }
        Error::Stopped => PyKeyboardInterrupt::new_err(()),
        error => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A batch of results. `pyarrow.record_batch` and others take it without a copy.
#[pyclass(frozen, name = "Results", module = "hashmill._hashmill.inventory")]
struct Results(StructArray);

#[pymethods]
impl Results {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(boundary::capsules(py, &self.0.to_data())?.0)
    }

    /// The requested schema is only a hint in the protocol, and there is only one type.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        boundary::capsules(py, &self.0.to_data())
    }
}
