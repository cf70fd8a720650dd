//! Encoder of the operation columns.

use smallvec::SmallVec;

use crate::codec::bytes::byte_rope::{BORROWED_FROM, BorrowedBytes, ByteRope};
use crate::codec::bytes::leb::put_u64;
use crate::codec::columns::boolean::BoolEncoder;
use crate::codec::columns::delta::DeltaEncoder;
use crate::codec::columns::rle::RleEncoder;
use crate::codec::ops::op_reader::{RowKind, char_len, spec};
use crate::codec::raw_value::{RawValue, code, is_whole};
use crate::codec::row::{Action, RawKey, Row};
use crate::types::OpId;

/// Raw value column: the concatenated bytes of values.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawColumn<'a> {
    bytes: Vec<u8>,
    borrowed: Vec<BorrowedBytes<'a>>,
    /// Are some values not integers?
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

    pub(in crate::codec) fn append(&mut self, more: &RawColumn<'_>) {
        more.written().append_to(&mut self.bytes);
        self.texts |= more.texts;
    }

    /// Adds the bytes of many values without a copy; `texts` tells whether some are not integers.
    pub(in crate::codec) fn push_borrowed(&mut self, bytes: &'a [u8], texts: bool) {
        match bytes.len() {
            ..BORROWED_FROM => self.bytes.extend_from_slice(bytes),
            _ => self.borrowed.push(BorrowedBytes { at: self.bytes.len(), bytes }),
        }
        self.texts |= texts;
    }

    pub(in crate::codec) fn written(&self) -> ByteRope<'_> {
        ByteRope { own: &self.bytes, borrowed: &self.borrowed }
    }

    /// Releases unused memory.
    pub(in crate::codec) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// A new column that reuses this one's memory.
    fn recycle<'b>(mut self) -> RawColumn<'b> {
        self.bytes.clear();
        RawColumn { bytes: self.bytes, ..RawColumn::default() }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.borrowed.clear();
        self.texts = false;
    }
}

/// Encoder of operation columns. Rows are added column by column: for each row exactly one call of each family, for a
/// single row or for many.
#[derive(Debug, Default)]
pub(crate) struct OpWriter<'a> {
    pub(in crate::codec) obj_actor: RleEncoder<'a, u64>,
    pub(in crate::codec) obj_ctr: RleEncoder<'a, u64>,
    pub(in crate::codec) key_actor: RleEncoder<'a, u64>,
    pub(in crate::codec) key_ctr: DeltaEncoder<'a>,
    pub(in crate::codec) key_str: RleEncoder<'a, &'a [u8]>,
    pub(in crate::codec) id_actor: RleEncoder<'a, u64>,
    pub(in crate::codec) id_ctr: DeltaEncoder<'a>,
    pub(in crate::codec) insert: BoolEncoder,
    pub(in crate::codec) action: RleEncoder<'a, u64>,
    pub(in crate::codec) meta: RleEncoder<'a, u64>,
    pub(in crate::codec) raw: RawColumn<'a>,
    /// Is the raw column written elsewhere?
    pub(in crate::codec) without_values: bool,
    pub(in crate::codec) ref_count: RleEncoder<'a, u64>,
    pub(in crate::codec) ref_actor: RleEncoder<'a, u64>,
    pub(in crate::codec) ref_ctr: DeltaEncoder<'a>,
    pub(in crate::codec) expand: BoolEncoder,
    pub(in crate::codec) mark: RleEncoder<'a, &'a str>,
}

impl<'a> OpWriter<'a> {
    /// A writer of all columns except the raw values.
    pub(crate) fn without_values() -> Self {
        Self { without_values: true, ..Self::default() }
    }

    /// Are there values other than integers?
    pub(crate) fn has_texts(&self) -> bool {
        self.raw.texts
    }

    /// Adds object, insertion flag and action of `rows` rows that are not marks.
    #[inline]
    pub(crate) fn head(&mut self, obj: OpId, insert: bool, action: Action, rows: u64) {
        self.head_mark(obj, insert, action, rows, false, None);
    }

    /// As [`Self::head`] for rows of keys, each with its action.
    #[inline]
    pub(crate) fn head_each(&mut self, obj: OpId, actions: impl ExactSizeIterator<Item = Action>) {
        self.push_position(obj, false, actions.len() as u64, false, None);
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
        self.push_position(obj, insert, rows, expand, mark);
        self.action.push_n(Some(action as u64), rows);
    }

