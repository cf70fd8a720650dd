//! Operation columns of changes, documents and bundles: readers of rows and of runs of rows.
//!
//! Actors are indexes into the chunk's list here; callers translate them.

use crate::codec::bytes::reader::Reader;
use crate::codec::columns::column_reader::{
    ColumnReader, Deltas, Flags, Numbers, Texts, arrives, follows, same,
};
use crate::codec::columns::section::{ChunkError, Columns, FormatFault};
use crate::codec::limits::Budget;
use crate::codec::raw_value::{RawValue, code};
use crate::codec::row::{Action, RawKey, Row};
use crate::codec::rules;
use crate::types::error::{OpFault, Rule};
use crate::types::{ActorIdx, OpId};

/// Column specifications.
pub(crate) mod spec {
    pub(crate) const OBJ_ACTOR: u32 = 0x01;
    pub(crate) const OBJ_CTR: u32 = 0x02;
    pub(crate) const BUNDLE_OBJ_CTR: u32 = 0x03;
    pub(crate) const KEY_ACTOR: u32 = 0x11;
    pub(crate) const KEY_CTR: u32 = 0x13;
    pub(crate) const KEY_STR: u32 = 0x15;
    pub(crate) const ID_ACTOR: u32 = 0x21;
    pub(crate) const ID_CTR: u32 = 0x23;
    pub(crate) const INSERT: u32 = 0x34;
    pub(crate) const ACTION: u32 = 0x42;
    pub(crate) const META: u32 = 0x56;
    pub(crate) const RAW: u32 = 0x57;
    pub(crate) const PRED_COUNT: u32 = 0x70;
    pub(crate) const PRED_ACTOR: u32 = 0x71;
    pub(crate) const PRED_CTR: u32 = 0x73;
    pub(crate) const SUCC_COUNT: u32 = 0x80;
    pub(crate) const SUCC_ACTOR: u32 = 0x81;
    pub(crate) const SUCC_CTR: u32 = 0x83;
    pub(crate) const EXPAND: u32 = 0x94;
    pub(crate) const MARK: u32 = 0xa5;

    /// The columns of this version of the format, in changes and documents.
    pub(crate) const ALL: [u32; 19] = [
        OBJ_ACTOR, OBJ_CTR, KEY_ACTOR, KEY_CTR, KEY_STR, ID_ACTOR, ID_CTR, INSERT, ACTION, META, RAW,
        PRED_COUNT, PRED_ACTOR, PRED_CTR, SUCC_COUNT, SUCC_ACTOR, SUCC_CTR, EXPAND, MARK,
    ];
}

/// A run of typed or deleted rows: the state with which [`OpReader::extend`] decides whether the next rows continue it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) kind: RunKind,
    pub(crate) obj: OpId,
    /// Id of the last row read.
    pub(crate) id: OpId,
    /// Element of the last row read; meaningful for deletions.
    pub(crate) elem: OpId,
    /// The only predecessor or successor of the last row read.
    pub(crate) single: Option<OpId>,
    /// Distance of `single` (for deletions also of the element) from row to row; 0 while there is only one row.
    pub(crate) step: i64,
}

/// Kind of a run of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunKind {
    /// Each row inserts a scalar after the element of the row before.
    Insert,
    /// Each row deletes one element; elements ascend or descend by one.
    Delete,
}

/// Contents of the rows of a chunk type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// Ids follow from the position; predecessors are stored.
    Change,
    /// Ids and successors are stored.
    Document,
    /// Actors of ids are stored, without counters; predecessors are stored.
    Bundle,
}

/// Reader of the rows of operation columns.
pub(crate) struct OpReader<'a> {
    kind: RowKind,
    actors: u32,
    next: OpId,
    pub(in crate::codec) obj_actor: Numbers<'a>,
    pub(in crate::codec) obj_ctr: Numbers<'a>,
    /// Bundles store the counters of objects as differences.
    obj_delta: Deltas<'a>,
    pub(in crate::codec) key_actor: Numbers<'a>,
    pub(in crate::codec) key_ctr: Deltas<'a>,
    pub(in crate::codec) key_str: Texts<'a>,
    pub(in crate::codec) id_actor: Numbers<'a>,
    pub(in crate::codec) id_ctr: Deltas<'a>,
    pub(in crate::codec) insert: Flags<'a>,
    pub(in crate::codec) action: Numbers<'a>,
    pub(in crate::codec) meta: Numbers<'a>,
    pub(in crate::codec) raw: Reader<'a>,
    /// The raw column, if all of it is ASCII.
    pub(in crate::codec) ascii: &'a str,
    pub(in crate::codec) ref_count: Numbers<'a>,
    pub(in crate::codec) ref_actor: Numbers<'a>,
    pub(in crate::codec) ref_ctr: Deltas<'a>,
    pub(in crate::codec) expand: Flags<'a>,
    pub(in crate::codec) mark: Texts<'a>,
    /// Bundles: counters of the remaining rows.
    counters: std::vec::IntoIter<u32>,
    /// Predecessors or successors of the last row read.
    pub(crate) refs: Vec<OpId>,
    /// Budget of the reader.
    pub(crate) budget: Budget,
}

