//! State of a document: its objects, log and history, and the operations that change them.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::codec::columns::costs::ColumnCosts;
use crate::codec::limits::{Limits, Size};
use crate::codec::raw_value::{RawValue, code};
use crate::codec::row::Action;
use crate::codec::shortcuts::original_columns::OriginalColumns;
use crate::store::actors::Actors;
use crate::store::history::History;
use crate::store::history::branches::Branches;
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::value::StoredValue;
use crate::store::log::{Log, LogEnd, LogRun, MarkOp, RunAction, named_besides};
use crate::store::map::Map;
use crate::store::memory::byte_arena::{ByteArena, Bytes};
use crate::store::memory::cow_box::CowBox;
use crate::store::memory::cow_vec::CowVec;
use crate::store::memory::op_id_map::OpIdMap;
use crate::store::outgoing::save_cache::SaveCache;
use crate::store::outgoing::size_bound::{DocumentSizes, SizeBound};
use crate::store::register::{self, Values, Visible};
use crate::store::seq::edit::VisibleChange;
use crate::store::seq::{ElemReg, ElementPos, InsertPos, Kind, Seq, SeqContext, Span};
use crate::store::versions::savepoint::OpenSavepoint;
use crate::types::error::LimitError;
use crate::types::{ActorIdx, ChangeIdx, Extent, KeyOpIdx, Number as _, ObjIdx, ObjType, OpId, TextEncoding};

/// Placeholder of a non-text element in text.
pub(crate) const PLACEHOLDER: &str = "\u{fffc}";

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Map(Map),
    Seq(Seq),
}

impl Default for Body {
    fn default() -> Self {
        Self::Map(Map::default())
    }
}

/// One object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// The operation that created it.
    pub(crate) id: OpId,
    pub(crate) kind: ObjType,
    /// Number of the parent object.
    pub(crate) parent: ObjIdx,
    pub(crate) body: CowBox<Body>,
}

/// Source of a loaded document.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// End of the log at the load, and the first later change.
    pub(crate) log: LogEnd,
    pub(crate) changes: ChangeIdx,
    /// The columns of keys and of values.
    pub(crate) columns: [Bytes; 2],
    /// The other columns.
    pub(crate) of: OriginalColumns,
}

/// Amounts that certainly do not exceed the limits.
#[derive(Clone, Copy, Debug, Default)]
struct Spare {
    /// Number of further operations, each in a change of its own, provided that no actor id is longer than `longest`.
    operations: u64,
    longest: usize,
    /// Total bytes of values.
    bytes: u64,
}

/// Size of an addition to a document.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct More {
    /// Operations that are not in the history yet, including those of the uncommitted change.
    pub(crate) operations: u64,
    pub(crate) changes: u64,
    /// See [`Size::rows`].
    pub(crate) rows: u64,
    /// Runs of operations.
    pub(crate) runs: u64,
    pub(crate) deps: u64,
    /// Bytes of values, keys and messages.
    pub(crate) bytes: u64,
    /// Bytes of these that are certainly in the file.
    pub(crate) paying: u64,
    /// Bytes of these in characters, whose lengths may alternate.
    pub(crate) text: u64,
}

/// Number of the root.
pub(crate) const ROOT: ObjIdx = ObjIdx::ROOT;

/// Full state of a document. Clones share its parts copy-on-write.
#[derive(Clone, Debug)]
pub(crate) struct DocumentState {
    pub(crate) encoding: TextEncoding,
    pub(crate) actors: Actors,
    pub(crate) heap: ByteArena,
    pub(crate) log: Log,
    pub(crate) objects: CowVec<Object, ObjIdx>,
    pub(crate) numbers: OpIdMap,
    pub(crate) history: History,
    /// Greatest counter in use.
    pub(crate) max_op: u32,
    /// Limits of its size.
    pub(crate) limits: Limits,
    spare: Spare,
    measured: SizeBound,
    pub(crate) save_cache: SaveCache,
    pub(crate) original: Option<Arc<Loaded>>,
    pub(crate) branches: Branches,
    /// The uncommitted change. It stays here if its transaction is leaked.
    pub(crate) open_change: Option<OpenSavepoint>,
}

