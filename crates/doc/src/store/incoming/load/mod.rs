//! Load of a document chunk into a state. Runs in the columns become spans and log runs without being expanded into
//! single operations.

mod change_table;
mod check_references;
mod insertion_order;
mod key_group;
mod spans;

use std::sync::Arc;

use hashbrown::HashSet;

use crate::codec::chunks::change::check_values;
use crate::codec::chunks::document::DocumentView;
use crate::codec::columns::section::{ChunkError, FormatFault};
use crate::codec::limits::{Budget, Limits, Size, cost};
use crate::codec::ops::op_reader::{OpReader, Run, RunKind, is_char, spec};
use crate::codec::ops::runs::InsertRun;
use crate::codec::parallel;
use crate::codec::raw_value::code;
use crate::codec::row::{Action, RawKey, Row};
use crate::codec::rules;
use crate::codec::shortcuts::original_columns::OriginalColumns;
use crate::store::history::ChangeRun;
use crate::store::incoming::load::insertion_order::OriginChain;
use crate::store::incoming::load::key_group::{Group, Op};
use crate::store::incoming::load::spans::{text_width, type_into};
use crate::store::log::key_op::{Key, KeyOp};
use crate::store::log::value::StoredValue;
use crate::store::log::{LogRun, MarkOp, RunAction};
use crate::store::map::Map;
use crate::store::memory::byte_arena::Bytes;
use crate::store::register::Values;
use crate::store::seq::build::{Builder, Unsorted};
use crate::store::seq::{Kind, Seq, Span};
use crate::store::state::{Body, DocumentState, Loaded, ROOT};
use crate::types::error::{LimitError, OpFault, Rule};
use crate::types::{KeyOpIdx, Number as _, ObjIdx, ObjType, OpId, RegIdx, TextEncoding};

/// Average number of bytes of a span in a file. A long index is built by another thread in parallel with the log.
const SPAN: u64 = 4;

/// Initial capacity for keys.
const FEW: usize = 16;

/// Original columns are stored if they take at most the memory of log and history divided by this.
const ORIGINALS_DIVISOR: usize = 4;

/// Loader of a document chunk.
pub(in crate::store) struct Loader {
    pub(in crate::store) state: DocumentState,
    /// Operations of sequences as runs of the log, in no order.
    pub(in crate::store) items: Vec<LogRun>,
    /// Operations on keys in the order of the document. Their `before` is their group.
    pub(in crate::store) keyed: Vec<KeyOp>,
    /// Their order in the log.
    pub(in crate::store) order: Vec<u64>,
    /// For each group the newest of its operations in the log.
    pub(in crate::store) lasts: Vec<Option<KeyOpIdx>>,
    /// Keys with their groups, map by map.
    keys_of_maps: Vec<LoadedKey>,
    /// The maps, and their numbers of keys.
    maps: Vec<(ObjIdx, usize)>,
    /// The sequence being read.
    open: Option<(ObjIdx, Builder)>,
    /// The key or element with its own history being read.
    group: Option<Group>,
    /// Reusable memory for the rows of the next group.
    spare: Vec<Op>,
    /// Insertion path of the last element read from the open sequence.
    origin_chain: OriginChain,
    /// Begins of marks in the open sequence without an end so far.
    begins: HashSet<OpId>,
    /// Are ends of marks without a begin allowed?
    loose_marks: bool,
    /// Are some changes concurrent?
    pub(in crate::store) branched: bool,
    /// Completed sequences, with the groups of their registers.
    seqs: Vec<(ObjIdx, Seq, Vec<usize>)>,
    /// Their indexes, not built yet.
    indexes: Vec<Unsorted>,
    reg_groups: Vec<usize>,
    /// Position of the key column in the heap.
    keys: Option<Bytes>,
}

/// A key, its group, and its visible values.
type LoadedKey = (Bytes, usize, Values);

/// End of a row's key in its column, and start of its value in the value column.
#[derive(Clone, Copy)]
struct Offsets {
    key_end: u32,
    value: u32,
}

/// Position of the last row.
#[derive(Clone, Copy)]
struct LastObject {
    obj: OpId,
    number: ObjIdx,
}

/// Number of rows read, and its limit.
struct RowCounter<'l> {
    rows: u64,
    limits: &'l Limits,
}

impl RowCounter<'_> {
    fn add(&mut self, rows: u64) -> Result<(), LimitError> {
        self.rows += rows;
        self.limits.check_total(self.rows)
    }
}

