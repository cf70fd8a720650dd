//! Runs of nearly uniform rows in a document chunk: typed text, of which only position and deletion vary, and a key
//! that was overwritten repeatedly. Most columns are equal in all of these rows, so they are read once for many rows.

use super::op_writer::{OpWriter, RawColumn};
use crate::codec::columns::column_reader::{arrives, follows, same};
use crate::codec::columns::delta::Ramp;
use crate::codec::columns::section::FormatFault;
use crate::codec::ops::op_reader::OpReader;
use crate::codec::raw_value::RawValue;
use crate::codec::row::Action;
use crate::codec::rules;
use crate::types::{ActorIdx, OpId};

/// Rows that insert values into one object, with one actor for all ids and one for all keys.
#[derive(Debug)]
pub(crate) struct UniformRows {
    id_actor: ActorIdx,
    key_actor: ActorIdx,
    rows: u64,
    left: u64,
}

/// Rows that write scalars at one key, with one actor for all ids.
#[derive(Debug)]
pub(crate) struct Rewrites {
    actor: ActorIdx,
    rows: u64,
    left: u64,
}

/// Data of such rows that differs by row, as runs in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rewritten {
    rows: u64,
    ids: Vec<Ramp>,
    /// Metadata of values, each with a number of rows.
    metas: Vec<(u64, u64)>,
    pub(in crate::codec) raw: RawColumn<'static>,
}

impl Rewritten {
    /// Adds a row.
    pub(crate) fn push(&mut self, ctr: u32, value: RawValue<'_>) {
        let ctr = i64::from(ctr);
        self.rows += 1;
        match self.ids.last_mut() {
            Some(ramp) if ramp.rows == 1 => (ramp.step, ramp.rows) = (ctr - ramp.first, 2),
            Some(ramp) if ctr == ramp.first + ramp.step * ramp.rows as i64 => ramp.rows += 1,
            _ => self.ids.push(Ramp { first: ctr, step: 0, rows: 1 }),
        }
        match self.metas.last_mut() {
            Some((meta, rows)) if *meta == value.meta() => *rows += 1,
            _ => self.metas.push((value.meta(), 1)),
        }
        self.raw.push(value);
    }

    /// Releases unused memory.
    pub(crate) fn shrink(&mut self) {
        self.ids.shrink_to_fit();
        self.metas.shrink_to_fit();
        self.raw.shrink();
    }
}

/// One overwritten value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rewrite<'a> {
    pub(crate) id: OpId,
    pub(crate) value: RawValue<'a>,
    /// Its only successor.
    pub(crate) succ: Option<OpId>,
}

/// Rows typed in one go, in the same state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InsertRun {
    /// Id of the first row.
    pub(crate) id: OpId,
    /// Element after which the first row was inserted; each other follows the one before.
    pub(crate) origin: OpId,
    pub(crate) len: u32,
    /// The only successor of the first row; those of the others are `step` apart.
    pub(crate) succ: Option<OpId>,
    pub(crate) step: i8,
}

impl InsertRun {
    /// The first and the last id, each with its successor; the others are between these.
    pub(crate) fn ends(&self) -> Option<[(OpId, OpId); 2]> {
        let (first, last) = (self.succ?, self.len - 1);
        let far = i64::from(first.ctr) + i64::from(self.step) * i64::from(last);
        Some([(self.id, first), (self.id.plus(last), OpId::new(far as u32, first.actor))])
    }
}