impl DocumentState {
    pub(crate) fn new(encoding: TextEncoding) -> Self {
        let mut objects = CowVec::default();
        let body = Body::Map(Map::default()).into();
        objects.push(Object { id: OpId::NONE, kind: ObjType::Map, parent: ROOT, body });
        Self {
            encoding,
            actors: Actors::default(),
            heap: ByteArena::default(),
            log: Log::default(),
            objects,
            numbers: OpIdMap::default(),
            history: History::default(),
            max_op: 0,
            limits: Limits::NONE,
            spare: Spare::default(),
            measured: SizeBound::default(),
            save_cache: SaveCache::default(),
            original: None,
            branches: Branches::default(),
            open_change: None,
        }
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.spend_all();
    }

    /// Number of further operations that certainly do not exceed the limits.
    #[inline]
    pub(crate) fn spare(&mut self) -> u64 {
        let longest = self.actors.longest();
        if self.spare.operations == 0 || self.spare.longest != longest {
            let size = self.measured_size();
            let (operations, bytes) = (self.limits.spare(size), self.limits.spare_bytes(size));
            self.spare = Spare { operations, bytes, longest };
        }
        self.spare.operations
    }

    /// Total bytes of values that certainly do not exceed the limits, after a call of [`Self::spare`].
    pub(crate) fn spare_bytes(&self) -> u64 {
        self.spare.bytes
    }

    /// Subtracts operations of one change from the spare ones.
    #[inline]
    pub(crate) fn spend(&mut self, operations: u32) {
        self.spare.operations = self.spare.operations.saturating_sub(u64::from(operations) + 1);
    }

    /// Clears the spare amounts after an addition or removal of unknown size.
    pub(super) fn spend_all(&mut self) {
        self.spare.operations = 0;
        let (sizes, costs) = (self.document_sizes(), self.column_costs(0));
        self.measured.lower(sizes, &costs);
    }

    /// Checks the limits for a change that was just applied.
    #[inline]
    pub(super) fn afford(&mut self, more: More, limits: &Limits) -> Result<(), LimitError> {
        // A dependency takes no more than an operation.
        let spent = (more.operations + more.deps) as u32;
        let plenty = self.spare.operations > u64::from(spent) && self.spare.longest == self.actors.longest();
        if plenty && self.heap.len() as u64 + more.bytes <= self.spare.bytes {
            self.spend(spent);
            return Ok(());
        }
        self.spend_all();
        self.check_room(more, limits)?;
        self.spare();
        self.spend(spent);
        Ok(())
    }

    /// Checks the limits for an addition.
    pub(crate) fn check_room(&self, more: More, limits: &Limits) -> Result<(), LimitError> {
        let checked = limits.check(self.size_with(more));
        // The bound of the columns may exceed their size.
        if checked.as_ref().is_err_and(LimitError::is_of_columns) && self.measure(limits) {
            return limits.check(self.size_with(more));
        }
        checked
    }

    /// Size of the document. The columns are measured if their bound exceeds half of the limit.
    pub(crate) fn measured_size(&self) -> Size {
        let size = self.size();
        if size.columns > self.limits.inflated_bytes / 2 && self.measure(&self.limits) {
            return self.size();
        }
        size
    }

    /// Measures the columns, unless that costs more than what was added since the last measurement.
    fn measure(&self, limits: &Limits) -> bool {
        let (sizes, costs) = (self.document_sizes(), self.column_costs(0));
        let may_fit = sizes.bytes <= limits.inflated_bytes;
        let measures = may_fit && self.measured.is_worth_it(sizes, &costs);
        if measures {
            self.measured.set(sizes, &costs, self.column_bytes());
        }
        measures
    }

    /// Upper bound of the number of spans in a sequence.
    pub(crate) fn most_spans(&self) -> u64 {
        self.document_sizes().rows + 1
    }

    fn document_sizes(&self) -> DocumentSizes {
        DocumentSizes {
            rows: Size::entries(self.log.runs.len() + self.log.keyed.len()) + u64::from(self.log.apart),
            values: self.log.values.len() as u64,
            bytes: self.heap.len() as u64,
            changes: self.history.run_count() as u64,
            deps: self.history.dependencies(),
        }
    }

