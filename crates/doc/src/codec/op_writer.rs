//! Operations to columns.

use smallvec::SmallVec;

use super::boolean::BoolEncoder;
use super::delta::DeltaEncoder;
use super::leb::put_u64;
use super::ops::{RowKind, char_len, spec};
use super::rle::RleEncoder;
use super::row::{Action, RawKey, Row};
use super::spread::{LENT_FROM, Lent, Spread};
use super::value::{RawValue, code, is_whole};
use crate::types::OpId;

/// The bytes of values one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawColumn<'a> {
    bytes: Vec<u8>,
    lent: Vec<Lent<'a>>,
    /// Some are no whole numbers.
    pub(crate) texts: bool,
}

impl<'a> RawColumn<'a> {
    #[inline]
    pub(crate) fn push(&mut self, value: RawValue<'_>) {
        match *value.bytes {
            [] => return,
            [byte] => self.bytes.push(byte),
            [low, high] => self.bytes.extend_from_slice(&[low, high]),
            _ => self.bytes.extend_from_slice(value.bytes),
        }
        self.texts |= !is_whole(value.code);
    }

    pub(super) fn append(&mut self, more: &RawColumn<'_>) {
        more.written().append_to(&mut self.bytes);
        self.texts |= more.texts;
    }

    /// The bytes of many values, of which some are no whole numbers or all are.
    pub(super) fn lend(&mut self, bytes: &'a [u8], texts: bool) {
        match bytes.len() {
            ..LENT_FROM => self.bytes.extend_from_slice(bytes),
            _ => self.lent.push(Lent { at: self.bytes.len(), bytes }),
        }
        self.texts |= texts;
    }

    pub(super) fn written(&self) -> Spread<'_> {
        Spread { own: &self.bytes, lent: &self.lent }
    }

    /// Gives back the memory that it does not need.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// A new column in this one's memory.
    fn recycle<'b>(mut self) -> RawColumn<'b> {
        self.bytes.clear();
        RawColumn { bytes: self.bytes, ..RawColumn::default() }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lent.clear();
        self.texts = false;
    }
}

/// Writes operation columns. Rows are told column by column: for each row exactly one call of each family, single or
/// for many rows at once.
#[derive(Debug, Default)]
pub(crate) struct OpWriter<'a> {
    pub(super) obj_actor: RleEncoder<'a, u64>,
    pub(super) obj_ctr: RleEncoder<'a, u64>,
    pub(super) key_actor: RleEncoder<'a, u64>,
    pub(super) key_ctr: DeltaEncoder<'a>,
    pub(super) key_str: RleEncoder<'a, &'a [u8]>,
    pub(super) id_actor: RleEncoder<'a, u64>,
    pub(super) id_ctr: DeltaEncoder<'a>,
    pub(super) insert: BoolEncoder,
    pub(super) action: RleEncoder<'a, u64>,
    pub(super) meta: RleEncoder<'a, u64>,
    pub(super) raw: RawColumn<'a>,
    /// Somebody else writes the raw column.
    pub(super) without_values: bool,
    pub(super) ref_count: RleEncoder<'a, u64>,
    pub(super) ref_actor: RleEncoder<'a, u64>,
    pub(super) ref_ctr: DeltaEncoder<'a>,
    pub(super) expand: BoolEncoder,
    pub(super) mark: RleEncoder<'a, &'a str>,
}

impl<'a> OpWriter<'a> {
    /// A writer of all columns but that of the raw values.
    pub(crate) fn without_values() -> Self {
        Self { without_values: true, ..Self::default() }
    }

    /// Whether there are other values than whole numbers.
    pub(crate) fn has_texts(&self) -> bool {
        self.raw.texts
    }

    /// Object, insertion flag and action of `rows` rows that are no marks.
    #[inline]
    pub(crate) fn head(&mut self, obj: OpId, insert: bool, action: Action, rows: u64) {
        self.head_mark(obj, insert, action, rows, false, None);
    }

    /// As [`Self::head`] for rows of keys, each with its action.
    #[inline]
    pub(crate) fn head_each(&mut self, obj: OpId, actions: impl ExactSizeIterator<Item = Action>) {
        self.place(obj, false, actions.len() as u64, false, None);
        actions.for_each(|action| self.action.push(Some(action as u64)));
    }

    pub(crate) fn head_mark(
        &mut self,
        obj: OpId,
        insert: bool,
        action: Action,
        rows: u64,
        expand: bool,
        mark: Option<&'a str>,
    ) {
        self.place(obj, insert, rows, expand, mark);
        self.action.push_n(Some(action as u64), rows);
    }

    fn place(&mut self, obj: OpId, insert: bool, rows: u64, expand: bool, mark: Option<&'a str>) {
        let (actor, ctr) =
            if obj.is_none() { (None, None) } else { (Some(obj.actor.into()), Some(obj.ctr.into())) };
        self.obj_actor.push_n(actor, rows);
        self.obj_ctr.push_n(ctr, rows);
        self.insert.push_n(insert, rows);
        self.expand.push_n(expand, rows);
        self.mark.push_n(mark, rows);
    }