impl<'a> OpReader<'a> {
    /// Determines how many of the next rows are uniform insertions into object `obj`.
    pub(crate) fn uniform(&mut self, obj: OpId) -> Result<Option<UniformRows>, FormatFault> {
        let (obj_actor, obj_ctr) =
            if obj.is_none() { (None, None) } else { (Some(obj.actor.into()), Some(obj.ctr.into())) };
        let (Some(id_actor), ids) = self.id_actor.peek()? else { return Ok(None) };
        let (Some(key_actor), keys) = self.key_actor.peek()? else { return Ok(None) };
        let rows = ids
            .min(keys)
            .min(same(self.action.peek()?, Some(Action::Set as u64)))
            .min(same(self.insert.peek()?, true))
            .min(same(self.obj_actor.peek()?, obj_actor))
            .min(same(self.obj_ctr.peek()?, obj_ctr))
            .min(same(self.key_str.peek()?, None))
            .min(same(self.expand.peek()?, false))
            .min(same(self.mark.peek()?, None));
        let actors = [id_actor, key_actor].map(|actor| self.actor(actor));
        match actors {
            [Ok(id_actor), Ok(key_actor)] if rows > 0 => {
                Ok(Some(UniformRows { id_actor, key_actor, rows, left: rows }))
            }
            // A fault of the next row is found when the row is read individually.
            _ => Ok(None),
        }
    }