fn fault(rule: Rule) -> FormatFault {
    FormatFault::at(0, rule)
}

fn operation(rule: OpFault) -> FormatFault {
    fault(Rule::Operation(rule))
}

impl DocumentState {
    /// Reads a document chunk. Does not compare its heads with those named in the file.
    pub(crate) fn load(
        view: &DocumentView<'_>,
        encoding: TextEncoding,
        limits: &Limits,
        loose_marks: bool,
        budget: &mut Budget,
    ) -> Result<Self, ChunkError> {
        budget.pay(view.len());
        budget.set_names(view.longest_name());
        let mut state = DocumentState::new(encoding);
        state.actors.add_all(view.actors.iter());
        let raw = view.ops.get(spec::RAW);
        // Chunks of the heap may be half empty.
        if state.heap.room(raw.len() + 3 * (view.len() - raw.len())).is_err() {
            return Err(ChunkError::limit("bytes of values", u32::MAX.into()));
        }
        let values = state.heap.adopt(&view.ops.share(spec::RAW));
        let keys = if OriginalColumns::may_keep(view, limits.shortcuts) {
            Some(state.heap.adopt(&view.ops.share(spec::KEY_STR)))
        } else {
            // The keys are in the file anyway.
            state.heap.pay(view.ops.get(spec::KEY_STR).len());
            None
        };
        state.heap.set_read(view.ops.get(spec::KEY_STR).len());
        let mut loader = Loader {
            state,
            items: Vec::new(),
            keyed: Vec::with_capacity(FEW),
            order: Vec::new(),
            lasts: Vec::with_capacity(FEW),
            keys_of_maps: Vec::with_capacity(FEW),
            maps: Vec::new(),
            open: None,
            group: None,
            spare: Vec::new(),
            origin_chain: OriginChain::default(),
            begins: HashSet::new(),
            branched: false,
            loose_marks,
            seqs: Vec::new(),
            indexes: Vec::new(),
            reg_groups: Vec::new(),
            keys,
        };
        let mut reader = view.op_rows(*budget);
        let read = loader.rows(&mut reader, limits);
        *budget = reader.budget;
        let rows = read.map_err(|error| error.in_column(spec::ACTION, reader.row_offset()))?;
        let unsorted = std::mem::take(&mut loader.indexes);
        let spans: usize = unsorted.iter().map(Unsorted::len).sum();
        let index = || unsorted.into_iter().map(Unsorted::build).collect::<Vec<_>>();
        let mut history = || {
            loader.collect();
            loader.history(view, limits, budget)
        };
        let (indexes, history) = if (spans as u64) < limits.parallel_from / SPAN {
            (index(), history())
        } else {
            parallel::join(index, history)
        };
        history?;
        loader.seqs.iter_mut().zip(indexes).for_each(|((_, seq, _), index)| seq.set_index(index));
        let columns = loader.keys.map(|keys| [keys, values]);
        let mut state = loader.finish();
        state.original = columns.and_then(|columns| {
            let room = (state.log.bytes() + state.history.bytes()) / ORIGINALS_DIVISOR;
            let of = OriginalColumns::from_view(view, rows, room)?;
            Some(Arc::new(Loaded { log: state.log.end(), changes: state.history.next(), columns, of }))
        });
        Ok(state)
    }
}

impl Loader {
    /// Reads all rows; returns their number.
    fn rows(&mut self, reader: &mut OpReader<'_>, limits: &Limits) -> Result<u64, ChunkError> {
        let mut last = LastObject { obj: OpId::NONE, number: ROOT };
        let mut count = RowCounter { rows: 0, limits };
        while let Some(row) = reader.next()? {
            count.add(1)?;
            if row.obj != last.obj {
                last = self.enter(row.obj, last)?;
            }
            let value = (reader.raw_offset() - row.value.bytes.len()) as u32;
            let at = Offsets { key_end: reader.key_end() as u32, value };
            self.row(&row, &reader.refs, last, at)?;
            if let Some(mut run) = insert_run(&row, &reader.refs) {
                loop {
                    let before = run;
                    let rows = reader.extend(&mut run)?;
                    if rows == 0 {
                        break;
                    }
                    count.add(rows)?;
                    self.run(&before, run.step as i8, rows, last, reader)?;
                }
                self.insert_runs(last, reader, &mut count)?;
            }
            if let RawKey::Map(key) = row.key
                && limits.shortcuts.taken()
            {
                self.rewrites(key, last, reader, &mut count)?;
            }
        }
        self.finish_object()?;
        Ok(count.rows)
    }