impl<'a> OpReader<'a> {
    /// Reads `columns` with actor indexes below `actors`. In a change the first row has id `first`.
    pub(crate) fn new(kind: RowKind, columns: &'a Columns<'_>, actors: usize, first: OpId) -> Self {
        let rle = |spec| ColumnReader::rle(spec, columns.get(spec));
        let text = |spec| ColumnReader::rle(spec, columns.get(spec));
        let delta = |spec| ColumnReader::delta(spec, columns.get(spec));
        let flag = |spec| ColumnReader::flag(spec, columns.get(spec));
        let (count, actor, ctr) = match kind {
            RowKind::Change | RowKind::Bundle => (spec::PRED_COUNT, spec::PRED_ACTOR, spec::PRED_CTR),
            RowKind::Document => (spec::SUCC_COUNT, spec::SUCC_ACTOR, spec::SUCC_CTR),
        };
        Self {
            kind,
            actors: u32::try_from(actors).unwrap_or(u32::MAX),
            next: first,
            obj_actor: rle(spec::OBJ_ACTOR),
            obj_ctr: if kind == RowKind::Bundle {
                ColumnReader::rle(spec::OBJ_CTR, &[])
            } else {
                rle(spec::OBJ_CTR)
            },
            obj_delta: if kind == RowKind::Bundle {
                delta(spec::BUNDLE_OBJ_CTR)
            } else {
                ColumnReader::delta(0, &[])
            },
            key_actor: rle(spec::KEY_ACTOR),
            key_ctr: delta(spec::KEY_CTR),
            key_str: text(spec::KEY_STR),
            id_actor: rle(spec::ID_ACTOR),
            id_ctr: delta(spec::ID_CTR),
            insert: flag(spec::INSERT),
            action: rle(spec::ACTION),
            meta: rle(spec::META),
            raw: Reader::new(columns.get(spec::RAW)),
            ascii: if kind == RowKind::Document { ascii(columns.get(spec::RAW)) } else { "" },
            ref_count: rle(count),
            ref_actor: rle(actor),
            ref_ctr: delta(ctr),
            expand: flag(spec::EXPAND),
            mark: text(spec::MARK),
            counters: Vec::new().into_iter(),
            refs: Vec::new(),
            budget: Budget::UNLIMITED,
        }
    }

    /// Sets the budget, for unchecked input.
    pub(crate) fn metered(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Reads the operations of a bundle, whose rows have these counters.
    pub(crate) fn of_bundle(columns: &'a Columns<'_>, actors: usize, counters: Vec<u32>) -> Self {
        Self { counters: counters.into_iter(), ..Self::new(RowKind::Bundle, columns, actors, OpId::NONE) }
    }

    /// End of the last row in the column of actions, for faults outside any column: [`spec::ACTION`].
    pub(crate) fn row_offset(&self) -> usize {
        self.action.offset()
    }

    /// Offset of the next value in the raw column.
    pub(crate) fn raw_offset(&self) -> usize {
        self.raw.offset()
    }

    /// End of the last row's key in the column of keys.
    #[inline]
    pub(crate) fn key_end(&self) -> usize {
        self.key_str.offset()
    }

    /// The next row, or `None` at the end, after a check that every column has ended.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'a>>, ChunkError> {
        let Some(action) = self.action.next_or_end()? else { return Ok(self.finish().map(|()| None)?) };
        self.budget.rows(1)?;
        let action = action.ok_or_else(|| self.action.fault(Rule::Missing))?;
        let action = Action::from_code(action).map_err(|rule| self.action.fault(rule))?;
        let obj = self.obj()?;
        let key = self.key()?;
        if let RawKey::Map(key) = key {
            self.budget.text(key)?;
        }
        let id = self.id()?;
        let insert = self.insert.next()?;
        let value = self.value()?;
        self.read_refs()?;
        let expand = self.expand.next()?;
        let mark = self.mark.next()?;
        self.budget.text(mark.unwrap_or_default())?;
        let row = Row { id, obj, key, insert, action, value, expand, mark };
        self.check(&row).map_err(|rule| FormatFault::in_column(spec::RAW, self.raw.offset(), rule))?;
        Ok(Some(row))
    }