    fn push_position(&mut self, obj: OpId, insert: bool, rows: u64, expand: bool, mark: Option<&'a str>) {
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

    /// Adds a key of a map.
    #[inline]
    pub(crate) fn name(&mut self, key: &'a [u8]) {
        self.key_str.push(Some(key));
    }

    /// Adds the absent elements of rows with map keys.
    #[inline]
    pub(crate) fn no_elements(&mut self, rows: u64) {
        self.key_actor.push_n(None, rows);
        self.key_ctr.push_nulls(rows);
    }

    /// Adds elements from `elem` on, each `step` from the one before.
    #[inline]
    pub(crate) fn key_ramp(&mut self, elem: OpId, step: i64, rows: u64) {
        self.key_str.push_n(None, rows);
        self.key_actor.push_n(if elem.is_none() { None } else { Some(elem.actor.into()) }, rows);
        self.key_ctr.push_ramp(elem.ctr.into(), step, rows);
    }

    /// Adds the elements of a typed run: the origin of the first row, then the row before each.
    #[inline]
    pub(crate) fn key_chain(&mut self, origin: OpId, first: OpId, rows: u64) {
        self.key_str.push_n(None, rows);
        self.key_actor.push_n(if origin.is_none() { None } else { Some(origin.actor.into()) }, 1);
        self.key_actor.push_n(Some(first.actor.into()), rows - 1);
        self.key_ctr.push_ramp(origin.ctr.into(), 1, 1);
        self.key_ctr.push_ramp(first.ctr.into(), 1, rows - 1);
    }

    /// Adds the ids of `rows` rows; not in changes.
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

    /// Adds `rows` values of one type and length.
    pub(crate) fn values(&mut self, code: u8, len: usize, bytes: &[u8], rows: u64) {
        self.meta.push_n(Some((len as u64) << 4 | u64::from(code)), rows);
        self.raw.push(RawValue { code, bytes });
    }

    pub(crate) fn null_values(&mut self, rows: u64) {
        self.meta.push_n(Some(0), rows);
    }

    /// Adds one character per row.
    pub(crate) fn chars(&mut self, text: &[u8], rows: u64) {
        self.lengths(text, rows);
        if !self.without_values {
            self.texts(text);
        }
    }

    /// Adds the values of rows with one character of this text each, without their bytes.
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

    /// Adds the bytes of the characters of some rows.
    pub(crate) fn texts(&mut self, text: &[u8]) {
        self.raw.push(RawValue { code: code::STR, bytes: text });
    }

    /// Reserves memory for values.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.raw.bytes.reserve(bytes);
    }

    pub(crate) fn no_refs(&mut self, rows: u64) {
        self.ref_count.push_n(Some(0), rows);
    }

    /// Adds the predecessors or successors of one row.
    pub(crate) fn refs(&mut self, refs: impl ExactSizeIterator<Item = OpId>) {
        self.ref_count.push(Some(refs.len() as u64));
        for id in refs {
            self.ref_actor.push(Some(id.actor.into()));
            self.ref_ctr.push(Some(id.ctr.into()));
        }
    }

    /// Adds one predecessor or successor per row, each `step` from the one before.
    #[inline]
    pub(crate) fn ref_ramp(&mut self, first: OpId, step: i64, rows: u64) {
        self.one_ref(rows);
        self.ref_ids(first, step, rows);
    }

    /// Adds the counts of `rows` rows with one predecessor or successor each.
    pub(crate) fn one_ref(&mut self, rows: u64) {
        self.ref_count.push_n(Some(1), rows);
    }

    /// Adds the predecessors or successors of rows with one each.
    #[inline]
    pub(crate) fn ref_ids(&mut self, first: OpId, step: i64, rows: u64) {
        self.ref_actor.push_n(Some(first.actor.into()), rows);
        self.ref_ctr.push_ramp(first.ctr.into(), step, rows);
    }

    /// Adds a row as it was read.
    pub(crate) fn row(&mut self, row: &Row<'a>, refs: &[OpId], kind: RowKind) {
        self.head_mark(row.obj, row.insert, row.action, 1, row.expand, row.mark);
        self.key(row.key);
        if kind != RowKind::Change {
            self.ids(row.id, 1);
        }
        self.value(row.value);
        self.refs(refs.iter().copied());
    }

    /// Passes every column to `out`, in order. Optional columns without content are omitted, as the format requires;
    /// mandatory ones have content if there is any row.
    pub(crate) fn finish<'s>(&'s mut self, kind: RowKind, mut out: impl FnMut(u32, ByteRope<'s>)) {
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

    /// The finished columns; none if there were no rows.
    pub(crate) fn columns(&mut self, kind: RowKind) -> Finished<'_> {
        let mut columns = Finished::new();
        self.finish(kind, |spec, bytes| {
            if !bytes.is_empty() {
                columns.push((spec, bytes));
            }
        });
        columns
    }

    /// A new writer that reuses this one's memory, for strings of another lifetime.
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

    /// Resets the writer, keeping its memory.
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

/// Finished columns with content, in order.
pub(crate) type Finished<'s> = SmallVec<[(u32, ByteRope<'s>); 16]>;

/// Writes columns as in a change: first the layout, then all bytes.
pub(crate) fn write_columns(columns: &[(u32, ByteRope<'_>)], out: &mut Vec<u8>) {
    put_u64(out, columns.len() as u64);
    for (spec, bytes) in columns {
        put_u64(out, (*spec).into());
        put_u64(out, bytes.len() as u64);
    }
    out.reserve(columns.iter().map(|(_, bytes)| bytes.len()).sum());
    columns.iter().for_each(|(_, bytes)| bytes.append_to(out));
}
