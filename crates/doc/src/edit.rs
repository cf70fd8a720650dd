//! Editing: the calls of a transaction as operations on the state. The bytes of the change that comes of them are
//! those that every other implementation writes for the same calls.

use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};
use unicode_segmentation::UnicodeSegmentation;

use crate::codec::limits::Size;
use crate::codec::row::Action;
use crate::codec::value::{RawValue, code};
use crate::error::{EditError, Mismatch, article, described};
use crate::store::history::ChangeRun;
use crate::store::history::branches::Branch;
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::{Val, named_besides};
use crate::store::memory::byte_arena::ByteArena;
use crate::store::register::Visible;
use crate::store::seq::{At, Gap, Kind};
use crate::store::state::{More, ROOT, State};
use crate::types::{
    ActorId, ActorIdx, ChangeIdx, Extent, ObjId, ObjIdx, ObjType, OpId, Prop, ScalarValue, TextEncoding,
    Value,
};

/// A change in the making.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    branch: Branch,
    actor: ActorIdx,
    seq: u32,
    start: u32,
    /// Counter of the next operation.
    next: u32,
    /// Up to this counter nobody has to ask whether the document may have more operations.
    sure_counter: u32,
    /// Up to so many bytes nobody has to ask whether the document may have more.
    sure_bytes: usize,
    first_run: usize,
    /// The change builds on exactly the heads.
    isolated: bool,
    /// Nobody can copy the document before the change is done.
    alone: bool,
    /// The object that was edited last.
    edited: ObjIdx,
    /// How many times in a row it was.
    edits: u32,
}

/// After so many edits of one object in a row there will be more.
const MANY: u32 = 16;

/// What goes into a change besides its operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitOptions {
    message: Option<String>,
    time: i64,
    author: Option<Vec<u8>>,
}

impl CommitOptions {
    /// A message for whoever reads the history.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// When the change was made, in seconds since 1970. 0 if not said: this library reads no clock.
    #[must_use]
    pub fn with_time(mut self, seconds: i64) -> Self {
        self.time = seconds;
        self
    }

    /// Who stands behind the actor. Only an actor's first change records it.
    #[must_use]
    pub fn with_author(mut self, author: impl Into<Vec<u8>>) -> Self {
        self.author = Some(author.into());
        self
    }
}

impl Open {
    /// Starts a change by an actor, with counters after every known operation.
    pub(crate) fn new(state: &mut State, actor: &ActorId, branch: Branch) -> Self {
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

    /// A change that names the heads only, not the actor's change before.
    pub(crate) fn isolated(mut self) -> Self {
        self.isolated = true;
        self
    }

    /// A change before whose end nobody can copy the document.
    pub(crate) fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Notes an edit of an object, which somebody who types goes on to edit.
    #[inline]
    fn note_edit(&mut self, obj: ObjIdx, state: &mut State) {
        if self.edited != obj {
            state.share();
            (self.edited, self.edits) = (obj, 0);
        }
        if self.alone && self.edits < MANY {
            self.edits += 1;
            if self.edits == MANY {
                state.hold(obj);
            }
        }
    }

    /// The copy of the document that it is made in.
    pub(crate) fn branch(&self) -> Branch {
        self.branch
    }

    /// Its number among the actor's changes.
    pub(crate) fn seq(&self) -> u64 {
        self.seq.into()
    }

    /// The counter of its first operation.
    pub(crate) fn first_counter(&self) -> u64 {
        self.start.into()
    }

    /// The id of the next operation.
    pub(crate) fn next_op(&self) -> OpId {
        OpId::new(self.next, self.actor)
    }

    /// How many operations it has.
    pub(crate) fn len(&self) -> usize {
        (self.next - self.start) as usize
    }

    /// Makes the change part of the history; gives its row.
    pub(crate) fn commit(self, state: &mut State, options: &CommitOptions) -> ChangeIdx {
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
        // An actor's changes name the one before even where a head has it in its past.
        let own = state.history.last_of(self.actor);
        deps.extend(own.filter(|own| !self.isolated && !deps.contains(own)));
        if deps.len() > 1 {
            deps.sort_by_cached_key(|row| state.hash(*row));
            state.spend(deps.len() as u32);
        }
        let message = state.heap.name(options.message.as_deref().unwrap_or_default());
        let author = options.author.as_deref().filter(|_| self.seq == 1);
        let extra = author.map(crate::codec::change::author_footer).unwrap_or_default();
        let extra = state.heap.push(&extra);
        state.max_op = state.max_op.max(self.next - 1);
        let run = ChangeRun {
            row: state.history.next(),
            whole: false,
            rows: 1,
            actor: self.actor,
            seq: self.seq,
            start: self.start,
            ops,
            time: options.time,
            message,
            extra,
            deps,
            log: state.log_of(self.first_run, self.start, self.actor),
        };
        state.push_changes(run)
    }

    /// Takes every operation back; gives how many there were.
    pub(crate) fn rollback(self, state: &mut State) -> usize {
        state.take_back();
        self.len()
    }
}

/// A document and the change in the making. What can be done with it is said by [`crate::Transactable`].
#[derive(Debug)]
pub struct Editor<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) open: &'a mut Open,
}

