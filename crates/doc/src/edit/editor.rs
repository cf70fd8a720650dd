//! Editor: converts the calls of a transaction into operations on the state. The resulting change has the same bytes as
//! with all other implementations.

use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};
use unicode_segmentation::UnicodeSegmentation;

use crate::codec::limits::Size;
use crate::codec::raw_value::{RawValue, code};
use crate::codec::row::Action;
use crate::store::history::ChangeRun;
use crate::store::history::branches::Branch;
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::named_besides;
use crate::store::log::value::StoredValue;
use crate::store::memory::byte_arena::ByteArena;
use crate::store::register::Visible;
use crate::store::seq::{ElementPos, InsertPos, Kind};
use crate::store::state::{DocumentState, More, ROOT};
use crate::types::error::{EditError, Mismatch, article, described};
use crate::types::{
    ActorId, ActorIdx, ChangeIdx, Extent, ObjId, ObjIdx, ObjType, OpId, Prop, ScalarValue, TextEncoding,
    Value,
};

/// An uncommitted change.
#[derive(Clone, Debug)]
pub(crate) struct PendingChange {
    branch: Branch,
    actor: ActorIdx,
    seq: u32,
    start: u32,
    /// Counter of the next operation.
    next: u32,
    /// Up to this counter, operations certainly stay within the limits.
    sure_counter: u32,
    /// Up to this number of bytes, values certainly stay within the limits.
    sure_bytes: usize,
    first_run: usize,
    /// Are the dependencies exactly the heads?
    isolated: bool,
    /// Is copying the document impossible until the change is finished?
    alone: bool,
    /// The object that was edited last.
    edited: ObjIdx,
    /// Number of consecutive edits of that object.
    edits: u32,
}

/// After this many consecutive edits of one object, more are likely.
const MANY: u32 = 16;

/// Metadata of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitOptions {
    message: Option<String>,
    time: i64,
    author: Option<Vec<u8>>,
}

impl CommitOptions {
    /// Sets the message for readers of the history.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Sets the time of the change in seconds since 1970. 0 by default: this library reads no clock.
    #[must_use]
    pub fn with_time(mut self, seconds: i64) -> Self {
        self.time = seconds;
        self
    }

    /// Sets the author, the person or program behind the actor. Only an actor's first change records it.
    #[must_use]
    pub fn with_author(mut self, author: impl Into<Vec<u8>>) -> Self {
        self.author = Some(author.into());
        self
    }
}

impl PendingChange {
    /// Starts a change by an actor, with counters after every known operation.
    pub(crate) fn new(state: &mut DocumentState, actor: &ActorId, branch: Branch) -> Self {
        state.branches.advance(state.history.next(), branch);
        let actor = state.actors.add(actor);
        let start = state.max_op + 1;
        let first_run = state.log.runs.len().saturating_sub(1);
        state.begin(OpId::new(start, actor));
        let seq = state.history.seq(actor) + 1;
        let sure = u64::from(start).saturating_add(state.spare());
        let in_change = u64::from(start).saturating_add(state.limits.operations);
        Self {
            branch,
            actor,
            seq,
            start,
            next: start,
            sure_counter: u32::try_from(sure.min(in_change)).unwrap_or(u32::MAX),
            sure_bytes: usize::try_from(state.spare_bytes()).unwrap_or(usize::MAX).min(ByteArena::SURE),
            first_run,
            isolated: false,
            alone: false,
            edited: ROOT,
            edits: 0,
        }
    }

    /// A change that depends on the heads only, not on the actor's previous change.
    pub(crate) fn isolated(mut self) -> Self {
        self.isolated = true;
        self
    }

    /// A change during which the document cannot be copied.
    pub(crate) fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Records an edit of an object; consecutive edits of one object hold it exclusively.
    #[inline]
    fn note_edit(&mut self, obj: ObjIdx, state: &mut DocumentState) {
        if self.edited != obj {
            state.share();
            (self.edited, self.edits) = (obj, 0);
        }
        if self.alone && self.edits < MANY {
            self.edits += 1;
            if self.edits == MANY {
                state.make_exclusive(obj);
            }
        }
    }

    /// The copy of the document in which the change is made.
    pub(crate) fn branch(&self) -> Branch {
        self.branch
    }

    /// Sequence number of the change.
    pub(crate) fn seq(&self) -> u64 {
        self.seq.into()
    }

