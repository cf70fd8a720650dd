//! Sequential reader of the rows in original columns: untouched rows are copied into a writer, touched rows skipped.
//! Runs stay runs, so the cost of a range is that of its runs.

use std::cmp::Ordering;
use std::ops::Range;

use crate::codec::bytes::reader::Reader;
use crate::codec::columns::boolean::BoolCursor;
use crate::codec::columns::delta;
use crate::codec::columns::delta::DeltaCursor;
use crate::codec::columns::rle;
use crate::codec::columns::rle::{Cell, RleCursor, RleEncoder, copy};
use crate::codec::ops::op_reader::spec;
use crate::codec::ops::op_writer::OpWriter;
use crate::codec::raw_value::is_whole;
use crate::types::error::Rule;
use crate::types::{ActorIdx, OpId};

/// Columns with their specifications, in order.
pub(super) type Columns<'a> = [(u32, &'a [u8])];

/// Cursors of all columns, all at the same row.
#[derive(Debug)]
pub(crate) struct OriginalRows<'a> {
    actors: ActorMap,
    row: u64,
    /// Number of rows.
    rows: u64,
    obj_actor: RleCursor<'a, u64>,
    obj_ctr: RleCursor<'a, u64>,
    key_actor: RleCursor<'a, u64>,
    key_ctr: DeltaCursor<'a>,
    key_str: RleCursor<'a, &'a [u8]>,
    id_actor: RleCursor<'a, u64>,
    id_ctr: DeltaCursor<'a>,
    insert: BoolCursor<'a>,
    action: RleCursor<'a, u64>,
    meta: RleCursor<'a, u64>,
    raw: Reader<'a>,
    ref_count: RleCursor<'a, u64>,
    ref_actor: RleCursor<'a, u64>,
    ref_ctr: DeltaCursor<'a>,
    expand: BoolCursor<'a>,
    mark: RleCursor<'a, &'a str>,
    ahead: LookAhead<'a>,
}

/// Cursors that search the next objects and keys, ahead of the copied rows.
#[derive(Debug)]
struct LookAhead<'a> {
    /// First row of the current object, and of the current key.
    row: u64,
    key_row: u64,
    obj_actor: RleCursor<'a, u64>,
    obj_ctr: RleCursor<'a, u64>,
    key_str: RleCursor<'a, &'a [u8]>,
    /// Key cursor before the last skipped key, or before an earlier one.
    before: RleCursor<'a, &'a [u8]>,
}

impl<'a> OriginalRows<'a> {
    pub(super) fn new(columns: &Columns<'a>, actors: Vec<ActorIdx>, rows: u64) -> Self {
        let rle = |spec| RleCursor::<u64>::new(get(columns, spec));
        let delta = |spec| DeltaCursor::new(get(columns, spec));
        let key_str = || RleCursor::new(get(columns, spec::KEY_STR));
        Self {
            actors: ActorMap {
                same: (0..).zip(&actors).all(|(old, new)| *new == ActorIdx::from_u32(old)),
                of: actors,
            },
            row: 0,
            rows,
            obj_actor: rle(spec::OBJ_ACTOR),
            obj_ctr: rle(spec::OBJ_CTR),
            key_actor: rle(spec::KEY_ACTOR),
            key_ctr: delta(spec::KEY_CTR),
            key_str: key_str(),
            id_actor: rle(spec::ID_ACTOR),
            id_ctr: delta(spec::ID_CTR),
            insert: BoolCursor::new(get(columns, spec::INSERT)),
            action: rle(spec::ACTION),
            meta: rle(spec::META),
            raw: Reader::new(get(columns, spec::RAW)),
            ref_count: rle(spec::SUCC_COUNT),
            ref_actor: rle(spec::SUCC_ACTOR),
            ref_ctr: delta(spec::SUCC_CTR),
            expand: BoolCursor::new(get(columns, spec::EXPAND)),
            mark: RleCursor::new(get(columns, spec::MARK)),
            ahead: LookAhead {
                row: 0,
                key_row: 0,
                obj_actor: rle(spec::OBJ_ACTOR),
                obj_ctr: rle(spec::OBJ_CTR),
                key_str: key_str(),
                before: key_str(),
            },
        }
    }