    /// Costs of columns after `more` operations were added.
    fn column_costs(&self, more: u64) -> ColumnCosts {
        let operations = self.history.operations().max(u64::from(self.max_op)) + more;
        ColumnCosts::for_counts(u64::from(self.max_op) + more, operations, self.actors.len() as u64 + 1)
    }

    /// The size; from now on the bound of the columns is not measured again: see [`Limits::for_part`].
    pub(crate) fn fixed_size(&mut self) -> Size {
        self.measured.fix();
        self.size()
    }

    /// Size of the document.
    pub(crate) fn size(&self) -> Size {
        self.size_with(More::default())
    }

    /// Size of the document with an addition.
    fn size_with(&self, more: More) -> Size {
        let (sizes, costs) = (self.document_sizes(), self.column_costs(more.operations));
        let with = DocumentSizes {
            rows: sizes.rows + Size::entries(more.runs as usize),
            values: sizes.values + more.runs,
            bytes: sizes.bytes,
            changes: sizes.changes + more.changes,
            deps: sizes.deps + more.deps,
        };
        let columns = self.measured.bound(with, &costs).saturating_add(more.bytes + more.text);
        Size {
            rows: sizes.rows + more.rows,
            operations: self.history.operations() + more.operations,
            changes: u64::from(self.history.len()) + more.changes,
            bytes: sizes.bytes + more.bytes,
            paying: self.heap.paying() as u64 + more.paying,
            longest: self.actors.longest(),
            columns,
            operation: u64::from(Size::ENTRY) * costs.row + costs.value + costs.change + 2 * costs.dep,
        }
    }