    /// Counter of the first operation.
    pub(crate) fn first_counter(&self) -> u64 {
        self.start.into()
    }

    /// Id of the next operation.
    pub(crate) fn next_op(&self) -> OpId {
        OpId::new(self.next, self.actor)
    }

    /// Number of operations.
    pub(crate) fn len(&self) -> usize {
        (self.next - self.start) as usize
    }

    /// Adds the change to the history; returns its row.
    pub(crate) fn commit(self, state: &mut DocumentState, options: &CommitOptions) -> ChangeIdx {
        state.finish();
        let ops = self.next - self.start;
        state.spend(ops);
        if options.message.as_deref().unwrap_or_default().is_empty()
            && let Some(row) = state.extend_change(self.actor, self.start, ops, options.time)
        {
            state.max_op = state.max_op.max(self.next - 1);
            return row;
        }
        let mut deps: SmallVec<[ChangeIdx; 2]> = SmallVec::from_slice(state.history.heads.rows());
        // An actor's changes name the previous one even if it is an ancestor of a head.
        let own = state.history.last_change_of(self.actor);
        deps.extend(own.filter(|own| !self.isolated && !deps.contains(own)));
        if deps.len() > 1 {
            deps.sort_by_cached_key(|row| state.hash(*row));
            state.spend(deps.len() as u32);
        }
        let message = state.heap.name(options.message.as_deref().unwrap_or_default());
        let author = options.author.as_deref().filter(|_| self.seq == 1);
        let extra = author.map(crate::codec::chunks::change::author_footer).unwrap_or_default();
        let extra = state.heap.push(&extra);
        state.max_op = state.max_op.max(self.next - 1);
        let run = ChangeRun {
            first_row: state.history.next(),
            follows_all: false,
            row_count: 1,
            actor: self.actor,
            seq: self.seq,
            first_counter: self.start,
            ops_per_change: ops,
            time: options.time,
            message,
            extra,
            deps,
            log: state.log_of(self.first_run, self.start, self.actor),
        };
        state.push_changes(run)
    }

    /// Rolls back all operations; returns their number.
    pub(crate) fn rollback(self, state: &mut DocumentState) -> usize {
        state.roll_back_open_change();
        self.len()
    }
}

/// A document and its uncommitted change. [`crate::Transactable`] has its methods.
#[derive(Debug)]
pub struct Editor<'a> {
    pub(crate) state: &'a mut DocumentState,
    pub(crate) open: &'a mut PendingChange,
}

/// Effect of a put on the present values.
enum PutDecision {
    Nothing,
    /// Deletes these losing values of a conflict.
    Losers(SmallVec<[OpId; 1]>),
    Write(SmallVec<[OpId; 1]>),
}