    /// The row range of an object, or its insertion point; `order` compares an object with it. Objects must be
    /// requested in the order of the file.
    pub(crate) fn object(&mut self, order: impl Fn(OpId) -> Ordering) -> Result<Range<u64>, Rule> {
        let (all, ahead) = (self.rows, &mut self.ahead);
        let mut own = 0;
        while ahead.row < all {
            let (actor, actors) = ahead.obj_actor.peek()?.unwrap_or((None, all));
            let (ctr, counters) = ahead.obj_ctr.peek()?.unwrap_or((None, all));
            let id = match (ctr, actor) {
                (Some(ctr), Some(actor)) => OpId::new(number(ctr)?, ActorIdx::from_u32(number(actor)?)),
                _ => OpId::NONE,
            };
            let rows = actors.min(counters).min(all - ahead.row);
            match order(id) {
                Ordering::Less if own == 0 => {}
                Ordering::Equal => own += rows,
                _ => break,
            }
            pass(&mut ahead.obj_actor, rows)?;
            pass(&mut ahead.obj_ctr, rows)?;
            ahead.row += rows;
        }
        Ok(ahead.row - own..ahead.row)
    }

    /// The row range of a key within a map's rows, or its insertion point. Keys must be requested in the order of the
    /// file.
    pub(crate) fn key(&mut self, key: &[u8], map: &Range<u64>) -> Result<Range<u64>, Rule> {
        let ahead = &mut self.ahead;
        if ahead.key_row < map.start {
            pass(&mut ahead.key_str, map.start - ahead.key_row)?;
            ahead.key_row = map.start;
        }
        let mut own = 0;
        while ahead.key_row < map.end {
            // Most keys differ from the one before them.
            let passed = ahead.key_str.pass_smaller(map.end - ahead.key_row, key)?;
            if passed > 0 {
                ahead.key_row += passed;
                ahead.before = ahead.key_str.clone();
            }
            let Some((Some(found), rows)) = ahead.key_str.peek()? else { return Err(Rule::Missing) };
            let rows = rows.min(map.end - ahead.key_row);
            match found.cmp(key) {
                Ordering::Less => {}
                Ordering::Equal => own += rows,
                Ordering::Greater => break,
            }
            ahead.key_str.skip(rows);
            ahead.key_row += rows;
        }
        Ok(ahead.key_row - own..ahead.key_row)
    }

    /// Skips the rows before `row`.
    pub(crate) fn pass_to(&mut self, row: u64) -> Result<(), Rule> {
        let rows = row - self.row;
        self.row = row;
        pass(&mut self.obj_actor, rows)?;
        pass(&mut self.obj_ctr, rows)?;
        pass(&mut self.key_actor, rows)?;
        pass_deltas(&mut self.key_ctr, rows)?;
        pass(&mut self.key_str, rows)?;
        pass(&mut self.id_actor, rows)?;
        pass_deltas(&mut self.id_ctr, rows)?;
        flags(&mut self.insert, rows, |_, _| ())?;
        pass(&mut self.action, rows)?;
        let mut bytes = 0;
        each(&mut self.meta, rows, |meta, rows| bytes += (meta.unwrap_or_default() >> 4) * rows)?;
        self.raw.read_bytes(length(bytes)?)?;
        let mut refs = 0;
        each(&mut self.ref_count, rows, |count, rows| refs += count.unwrap_or_default() * rows)?;
        pass(&mut self.ref_actor, refs)?;
        pass_deltas(&mut self.ref_ctr, refs)?;
        flags(&mut self.expand, rows, |_, _| ())?;
        pass(&mut self.mark, rows)
    }