    /// Moves to the next object. Objects come in the order of their ids.
    fn enter(&mut self, obj: OpId, last: LastObject) -> Result<LastObject, FormatFault> {
        self.finish_object()?;
        if self.state.actors.cmp(obj, last.obj).is_lt() {
            return Err(fault(Rule::OperationOrder));
        }
        let number = self.state.number(obj).ok_or_else(|| operation(OpFault::Object))?;
        Ok(LastObject { obj, number })
    }

    fn finish_object(&mut self) -> Result<(), FormatFault> {
        self.end_group()?;
        self.begins.clear();
        self.origin_chain.clear();
        if let Some((number, builder)) = self.open.take() {
            let (seq, index) = builder.arrange();
            self.seqs.push((number, seq, std::mem::take(&mut self.reg_groups)));
            self.indexes.push(index);
        }
        Ok(())
    }

    fn row(
        &mut self,
        row: &Row<'_>,
        refs: &[OpId],
        last: LastObject,
        at: Offsets,
    ) -> Result<(), FormatFault> {
        if refs.windows(2).any(|pair| self.state.actors.cmp(pair[0], pair[1]).is_ge()) {
            return Err(FormatFault::in_column(spec::SUCC_CTR, 0, Rule::NotAscending("successors")));
        }
        if row.action == Action::Delete {
            return Err(fault(Rule::Deletion));
        }
        let kind = self.state.objects[last.number].kind;
        rules::key_kind(kind, row).map_err(operation)?;
        rules::text_alone_has_marks(row.action, kind == ObjType::Text).map_err(operation)?;
        match row.key {
            RawKey::Map(key) => self.key_row(key, row, refs, last, at),
            RawKey::Elem(elem) => {
                if self.open.is_none() {
                    let text = self.state.seq(last.number).is_some_and(|seq| seq.is_text);
                    self.open = Some((last.number, Builder::new(text)));
                }
                if row.insert {
                    self.end_group()?;
                    self.insert_row(elem, row, refs, last, at.value)
                } else {
                    self.update_row(elem, row, refs, last, at.value)
                }
            }
        }
    }

    /// The value of a row whose bytes are at `at` in the raw column, which is the start of the heap.
    fn val(&mut self, row: &Row<'_>, last: LastObject, at: u32) -> StoredValue {
        match row.action.makes() {
            Some(kind) => self.state.make(row.id, kind, last.number),
            None => StoredValue { code: row.value.code, bytes: raw_bytes(at, row.value.bytes.len()) },
        }
    }

    fn key_row(
        &mut self,
        key: &str,
        row: &Row<'_>,
        refs: &[OpId],
        last: LastObject,
        at: Offsets,
    ) -> Result<(), FormatFault> {
        let same = self.group.as_ref().is_some_and(|group| group.is_key(key, &self.state.heap));
        if !same {
            if self.group.as_ref().is_some_and(|group| !group.before_key(key, &self.state.heap)) {
                return Err(fault(Rule::OperationOrder));
            }
            self.end_group()?;
            let bytes = match self.keys {
                Some(keys) => Bytes { at: keys.at + at.key_end - key.len() as u32, len: key.len() as u32 },
                None => self.state.heap.name(key),
            };
            self.group = Some(Group::of_key(last.number, bytes, std::mem::take(&mut self.spare)));
        }
        let val = self.val(row, last, at.value);
        self.add(Op { id: row.id, action: row.action, val, succ: refs.into() })
    }

    /// The rows of a key that was overwritten repeatedly.
    fn rewrites(
        &mut self,
        key: &str,
        last: LastObject,
        reader: &mut OpReader<'_>,
        count: &mut RowCounter<'_>,
    ) -> Result<(), ChunkError> {
        while let Some(mut rows) = reader.rewrites(self.state.objects[last.number].id, key)? {
            let before = count.rows;
            while let Some(row) = reader.rewrite(&mut rows)? {
                reader.budget.rows(1 + u64::from(row.succ.is_some()))?;
                // Each of these changes is hashed with the key in it.
                reader.budget.text(key)?;
                count.add(1)?;
                rules::reference(row.id, last.obj).map_err(operation)?;
                if let Some(succ) = row.succ {
                    later(row.id, succ)?;
                }
                let len = row.value.bytes.len();
                let val = StoredValue {
                    code: row.value.code,
                    bytes: raw_bytes((reader.raw_offset() - len) as u32, len),
                };
                self.add(Op { id: row.id, action: Action::Set, val, succ: row.succ.into_iter().collect() })?;
            }
            reader.skip_rewrites(&rows);
            if count.rows == before {
                break;
            }
        }
        Ok(())
    }