impl Editor<'_> {
    /// Reserves the ids of the next `n` operations.
    pub(crate) fn reserve_ids(&mut self, n: u32) -> OpId {
        let id = OpId::new(self.open.next, self.open.actor);
        self.open.next += n;
        id
    }

    /// Checks that counters and bytes for the following values and keys are available, before anything is changed.
    #[inline]
    pub(crate) fn room(&self, ops: usize, values: usize, keys: usize) -> Result<(), EditError> {
        if self.is_sure(ops, values + keys) {
            return Ok(());
        }
        let (values, keys) = (values as u64, keys as u64);
        self.scarce(More { runs: ops as u64, bytes: values + keys, paying: values, ..More::default() }, ops)
    }

    /// As [`Self::room`], for characters typed at one position.
    #[inline]
    fn room_for_text(&self, text: &str) -> Result<(), EditError> {
        if self.is_sure(text.len(), text.len()) {
            return Ok(());
        }
        let bytes = text.len() as u64;
        let more = More { runs: 1, bytes, paying: bytes, text: bytes, ..More::default() };
        self.scarce(more, text.len())
    }

    #[inline]
    fn is_sure(&self, ops: usize, bytes: usize) -> bool {
        let counters = u64::from(self.open.next) + ops as u64;
        counters < u64::from(self.open.sure_counter) && self.state.heap.len() + bytes <= self.open.sure_bytes
    }

    /// As [`Self::room`], near the limits.
    #[cold]
    fn scarce(&self, more: More, ops: usize) -> Result<(), EditError> {
        let counters = u64::from(self.open.next) + ops as u64;
        if counters >= u64::from(u32::MAX) || self.state.heap.room(more.bytes as usize).is_err() {
            return Err(EditError::Full);
        }
        self.check_room(more, ops)
    }

    /// Checks the limits for further operations and their other needs.
    fn check_room(&self, more: More, ops: usize) -> Result<(), EditError> {
        let operations = self.open.len() as u64 + ops as u64;
        let limits = &self.state.limits;
        limits.check_change(operations, 0)?;
        let (rows, deps) = (Size::entries(ops) + more.rows, self.state.history.heads.rows().len() as u64 + 1);
        let more = More { operations, changes: 1, rows, deps, ..more };
        Ok(self.state.check_room(more, limits)?)
    }

    /// Checks that operations can name `besides` predecessors in addition to one each.
    #[cold]
    fn room_to_name(&self, ops: usize, besides: usize) -> Result<(), EditError> {
        let counters = u64::from(self.open.next) + (ops + besides) as u64;
        if counters < u64::from(self.open.sure_counter) {
            return Ok(());
        }
        // Each named predecessor takes no more in columns than a run.
        let runs = (ops as u64).min(self.state.most_spans()) + besides as u64;
        self.check_room(More { rows: besides as u64, runs, ..More::default() }, ops)
    }

    pub(crate) fn object(&self, obj: &ObjId) -> Result<(ObjIdx, ObjType), EditError> {
        let number = self.state.resolve(obj)?;
        Ok((number, self.state.objects[number].kind))
    }

    pub(crate) fn put(
        &mut self,
        obj: &ObjId,
        prop: &Prop<'_>,
        value: &ScalarValue<'_>,
    ) -> Result<(), EditError> {
        let mut scratch = Vec::new();
        let raw = encode(obj, prop, value, &mut scratch)?;
        self.put_raw(obj, prop, raw.bytes.len(), Write::Scalar(raw))
    }

    /// As [`Self::put`], but also replaces a zero by one with the other sign, though they are equal.
    pub(crate) fn put_exactly(
        &mut self,
        obj: &ObjId,
        prop: &Prop<'_>,
        value: &ScalarValue<'_>,
    ) -> Result<(), EditError> {
        let mut scratch = Vec::new();
        let raw = encode(obj, prop, value, &mut scratch)?;
        self.put_raw(obj, prop, raw.bytes.len(), Write::Exact(raw))
    }

    /// Writes a scalar whose encoded value has this length.
    fn put_raw(
        &mut self,
        obj: &ObjId,
        prop: &Prop<'_>,
        bytes: usize,
        write: Write<'_>,
    ) -> Result<(), EditError> {
        let (number, kind) = self.object(obj)?;
        self.room(1, bytes, 0)?;
        match (prop, kind) {
            (Prop::Map(key), ObjType::Map) => {
                self.room(1, bytes, key.len())?;
                self.write_key(number, key, write).map(drop)
            }
            (Prop::Seq(index), ObjType::List | ObjType::Text) => {
                self.write_element(number, *index, write).map(drop)
            }
            _ => Err(Mismatch::of_object(obj, prop, kind)),
        }
    }

    pub(crate) fn put_object(
        &mut self,
        obj: &ObjId,
        prop: &Prop<'_>,
        new_kind: ObjType,
    ) -> Result<ObjId, EditError> {
        let (number, kind) = self.object(obj)?;
        writable(obj, prop, new_kind)?;
        let val = match (prop, kind) {
            (Prop::Map(key), ObjType::Map) => {
                self.room(1, 0, key.len())?;
                self.write_key(number, key, Write::Object(new_kind))?
            }
            (Prop::Seq(index), ObjType::List) => {
                self.room(1, 0, 0)?;
                self.write_element(number, *index, Write::Object(new_kind))?
            }
            (Prop::Seq(_), ObjType::Text) => {
                return Err(EditError::WrongType(Mismatch::new(obj, Some(prop), "a list", article(kind))));
            }
            _ => return Err(Mismatch::of_object(obj, prop, kind)),
        };
        Ok(self.created_object(val))
    }

    pub(crate) fn created_object(&self, val: Option<StoredValue>) -> ObjId {
        let (_, number) = val.and_then(StoredValue::as_object).expect("making an object always writes it");
        self.state.obj_id(number)
    }

    pub(crate) fn delete(&mut self, obj: &ObjId, prop: &Prop<'_>) -> Result<(), EditError> {
        let (number, kind) = self.object(obj)?;
        match (prop, kind) {
            (Prop::Map(key), ObjType::Map) => {
                self.room(1, 0, 0)?;
                self.write_key(number, key, Write::Delete).map(drop)
            }
            (Prop::Seq(index), ObjType::List) => {
                self.room(1, 0, 0)?;
                self.write_element(number, *index, Write::Delete).map(drop)
            }
            (Prop::Seq(index), ObjType::Text) => self.delete_units(number, *index, 1),
            _ => Err(Mismatch::of_object(obj, prop, kind)),
        }
    }

    pub(crate) fn increment(&mut self, obj: &ObjId, prop: &Prop<'_>, by: i64) -> Result<(), EditError> {
        let (number, kind) = self.object(obj)?;
        let by = ScalarValue::Int(by);
        let mut scratch = Vec::new();
        let raw = encode(obj, prop, &by, &mut scratch)?;
        self.room(1, raw.bytes.len(), 0)?;
        match (prop, kind) {
            (Prop::Map(key), ObjType::Map) => self.write_key(number, key, Write::Increment(raw)).map(drop),
            (Prop::Seq(index), ObjType::List | ObjType::Text) => {
                self.write_element(number, *index, Write::Increment(raw)).map(drop)
            }
            _ => Err(Mismatch::of_object(obj, prop, kind)),
        }
    }

    /// The effect of a write on the present values.
    fn resolve(
        &self,
        obj: ObjIdx,
        prop: &Prop<'_>,
        there: &[Visible],
        write: &Write<'_>,
    ) -> Result<PutDecision, EditError> {
        if there.len() > 1 {
            self.room_to_name(1, there.len() - 1)?;
        }
        let preds = |values: &[Visible]| values.iter().map(|value| value.id).collect();
        match (write, there.last()) {
            (Write::Delete, None) => return Ok(PutDecision::Nothing),
            (Write::Increment(_), _) if !there.iter().any(|value| value.val.is_counter()) => {
                let found =
                    there.last().map_or("nothing".to_owned(), |value| described(&self.state.export(value).0));
                let obj = self.state.obj_id(obj);
                let mismatch = Mismatch::new(&obj, Some(prop), "a counter to increment", found);
                return Err(EditError::NotCounter(mismatch));
            }
            (Write::Scalar(raw) | Write::Exact(raw), Some(winner))
                if self.equal(winner, *raw, matches!(write, Write::Exact(_))) =>
            {
                return Ok(match there.len() {
                    1 => PutDecision::Nothing,
                    n => PutDecision::Losers(preds(&there[..n - 1])),
                });
            }
            _ => {}
        }
        Ok(PutDecision::Write(preds(there)))
    }

    /// Does a present value equal one to be written, bit for bit if `exact`? A counter is compared by its current
    /// value, whichever actors incremented it.
    fn equal(&self, there: &Visible, raw: RawValue<'_>, exact: bool) -> bool {
        let val = there.val;
        if val.as_object().is_some() || val.code != raw.code {
            return false;
        }
        match raw.code {
            code::F64 if !exact => self.state.raw(val).decode() == raw.decode(),
            code::COUNTER => {
                let start = self.state.raw(val).number();
                start.map(|start| start.wrapping_add(there.added)) == raw.number()
            }
            _ => self.state.heap.get(val.bytes) == raw.bytes,
        }
    }

    fn keyed(&mut self, obj: ObjIdx, write: &Write<'_>) -> KeyOp {
        let id = self.reserve_ids(1);
        let (action, val) = match write {
            Write::Scalar(raw) | Write::Exact(raw) => (Action::Set, self.state.keep_raw(*raw)),
            Write::Object(kind) => (Action::make(*kind), self.state.make(id, *kind, obj)),
            Write::Increment(raw) => (Action::Increment, self.state.keep_raw(*raw)),
            Write::Delete => (Action::Delete, StoredValue::NULL),
        };
        KeyOp::new(id, obj, Key::Elem(OpId::NONE), action, val)
    }

    /// Charges for all predecessors of one operation but the first.
    #[inline]
    fn pay_for_names(&mut self, preds: &[OpId]) {
        self.open.sure_counter = self.open.sure_counter.saturating_sub(named_besides(preds));
    }

    /// Writes to a key of a map; returns the written value.
    fn write_key(
        &mut self,
        obj: ObjIdx,
        key: &str,
        write: Write<'_>,
    ) -> Result<Option<StoredValue>, EditError> {
        let entry = self.state.map(obj).and_then(|map| map.get(key, &self.state.heap));
        let there = entry.map_or(&[][..], |entry| &entry.values);
        let (op, preds) = match self.resolve(obj, &key.into(), there, &write)? {
            PutDecision::Nothing => return Ok(None),
            PutDecision::Losers(preds) => (self.keyed(obj, &Write::Delete), preds),
            PutDecision::Write(preds) => (self.keyed(obj, &write), preds),
        };
        let val = op.val();
        self.pay_for_names(&preds);
        self.state.put_key(obj, key, &op, &preds);
        Ok(Some(val))
    }

    /// Writes to an existing element.
    fn write_element(
        &mut self,
        obj: ObjIdx,
        index: usize,
        write: Write<'_>,
    ) -> Result<Option<StoredValue>, EditError> {
        let (seq, ctx) = self.state.seq_mut(obj);
        let found = u32::try_from(index).ok().and_then(|index| seq.locate_hot(index, &ctx));
        let Some((at, _)) = found else { return Err(EditError::Index { index, len: seq.width() }) };
        let seq = self.state.seq(obj).expect("it is a sequence");
        let span = *seq.span(at);
        let there = self.state.element_values(seq, &span, at.off);
        let resolved = self.resolve(obj, &index.into(), &there, &write)?;
        if matches!(write, Write::Delete) && span.reg.is_none() {
            let id = self.reserve_ids(1);
            self.state.delete_run(obj, at, 1, id, 1);
            return Ok(None);
        }
        let (op, preds) = match resolved {
            PutDecision::Nothing => return Ok(None),
            PutDecision::Losers(preds) => (self.keyed(obj, &Write::Delete), preds),
            PutDecision::Write(preds) => (self.keyed(obj, &write), preds),
        };
        let val = op.val();
        self.pay_for_names(&preds);
        self.state.put_elem(obj, at, &op, &preds);
        Ok(Some(val))
    }

    pub(crate) fn insert(
        &mut self,
        obj: &ObjId,
        index: usize,
        value: &ScalarValue<'_>,
    ) -> Result<(), EditError> {
        let (number, kind) = self.object(obj)?;
        if !kind.is_sequence() {
            return Err(Mismatch::of_object(obj, &index.into(), kind));
        }
        let mut scratch = Vec::new();
        let raw = encode(obj, &index.into(), value, &mut scratch)?;
        self.room(1, raw.bytes.len(), 0)?;
        let (gap, origin, _) = self.gap(number, index)?;
        let id = self.reserve_ids(1);
        let one_char = value.as_str().filter(|text| text.chars().count() == 1);
        match one_char {
            Some(text) if kind == ObjType::Text => self.state.insert_text(number, gap, origin, id, text),
            _ => {
                let val = self.state.keep_raw(raw);
                self.state.insert_values(number, gap, origin, id, &[val]);
            }
        }
        Ok(())
    }

    pub(crate) fn insert_object(
        &mut self,
        obj: &ObjId,
        index: usize,
        new_kind: ObjType,
    ) -> Result<ObjId, EditError> {
        let (number, kind) = self.object(obj)?;
        if !kind.is_sequence() {
            return Err(Mismatch::of_object(obj, &index.into(), kind));
        }
        writable(obj, &index.into(), new_kind)?;
        self.room(1, 0, 0)?;
        let (gap, origin, _) = self.gap(number, index)?;
        let id = self.reserve_ids(1);
        let val = self.state.make(id, new_kind, number);
        self.state.insert_values(number, gap, origin, id, &[val]);
        Ok(self.created_object(Some(val)))
    }

    /// The gap before unit `index`, the element before the gap, and the actual unit.
    pub(crate) fn gap(&mut self, obj: ObjIdx, index: usize) -> Result<(InsertPos, OpId, usize), EditError> {
        let (seq, ctx) = self.state.seq_mut(obj);
        let len = seq.width();
        if index > len {
            return Err(EditError::Index { index, len });
        }
        let found = u32::try_from(index).ok().and_then(|index| seq.gap_hot(index, &ctx));
        let Some((gap, origin, index)) = found else { return Err(EditError::Index { index, len }) };
        let marks = self.state.seq(obj).is_some_and(|seq| seq.marks > 0);
        let (gap, origin) = if marks { self.skip_marks(obj, gap, origin) } else { (gap, origin) };
        Ok((gap, origin, index as usize))
    }

    /// The last gap before the next visible element that every mark in between allows: inside marks that expand at
    /// their edge, outside others, and never between the ends of a mark around nothing.
    fn skip_marks(&self, obj: ObjIdx, gap: InsertPos, origin: OpId) -> (InsertPos, OpId) {
        let seq = self.state.seq(obj).expect("the caller checked the kind");
        let mut places: SmallVec<[(InsertPos, OpId); 4]> = smallvec![(gap, origin)];
        // Indexes of the boundaries in `places`; some may have been removed.
        let mut numbers: HashMap<OpId, usize> = HashMap::new();
        let mut next = seq.span_behind(gap);
        while let Some((at, behind)) = next {
            let span = seq.span(at);
            if span.visible {
                break;
            }
            next = seq.span_behind(behind);
            if span.kind != Kind::Mark {
                continue;
            }
            let mark = &self.state.log.marks[span.at as usize];
            let begin = OpId::new(span.id.ctr - 1, span.id.actor);
            if mark.name.is_none()
                && let Some(index) = numbers.get(&begin)
                && places.get(*index).is_some_and(|(_, id)| *id == begin)
            {
                places.truncate(*index);
                continue;
            }
            if mark.name.is_some() == mark.expand {
                numbers.insert(span.id, places.len());
                places.push((behind, span.id));
            }
        }
        places.pop().expect("there is at least the first")
    }

    /// Inserts text before unit `index` after deleting `del` units there; a negative number deletes before it.
    pub(crate) fn splice_text(
        &mut self,
        obj: &ObjId,
        index: usize,
        del: isize,
        text: &str,
    ) -> Result<(), EditError> {
        let (number, kind) = self.object(obj)?;
        if kind != ObjType::Text {
            return Err(Mismatch::of_kind(obj, "a text", kind));
        }
        let (index, del) = deleted_range(index, del)?;
        self.open.note_edit(number, self.state);
        let index = if text.is_empty() { index } else { self.insert_at(number, index, text)? };
        if del == 0 {
            Ok(())
        } else {
            self.delete_units(number, index + self.state.encoding.width(text), del)
        }
    }

    /// Inserts text before unit `index`; returns the actual unit.
    fn insert_at(&mut self, obj: ObjIdx, index: usize, text: &str) -> Result<usize, EditError> {
        self.room_for_text(text)?;
        let seq = self.state.seq(obj).expect("the caller checked the kind");
        if seq.marks == 0
            && index <= seq.width()
            && let Some(extent) = self.measure(text)
        {
            let id = self.reserve_ids(extent.len);
            return Ok(self.state.type_text(obj, index as u32, id, text, extent) as usize);
        }
        let (gap, origin, index) = self.gap(obj, index)?;
        self.insert_behind(obj, gap, origin, text);
        Ok(index)
    }

    /// The size of a text, if each of its characters becomes an element.
    #[inline]
    fn measure(&self, text: &str) -> Option<Extent> {
        let encoding = self.state.encoding;
        if encoding == TextEncoding::GraphemeCluster && (!text.is_ascii() || text.contains('\r')) {
            return None;
        }
        Some(encoding.measure(text))
    }

    /// Inserts non-empty text as elements in units of the encoding, the first after `origin`; returns the id of the
    /// last.
    pub(crate) fn insert_behind(&mut self, obj: ObjIdx, gap: InsertPos, origin: OpId, text: &str) -> OpId {
        if let Some(extent) = self.measure(text) {
            let id = self.reserve_ids(extent.len);
            self.state.insert_text(obj, gap, origin, id, text);
            return id.plus(extent.len - 1);
        }
        let (mut gap, mut origin) = (gap, origin);
        for cluster in text.graphemes(true) {
            let id = self.reserve_ids(1);
            if cluster.chars().nth(1).is_none() {
                self.state.insert_text(obj, gap, origin, id, cluster);
            } else {
                let val = self.state.keep_raw(RawValue { code: code::STR, bytes: cluster.as_bytes() });
                self.state.insert_values(obj, gap, origin, id, &[val]);
            }
            let seq = self.state.seq(obj).expect("it is a text");
            gap = seq.gap_after(seq.find(id).expect("it was just inserted"));
            origin = id;
        }
        origin
    }

    /// Deletes whole elements from unit `index` on, until `count` units are deleted or the sequence ends.
    pub(crate) fn delete_units(&mut self, obj: ObjIdx, index: usize, count: usize) -> Result<(), EditError> {
        let (mut index, mut left) = (index, count);
        while left > 0 {
            self.room_to_delete(obj, left)?;
            let Ok(unit) = u32::try_from(index) else { return Ok(()) };
            let id = OpId::new(self.open.next, self.open.actor);
            let erased = self.state.erase(obj, unit, left, id);
            self.open.next += erased;
            left -= erased as usize;
            if left == 0 {
                return Ok(());
            }
            let (seq, ctx) = self.state.seq_mut(obj);
            let Some((at, start)) = seq.locate_hot(unit, &ctx) else { return Ok(()) };
            let (span, width) = (*seq.span(at), seq.width_at(at, &ctx));
            if (start as usize) < index {
                // Elements are never split: continue after this one.
                index = start as usize + width;
                continue;
            }
            if span.reg.is_some() {
                left = left.saturating_sub(span.width as usize);
                self.delete_updated(obj, at);
            } else {
                left = left.saturating_sub(width);
                let id = self.reserve_ids(1);
                self.state.delete_run(obj, at, 1, id, 1);
            }
        }
        Ok(())
    }

    /// Checks that `units` units of a sequence can be deleted, with all their values.
    fn room_to_delete(&self, obj: ObjIdx, units: usize) -> Result<(), EditError> {
        let Some(seq) = self.state.seq(obj) else { return Ok(()) };
        let units = units.min(seq.width());
        if !self.is_sure(units, 0) {
            let runs = (units as u64).min(self.state.most_spans());
            self.scarce(More { runs, ..More::default() }, units)?;
        }
        // No more values are visible than were put; nearly always there is room for all of them.
        if seq.regs.len() == 0 || self.room_to_name(units, self.state.log.keyed.len()).is_ok() {
            return Ok(());
        }
        self.room_to_name(units, seq.regs.iter().map(|reg| reg.values.len().saturating_sub(1)).sum())
    }

    /// Deletes an element with updates: every visible value.
    fn delete_updated(&mut self, obj: ObjIdx, at: ElementPos) {
        let seq = self.state.seq(obj).expect("the caller found it there");
        let reg = seq.reg(seq.span(at)).expect("the element has a register");
        let preds: SmallVec<[OpId; 1]> = reg.values.iter().map(|value| value.id).collect();
        let op = self.keyed(obj, &Write::Delete);
        self.pay_for_names(&preds);
        self.state.put_elem(obj, at, &op, &preds);
    }
}