    /// Copies the rows before `row`.
    pub(crate) fn copy_to(&mut self, row: u64, out: &mut OpWriter<'a>) -> Result<(), Rule> {
        let rows = row - self.row;
        self.row = row;
        self.actors.copy(&mut self.obj_actor, rows, &mut out.obj_actor)?;
        copy(&mut self.obj_ctr, rows, &mut out.obj_ctr, |_, _| ())?;
        self.actors.copy(&mut self.key_actor, rows, &mut out.key_actor)?;
        delta::copy(&mut self.key_ctr, rows, &mut out.key_ctr)?;
        rle::copy_behind(&mut self.key_str, &self.ahead.before, rows, &mut out.key_str)?;
        self.actors.copy(&mut self.id_actor, rows, &mut out.id_actor)?;
        delta::copy(&mut self.id_ctr, rows, &mut out.id_ctr)?;
        flags(&mut self.insert, rows, |insert, rows| out.insert.push_n(insert, rows))?;
        copy(&mut self.action, rows, &mut out.action, |_, _| ())?;
        let (mut bytes, mut texts) = (0, false);
        copy(&mut self.meta, rows, &mut out.meta, |meta, rows| {
            let meta = meta.unwrap_or_default();
            bytes += (meta >> 4) * rows;
            texts |= meta >> 4 > 0 && !is_whole((meta & 15) as u8);
        })?;
        out.raw.push_borrowed(self.raw.read_bytes(length(bytes)?)?, texts);
        let mut refs = 0;
        copy(&mut self.ref_count, rows, &mut out.ref_count, |count, rows| {
            refs += count.unwrap_or_default() * rows;
        })?;
        self.actors.copy(&mut self.ref_actor, refs, &mut out.ref_actor)?;
        delta::copy(&mut self.ref_ctr, refs, &mut out.ref_ctr)?;
        flags(&mut self.expand, rows, |expand, rows| out.expand.push_n(expand, rows))?;
        copy(&mut self.mark, rows, &mut out.mark, |_, _| ())
    }

    /// Copies all remaining rows, unchanged after the first one: nothing may follow. Whether there are texts among them
    /// is determined only for `deflate`.
    pub(crate) fn copy_rest(&mut self, out: &mut OpWriter<'a>, deflate: bool) -> Result<(), Rule> {
        let rows = self.rows - self.row;
        self.row = self.rows;
        self.actors.copy_rest(&mut self.obj_actor, rows, &mut out.obj_actor)?;
        rle::copy_rest(&mut self.obj_ctr, rows, &mut out.obj_ctr)?;
        self.actors.copy_rest(&mut self.key_actor, rows, &mut out.key_actor)?;
        delta::copy_rest(&mut self.key_ctr, rows, &mut out.key_ctr)?;
        rle::copy_rest(&mut self.key_str, rows, &mut out.key_str)?;
        self.actors.copy_rest(&mut self.id_actor, rows, &mut out.id_actor)?;
        delta::copy_rest(&mut self.id_ctr, rows, &mut out.id_ctr)?;
        out.insert.push_rest(&mut self.insert, rows)?;
        rle::copy_rest(&mut self.action, rows, &mut out.action)?;
        let texts = deflate && has_texts(self.meta.clone());
        rle::copy_rest(&mut self.meta, rows, &mut out.meta)?;
        out.raw.push_borrowed(self.raw.rest(), texts);
        rle::copy_rest(&mut self.ref_count, rows, &mut out.ref_count)?;
        // References are not one per row: an absent column copies none.
        self.actors.copy_rest(&mut self.ref_actor, 0, &mut out.ref_actor)?;
        delta::copy_rest(&mut self.ref_ctr, 0, &mut out.ref_ctr)?;
        out.expand.push_rest(&mut self.expand, rows)?;
        rle::copy_rest(&mut self.mark, rows, &mut out.mark)
    }
}

fn number(value: u64) -> Result<u32, Rule> {
    u32::try_from(value).map_err(|_| Rule::CounterRange)
}

fn length(bytes: u64) -> Result<usize, Rule> {
    usize::try_from(bytes).map_err(|_| Rule::Truncated)
}