    /// Checks the rules for a single row and for its references.
    fn check(&self, row: &Row<'_>) -> Result<(), Rule> {
        rules::operation(row)?;
        let document = self.kind == RowKind::Document;
        let names = |other: &OpId| match document {
            true => rules::reference(*other, row.id),
            false => rules::reference(row.id, *other),
        };
        self.refs.iter().try_for_each(names).map_err(Rule::Operation)
    }

    fn finish(&mut self) -> Result<(), FormatFault> {
        for column in [&mut self.obj_actor, &mut self.obj_ctr, &mut self.key_actor, &mut self.meta] {
            column.finish()?;
        }
        for column in [&mut self.id_actor, &mut self.ref_count, &mut self.ref_actor] {
            column.finish()?;
        }
        for column in [&mut self.obj_delta, &mut self.key_ctr, &mut self.id_ctr, &mut self.ref_ctr] {
            column.finish()?;
        }
        for column in [&mut self.insert, &mut self.expand] {
            column.finish()?;
        }
        for column in [&mut self.key_str, &mut self.mark] {
            column.finish()?;
        }
        self.raw.finish().map_err(|_| FormatFault::in_column(spec::RAW, self.raw.offset(), Rule::Uneven))
    }

    pub(in crate::codec) fn actor(&self, index: u64) -> Result<ActorIdx, Rule> {
        match u32::try_from(index) {
            Ok(index) if index < self.actors => Ok(ActorIdx::from_u32(index)),
            _ => Err(Rule::ActorIndex(index)),
        }
    }

    fn obj(&mut self) -> Result<OpId, FormatFault> {
        let ctr = match self.kind {
            // A negative counter becomes one beyond 32 bits.
            RowKind::Bundle => self.obj_delta.next()?.map(|ctr| ctr as u64),
            RowKind::Change | RowKind::Document => self.obj_ctr.next()?,
        };
        match (self.obj_actor.next()?, ctr) {
            (None, None) => Ok(OpId::NONE),
            (Some(actor), Some(ctr)) => {
                let actor = self.actor(actor).map_err(|rule| self.obj_actor.fault(rule))?;
                match u32::try_from(ctr) {
                    Ok(0) => Err(self.obj_ctr.fault(Rule::Zero)),
                    Ok(ctr) => Ok(OpId::new(ctr, actor)),
                    Err(_) => Err(self.obj_ctr.fault(Rule::CounterRange)),
                }
            }
            _ => Err(self.obj_actor.fault(Rule::Missing)),
        }
    }