    /// Adds a row to the open group. Inlined: passed through memory, it would be read before its stores complete.
    #[inline(always)]
    fn add(&mut self, op: Op) -> Result<(), FormatFault> {
        let group = self.group.as_mut().expect("the caller opened it");
        if group.ops.last().is_some_and(|last| self.state.actors.cmp(last.id, op.id).is_ge()) {
            return Err(fault(Rule::OperationOrder));
        }
        group.ops.push(op);
        Ok(())
    }

    fn insert_row(
        &mut self,
        origin: OpId,
        row: &Row<'_>,
        refs: &[OpId],
        last: LastObject,
        at: u32,
    ) -> Result<(), FormatFault> {
        let mark = row.action == Action::Mark;
        let text = self.state.seq(last.number).is_some_and(|seq| seq.is_text);
        self.origin_chain.advance(row.id, 1, origin, &self.state.actors).map_err(operation)?;
        if mark {
            // Operations never update or delete a mark boundary.
            if !refs.is_empty() {
                return Err(operation(OpFault::Element));
            }
            self.mark_row(row)?;
        }
        let value = row.value;
        let char = text && row.action == Action::Set && is_char(value.code, value.bytes);
        let (kind, at, bytes) = if mark {
            let name = row.mark.map(|name| self.state.heap.name(name));
            let val = self.val(row, last, at);
            self.state.log.marks.push(MarkOp { origin, name, val, expand: row.expand });
            (Kind::Mark, self.state.log.marks.len() as u32 - 1, 0)
        } else if char {
            (Kind::Text, at, value.bytes.len() as u32)
        } else {
            let val = self.val(row, last, at);
            self.state.log.values.push(val);
            self.state.log.apart += if text { Size::ENTRY } else { 0 };
            (Kind::Values, self.state.log.values.len() as u32 - 1, 0)
        };
        let mut span = Span {
            id: row.id,
            len: 1,
            origin,
            at,
            deleted_by: refs.first().copied().unwrap_or_default(),
            reg: None,
            bytes,
            width: 1,
            kind,
            step: 0,
            visible: refs.is_empty() && !mark,
        };
        if refs.len() > 1 {
            span.deleted_by = OpId::NONE;
            let inserted = self.state.inserted(&span, 0);
            self.group = Some(Group::of_element(last.number, span, inserted, refs.into()));
            return Ok(());
        }
        self.push(span, text);
        Ok(())
    }

    /// The end of a mark follows its begin, whose id is one less.
    fn mark_row(&mut self, row: &Row<'_>) -> Result<(), FormatFault> {
        if row.mark.is_some() {
            self.begins.insert(row.id);
            return Ok(());
        }
        let begin = OpId::new(row.id.ctr - 1, row.id.actor);
        if self.begins.remove(&begin) || self.loose_marks {
            Ok(())
        } else {
            Err(operation(OpFault::MarkOrder))
        }
    }

    /// Adds elements without a history of their own.
    fn push(&mut self, mut span: Span, text: bool) {
        let ctx = self.state.ctx();
        let (_, builder) = self.open.as_mut().expect("a sequence is open");
        match span.kind {
            Kind::Mark => {
                span.width = 0;
                builder.push(span, "");
            }
            Kind::Text => {
                span.width = if span.bytes == span.len { span.len } else { text_width(&span, &ctx) };
                builder.push_run(span, &ctx);
            }
            Kind::Values if text => {
                let val = self.state.log.values[span.at as usize];
                let (shown, width) = crate::store::state::rendered(val, &ctx);
                (span.bytes, span.width) = (shown.len() as u32, width);
                builder.push(span, if span.visible { shown } else { "" });
            }
            Kind::Values => builder.push(span, ""),
        }
    }