    /// The next run, whose values must be read with [`Self::take_values`]. `None` at the end of the rows, or if the
    /// next one must be read individually.
    #[inline]
    pub(crate) fn insert_run(&mut self, uniform: &mut UniformRows) -> Result<Option<InsertRun>, FormatFault> {
        if uniform.left == 0 {
            return Ok(None);
        }
        let (id, origin, count) = (self.id_ctr.peek()?.0, self.key_ctr.peek()?.0, self.ref_count.peek()?.0);
        let (Some(id), Some(origin), Some(count @ 0..=1)) = (id, origin, count) else { return Ok(None) };
        let succ = if count == 0 {
            None
        } else {
            match (self.ref_actor.peek()?.0, self.ref_ctr.peek()?.0) {
                (Some(actor), Some(ctr)) => match (self.actor(actor), rules::counter(ctr.first)) {
                    (Ok(actor), Ok(ctr)) => Some(OpId::new(ctr, actor)),
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            }
        };
        let (Ok(id), Ok(origin)) = (rules::counter(id.first), rules::counter(origin.first)) else {
            return Ok(None);
        };
        let mut run = InsertRun {
            id: OpId::new(id, uniform.id_actor),
            origin: OpId::new(origin, uniform.key_actor),
            len: 0,
            succ,
            step: 0,
        };
        self.take_rows(&mut run, 1);
        while self.extend_run(&mut run, uniform)? {}
        uniform.left -= u64::from(run.len);
        Ok(Some(run))
    }

    fn extend_run(&mut self, run: &mut InsertRun, uniform: &UniformRows) -> Result<bool, FormatFault> {
        let last = run.id.ctr + run.len - 1;
        let mut rows = follows(self.id_ctr.peek()?, last, 1).min(uniform.left - u64::from(run.len));
        if rows == 0 || (uniform.key_actor != uniform.id_actor) {
            return Ok(false);
        }
        rows = rows.min(arrives(self.key_ctr.peek()?, last));
        rows = rows.min(same(self.ref_count.peek()?, Some(u64::from(run.succ.is_some()))));
        if rows == 0 {
            return Ok(false);
        }
        if let Some(succ) = run.succ {
            let ramp = self.ref_ctr.peek()?;
            let step = match (run.len, ramp.0) {
                (1, Some(ramp)) => ramp.first - i64::from(succ.ctr),
                _ => run.step.into(),
            };
            if step.abs() != 1 {
                return Ok(false);
            }
            let before = i64::from(succ.ctr) + step * (i64::from(run.len) - 1);
            rows = rows.min(same(self.ref_actor.peek()?, Some(succ.actor.into())));
            rows = rows.min(follows(ramp, before as u32, step));
            if rows == 0 {
                return Ok(false);
            }
            run.step = step as i8;
        }
        self.take_rows(run, rows);
        Ok(true)
    }

    /// Skips rows in the columns that differ from row to row.
    #[inline]
    fn take_rows(&mut self, run: &mut InsertRun, rows: u64) {
        self.id_ctr.skip(rows);
        self.key_ctr.skip(rows);
        self.ref_count.skip(rows);
        if run.succ.is_some() {
            self.ref_actor.skip(rows);
            self.ref_ctr.skip(rows);
        }
        run.len += rows as u32;
    }

    /// Skips the rows read so far in the uniform columns.
    pub(crate) fn skip_uniform(&mut self, uniform: &UniformRows) {
        self.skip_equal_rows(uniform.rows - uniform.left);
    }

    fn skip_equal_rows(&mut self, rows: u64) {
        self.action.skip(rows);
        self.insert.skip(rows);
        self.obj_actor.skip(rows);
        self.obj_ctr.skip(rows);
        self.key_str.skip(rows);
        self.key_actor.skip(rows);
        self.id_actor.skip(rows);
        self.expand.skip(rows);
        self.mark.skip(rows);
    }

    /// Determines how many of the next rows write scalars at a key of object `obj`.
    pub(crate) fn rewrites(&mut self, obj: OpId, key: &str) -> Result<Option<Rewrites>, FormatFault> {
        let (obj_actor, obj_ctr) =
            if obj.is_none() { (None, None) } else { (Some(obj.actor.into()), Some(obj.ctr.into())) };
        // Most keys are written once.
        let keys = same(self.key_str.peek()?, Some(key));
        if keys == 0 {
            return Ok(None);
        }
        let (Some(actor), ids) = self.id_actor.peek()? else { return Ok(None) };
        let rows = ids
            .min(keys)
            .min(same(self.action.peek()?, Some(Action::Set as u64)))
            .min(same(self.insert.peek()?, false))
            .min(same(self.obj_actor.peek()?, obj_actor))
            .min(same(self.obj_ctr.peek()?, obj_ctr))
            .min(same(self.key_actor.peek()?, None))
            .min(empty(self.key_ctr.peek()?))
            .min(same(self.expand.peek()?, false))
            .min(same(self.mark.peek()?, None));
        match self.actor(actor) {
            Ok(actor) if rows > 0 => Ok(Some(Rewrites { actor, rows, left: rows })),
            _ => Ok(None),
        }
    }

    /// The next of these rows. `None` at their end, or if the next one must be read individually.
    #[inline]
    pub(crate) fn rewrite(&mut self, rows: &mut Rewrites) -> Result<Option<Rewrite<'a>>, FormatFault> {
        if rows.left == 0 {
            return Ok(None);
        }
        let Some(id) = self.id_ctr.peek()?.0.and_then(|ramp| rules::counter(ramp.first).ok()) else {
            return Ok(None);
        };
        let succ = match self.ref_count.peek()?.0 {
            Some(0) => None,
            Some(1) => match (self.ref_actor.peek()?.0, self.ref_ctr.peek()?.0) {
                (Some(actor), Some(ctr)) => match (self.actor(actor), rules::counter(ctr.first)) {
                    (Ok(actor), Ok(ctr)) => Some(OpId::new(ctr, actor)),
                    _ => return Ok(None),
                },
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.id_ctr.skip(1);
        self.ref_count.skip(1);
        if succ.is_some() {
            self.ref_actor.skip(1);
            self.ref_ctr.skip(1);
        }
        rows.left -= 1;
        let value = self.value()?;
        value.check().map_err(|rule| {
            FormatFault::in_column(crate::codec::ops::op_reader::spec::RAW, self.raw.offset(), rule)
        })?;
        Ok(Some(Rewrite { id: OpId::new(id, rows.actor), value, succ }))
    }

    /// Skips the rows read so far in the uniform columns.
    pub(crate) fn skip_rewrites(&mut self, rewrites: &Rewrites) {
        let rows = rewrites.rows - rewrites.left;
        self.key_ctr.skip(rows);
        self.skip_equal_rows(rows);
    }

    /// The values of the next `rows` rows, if each is a character of one byte.
    #[inline]
    pub(crate) fn ascii(&mut self, rows: u32) -> Result<Option<&'a str>, FormatFault> {
        const ONE_BYTE: u64 = 1 << 4 | crate::codec::raw_value::code::STR as u64;
        if same(self.meta.peek()?, Some(ONE_BYTE)) < rows.into() {
            return Ok(None);
        }
        let at = self.raw.offset();
        let text = match self.ascii.get(at..at + rows as usize) {
            Some(text) => text,
            None => match self.raw.rest().get(..rows as usize).map(std::str::from_utf8) {
                Some(Ok(text)) if text.is_ascii() => text,
                _ => return Ok(None),
            },
        };
        self.meta.skip(rows.into());
        self.raw.read_bytes(rows as usize).map_err(|rule| self.meta.fault(rule))?;
        Ok(Some(text))
    }
}

/// Writers for rows of a document, where uniform columns are written once for many rows.
impl<'a> OpWriter<'a> {
    /// Writes rows with scalars at one key, each the only successor of the one before: first those of `past`. Returns
    /// their number; [`Self::rewritten_in`] must be called separately.
    pub(crate) fn rewrites<'v>(
        &mut self,
        key: &'a [u8],
        actor: ActorIdx,
        past: Option<&Rewritten>,
        rows: impl ExactSizeIterator<Item = (u32, RawValue<'v>)>,
    ) -> u64 {
        let before = past.map_or(0, |past| past.rows);
        let count = before + rows.len() as u64;
        let Some(superseded) = count.checked_sub(1) else { return 0 };
        self.key_str.push_n(Some(key), count);
        self.ref_count.push_n(Some(1), superseded);
        self.ref_count.push(Some(0));
        self.ref_actor.push_n(Some(actor.into()), superseded);
        if let Some(past) = past {
            self.rewritten(past);
        }
        for (n, (ctr, value)) in (before..).zip(rows) {
            self.id_ctr.push(Some(ctr.into()));
            if n > 0 {
                self.ref_ctr.push(Some(ctr.into()));
            }
            self.value(value);
        }
        count
    }