/// A put that was compared with what is there.
enum Resolved {
    Nothing,
    /// Delete these losers of a conflict.
    Losers(SmallVec<[OpId; 1]>),
    Write(SmallVec<[OpId; 1]>),
}

impl Editor<'_> {
    /// Ids of the next `n` operations.
    pub(crate) fn take(&mut self, n: u32) -> OpId {
        let id = OpId::new(self.open.next, self.open.actor);
        self.open.next += n;
        id
    }

    /// Checks that there are counters and bytes for what is to come, values and keys, before anything is changed.
    #[inline]
    pub(crate) fn room(&self, ops: usize, values: usize, keys: usize) -> Result<(), EditError> {
        if self.is_sure(ops, values + keys) {
            return Ok(());
        }
        let (values, keys) = (values as u64, keys as u64);
        self.scarce(More { runs: ops as u64, bytes: values + keys, paying: values, ..More::default() }, ops)
    }

    /// As [`Self::room`], for characters that are typed at one place.
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

    /// As [`Self::room`], where there may be none.
    #[cold]
    fn scarce(&self, more: More, ops: usize) -> Result<(), EditError> {
        let counters = u64::from(self.open.next) + ops as u64;
        if counters >= u64::from(u32::MAX) || self.state.heap.room(more.bytes as usize).is_err() {
            return Err(EditError::Full);
        }
        self.check_room(more, ops)
    }

    /// Checks the limits for this number of further operations and what they need besides.
    fn check_room(&self, more: More, ops: usize) -> Result<(), EditError> {
        let operations = self.open.len() as u64 + ops as u64;
        let limits = &self.state.limits;
        limits.check_change(operations, 0)?;
        let (rows, deps) = (Size::entries(ops) + more.rows, self.state.history.heads.rows().len() as u64 + 1);
        let more = More { operations, changes: 1, rows, deps, ..more };
        Ok(self.state.check_room(more, limits)?)
    }

    /// Checks that operations, besides one each, can name so many.
    #[cold]
    fn room_to_name(&self, ops: usize, besides: usize) -> Result<(), EditError> {
        let counters = u64::from(self.open.next) + (ops + besides) as u64;
        if counters < u64::from(self.open.sure_counter) {
            return Ok(());
        }
        // Each name is no more in columns than a run.
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

    /// As [`Self::put`], and writes a zero over one with the other sign too, though they are equal.
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

    /// Writes a scalar whose value has this length in bytes.
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
        made: ObjType,
    ) -> Result<ObjId, EditError> {
        let (number, kind) = self.object(obj)?;
        writable(obj, prop, made)?;
        let val = match (prop, kind) {
            (Prop::Map(key), ObjType::Map) => {
                self.room(1, 0, key.len())?;
                self.write_key(number, key, Write::Object(made))?
            }
            (Prop::Seq(index), ObjType::List) => {
                self.room(1, 0, 0)?;
                self.write_element(number, *index, Write::Object(made))?
            }
            (Prop::Seq(_), ObjType::Text) => {
                return Err(EditError::WrongType(Mismatch::new(obj, Some(prop), "a list", article(kind))));
            }
            _ => return Err(Mismatch::of_object(obj, prop, kind)),
        };
        Ok(self.made(val))
    }

    pub(crate) fn made(&self, val: Option<Val>) -> ObjId {
        let (_, number) = val.and_then(Val::as_object).expect("making an object always writes it");
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

    /// What a write does to the values that are there.
    fn resolve(
        &self,
        obj: ObjIdx,
        prop: &Prop<'_>,
        there: &[Visible],
        write: &Write<'_>,
    ) -> Result<Resolved, EditError> {
        if there.len() > 1 {
            self.room_to_name(1, there.len() - 1)?;
        }
        let preds = |values: &[Visible]| values.iter().map(|value| value.id).collect();
        match (write, there.last()) {
            (Write::Delete, None) => return Ok(Resolved::Nothing),
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
                    1 => Resolved::Nothing,
                    n => Resolved::Losers(preds(&there[..n - 1])),
                });
            }
            _ => {}
        }
        Ok(Resolved::Write(preds(there)))
    }

    /// Whether a value that is there equals one to be written, bit for bit if that is to be `exact`. A counter is what it has
    /// grown to, whichever actor incremented it.
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
        let id = self.take(1);
        let (action, val) = match write {
            Write::Scalar(raw) | Write::Exact(raw) => (Action::Set, self.state.keep_raw(*raw)),
            Write::Object(kind) => (Action::make(*kind), self.state.make(id, *kind, obj)),
            Write::Increment(raw) => (Action::Increment, self.state.keep_raw(*raw)),
            Write::Delete => (Action::Delete, Val::NULL),
        };
        KeyOp::new(id, obj, Key::Elem(OpId::NONE), action, val)
    }

    /// One operation, for which there is room, names all these.
    #[inline]
    fn pay_for_names(&mut self, preds: &[OpId]) {
        self.open.sure_counter = self.open.sure_counter.saturating_sub(named_besides(preds));
    }

    /// Writes to a key of a map; gives what was written.
    fn write_key(&mut self, obj: ObjIdx, key: &str, write: Write<'_>) -> Result<Option<Val>, EditError> {
        let entry = self.state.map(obj).and_then(|map| map.get(key, &self.state.heap));
        let there = entry.map_or(&[][..], |entry| &entry.values);
        let (op, preds) = match self.resolve(obj, &key.into(), there, &write)? {
            Resolved::Nothing => return Ok(None),
            Resolved::Losers(preds) => (self.keyed(obj, &Write::Delete), preds),
            Resolved::Write(preds) => (self.keyed(obj, &write), preds),
        };
        let val = op.val();
        self.pay_for_names(&preds);
        self.state.put_key(obj, key, &op, &preds);
        Ok(Some(val))
    }

    /// Writes to an element that is there.
    fn write_element(
        &mut self,
        obj: ObjIdx,
        index: usize,
        write: Write<'_>,
    ) -> Result<Option<Val>, EditError> {
        let (seq, ctx) = self.state.seq_mut(obj);
        let found = u32::try_from(index).ok().and_then(|index| seq.locate_hot(index, &ctx));
        let Some((at, _)) = found else { return Err(EditError::Index { index, len: seq.width() }) };
        let seq = self.state.seq(obj).expect("it is a sequence");
        let span = *seq.span(at);
        let there = self.state.element_values(seq, &span, at.off);
        let resolved = self.resolve(obj, &index.into(), &there, &write)?;
        if matches!(write, Write::Delete) && span.reg.is_none() {
            let id = self.take(1);
            self.state.delete_run(obj, at, 1, id, 1);
            return Ok(None);
        }
        let (op, preds) = match resolved {
            Resolved::Nothing => return Ok(None),
            Resolved::Losers(preds) => (self.keyed(obj, &Write::Delete), preds),
            Resolved::Write(preds) => (self.keyed(obj, &write), preds),
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
        let id = self.take(1);
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
        made: ObjType,
    ) -> Result<ObjId, EditError> {
        let (number, kind) = self.object(obj)?;
        if !kind.is_sequence() {
            return Err(Mismatch::of_object(obj, &index.into(), kind));
        }
        writable(obj, &index.into(), made)?;
        self.room(1, 0, 0)?;
        let (gap, origin, _) = self.gap(number, index)?;
        let id = self.take(1);
        let val = self.state.make(id, made, number);
        self.state.insert_values(number, gap, origin, id, &[val]);
        Ok(self.made(Some(val)))
    }

    /// Where to insert before unit `index`, after which element, and the unit that really is.
    pub(crate) fn gap(&mut self, obj: ObjIdx, index: usize) -> Result<(Gap, OpId, usize), EditError> {
        let (seq, ctx) = self.state.seq_mut(obj);
        let len = seq.width();
        if index > len {
            return Err(EditError::Index { index, len });
        }
        let found = u32::try_from(index).ok().and_then(|index| seq.gap_hot(index, &ctx));
        let Some((gap, origin, index)) = found else { return Err(EditError::Index { index, len }) };
        let marks = self.state.seq(obj).is_some_and(|seq| seq.marks > 0);
        let (gap, origin) = if marks { self.past_marks(obj, gap, origin) } else { (gap, origin) };
        Ok((gap, origin, index as usize))
    }

    /// The last place before the next visible element that every mark in between allows: inside marks that expand over
    /// what is typed at their edge, outside others, and never between the ends of a mark around nothing.
    fn past_marks(&self, obj: ObjIdx, gap: Gap, origin: OpId) -> (Gap, OpId) {
        let seq = self.state.seq(obj).expect("the caller checked the kind");
        let mut places: SmallVec<[(Gap, OpId); 4]> = smallvec![(gap, origin)];
        // Where the boundaries are among the places; some of these may be gone.
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
                && let Some(place) = numbers.get(&begin)
                && places.get(*place).is_some_and(|(_, id)| *id == begin)
            {
                places.truncate(*place);
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
        let (index, del) = back(index, del)?;
        self.open.note_edit(number, self.state);
        let index = if text.is_empty() { index } else { self.insert_at(number, index, text)? };
        if del == 0 {
            Ok(())
        } else {
            self.delete_units(number, index + self.state.encoding.width(text), del)
        }
    }

    /// Inserts text before unit `index`; gives the unit that really is.
    fn insert_at(&mut self, obj: ObjIdx, index: usize, text: &str) -> Result<usize, EditError> {
        self.room_for_text(text)?;
        let seq = self.state.seq(obj).expect("the caller checked the kind");
        if seq.marks == 0
            && index <= seq.width()
            && let Some(extent) = self.measure(text)
        {
            let id = self.take(extent.len);
            return Ok(self.state.type_text(obj, index as u32, id, text, extent) as usize);
        }
        let (gap, origin, index) = self.gap(obj, index)?;
        self.insert_behind(obj, gap, origin, text);
        Ok(index)
    }

    /// How large a text is, if each of its characters becomes an element.
    #[inline]
    fn measure(&self, text: &str) -> Option<Extent> {
        let encoding = self.state.encoding;
        if encoding == TextEncoding::GraphemeCluster && (!text.is_ascii() || text.contains('\r')) {
            return None;
        }
        Some(encoding.measure(text))
    }

    /// Inserts text, which is not empty, as elements that the encoding tells apart, the first behind `origin`; gives the id
    /// of the last.
    pub(crate) fn insert_behind(&mut self, obj: ObjIdx, gap: Gap, origin: OpId, text: &str) -> OpId {
        if let Some(extent) = self.measure(text) {
            let id = self.take(extent.len);
            self.state.insert_text(obj, gap, origin, id, text);
            return id.plus(extent.len - 1);
        }
        let (mut gap, mut origin) = (gap, origin);
        for cluster in text.graphemes(true) {
            let id = self.take(1);
            if cluster.chars().nth(1).is_none() {
                self.state.insert_text(obj, gap, origin, id, cluster);
            } else {
                let val = self.state.keep_raw(RawValue { code: code::STR, bytes: cluster.as_bytes() });
                self.state.insert_values(obj, gap, origin, id, &[val]);
            }
            let seq = self.state.seq(obj).expect("it is a text");
            gap = seq.behind(seq.find(id).expect("it was just inserted"));
            origin = id;
        }
        origin
    }

    /// Deletes whole elements from unit `index` on until `count` units are gone or the sequence ends.
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
                // Elements are never divided: go on behind this one.
                index = start as usize + width;
                continue;
            }
            if span.reg.is_some() {
                left = left.saturating_sub(span.width as usize);
                self.delete_updated(obj, at);
            } else {
                left = left.saturating_sub(width);
                let id = self.take(1);
                self.state.delete_run(obj, at, 1, id, 1);
            }
        }
        Ok(())
    }

    /// Checks that so many units of a sequence can be deleted, with every value there.
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

    /// Deletes an element with updates: every value that is visible.
    fn delete_updated(&mut self, obj: ObjIdx, at: At) {
        let seq = self.state.seq(obj).expect("the caller found it there");
        let reg = seq.reg(seq.span(at)).expect("the element has a register");
        let preds: SmallVec<[OpId; 1]> = reg.values.iter().map(|value| value.id).collect();
        let op = self.keyed(obj, &Write::Delete);
        self.pay_for_names(&preds);
        self.state.put_elem(obj, at, &op, &preds);
    }
}

/// Tables are what old libraries wrote: nobody makes new ones.
fn writable(obj: &ObjId, prop: &Prop<'_>, made: ObjType) -> Result<(), EditError> {
    match made {
        ObjType::Map | ObjType::List | ObjType::Text => Ok(()),
        ObjType::Table => {
            let expected = "a map, a list or a text";
            Err(EditError::WrongValue(Mismatch::new(obj, Some(prop), expected, article(made))))
        }
    }
}

/// What to write at a place.
#[derive(Clone, Copy)]
enum Write<'a> {
    Scalar(RawValue<'a>),
    /// A scalar that replaces every other one, equal ones with other bits included.
    Exact(RawValue<'a>),
    Object(ObjType),
    Increment(RawValue<'a>),
    Delete,
}

/// A value in the form of the columns.
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

/// The start and length of a deletion that may go backwards.
pub(crate) fn back(index: usize, del: isize) -> Result<(usize, usize), EditError> {
    let count = del.unsigned_abs();
    if del >= 0 {
        return Ok((index, count));
    }
    index.checked_sub(count).map(|index| (index, count)).ok_or(EditError::Underflow { index, count })
}