    /// Rows that continue like an insertion.
    fn run(
        &mut self,
        before: &Run,
        step: i8,
        rows: u64,
        last: LastObject,
        reader: &mut OpReader<'_>,
    ) -> Result<(), ChunkError> {
        // A group of an element with several successors ends where the next element begins.
        self.end_group()?;
        let succ = before.single.map(|id| crate::store::log::stepped(id, step, 1));
        let insert_run = InsertRun { id: before.id.plus(1), origin: before.id, len: rows as u32, succ, step };
        self.check_insert_run(&insert_run, last)?;
        self.values(&insert_run, last, reader)
    }

    /// Checks the reference rules for rows that were decoded together. Ids ascend and successors ascend or descend in
    /// equal steps, so checking both ends suffices.
    #[inline]
    fn check_insert_run(&mut self, insert_run: &InsertRun, last: LastObject) -> Result<(), FormatFault> {
        let InsertRun { id, origin, len, .. } = *insert_run;
        rules::reference(id, origin)
            .and_then(|()| rules::reference(id, last.obj))
            .and_then(|()| self.origin_chain.advance(id, len, origin, &self.state.actors))
            .map_err(operation)?;
        match insert_run.ends() {
            None => Ok(()),
            Some(ends) => ends.into_iter().try_for_each(|(id, succ)| later(id, succ)),
        }
    }

    /// The rows of a sequence that contain only an insertion and its deletion, if any.
    fn insert_runs(
        &mut self,
        last: LastObject,
        reader: &mut OpReader<'_>,
        count: &mut RowCounter<'_>,
    ) -> Result<(), ChunkError> {
        if self.open.is_none() {
            return Ok(());
        }
        let Some(mut uniform) = reader.uniform(self.state.objects[last.number].id)? else {
            return Ok(());
        };
        self.end_group()?;
        while let Some(insert_run) = reader.insert_run(&mut uniform)? {
            self.insert_run(&insert_run, last, reader, count)?;
        }
        reader.skip_uniform(&uniform);
        Ok(())
    }

    fn insert_run(
        &mut self,
        insert_run: &InsertRun,
        last: LastObject,
        reader: &mut OpReader<'_>,
        count: &mut RowCounter<'_>,
    ) -> Result<(), ChunkError> {
        reader.budget.rows(1)?;
        count.add(insert_run.len.into())?;
        self.check_insert_run(insert_run, last)?;
        let (_, builder) = self.open.as_mut().expect("a sequence is open");
        let at = reader.raw_offset() as u32;
        match if builder.is_text() { reader.ascii(insert_run.len)? } else { None } {
            Some(text) => type_into(builder, insert_run, at, text),
            None => self.values(insert_run, last, reader)?,
        }
        Ok(())
    }

    /// Adds the values of a run of insertions.
    fn values(
        &mut self,
        insert_run: &InsertRun,
        last: LastObject,
        reader: &mut OpReader<'_>,
    ) -> Result<(), ChunkError> {
        let text = self.state.seq(last.number).is_some_and(|seq| seq.is_text);
        let step = insert_run.step;
        let (mut n, mut at) = (0, reader.raw_offset() as u32);
        // In a text each of them is an element of its own.
        let empty = if text { cost::STEP } else { cost::GLANCE };
        reader.take_values(insert_run.len.into(), empty, |code, len, bytes, rows| {
            check_values(code, len, bytes, rows)?;
            let rows = rows as u32;
            let gone = insert_run.succ.map_or(OpId::NONE, |id| crate::store::log::stepped(id, step, n));
            let mut span = Span {
                id: insert_run.id.plus(n),
                len: rows,
                origin: if n == 0 { insert_run.origin } else { insert_run.id.plus(n - 1) },
                at,
                deleted_by: gone,
                reg: None,
                bytes: bytes.len() as u32,
                width: rows,
                kind: Kind::Text,
                step: if rows == 1 { 0 } else { step },
                visible: gone.is_none(),
            };
            let chars =
                text && len > 0 && (len == 1 || bytes.chunks_exact(len).all(|bytes| is_char(code, bytes)));
            if chars && code == code::STR {
                self.push(span, true);
            } else {
                span.kind = Kind::Values;
                span.bytes = 0;
                span.at = self.state.log.values.len() as u32;
                let val = |n: u32| StoredValue { code, bytes: raw_bytes(at + n * len as u32, len) };
                self.state.log.values.extend((0..rows).map(val));
                if text {
                    self.push_each(span);
                } else {
                    self.push(span, false);
                }
            }
            (n, at) = (n + rows, at + bytes.len() as u32);
            Ok(())
        })
    }