/// Passes the next rows of a column to `each`, run by run. Rows of an absent column are nulls.
#[inline]
fn each<'a, T: Cell<'a>>(
    from: &mut RleCursor<'a, T>,
    rows: u64,
    mut each: impl FnMut(Option<T>, u64),
) -> Result<(), Rule> {
    let mut left = rows;
    while left > 0 {
        let Some((value, run)) = from.peek()? else {
            each(None, left);
            return if from.offset() == 0 { Ok(()) } else { Err(Rule::Missing) };
        };
        let run = run.min(left);
        each(value, run);
        from.skip(run);
        left -= run;
    }
    Ok(())
}

fn pass<'a, T: Cell<'a>>(from: &mut RleCursor<'a, T>, rows: u64) -> Result<(), Rule> {
    each(from, rows, |_, _| ())
}

/// Maps actor indexes of the columns to those of the file to be written.
#[derive(Debug)]
struct ActorMap {
    of: Vec<ActorIdx>,
    /// Are all indexes unchanged?
    same: bool,
}

impl ActorMap {
    fn map(&self, actor: Option<u64>) -> Result<Option<u64>, Rule> {
        let index = |actor: u64| {
            let index = usize::try_from(actor).ok().and_then(|actor| self.of.get(actor));
            index.map(|index| u64::from(*index)).ok_or(Rule::ActorIndex(actor))
        };
        actor.map(index).transpose()
    }

    /// Copies the next rows of an actor column.
    fn copy<'a>(
        &self,
        from: &mut RleCursor<'a, u64>,
        rows: u64,
        to: &mut RleEncoder<'a, u64>,
    ) -> Result<(), Rule> {
        if self.same {
            return copy(from, rows, to, |_, _| ());
        }
        let mut done = Ok(());
        each(from, rows, |actor, rows| match self.map(actor) {
            Ok(mapped) => to.push_n(mapped, rows),
            Err(rule) => done = Err(rule),
        })?;
        done
    }

    /// Copies the remaining rows of an actor column.
    fn copy_rest<'a>(
        &self,
        from: &mut RleCursor<'a, u64>,
        rows: u64,
        to: &mut RleEncoder<'a, u64>,
    ) -> Result<(), Rule> {
        if self.same || from.is_absent() {
            return rle::copy_rest(from, rows, to);
        }
        while let Some((actor, run)) = from.peek()? {
            to.push_n(self.map(actor)?, run);
            from.skip(run);
        }
        Ok(())
    }
}

fn pass_deltas(from: &mut DeltaCursor<'_>, rows: u64) -> Result<(), Rule> {
    let mut left = rows;
    while left > 0 {
        let Some((ramp, run)) = from.peek()? else {
            return if from.offset() == 0 { Ok(()) } else { Err(Rule::Missing) };
        };
        let run = run.min(left);
        from.skip(ramp, run);
        left -= run;
    }
    Ok(())
}

/// As [`each`], for flags: rows of an absent column are false.
fn flags(from: &mut BoolCursor<'_>, rows: u64, mut each: impl FnMut(bool, u64)) -> Result<(), Rule> {
    let mut left = rows;
    while left > 0 {
        let Some((value, run)) = from.peek()? else {
            each(false, left);
            return if from.offset() == 0 { Ok(()) } else { Err(Rule::Missing) };
        };
        let run = run.min(left);
        each(value, run);
        from.skip(run);
        left -= run;
    }
    Ok(())
}

pub(super) fn get<'a>(columns: &Columns<'a>, spec: u32) -> &'a [u8] {
    columns.iter().find(|(found, _)| *found == spec).map_or(&[], |(_, bytes)| bytes)
}

/// Are all values of a column `good`?
pub(super) fn all<'a, T: Cell<'a>>(mut cursor: RleCursor<'a, T>, good: impl Fn(Option<T>) -> bool) -> bool {
    loop {
        match cursor.peek() {
            Ok(Some((value, rows))) if good(value) => cursor.skip(rows),
            Ok(None) => return true,
            Ok(Some(_)) | Err(_) => return false,
        }
    }
}

/// Are some of the values with these metadata not integers?
pub(super) fn has_texts(metas: RleCursor<'_, u64>) -> bool {
    !all(metas, |meta| meta.is_none_or(|meta| meta >> 4 == 0 || is_whole((meta & 15) as u8)))
}