    pub(crate) fn key(&mut self, key: RawKey<'a>) {
        match key {
            RawKey::Map(key) => {
                self.name(key.as_bytes());
                self.no_elements(1);
            }
            RawKey::Elem(elem) => self.key_ramp(elem, 1, 1),
        }
    }

    /// A key of a map.
    #[inline]
    pub(crate) fn name(&mut self, key: &'a [u8]) {
        self.key_str.push(Some(key));
    }

    /// What says for keys of maps that they are no elements.
    #[inline]
    pub(crate) fn no_elements(&mut self, rows: u64) {
        self.key_actor.push_n(None, rows);
        self.key_ctr.push_nulls(rows);
    }

    /// Elements from `elem` on, each `step` from the one before.
    #[inline]
    pub(crate) fn key_ramp(&mut self, elem: OpId, step: i64, rows: u64) {
        self.key_str.push_n(None, rows);
        self.key_actor.push_n(if elem.is_none() { None } else { Some(elem.actor.into()) }, rows);
        self.key_ctr.push_ramp(elem.ctr.into(), step, rows);
    }

    /// Elements of a typed run: the first row's, then the row before each.
    #[inline]
    pub(crate) fn key_chain(&mut self, origin: OpId, first: OpId, rows: u64) {
        self.key_str.push_n(None, rows);
        self.key_actor.push_n(if origin.is_none() { None } else { Some(origin.actor.into()) }, 1);
        self.key_actor.push_n(Some(first.actor.into()), rows - 1);
        self.key_ctr.push_ramp(origin.ctr.into(), 1, 1);
        self.key_ctr.push_ramp(first.ctr.into(), 1, rows - 1);
    }

    /// Ids of `rows` rows; not in changes.
    #[inline]
    pub(crate) fn ids(&mut self, first: OpId, rows: u64) {
        self.id_actor.push_n(Some(first.actor.into()), rows);
        self.id_ctr.push_ramp(first.ctr.into(), 1, rows);
    }

    #[inline]
    pub(crate) fn value(&mut self, value: RawValue<'_>) {
        self.meta.push(Some(value.meta()));
        if !self.without_values {
            self.raw.push(value);
        }
    }

    /// `rows` values of one type and length.
    pub(crate) fn values(&mut self, code: u8, len: usize, bytes: &[u8], rows: u64) {
        self.meta.push_n(Some((len as u64) << 4 | u64::from(code)), rows);
        self.raw.push(RawValue { code, bytes });
    }

    pub(crate) fn null_values(&mut self, rows: u64) {
        self.meta.push_n(Some(0), rows);
    }

    /// One character a row.
    pub(crate) fn chars(&mut self, text: &[u8], rows: u64) {
        self.lengths(text, rows);
        if !self.without_values {
            self.texts(text);
        }
    }

    /// The values of rows that are a character of this text each, but for their bytes.
    #[inline]
    pub(crate) fn lengths(&mut self, text: &[u8], rows: u64) {
        let meta = |len: usize| Some((len as u64) << 4 | u64::from(code::STR));
        if text.len() as u64 == rows {
            self.meta.push_n(meta(1), rows);
            return;
        }
        let mut rest = text;
        while let [first, ..] = rest {
            let len = char_len(*first);
            self.meta.push(meta(len));
            rest = rest.get(len..).unwrap_or_default();
        }
    }

    /// The bytes of the characters of some rows.
    pub(crate) fn texts(&mut self, text: &[u8]) {
        self.raw.push(RawValue { code: code::STR, bytes: text });
    }