    /// In a text each value is a span of its own.
    fn push_each(&mut self, span: Span) {
        self.state.log.apart = self.state.log.apart.saturating_add(span.len.saturating_mul(Size::ENTRY));
        for n in 0..span.len {
            let gone = if span.deleted_by.is_none() { span.deleted_by } else { span.deletion_of(n) };
            let origin = if n == 0 { span.origin } else { span.id.plus(n - 1) };
            let one = Span {
                id: span.id.plus(n),
                len: 1,
                origin,
                at: span.at + n,
                deleted_by: gone,
                step: 0,
                ..span
            };
            self.push(one, true);
        }
    }

    fn update_row(
        &mut self,
        elem: OpId,
        row: &Row<'_>,
        refs: &[OpId],
        last: LastObject,
        at: u32,
    ) -> Result<(), FormatFault> {
        if self.group.is_none() {
            let (_, builder) = self.open.as_mut().expect("a sequence is open");
            let span = builder.pop(&self.state.ctx()).filter(|span| span.kind != Kind::Mark);
            let mut span = span.ok_or_else(|| operation(OpFault::Element))?;
            let succ = Some(std::mem::take(&mut span.deleted_by)).filter(|gone| !gone.is_none());
            let inserted = self.state.inserted(&span, 0);
            self.group = Some(Group::of_element(last.number, span, inserted, succ.into_iter().collect()));
        }
        if self.group.as_ref().and_then(Group::element) != Some(elem) {
            return Err(operation(OpFault::Element));
        }
        let val = self.val(row, last, at);
        self.add(Op { id: row.id, action: row.action, val, succ: refs.into() })
    }

    /// Converts the rows of a key or element into operations with predecessors.
    fn end_group(&mut self) -> Result<(), FormatFault> {
        let Some(mut group) = self.group.take() else { return Ok(()) };
        let number = self.lasts.len();
        self.lasts.push(None);
        if let Some(values) = group.chain() {
            let mut before = None;
            for op in &group.ops {
                self.push_keyed(group.keyed(op), before.as_slice(), number);
                before = Some(op.id);
            }
            self.push_key(&group, number, values);
            self.spare = std::mem::take(&mut group.ops);
            return Ok(());
        }
        let amounts = |val: StoredValue| self.state.raw(val).number().unwrap_or(0);
        let resolved = group.resolve(&self.state.actors, amounts);
        let resolved = resolved.ok_or_else(|| operation(OpFault::NoPred))?;
        resolved.ops.into_iter().for_each(|(op, preds)| self.push_keyed(op, &preds, number));
        match group.span {
            None => self.push_key(&group, number, resolved.values),
            Some(mut span) => {
                span.deleted_by = resolved.deleted_by;
                span.visible = !resolved.values.is_empty();
                let text = self.state.seq(group.obj).is_some_and(|seq| seq.is_text);
                let ctx = self.state.ctx();
                let (shown, width) = match resolved.values.last() {
                    Some(winner) if text => crate::store::state::rendered(winner.val, &ctx),
                    Some(_) => ("", 1),
                    None => ("", 0),
                };
                (span.bytes, span.width) = (shown.len() as u32, width);
                let (_, builder) = self.open.as_mut().expect("a sequence is open");
                let reg =
                    crate::store::seq::ElemReg { values: resolved.values, last: None, dels: resolved.dels };
                span.reg = Some(builder.regs().next());
                builder.regs().push(reg);
                self.reg_groups.push(number);
                builder.push(span, shown);
            }
        }
        Ok(())
    }

    /// Adds an operation of a group with its predecessors.
    fn push_keyed(&mut self, mut op: KeyOp, preds: &[OpId], group: usize) {
        self.state.log.set_preds(&mut op, preds);
        self.keyed.push(op.in_group(group));
    }

    /// Adds a key with its visible values.
    fn push_key(&mut self, group: &Group, number: usize, values: Values) {
        let Key::Map(key) = group.key else { return };
        if self.maps.last().is_none_or(|(obj, _)| *obj != group.obj) {
            self.maps.push((group.obj, 0));
        }
        let (_, keys) = self.maps.last_mut().expect("it was just added");
        *keys += 1;
        self.keys_of_maps.push((key, number, values));
    }

