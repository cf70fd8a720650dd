//! Indexes and slices with Python's rules: negative ones count from the end. They are converted before a document is locked,
//! because that may run code, and applied to the length afterwards.

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice};

use crate::documents::errors::DeferredError;

/// An index or a slice.
pub(crate) enum IndexOrSlice {
    Index(isize),
    Slice(Slice),
}

/// A slice of a sequence whose length is not known yet.
#[derive(Clone, Copy)]
pub(crate) struct Slice {
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
}

impl Slice {
    pub(crate) const FULL: Self = Self { start: None, stop: None, step: 1 };

    fn from_py(slice: &Bound<'_, PySlice>) -> PyResult<Self> {
        let part = |name| {
            let part = slice.getattr(name)?;
            if part.is_none() { Ok(None) } else { bounded(&part).map(Some) }
        };
        let step = part("step")?.unwrap_or(1);
        if step == 0 {
            return Err(PyValueError::new_err("slice step cannot be zero"));
        }
        Ok(Self { start: part("start")?, stop: part("stop")?, step: step.max(-isize::MAX) })
    }

    pub(crate) fn within(self, len: usize) -> Indexes {
        let len = len.cast_signed();
        let (least, most) = if self.step > 0 { (0, len) } else { (-1, len - 1) };
        let object_ref = |at: isize| if at < 0 { at.saturating_add(len) } else { at }.clamp(least, most);
        let (first, last) = if self.step > 0 { (least, most) } else { (most, least) };
        let (start, stop) = (self.start.map_or(first, object_ref), self.stop.map_or(last, object_ref));
        let span = if self.step > 0 { stop - start } else { start - stop };
        let count = if span <= 0 { 0 } else { (span - 1) / self.step.abs() + 1 };
        Indexes { start, step: self.step, count: count.unsigned_abs() }
    }
}

/// The indexes that a slice selects.
#[derive(Clone, Copy)]
pub(crate) struct Indexes {
    start: isize,
    step: isize,
    pub(crate) count: usize,
}

impl Indexes {
    /// The first index and the number of indexes, if they are contiguous.
    pub(crate) fn run(self) -> Option<(usize, usize)> {
        (self.step == 1).then_some((self.start.unsigned_abs(), self.count))
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.count).map(move |n| (self.start + self.step * n.cast_signed()).unsigned_abs())
    }
}

/// An integer, clamped to the range of its type.
fn bounded(number: &Bound<'_, PyAny>) -> PyResult<isize> {
    let number = number.py().import("operator")?.getattr("index")?.call1((number,))?;
    match number.extract() {
        Ok(number) => Ok(number),
        Err(_) if number.lt(0)? => Ok(isize::MIN),
        Err(_) => Ok(isize::MAX),
    }
}

pub(crate) fn at(key: &Bound<'_, PyAny>) -> PyResult<IndexOrSlice> {
    if let Ok(slice) = key.cast::<PySlice>() {
        return Slice::from_py(slice).map(IndexOrSlice::Slice);
    }
    if !key.is_instance_of::<PyInt>() && !key.hasattr("__index__")? {
        let found = key.get_type().name()?;
        return Err(PyTypeError::new_err(format!("indexes are integers or slices, not {found}")));
    }
    key.extract().map(IndexOrSlice::Index).map_err(|_| out_of_range())
}

pub(crate) fn out_of_range() -> PyErr {
    PyIndexError::new_err("index out of range")
}

/// The element at an index, for a given length.
pub(crate) fn index_in(len: usize, index: isize) -> Result<usize, DeferredError> {
    let from_start = if index < 0 { index.checked_add_unsigned(len) } else { Some(index) };
    let index = from_start.and_then(|index| usize::try_from(index).ok()).filter(|index| *index < len);
    index.ok_or_else(|| out_of_range().into())
}

/// An index for an insertion, with the rules of `list.insert`.
pub(crate) fn gap_in(len: usize, index: isize) -> usize {
    if index < 0 { len.saturating_sub(index.unsigned_abs()) } else { index.unsigned_abs().min(len) }
}