    /// As [`Self::rewrites`], for a key that was written once.
    #[inline]
    pub(crate) fn written_once(&mut self, key: &'a [u8], ctr: u32, value: RawValue<'_>) -> u64 {
        self.name(key);
        self.ref_count.push(Some(0));
        self.id_ctr.push(Some(ctr.into()));
        self.value(value);
        1
    }

    /// Writes the uniform columns of such rows by one actor in one object.
    pub(crate) fn rewritten_in(&mut self, obj: OpId, actor: ActorIdx, rows: u64) {
        self.head(obj, false, Action::Set, rows);
        self.no_elements(rows);
        self.id_actor.push_n(Some(actor.into()), rows);
    }

    /// Writes counters and values of rows of which the first has no predecessor.
    fn rewritten(&mut self, past: &Rewritten) {
        for (n, ramp) in past.ids.iter().enumerate() {
            self.id_ctr.push_ramp(ramp.first, ramp.step, ramp.rows);
            if n > 0 {
                self.ref_ctr.push_ramp(ramp.first, ramp.step, ramp.rows);
            } else {
                self.ref_ctr.push_ramp(ramp.first + ramp.step, ramp.step, ramp.rows - 1);
            }
        }
        past.metas.iter().for_each(|(meta, rows)| self.meta.push_n(Some(*meta), *rows));
        if !self.without_values {
            self.raw.append(&past.raw);
        }
    }

    /// Writes keys, ids and values of characters typed in one go. [`Self::typed_in`] and the successors must be written
    /// separately.
    #[inline]
    pub(crate) fn typed(&mut self, origin: OpId, first: OpId, text: &[u8], rows: u64) {
        self.key_actor.push(if origin.is_none() { None } else { Some(origin.actor.into()) });
        self.key_actor.push_n(Some(first.actor.into()), rows - 1);
        self.key_ctr.push(Some(origin.ctr.into()));
        self.key_ctr.push_ramp(first.ctr.into(), 1, rows - 1);
        self.ids(first, rows);
        self.chars(text, rows);
    }

    /// Writes the uniform columns of all characters of one object.
    pub(crate) fn typed_in(&mut self, obj: OpId, rows: u64) {
        self.head(obj, true, Action::Set, rows);
        self.key_str.push_n(None, rows);
    }
}

/// Length of a run of nulls, otherwise 0.
fn empty((ramp, rows): (Option<Ramp>, u64)) -> u64 {
    if ramp.is_none() { rows } else { 0 }
}