    /// All operations of sequences as runs of the log.
    fn collect(&mut self) {
        self.collect_keyed();
        // Counted first: over-allocating by half would be most of the memory above the document at the peak of a load.
        let spans = self.seqs.iter().flat_map(|(_, seq, _)| seq.spans().map(move |span| (seq, span)));
        let dels = |seq: &Seq, span| seq.reg(span).map_or(0, |reg| reg.dels.len());
        self.items.reserve_exact(
            spans.map(|(seq, span)| 1 + usize::from(!span.deleted_by.is_none()) + dels(seq, span)).sum(),
        );
        for (obj, seq, _) in &self.seqs {
            let obj = *obj;
            for span in seq.spans() {
                let (id, origin, len) = (span.id, span.origin, span.len);
                let what = match span.kind {
                    Kind::Text => {
                        let len = if span.reg.is_some() {
                            self.state.inserted(span, 0).bytes.len
                        } else {
                            span.bytes
                        };
                        RunAction::Text { origin, bytes: Bytes { at: span.at, len } }
                    }
                    Kind::Values => RunAction::Values { origin, at: span.at },
                    Kind::Mark => RunAction::Mark(span.at),
                };
                self.items.push(LogRun { id, len, obj, what });
                if !span.deleted_by.is_none() {
                    let last = len - 1;
                    let (id, elem) = if span.step < 0 {
                        (span.deletion_of(last), id.plus(last))
                    } else {
                        (span.deleted_by, id)
                    };
                    let step = if len == 1 { 0 } else { span.step };
                    self.items.push(LogRun { id, len, obj, what: RunAction::Delete { elem, step } });
                }
                let dels = seq.reg(span).map(|reg| &reg.dels[..]).unwrap_or_default();
                let delete = |del: &OpId| LogRun {
                    id: *del,
                    len: 1,
                    obj,
                    what: RunAction::Delete { elem: id, step: 0 },
                };
                self.items.extend(dels.iter().map(delete));
            }
        }
    }

    /// Sorts the operations on keys.
    fn collect_keyed(&mut self) {
        self.order = crate::store::memory::sort::order(&self.keyed, |op| op.id);
        for (n, at) in self.order.iter().enumerate() {
            let KeyOp { id, obj, .. } = self.keyed[*at as usize];
            let follows = |run: &LogRun| run.id.actor == id.actor && id.ctr - run.id.ctr == run.len;
            match self.items.last_mut() {
                Some(run) if run.obj == obj && follows(run) => run.len += 1,
                _ => self.items.push(LogRun { id, len: 1, obj, what: RunAction::KeyOp(KeyOpIdx::new(n)) }),
            }
        }
    }

    /// Assembles the state.
    fn finish(mut self) -> DocumentState {
        let mut keys_of_maps = self.keys_of_maps.into_iter();
        for (obj, keys) in self.maps {
            let last = |(key, group, values)| (key, self.lasts[group], values);
            let map = Map::from_entries(keys_of_maps.by_ref().take(keys).map(last), &self.state.heap);
            self.state.objects.get_mut(obj).body = Body::Map(map).into();
        }
        for (obj, mut seq, groups) in self.seqs {
            for (reg, group) in groups.into_iter().enumerate() {
                seq.regs.get_mut(RegIdx::new(reg)).last = self.lasts[group];
            }
            self.state.objects.get_mut(obj).body = Body::Seq(seq).into();
        }
        self.state
    }

    /// Appends changes to the history.
    pub(in crate::store) fn push_changes(&mut self, run: ChangeRun) {
        self.state.max_op =
            self.state.max_op.max((run.first_counter + run.ops_per_change * run.row_count).saturating_sub(1));
        self.state.push_changes(run);
        self.branched |= self.state.history.heads.rows().len() > 1;
    }
}

/// Checks that a successor is later than its operation.
#[inline]
fn later(id: OpId, succ: OpId) -> Result<(), FormatFault> {
    rules::reference(succ, id)
        .map_err(|rule| FormatFault::in_column(spec::SUCC_CTR, 0, Rule::Operation(rule)))
}

fn raw_bytes(at: u32, len: usize) -> Bytes {
    if len == 0 { Bytes::default() } else { Bytes { at, len: len as u32 } }
}

/// The run of insertions that a row of a document may start.
fn insert_run(row: &Row<'_>, refs: &[OpId]) -> Option<Run> {
    if !row.insert || row.action != Action::Set || refs.len() > 1 {
        return None;
    }
    let single = refs.first().copied();
    Some(Run { kind: RunKind::Insert, obj: row.obj, id: row.id, elem: OpId::NONE, single, step: 0 })
}