    /// Makes room for so many bytes of values.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.raw.bytes.reserve(bytes);
    }

    pub(crate) fn no_refs(&mut self, rows: u64) {
        self.ref_count.push_n(Some(0), rows);
    }

    /// The predecessors or successors of one row.
    pub(crate) fn refs(&mut self, refs: impl ExactSizeIterator<Item = OpId>) {
        self.ref_count.push(Some(refs.len() as u64));
        for id in refs {
            self.ref_actor.push(Some(id.actor.into()));
            self.ref_ctr.push(Some(id.ctr.into()));
        }
    }

    /// One predecessor or successor a row, each `step` from the one before.
    #[inline]
    pub(crate) fn ref_ramp(&mut self, first: OpId, step: i64, rows: u64) {
        self.one_ref(rows);
        self.ref_ids(first, step, rows);
    }

    /// `rows` rows have one predecessor or successor each.
    pub(crate) fn one_ref(&mut self, rows: u64) {
        self.ref_count.push_n(Some(1), rows);
    }

    /// The predecessors or successors of rows that have one each.
    #[inline]
    pub(crate) fn ref_ids(&mut self, first: OpId, step: i64, rows: u64) {
        self.ref_actor.push_n(Some(first.actor.into()), rows);
        self.ref_ctr.push_ramp(first.ctr.into(), step, rows);
    }

    /// Writes a row as it was read.
    pub(crate) fn row(&mut self, row: &Row<'a>, refs: &[OpId], kind: RowKind) {
        self.head_mark(row.obj, row.insert, row.action, 1, row.expand, row.mark);
        self.key(row.key);
        if kind != RowKind::Change {
            self.ids(row.id, 1);
        }
        self.value(row.value);
        self.refs(refs.iter().copied());
    }

    /// Gives every column to `out`, in order. Columns without content are left out by the format's rule: those that
    /// are always there hold something as soon as there is a row.
    pub(crate) fn finish<'s>(&'s mut self, kind: RowKind, mut out: impl FnMut(u32, Spread<'s>)) {
        let (count, actor, ctr) = match kind {
            RowKind::Change | RowKind::Bundle => (spec::PRED_COUNT, spec::PRED_ACTOR, spec::PRED_CTR),
            RowKind::Document => (spec::SUCC_COUNT, spec::SUCC_ACTOR, spec::SUCC_CTR),
        };
        if self.obj_ctr.has_values() {
            out(spec::OBJ_ACTOR, self.obj_actor.finish());
            out(spec::OBJ_CTR, self.obj_ctr.finish());
        }
        if self.key_actor.has_values() {
            out(spec::KEY_ACTOR, self.key_actor.finish());
        }
        if self.key_ctr.has_values() {
            out(spec::KEY_CTR, self.key_ctr.finish());
        }
        if self.key_str.has_values() {
            out(spec::KEY_STR, self.key_str.finish());
        }
        if kind != RowKind::Change {
            out(spec::ID_ACTOR, self.id_actor.finish());
        }
        if kind == RowKind::Document {
            out(spec::ID_CTR, self.id_ctr.finish());
        }
        out(spec::INSERT, self.insert.finish());
        out(spec::ACTION, self.action.finish());
        out(spec::META, self.meta.finish());
        out(spec::RAW, self.raw.written());
        out(count, self.ref_count.finish());
        out(actor, self.ref_actor.finish());
        out(ctr, self.ref_ctr.finish());
        if self.expand.has_true() {
            out(spec::EXPAND, self.expand.finish());
        }
        if self.mark.has_values() {
            out(spec::MARK, self.mark.finish());
        }
    }

    /// The finished columns; none when there were no rows.
    pub(crate) fn columns(&mut self, kind: RowKind) -> Finished<'_> {
        let mut columns = Finished::new();
        self.finish(kind, |spec, bytes| {
            if !bytes.is_empty() {
                columns.push((spec, bytes));
            }
        });
        columns
    }

    /// A new writer in this one's memory, for strings of another lifetime.
    pub(crate) fn recycle<'b>(mut self) -> OpWriter<'b> {
        self.insert.clear();
        self.expand.clear();
        OpWriter {
            obj_actor: self.obj_actor.recycle(),
            obj_ctr: self.obj_ctr.recycle(),
            key_actor: self.key_actor.recycle(),
            key_ctr: self.key_ctr.recycle(),
            key_str: self.key_str.recycle(),
            id_actor: self.id_actor.recycle(),
            id_ctr: self.id_ctr.recycle(),
            insert: self.insert,
            action: self.action.recycle(),
            meta: self.meta.recycle(),
            raw: self.raw.recycle(),
            without_values: false,
            ref_count: self.ref_count.recycle(),
            ref_actor: self.ref_actor.recycle(),
            ref_ctr: self.ref_ctr.recycle(),
            expand: self.expand,
            mark: self.mark.recycle(),
        }
    }

    /// Makes the writer as new, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.obj_actor.clear();
        self.obj_ctr.clear();
        self.key_actor.clear();
        self.key_ctr.clear();
        self.key_str.clear();
        self.id_actor.clear();
        self.id_ctr.clear();
        self.insert.clear();
        self.action.clear();
        self.meta.clear();
        self.raw.clear();
        self.ref_count.clear();
        self.ref_actor.clear();
        self.ref_ctr.clear();
        self.expand.clear();
        self.mark.clear();
    }
}

/// Finished columns that hold something, in order.
pub(crate) type Finished<'s> = SmallVec<[(u32, Spread<'s>); 16]>;

/// Writes columns as they stand in a change: first what there is, then all their bytes.
pub(crate) fn write_columns(columns: &[(u32, Spread<'_>)], out: &mut Vec<u8>) {
    put_u64(out, columns.len() as u64);
    for (spec, bytes) in columns {
        put_u64(out, (*spec).into());
        put_u64(out, bytes.len() as u64);
    }
    out.reserve(columns.iter().map(|(_, bytes)| bytes.len()).sum());
    columns.iter().for_each(|(_, bytes)| bytes.append_to(out));
}