/// Refuses new tables, which only old libraries wrote.
fn writable(obj: &ObjId, prop: &Prop<'_>, kind: ObjType) -> Result<(), EditError> {
    match kind {
        ObjType::Map | ObjType::List | ObjType::Text => Ok(()),
        ObjType::Table => {
            let expected = "a map, a list or a text";
            Err(EditError::WrongValue(Mismatch::new(obj, Some(prop), expected, article(kind))))
        }
    }
}

/// A value to write.
#[derive(Clone, Copy)]
enum Write<'a> {
    Scalar(RawValue<'a>),
    /// A scalar that replaces every other one, including equal ones with different bits.
    Exact(RawValue<'a>),
    Object(ObjType),
    Increment(RawValue<'a>),
    Delete,
}

/// Encodes a value as stored in columns.
pub(crate) fn encode<'a>(
    obj: &ObjId,
    prop: &Prop<'_>,
    value: &'a ScalarValue<'_>,
    scratch: &'a mut Vec<u8>,
) -> Result<RawValue<'a>, EditError> {
    let expected = "a value of a known type, or of one of the unknown types 10 to 15";
    RawValue::encode(value, scratch).map_err(|_| {
        let found = described(&Value::Scalar(value.clone()));
        EditError::WrongValue(Mismatch::new(obj, Some(prop), expected, found))
    })
}

/// Start and length of a deletion that may be backwards.
pub(crate) fn deleted_range(index: usize, del: isize) -> Result<(usize, usize), EditError> {
    let count = del.unsigned_abs();
    if del >= 0 {
        return Ok((index, count));
    }
    index.checked_sub(count).map(|index| (index, count)).ok_or(EditError::Underflow { index, count })
}
