//! Indexes and slices as Python counts: from the end if negative. Looked at before a document is locked, as looking may run
//! code; applied to a length when it is.

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice};

use super::errors::Failed;

/// What stands in brackets.
pub(super) enum At {
    Index(isize),
    Slice(Slice),
}

/// A slice of something whose length is not known yet.
#[derive(Clone, Copy)]
pub(super) struct Slice {
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
}

impl Slice {
    pub(super) const FULL: Self = Self { start: None, stop: None, step: 1 };

    fn of(slice: &Bound<'_, PySlice>) -> PyResult<Self> {
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

    pub(super) fn within(self, len: usize) -> Indexes {
        let len = len.cast_signed();
        let (least, most) = if self.step > 0 { (0, len) } else { (-1, len - 1) };
        let place = |at: isize| if at < 0 { at.saturating_add(len) } else { at }.clamp(least, most);
        let (first, last) = if self.step > 0 { (least, most) } else { (most, least) };
        let (start, stop) = (self.start.map_or(first, place), self.stop.map_or(last, place));
        let span = if self.step > 0 { stop - start } else { start - stop };
        let count = if span <= 0 { 0 } else { (span - 1) / self.step.abs() + 1 };
        Indexes { start, step: self.step, count: count.unsigned_abs() }
    }
}

/// The places that a slice names.
#[derive(Clone, Copy)]
pub(super) struct Indexes {
    start: isize,
    step: isize,
    pub(super) count: usize,
}

impl Indexes {
    /// The first place and how many follow, if no place is left out.
    pub(super) fn run(self) -> Option<(usize, usize)> {
        (self.step == 1).then_some((self.start.unsigned_abs(), self.count))
    }

    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.count).map(move |n| (self.start + self.step * n.cast_signed()).unsigned_abs())
    }
}

/// A number, or the end of all numbers on its side.
fn bounded(number: &Bound<'_, PyAny>) -> PyResult<isize> {
    let number = number.py().import("operator")?.getattr("index")?.call1((number,))?;
    match number.extract() {
        Ok(number) => Ok(number),
        Err(_) if number.lt(0)? => Ok(isize::MIN),
        Err(_) => Ok(isize::MAX),
    }
}

pub(super) fn at(key: &Bound<'_, PyAny>) -> PyResult<At> {
    if let Ok(slice) = key.cast::<PySlice>() {
        return Slice::of(slice).map(At::Slice);
    }
    if !key.is_instance_of::<PyInt>() && !key.hasattr("__index__")? {
        let found = key.get_type().name()?;
        return Err(PyTypeError::new_err(format!("indexes are integers or slices, not {found}")));
    }
    key.extract().map(At::Index).map_err(|_| out_of_range())
}

pub(super) fn out_of_range() -> PyErr {
    PyIndexError::new_err("index out of range")
}

/// The element that an index names, of so many.
pub(super) fn index_in(len: usize, index: isize) -> Result<usize, Failed> {
    let from_start = if index < 0 { index.checked_add_unsigned(len) } else { Some(index) };
    let index = from_start.and_then(|index| usize::try_from(index).ok()).filter(|index| *index < len);
    index.ok_or_else(|| out_of_range().into())
}

/// A place to insert before, as `list.insert` takes it.
pub(super) fn gap_in(len: usize, index: isize) -> usize {
    if index < 0 { len.saturating_sub(index.unsigned_abs()) } else { index.unsigned_abs().min(len) }
}