    #[inline]
    pub(crate) fn ctx(&self) -> SeqContext<'_> {
        SeqContext { heap: &self.heap, actors: &self.actors, encoding: self.encoding }
    }

    /// Number of the object that operation `id` created.
    pub(crate) fn number(&self, id: OpId) -> Option<ObjIdx> {
        if id.is_none() {
            return Some(ROOT);
        }
        // Most operations are on the same object as the one before.
        if let Some(run) = self.log.runs.last()
            && self.objects.get(run.obj).is_some_and(|object| object.id == id)
        {
            return Some(run.obj);
        }
        self.numbers.get(id).map(ObjIdx::from_u32)
    }

    pub(crate) fn map(&self, obj: ObjIdx) -> Option<&Map> {
        match &*self.objects.get(obj)?.body {
            Body::Map(map) => Some(map),
            Body::Seq(_) => None,
        }
    }

    pub(crate) fn seq(&self, obj: ObjIdx) -> Option<&Seq> {
        match &*self.objects.get(obj)?.body {
            Body::Seq(seq) => Some(seq),
            Body::Map(_) => None,
        }
    }

    /// The sequence, to be changed, and its context. The caller has checked the kind of the object.
    #[inline]
    pub(crate) fn seq_mut(&mut self, obj: ObjIdx) -> (&mut Seq, SeqContext<'_>) {
        let ctx = SeqContext { heap: &self.heap, actors: &self.actors, encoding: self.encoding };
        match self.objects.get_mut(obj).body.get_mut() {
            Body::Seq(seq) => {
                seq.update_index();
                (seq, ctx)
            }
            Body::Map(_) => unreachable!("the caller checked the kind of the object"),
        }
    }

    pub(crate) fn map_mut(&mut self, obj: ObjIdx) -> (&mut Map, &mut ByteArena, &mut Log, &Actors) {
        match self.objects.get_mut(obj).body.get_mut() {
            Body::Map(map) => (map, &mut self.heap, &mut self.log, &self.actors),
            Body::Seq(_) => unreachable!("the caller checked the kind of the object"),
        }
    }

    pub(crate) fn keep_raw(&mut self, raw: RawValue<'_>) -> StoredValue {
        let bytes = if raw.bytes.is_empty() { Bytes::default() } else { self.heap.push(raw.bytes) };
        StoredValue { code: raw.code, bytes }
    }

    /// A scalar as stored in columns; null for objects, as in the format.
    #[inline]
    pub(crate) fn raw(&self, val: StoredValue) -> RawValue<'_> {
        if val.as_object().is_some() {
            return RawValue::NULL;
        }
        RawValue { code: val.code, bytes: self.heap.get(val.bytes) }
    }

    /// Adds an object created by operation `id`.
    pub(crate) fn make(&mut self, id: OpId, kind: ObjType, parent: ObjIdx) -> StoredValue {
        let number = self.objects.next();
        let body = match kind {
            ObjType::Map | ObjType::Table => Body::Map(Map::default()),
            ObjType::List => Body::Seq(Seq::new(false)),
            ObjType::Text => Body::Seq(Seq::new(true)),
        };
        self.objects.push(Object { id, kind, parent, body: body.into() });
        self.numbers.insert(id, number.get());
        StoredValue::object(kind, number)
    }

    /// Text and width of a value in a text.
    pub(crate) fn rendered(&self, val: StoredValue) -> (&str, u32) {
        rendered(val, &self.ctx())
    }

    /// The sequence and the log, to be changed, and the sequence's context. The caller has checked the kind of the
    /// object.
    #[inline]
    fn seq_and_log(&mut self, obj: ObjIdx) -> (&mut Seq, &mut Log, SeqContext<'_>) {
        let ctx = SeqContext { heap: &self.heap, actors: &self.actors, encoding: self.encoding };
        match self.objects.get_mut(obj).body.get_mut() {
            Body::Seq(seq) => (seq, &mut self.log, ctx),
            Body::Map(_) => unreachable!("the caller checked the kind of the object"),
        }
    }

    /// Inserts characters, one per element.
    #[inline]
    pub(crate) fn insert_text(&mut self, obj: ObjIdx, gap: InsertPos, origin: OpId, id: OpId, text: &str) {
        let extent = self.encoding.measure(text);
        let bytes = self.heap.push(text.as_bytes());
        let (seq, log, ctx) = self.seq_and_log(obj);
        seq.insert(gap, chars(id, origin, bytes, extent), &ctx);
        log.push(LogRun { id, len: extent.len, obj, what: RunAction::Text { origin, bytes } });
    }

    /// Inserts characters, one per element, before unit `index`, which is at most the width of the text; the text has
    /// no marks. Returns the actual unit.
    #[inline]
    pub(crate) fn type_text(&mut self, obj: ObjIdx, index: u32, id: OpId, text: &str, extent: Extent) -> u32 {
        let bytes = self.heap.push(text.as_bytes());
        let (seq, log, ctx) = self.seq_and_log(obj);
        let (origin, unit) = match seq.extend_run(index, id, bytes, extent) {
            Some(origin) => (origin, index),
            None => {
                seq.put_off();
                let (gap, origin, unit) =
                    seq.gap_hot(index, &ctx).expect("the caller compared with the width");
                seq.insert(gap, chars(id, origin, bytes, extent), &ctx);
                (origin, unit)
            }
        };
        log.push_here(LogRun { id, len: extent.len, obj, what: RunAction::Text { origin, bytes } });
        unit
    }

    /// The text of a visible span.
    pub(crate) fn shown<'a>(&'a self, seq: &'a Seq, span: &'a Span) -> &'a str {
        match seq.reg(span) {
            Some(reg) => reg.values.last().map_or("", |winner| self.rendered(winner.val).0),
            None if span.kind == Kind::Text => self.heap.text(Bytes { at: span.at, len: span.bytes }),
            None => self.rendered(self.inserted(span, 0)).0,
        }
    }

    /// Inserts values, each after the one before.
    pub(crate) fn insert_values(
        &mut self,
        obj: ObjIdx,
        gap: InsertPos,
        origin: OpId,
        id: OpId,
        values: &[StoredValue],
    ) {
        let at = self.log.values.len() as u32;
        self.log.values.extend(values.iter().copied());
        let len = values.len() as u32;
        let span = Span {
            id,
            len,
            origin,
            at,
            deleted_by: OpId::NONE,
            reg: None,
            bytes: 0,
            width: len,
            kind: Kind::Values,
            step: 0,
            visible: true,
        };
        let (seq, ctx) = self.seq_mut(obj);
        if seq.is_text {
            let (mut gap, mut origin) = (gap, origin);
            for (n, val) in (0..).zip(values) {
                let (text, width) = rendered(*val, &ctx);
                let id = id.plus(n);
                let span = Span { id, len: 1, origin, at: at + n, bytes: text.len() as u32, width, ..span };
                seq.insert(gap, span, &ctx);
                gap = seq.gap_after(seq.find(id).expect("it was just inserted"));
                origin = id;
            }
            self.log.apart = self.log.apart.saturating_add(len.saturating_mul(Size::ENTRY));
        } else {
            seq.insert(gap, span, &ctx);
        }
        self.log.push(LogRun { id, len, obj, what: RunAction::Values { origin, at } });
    }

    /// Inserts a mark boundary.
    pub(crate) fn insert_mark(&mut self, obj: ObjIdx, gap: InsertPos, id: OpId, mark: MarkOp) {
        let number = self.log.marks.len() as u32;
        self.log.marks.push(mark);
        let span = Span {
            id,
            len: 1,
            origin: mark.origin,
            at: number,
            deleted_by: OpId::NONE,
            reg: None,
            bytes: 0,
            width: 0,
            kind: Kind::Mark,
            step: 0,
            visible: false,
        };
        let (seq, ctx) = self.seq_mut(obj);
        seq.insert(gap, span, &ctx);
        self.log.push(LogRun { id, len: 1, obj, what: RunAction::Mark(number) });
    }

    /// Deletes `n` visible elements without updates, in list order from `at` on, by as many operations from `id` on in
    /// the direction of `step`.
    pub(crate) fn delete_run(&mut self, obj: ObjIdx, at: ElementPos, n: u32, id: OpId, step: i8) {
        let (seq, log, ctx) = self.seq_and_log(obj);
        let first = seq.span(at).id.plus(at.off);
        let (gone, elem) = if step < 0 { (id.plus(n - 1), first.plus(n - 1)) } else { (id, first) };
        seq.hide(at, n, gone, step, &ctx);
        let step = if n == 1 { 0 } else { step };
        log.push_here(LogRun { id, len: n, obj, what: RunAction::Delete { elem, step } });
    }

    /// Deletes up to `count` elements from unit `index` on, by as many operations from `id` on; returns their number.
    /// Stops before the first element with updates, and before a run of elements that are not one unit wide.
    #[inline]
    pub(crate) fn erase(&mut self, obj: ObjIdx, index: u32, count: usize, id: OpId) -> u32 {
        let (seq, log, ctx) = self.seq_and_log(obj);
        seq.put_off();
        let mut gone = 0;
        while (gone as usize) < count
            && let Some((at, _)) = seq.locate_hot(index, &ctx)
            && let span = seq.span(at)
            && span.reg.is_none()
            && span.width == span.len
        {
            let n = (count - gone as usize).min((span.len - at.off) as usize) as u32;
            let (elem, id) = (span.id.plus(at.off), id.plus(gone));
            seq.hide(at, n, id, 1, &ctx);
            log.push_here(LogRun {
                id,
                len: n,
                obj,
                what: RunAction::Delete { elem, step: i8::from(n > 1) },
            });
            gone += n;
        }
        gone
    }

    /// Deletes an element that was deleted or updated already, by operation `id` with only the insertion as
    /// predecessor.
    pub(crate) fn delete_again(&mut self, obj: ObjIdx, at: ElementPos, id: OpId) {
        let at = self.own(obj, at);
        let (seq, _) = self.seq_mut(obj);
        let elem = seq.span(at).id;
        let reg = seq.reg_mut(at);
        reg.dels.push(id);
        reg.values.retain(|value| value.id != elem);
        self.show(obj, at);
        self.log.push(LogRun { id, len: 1, obj, what: RunAction::Delete { elem, step: 0 } });
    }

    /// Gives an element a register, if it has none.
    fn own(&mut self, obj: ObjIdx, at: ElementPos) -> ElementPos {
        let seq = self.seq(obj).expect("the caller checked the kind of the object");
        let span = *seq.span(at);
        if span.reg.is_some() {
            return at;
        }
        let mut values = Values::new();
        if span.visible {
            values.push(Visible { id: span.id.plus(at.off), val: self.inserted(&span, at.off), added: 0 });
        }
        let (seq, ctx) = self.seq_mut(obj);
        seq.own(at, ElemReg { values, last: None, dels: SmallVec::new() }, &ctx)
    }

    /// The value with which the `n`-th element of a span was inserted.
    #[inline]
    pub(crate) fn inserted(&self, span: &Span, n: u32) -> StoredValue {
        match span.kind {
            Kind::Text => {
                let len = if span.reg.is_some() { 4 } else { span.bytes };
                let bytes = char_at(&self.heap, Bytes { at: span.at, len }, n);
                StoredValue { code: code::STR, bytes }
            }
            Kind::Values => self.log.values[(span.at + n) as usize],
            Kind::Mark => StoredValue::NULL,
        }
    }

    /// Updates the visible value of an element to the winner of its register.
    fn show(&mut self, obj: ObjIdx, at: ElementPos) {
        let (seq, ctx) = self.seq_mut(obj);
        let values = &seq.reg(seq.span(at)).expect("the element owns a register").values;
        let shown = match values.last() {
            None => VisibleChange { visible: false, bytes: 0, width: 0 },
            Some(_) if !seq.is_text => VisibleChange { visible: true, bytes: 0, width: 1 },
            Some(winner) => {
                let (text, width) = rendered(winner.val, &ctx);
                VisibleChange { visible: true, bytes: text.len() as u32, width }
            }
        };
        seq.show(at, shown, &ctx);
    }

    /// Charges for all predecessors but one, which the operation itself pays for.
    #[inline]
    fn pay_for_names(&mut self, preds: &[OpId]) {
        self.spare.operations = self.spare.operations.saturating_sub(named_besides(preds).into());
    }

    /// Applies an operation on a key of a map, with its predecessors, in a change that has all others as ancestors.
    pub(crate) fn put_key(&mut self, obj: ObjIdx, key: &str, op: &KeyOp, preds: &[OpId]) {
        self.put_key_in(obj, key, op, preds, true);
    }

    /// As [`Self::put_key`]; `latest` tells whether the change has all others as ancestors.
    pub(super) fn put_key_in(&mut self, obj: ObjIdx, key: &str, op: &KeyOp, preds: &[OpId], latest: bool) {
        self.pay_for_names(preds);
        let number = self.increment_of(op);
        let (map, heap, log, actors) = self.map_mut(obj);
        let this = log.keyed.next();
        map.update(key, heap, |entry| {
            let clears = register::apply(&mut entry.values, op, preds, number, actors) && latest;
            log.push_keyed(op.on(Key::Map(entry.key)), preds, entry.last, clears);
            entry.last = Some(this);
        });
    }

    /// Applies an update of an element, with its predecessors, in a change that has all others as ancestors.
    pub(crate) fn put_elem(&mut self, obj: ObjIdx, at: ElementPos, op: &KeyOp, preds: &[OpId]) {
        self.put_elem_in(obj, at, op, preds, true);
    }

    /// As [`Self::put_elem`]; `latest` tells whether the change has all others as ancestors.
    pub(super) fn put_elem_in(
        &mut self,
        obj: ObjIdx,
        at: ElementPos,
        op: &KeyOp,
        preds: &[OpId],
        latest: bool,
    ) {
        self.pay_for_names(preds);
        let number = self.increment_of(op);
        let at = self.own(obj, at);
        let this = self.log.keyed.next();
        let actors = self.actors.clone();
        let (seq, _) = self.seq_mut(obj);
        let elem = seq.span(at).id;
        let reg = seq.reg_mut(at);
        let clears = register::apply(&mut reg.values, op, preds, number, &actors) && latest;
        let before = reg.last.replace(this);
        self.show(obj, at);
        self.log.push_keyed(op.on(Key::Elem(elem)), preds, before, clears);
    }

    /// Appends changes whose operations end the log.
    pub(crate) fn push_changes(&mut self, run: crate::store::history::ChangeRun) -> ChangeIdx {
        self.drop_costly_columns();
        let row = self.history.push(run);
        self.history.log_len = self.log.runs.len() as u32;
        row
    }

    /// Appends a change as [`History::extend_change`] does, if possible; its operations end the log.
    #[inline]
    pub(crate) fn extend_change(
        &mut self,
        actor: ActorIdx,
        start: u32,
        ops: u32,
        time: i64,
    ) -> Option<ChangeIdx> {
        self.drop_costly_columns();
        let row = self.history.extend_change(actor, start, ops, time)?;
        self.history.log_len = self.log.runs.len() as u32;
        Some(row)
    }

    /// Range of log runs with the operations of a run of changes. The first and last may also hold earlier and later
    /// operations of the same actor.
    pub(crate) fn log_range(&self, number: usize) -> (usize, usize) {
        let from = self.history.run(number).map_or(0, |run| run.log as usize);
        let end = match self.history.run(number + 1) {
            None => self.history.log_len as usize,
            Some(next) => {
                let shared = self
                    .log
                    .runs
                    .get(next.log as usize)
                    .is_some_and(|run| run.id.actor == next.actor && run.id.ctr < next.first_counter);
                next.log as usize + usize::from(shared)
            }
        };
        (from, end.max(from + 1))
    }

    /// Amount of an increment; 0 for other operations.
    pub(crate) fn increment_of(&self, op: &KeyOp) -> i64 {
        if op.action == Action::Increment { self.raw(op.val()).number().unwrap_or(0) } else { 0 }
    }

    /// The operations on a key or element from `last` on, the newest arrival first.
    pub(crate) fn chain(&self, last: Option<KeyOpIdx>) -> impl Iterator<Item = &KeyOp> {
        let mut next = last;
        std::iter::from_fn(move || {
            let op = &self.log.keyed[next?];
            next = op.before();
            Some(op)
        })
    }

    /// Panics if the structures are inconsistent. With `deep`, every sequence is walked.
    pub(crate) fn check(&self, deep: bool) {
        assert_eq!(self.history.max_op().max(self.max_op), self.max_op);
        for op in self.log.keyed.iter().filter(|op| deep && op.jump().is_some()) {
            let mut at = op.before();
            while at != op.jump() {
                let over = &self.log.keyed[at.expect("a skip pointer leads to an earlier operation")];
                assert!(over.clears());
                at = over.before();
            }
        }
        if deep {
            self.log.check();
            self.check_original_columns();
            let (columns, bound) = (self.column_bytes(), self.size().columns);
            assert!(columns <= bound, "columns of {columns} bytes exceed their bound {bound}");
        }
        for (index, object) in self.objects.iter().enumerate() {
            let number = ObjIdx::new(index);
            assert_eq!(self.number(object.id), Some(number));
            assert!(object.body.is_shared());
            match &*object.body {
                Body::Seq(seq) if deep => seq.check(&self.ctx(), |span| self.shown(seq, span)),
                Body::Seq(_) => {}
                Body::Map(map) => {
                    assert_eq!(map.len(), map.entries().filter(|entry| !entry.values.is_empty()).count());
                    for entry in map.entries() {
                        let key = self.heap.text(entry.key);
                        assert!(map.get(key, &self.heap).is_some_and(|found| found.key == entry.key));
                        let ascending = |a: &Visible, b: &Visible| self.actors.cmp(a.id, b.id).is_lt();
                        assert!(entry.values.is_sorted_by(ascending));
                        assert!(self.chain(entry.last).all(|op| op.obj == number));
                    }
                }
            }
        }
    }
}