    fn key(&mut self) -> Result<RawKey<'a>, FormatFault> {
        match (self.key_str.next()?, self.key_actor.next()?, self.key_ctr.next()?) {
            (Some(key), None, None) => Ok(RawKey::Map(key)),
            (None, None, Some(0)) => Ok(RawKey::Elem(OpId::NONE)),
            (None, Some(actor), Some(ctr)) => {
                let actor = self.actor(actor).map_err(|rule| self.key_actor.fault(rule))?;
                Ok(RawKey::Elem(OpId::new(
                    rules::counter(ctr).map_err(|rule| self.key_ctr.fault(rule))?,
                    actor,
                )))
            }
            (Some(_), ..) => Err(self.key_str.fault(Rule::Operation(OpFault::TwoKeys))),
            (None, ..) => Err(self.key_str.fault(Rule::Missing)),
        }
    }

    fn id(&mut self) -> Result<OpId, FormatFault> {
        match self.kind {
            RowKind::Change => {
                let id = self.next;
                rules::counter(id.ctr.into()).map_err(|rule| self.action.fault(rule))?;
                self.next.ctr += 1;
                Ok(id)
            }
            RowKind::Document => match (self.id_actor.next()?, self.id_ctr.next()?) {
                (Some(actor), Some(ctr)) => {
                    let actor = self.actor(actor).map_err(|rule| self.id_actor.fault(rule))?;
                    Ok(OpId::new(rules::counter(ctr).map_err(|rule| self.id_ctr.fault(rule))?, actor))
                }
                _ => Err(self.id_actor.fault(Rule::Missing)),
            },
            RowKind::Bundle => match (self.id_actor.next()?, self.counters.next()) {
                (Some(actor), Some(ctr)) => {
                    let actor = self.actor(actor).map_err(|rule| self.id_actor.fault(rule))?;
                    Ok(OpId::new(ctr, actor))
                }
                _ => Err(self.id_actor.fault(Rule::Missing)),
            },
        }
    }

    pub(in crate::codec) fn value(&mut self) -> Result<RawValue<'a>, FormatFault> {
        let meta = self.meta.next()?.ok_or_else(|| self.meta.fault(Rule::Missing))?;
        let bytes =
            usize::try_from(meta >> 4).map_err(|_| Rule::Truncated).and_then(|len| self.raw.read_bytes(len));
        match bytes {
            Ok(bytes) => Ok(RawValue { code: (meta & 15) as u8, bytes }),
            Err(rule) => Err(FormatFault::in_column(spec::RAW, self.raw.offset(), rule)),
        }
    }

    fn read_refs(&mut self) -> Result<(), ChunkError> {
        self.refs.clear();
        let count = self.ref_count.next()?.ok_or_else(|| self.ref_count.fault(Rule::Missing))?;
        self.budget.rows(count)?;
        for _ in 0..count {
            // An absent member column would otherwise read as nulls for as long as the count says.
            match (self.ref_actor.next()?, self.ref_ctr.next()?) {
                (Some(actor), Some(ctr)) => {
                    let actor = self.actor(actor).map_err(|rule| self.ref_actor.fault(rule))?;
                    let ctr = rules::counter(ctr).map_err(|rule| self.ref_ctr.fault(rule))?;
                    self.refs.push(OpId::new(ctr, actor));
                }
                _ => return Err(self.ref_ctr.fault(Rule::Missing).into()),
            }
        }
        Ok(())
    }

    /// Reads the next rows that continue `run`; returns their number, and advances `run`. Their values must be read
    /// with [`Self::take_values`]. A run may continue in several steps; it has ended when this returns 0.
    pub(crate) fn extend(&mut self, run: &mut Run) -> Result<u64, FormatFault> {
        let (action, insert) = match run.kind {
            RunKind::Insert => (Action::Set, true),
            RunKind::Delete => (Action::Delete, false),
        };
        let mut rows = same(self.action.peek()?, Some(action as u64));
        rows = rows.min(same(self.insert.peek()?, insert));
        let (obj_actor, obj_ctr) = if run.obj.is_none() {
            (None, None)
        } else {
            (Some(run.obj.actor.into()), Some(run.obj.ctr.into()))
        };
        rows = rows.min(same(self.obj_ctr.peek()?, obj_ctr)).min(same(self.obj_actor.peek()?, obj_actor));
        if rows == 0 {
            return Ok(0);
        }
        rows = rows.min(same(self.key_str.peek()?, None));
        rows = rows.min(same(self.expand.peek()?, false)).min(same(self.mark.peek()?, None));
        if self.kind == RowKind::Document {
            rows = rows.min(same(self.id_actor.peek()?, Some(run.id.actor.into())));
            rows = rows.min(follows(self.id_ctr.peek()?, run.id.ctr, 1));
        } else {
            rows = rows.min(u64::from(rules::LAST - run.id.ctr));
        }
        rows = match run.kind {
            RunKind::Insert => rows
                .min(same(self.key_actor.peek()?, Some(run.id.actor.into())))
                .min(arrives(self.key_ctr.peek()?, run.id.ctr)),
            RunKind::Delete => {
                rows = rows.min(same(self.meta.peek()?, Some(0)));
                rows.min(same(self.key_actor.peek()?, Some(run.elem.actor.into())))
            }
        };
        rows = rows.min(same(self.ref_count.peek()?, Some(u64::from(run.single.is_some()))));
        if rows == 0 {
            return Ok(0);
        }
        let Some(rows) = self.extend_refs(run, rows)? else { return Ok(0) };
        self.skip_run(run, rows);
        Ok(rows)
    }

    /// Limits a run by its predecessors or successors and sets its step.
    fn extend_refs(&mut self, run: &mut Run, rows: u64) -> Result<Option<u64>, FormatFault> {
        let Some(single) = run.single else { return Ok(Some(rows)) };
        let mut rows = rows.min(same(self.ref_actor.peek()?, Some(single.actor.into())));
        let ramp = self.ref_ctr.peek()?;
        let step = match (run.step, ramp.0) {
            (0, Some(ramp)) => ramp.first - i64::from(single.ctr),
            (step, _) => step,
        };
        if step.abs() != 1 {
            return Ok(None);
        }
        rows = rows.min(follows(ramp, single.ctr, step));
        if run.kind == RunKind::Delete {
            rows = rows.min(follows(self.key_ctr.peek()?, run.elem.ctr, step));
        }
        if rows == 0 {
            return Ok(None);
        }
        run.step = step;
        Ok(Some(rows))
    }

    fn skip_run(&mut self, run: &mut Run, rows: u64) {
        // `rows` is bounded by ramps whose ends fit in 32 bits, or by the remaining counters.
        let n = rows as u32;
        self.action.skip(rows);
        self.insert.skip(rows);
        self.obj_ctr.skip(rows);
        self.obj_actor.skip(rows);
        self.key_str.skip(rows);
        self.expand.skip(rows);
        self.mark.skip(rows);
        self.key_actor.skip(rows);
        self.key_ctr.skip(rows);
        if self.kind == RowKind::Document {
            self.id_actor.skip(rows);
            self.id_ctr.skip(rows);
        } else {
            self.next.ctr += n;
        }
        run.id.ctr += n;
        self.ref_count.skip(rows);
        if let Some(single) = &mut run.single {
            self.ref_actor.skip(rows);
            self.ref_ctr.skip(rows);
            let moved = run.step * i64::from(n);
            single.ctr = (i64::from(single.ctr) + moved) as u32;
            if run.kind == RunKind::Delete {
                self.meta.skip(rows);
                run.elem.ctr = (i64::from(run.elem.ctr) + moved) as u32;
            }
        }
    }

    /// The values of the rows that [`Self::extend`] skipped: for each run of equal metadata its type, the length of
    /// each value, and the bytes of all of them. A value without bytes costs `empty`.
    pub(crate) fn take_values(
        &mut self,
        mut rows: u64,
        empty: u64,
        mut each: impl FnMut(u8, usize, &'a [u8], u64) -> Result<(), Rule>,
    ) -> Result<(), ChunkError> {
        while rows > 0 {
            let (meta, run) = self.meta.peek()?;
            let Some(meta) = meta else { return Err(self.meta.fault(Rule::Missing).into()) };
            let taken = run.min(rows);
            if meta >> 4 == 0 {
                self.budget.spend(taken, empty)?;
            }
            self.meta.skip(taken);
            rows -= taken;
            let start = self.raw.offset();
            let result = usize::try_from(meta >> 4)
                .ok()
                .and_then(|len| Some((len, len.checked_mul(usize::try_from(taken).ok()?)?)))
                .ok_or(Rule::Truncated)
                .and_then(|(len, all)| Ok((len, self.raw.read_bytes(all)?)))
                .and_then(|(len, bytes)| each((meta & 15) as u8, len, bytes, taken));
            result.map_err(|rule| FormatFault::in_column(spec::RAW, self.fault_from(start, meta), rule))?;
        }
        Ok(())
    }

    /// Offset of the first invalid value from `start` on: its end, or its start if it is truncated. The offset must not
    /// depend on how many values are read at once.
    #[cold]
    fn fault_from(&self, start: usize, meta: u64) -> usize {
        let Ok(len @ 1..) = usize::try_from(meta >> 4) else { return start };
        let values = self.raw.all()[start..].chunks_exact(len);
        let bad = |bytes| RawValue { code: (meta & 15) as u8, bytes }.check().is_err();
        start + values.clone().position(bad).map_or(values.len(), |index| index + 1) * len
    }
}

fn ascii(bytes: &[u8]) -> &str {
    if bytes.is_ascii() { std::str::from_utf8(bytes).unwrap_or_default() } else { "" }
}

/// Length of the character that starts with byte `first`, in valid UTF-8.
#[inline]
pub(crate) fn char_len(first: u8) -> usize {
    match first {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

/// Is a value a text of exactly one character?
#[inline]
pub(crate) fn is_char(kind: u8, bytes: &[u8]) -> bool {
    kind == code::STR && bytes.first().is_some_and(|first| char_len(*first) == bytes.len())
}