/// A span of characters that were just typed.
#[inline]
fn chars(id: OpId, origin: OpId, bytes: Bytes, extent: Extent) -> Span {
    Span {
        id,
        len: extent.len,
        origin,
        at: bytes.at,
        deleted_by: OpId::NONE,
        reg: None,
        bytes: bytes.len,
        width: extent.width,
        kind: Kind::Text,
        step: 0,
        visible: true,
    }
}

/// The `n`-th character of a text in the heap.
pub(crate) fn char_at(heap: &ByteArena, text: Bytes, n: u32) -> Bytes {
    let len_at = |at: u32| crate::codec::ops::op_reader::char_len(heap.get(Bytes { at, len: 1 })[0]) as u32;
    if n == 0 {
        return Bytes { at: text.at, len: len_at(text.at) };
    }
    let bytes = heap.text(text);
    let at = if bytes.is_ascii() {
        text.at + n
    } else {
        text.at + bytes.char_indices().nth(n as usize).map_or(0, |(at, _)| at) as u32
    };
    Bytes { at, len: len_at(at) }
}

/// Text and width of a value in a text.
pub(crate) fn rendered<'a>(val: StoredValue, ctx: &SeqContext<'a>) -> (&'a str, u32) {
    let text = if val.code == code::STR { ctx.heap.text(val.bytes) } else { PLACEHOLDER };
    (text, ctx.encoding.width(text) as u32)
}
