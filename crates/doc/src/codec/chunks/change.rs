//! Change chunk: operations by one actor, with its dependencies.

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::codec::bytes::byte_rope::ByteRope;
use crate::codec::bytes::leb::{put_i64, put_u64};
use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::container::{Chunk, ChunkType, frame_with, hash_chunk};
use crate::codec::columns::deflate::{Effort, deflate};
use crate::codec::columns::section::{ChunkError, Columns, FormatFault, Layout};
use crate::codec::limits::{Budget, Limits, cost};
use crate::codec::ops::op_reader::{OpReader, RowKind, Run, RunKind, char_len};
use crate::codec::ops::op_writer::{OpWriter, write_columns};
use crate::codec::parallel;
use crate::codec::raw_value::RawValue;
use crate::codec::row::{Action, RawKey, Row};
use crate::codec::rules;
use crate::codec::shortcuts::Shortcuts;
use crate::codec::shortcuts::block::Block;
use crate::codec::shortcuts::keystroke::SingleCharOp;
use crate::codec::shortcuts::put::Put;
use crate::codec::shortcuts::single::Single;
use crate::types::error::{DecodeError, FormatError, InputPosition, Rule};
use crate::types::{ActorId, ActorIdx, ChangeHash, OpId};

/// Uncompressed chunks longer than this are deflated by [`Change::bytes`].
const DEFLATE_OVER: usize = 256;

/// Number of changes that a thread reads per task: taking a task from another thread costs as much as reading a change.
const TOGETHER: usize = 64;

/// Tag of the author in a change's extra bytes.
const AUTHOR_TAG: u64 = 1;

/// The readable dependencies of an otherwise unreadable change, from the first bytes of its body.
pub(crate) fn deps_of(start: &[u8]) -> impl Iterator<Item = ChangeHash> {
    let mut reader = Reader::new(start);
    // If the count cannot be read, no dependency is known.
    let count = reader.len().unwrap_or(0);
    let (hashes, _) = reader.rest().as_chunks::<32>();
    hashes.iter().take(count).map(|hash| ChangeHash(*hash))
}

/// The fields of a change, borrowed from the body of its chunk.
#[derive(Debug)]
pub(crate) struct ChangeView<'a> {
    /// Concatenated hashes.
    deps: &'a [u8],
    pub(crate) actor: &'a [u8],
    pub(crate) seq: u32,
    pub(crate) start_op: u32,
    pub(crate) time: i64,
    /// Offset of the names in the body.
    names_at: usize,
    names: ChangeStrings<'a>,
    columns: Columns<'a>,
    /// Layout and data of the columns as received.
    section: &'a [u8],
    extra: &'a [u8],
}

/// The message of a change and the actors it refers to.
#[derive(Debug, Default)]
pub(crate) struct ChangeStrings<'a> {
    pub(crate) message: &'a str,
    /// The actors it refers to besides its own, ascending.
    pub(crate) others: SmallVec<[&'a [u8]; 2]>,
}

impl<'a> ChangeStrings<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        let message = reader.text()?;
        let count = reader.len()?;
        if count > reader.rest().len() {
            return Err(Rule::Truncated);
        }
        let mut others = SmallVec::new();
        for _ in 0..count {
            others.push(reader.prefixed()?);
        }
        Ok(Self { message, others })
    }
}

impl<'a> ChangeView<'a> {
    /// Reads the fields. Locates the operations without reading them.
    pub(crate) fn parse(body: &'a [u8], limits: &Limits) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(body);
        let fields = Self::fields(&mut reader).map_err(|rule| FormatFault::at(reader.offset(), rule))?;
        let from = reader.offset();
        let layout = Layout::read(&mut reader)?;
        if layout.is_deflated() {
            return Err(FormatFault::at(from, Rule::CompressedInChange).into());
        }
        let columns = layout.read_columns(&mut reader, &mut limits.inflated_bytes.clone(), limits)?;
        let section = &body[from..reader.offset()];
        Ok(Self { columns, section, extra: reader.rest(), ..fields })
    }

    fn fields(reader: &mut Reader<'a>) -> Result<Self, Rule> {
        let deps = reader.len()?.checked_mul(32).ok_or(Rule::Truncated)?;
        let deps = reader.read_bytes(deps)?;
        let actor = reader.prefixed()?;
        let seq = reader.u32()?;
        let start_op = reader.u32()?;
        if seq == 0 || start_op == 0 {
            return Err(Rule::Zero);
        }
        let time = reader.i64()?;
        let names_at = reader.offset();
        let names = ChangeStrings::read(reader)?;
        let others = &names.others;
        if others.windows(2).any(|pair| pair[0] >= pair[1]) || others.contains(&actor) {
            return Err(Rule::NotAscending("other actors"));
        }
        let (columns, section, extra) = (Columns::default(), &[][..], &[][..]);
        Ok(Self { deps, actor, seq, start_op, time, names_at, names, columns, section, extra })
    }

    /// Reads a change with one frequent operation, without its columns. For all other changes, [`Self::parse`] and
    /// [`Self::check`] are used; they would give the same result.
    fn single(body: &'a [u8]) -> Option<(Self, Single<'a>)> {
        let mut reader = Reader::new(body);
        let view = Self::fields(&mut reader).ok()?;
        let (single, len) = Single::read(reader.rest(), 1 + view.names.others.len())?;
        let [obj, other] = single.ids().map(|id| id.actor);
        let named = usize::from(obj > ActorIdx::FIRST) + usize::from(other > ActorIdx::FIRST && other != obj);
        let section = reader.read_bytes(len).ok()?;
        let id = OpId::new(view.start_op, ActorIdx::FIRST);
        let earlier = single.ids().into_iter().all(|other| rules::reference(id, other).is_ok());
        (earlier && named == view.names.others.len() && view.start_op <= rules::LAST)
            .then(|| (Self { section, extra: reader.rest(), ..view }, single))
    }

    pub(crate) fn deps(&self) -> impl ExactSizeIterator<Item = ChangeHash> + use<'a> {
        let (hashes, _) = self.deps.as_chunks::<32>();
        hashes.iter().map(|hash| ChangeHash(*hash))
    }

    /// Reader of the operations. Actor 0 is the author, the others follow.
    pub(crate) fn ops(&self) -> OpReader<'_> {
        OpReader::new(
            RowKind::Change,
            &self.columns,
            1 + self.names.others.len(),
            OpId::new(self.start_op, ActorIdx::FIRST),
        )
    }

    /// Reads every operation, checks all rules that need no document, and encodes them again: a change keeps its hash
    /// when it is rebuilt from a document only if its encoding is canonical. Returns the number of operations.
    fn check(
        &self,
        limits: &Limits,
        budget: &mut Budget,
        scratch: &mut Scratch<'_>,
    ) -> Result<u32, ChunkError> {
        // A column of a later version cannot be encoded again.
        let not_canonical = || match self.columns.unknown(&crate::codec::ops::op_reader::spec::ALL) {
            Some(unknown) => FormatFault::in_column(unknown, 0, Rule::UnknownColumn),
            None => FormatFault::at(0, Rule::NotCanonical),
        };
        let mut writer = std::mem::take(&mut scratch.writer).recycle();
        let mut others = Others { view: self, used: smallvec::smallvec![false; self.names.others.len()] };
        let mut reader = self.ops().metered(*budget);
        let count = recode(&mut reader, &mut writer, &mut others, limits);
        *budget = reader.budget;
        let count = count?;
        if !others.used.iter().all(|used| *used) {
            return Err(not_canonical().into());
        }
        scratch.body.clear();
        write_columns(&writer.columns(RowKind::Change), &mut scratch.body);
        scratch.writer = writer.recycle();
        if scratch.body != self.section {
            return Err(not_canonical().into());
        }
        Ok(count)
    }
}

/// The author recorded in extra bytes, if the first record has the author tag.
pub(crate) fn author_in(extra: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(extra);
    let tag = reader.u64().ok()?;
    let bytes = reader.prefixed().ok()?;
    (tag == AUTHOR_TAG).then_some(bytes)
}

/// Extra bytes that record an author.
pub(crate) fn author_footer(author: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    put_u64(&mut out, AUTHOR_TAG);
    put_u64(&mut out, author.len() as u64);
    out.extend_from_slice(author);
    out
}

/// Actors of a change while its operations are read: which of them are used, and their order.
struct Others<'v, 'a> {
    view: &'v ChangeView<'a>,
    used: SmallVec<[bool; 8]>,
}

impl Others<'_, '_> {
    fn note(&mut self, id: OpId) {
        if !id.is_none() && id.actor > ActorIdx::FIRST {
            self.used[id.actor.index() - 1] = true;
        }
    }

    fn bytes(&self, actor: ActorIdx) -> &[u8] {
        if actor == ActorIdx::FIRST { self.view.actor } else { self.view.names.others[actor.index() - 1] }
    }

    fn cmp(&self, a: OpId, b: OpId) -> Ordering {
        a.ctr.cmp(&b.ctr).then_with(|| self.bytes(a.actor).cmp(self.bytes(b.actor)))
    }
}

fn recode<'a>(
    reader: &mut OpReader<'a>,
    writer: &mut OpWriter<'a>,
    others: &mut Others<'_, '_>,
    limits: &Limits,
) -> Result<u32, ChunkError> {
    let mut count = 0u64;
    while let Some(row) = reader.next()? {
        count += 1;
        others.note(row.obj);
        if let RawKey::Elem(elem) = row.key {
            others.note(elem);
        }
        reader.refs.iter().for_each(|pred| others.note(*pred));
        rules::predecessors(&reader.refs, |a, b| others.cmp(a, b)).map_err(|rule| {
            FormatFault::in_column(crate::codec::ops::op_reader::spec::PRED_CTR, 0, Rule::Operation(rule))
        })?;
        writer.row(&row, &reader.refs, RowKind::Change);
        if let Some(mut run) = run_after(&row, &reader.refs) {
            count += recode_run(reader, writer, &mut run, limits.operations.saturating_sub(count))?
                .ok_or_else(|| ChunkError::limit(crate::codec::limits::OPERATIONS, limits.operations))?;
        }
        if count > limits.operations {
            return Err(ChunkError::limit(crate::codec::limits::OPERATIONS, limits.operations));
        }
    }
    Ok(count as u32)
}

/// Returns the number of rows, or `None` if it exceeds `most`: a few bytes may claim more rows than can be processed.
fn recode_run<'a>(
    reader: &mut OpReader<'a>,
    writer: &mut OpWriter<'a>,
    run: &mut Run,
    most: u64,
) -> Result<Option<u64>, ChunkError> {
    let mut count = 0;
    loop {
        let before = *run;
        let rows = reader.extend(run)?;
        if rows == 0 {
            return Ok(Some(count));
        }
        count += rows;
        if count > most {
            return Ok(None);
        }
        match run.kind {
            RunKind::Insert => {
                writer.head(run.obj, true, Action::Set, rows);
                writer.key_ramp(before.id, 1, rows);
                writer.no_refs(rows);
                reader.take_values(rows, cost::GLANCE, |code, len, bytes, rows| {
                    check_values(code, len, bytes, rows)?;
                    writer.values(code, len, bytes, rows);
                    Ok(())
                })?;
            }
            RunKind::Delete => {
                let first = step_from(before.elem, run.step);
                writer.head(run.obj, false, Action::Delete, rows);
                writer.key_ramp(first, run.step, rows);
                writer.null_values(rows);
                writer.ref_ramp(first, run.step, rows);
            }
        }
    }
}

/// The element one step after `id`.
pub(crate) fn step_from(id: OpId, step: i64) -> OpId {
    OpId::new((i64::from(id.ctr) + step) as u32, id.actor)
}

/// The run that a row of a change may start.
pub(crate) fn run_after(row: &Row<'_>, refs: &[OpId]) -> Option<Run> {
    let run = |kind, elem, single| Some(Run { kind, obj: row.obj, id: row.id, elem, single, step: 0 });
    match (row.action, row.key, refs) {
        (Action::Set, RawKey::Elem(_), []) if row.insert => run(RunKind::Insert, OpId::NONE, None),
        (Action::Delete, RawKey::Elem(elem), [pred]) if *pred == elem => {
            run(RunKind::Delete, elem, Some(elem))
        }
        _ => None,
    }
}

/// Checks `rows` values of one type and length.
pub(crate) fn check_values(code: u8, len: usize, bytes: &[u8], rows: u64) -> Result<(), Rule> {
    if len == 0 {
        return RawValue { code, bytes: &[] }.check();
    }
    // ASCII text, the bulk of typed text, is checked in one pass.
    if code == crate::codec::raw_value::code::STR && bytes.is_ascii() {
        return Ok(());
    }
    debug_assert_eq!(bytes.len() as u64, len as u64 * rows);
    if RawValue::are_short_numbers(code, len, bytes) {
        return Ok(());
    }
    bytes.chunks_exact(len).try_for_each(|bytes| RawValue { code, bytes }.check())
}

/// Reusable buffers for reading and writing changes with strings of one lifetime.
#[derive(Debug, Default)]
pub(crate) struct Scratch<'a> {
    pub(crate) writer: OpWriter<'a>,
    pub(crate) body: Vec<u8>,
    pub(crate) block: Block,
}

impl Scratch<'static> {
    /// Lends this thread's buffers: most changes are smaller than the buffers needed to check them.
    pub(crate) fn with_thread_buffers<R>(read: impl FnOnce(&mut Self) -> R) -> R {
        thread_local! {
            static BUFFERS: std::cell::RefCell<Scratch<'static>> = std::cell::RefCell::default();
        }
        // Moved out, not borrowed: while columns are inflated in parallel, this thread may read another change as it
        // waits.
        let mut scratch = BUFFERS.take();
        let result = read(&mut scratch);
        BUFFERS.set(scratch);
        result
    }
}

/// Fields before the operations of a change to be encoded.
pub(crate) struct ChangeHead<'a> {
    pub(crate) deps: &'a [ChangeHash],
    pub(crate) actor: &'a [u8],
    pub(crate) seq: u64,
    pub(crate) start_op: u64,
    pub(crate) time: i64,
    pub(crate) message: &'a str,
    /// Sorted; exactly the actors that the operations name, without the author.
    pub(crate) others: &'a [&'a [u8]],
    pub(crate) extra: &'a [u8],
}

impl ChangeHead<'_> {
    /// Writes the body of the chunk.
    pub(crate) fn write(&self, columns: &[(u32, ByteRope<'_>)], out: &mut Vec<u8>) {
        let prefixed = |out: &mut Vec<u8>, bytes: &[u8]| {
            put_u64(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        };
        put_u64(out, self.deps.len() as u64);
        self.deps.iter().for_each(|dep| out.extend_from_slice(&dep.0));
        prefixed(out, self.actor);
        put_u64(out, self.seq);
        put_u64(out, self.start_op);
        put_i64(out, self.time);
        prefixed(out, self.message.as_bytes());
        put_u64(out, self.others.len() as u64);
        self.others.iter().for_each(|actor| prefixed(out, actor));
        write_columns(columns, out);
        out.extend_from_slice(self.extra);
    }
}

/// One change: operations by one actor, with its dependencies. The encoding is canonical, so the hash is the same
/// wherever the change is rebuilt.
///
/// Cloning is cheap.
#[derive(Clone)]
pub struct Change(Arc<ChangeData>);

/// Bodies up to this length are stored inline, so most changes take one allocation.
const INLINE: usize = 160;

/// Contents of a change.
struct ChangeData {
    body: SmallVec<[u8; INLINE]>,
    hash: ChangeHash,
    actor: ActorId,
    deps: SmallVec<[ChangeHash; 1]>,
    seq: u32,
    start_op: u32,
    len: u32,
    time: i64,
    /// Offset of the message in the body.
    names_at: usize,
    /// Offset in the body of the bytes after the operations.
    extra_at: usize,
    only: Option<SingleOpIndex>,
}

/// The only operation of a change.
#[derive(Clone, Copy)]
struct SingleOpIndex {
    ids: [OpId; 2],
    what: SingleOpKind,
}

#[derive(Clone, Copy)]
enum SingleOpKind {
    /// A character; its length follows from its first byte.
    Typed([u8; 4]),
    Deleted,
    /// Put, with the type of the value and the ranges of value and key in the body.
    Put {
        action: Action,
        code: u8,
        key: Part,
        value: Part,
    },
}

/// A short range of a body.
#[derive(Clone, Copy)]
struct Part {
    at: u32,
    len: u8,
}

impl Part {
    fn from_slice(part: &[u8], body: &[u8]) -> Self {
        let at = if part.is_empty() { 0 } else { part.as_ptr().addr() - body.as_ptr().addr() };
        Self { at: at as u32, len: part.len() as u8 }
    }

    fn get(self, body: &[u8]) -> &[u8] {
        &body[self.at as usize..][..self.len.into()]
    }
}

impl SingleOpIndex {
    fn from_single(single: &Single<'_>, body: &[u8]) -> Option<Self> {
        u32::try_from(body.len()).ok()?;
        let what = match single {
            Single::SingleCharOp(char_op) => char_op.text.map_or(SingleOpKind::Deleted, |text| {
                SingleOpKind::Typed(std::array::from_fn(|n| text.get(n).copied().unwrap_or_default()))
            }),
            Single::Put(Put { key, action, value: RawValue { code, bytes }, .. }) => SingleOpKind::Put {
                action: *action,
                code: *code,
                key: Part::from_slice(key.as_bytes(), body),
                value: Part::from_slice(bytes, body),
            },
        };
        Some(Self { ids: single.ids(), what })
    }

    fn get<'a>(&'a self, body: &'a [u8]) -> Single<'a> {
        let [obj, other] = self.ids;
        let char_op = |text| Single::SingleCharOp(SingleCharOp { obj, elem: other, text });
        match &self.what {
            SingleOpKind::Typed(text) => char_op(Some(&text[..char_len(text[0])])),
            SingleOpKind::Deleted => char_op(None),
            SingleOpKind::Put { action, code, key, value } => {
                let key = std::str::from_utf8(key.get(body)).expect("the key was checked when it was read");
                let value = RawValue { code: *code, bytes: value.get(body) };
                Single::Put(Put { obj, key, action: *action, value, pred: other })
            }
        }
    }
}

impl Change {
    /// Decodes a chunk with one change, plain or deflated.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        Self::from_bytes_with(bytes, &Limits::default())
    }

    /// Decodes a chunk within the given limits.
    pub fn from_bytes_with(bytes: &[u8], limits: &Limits) -> Result<Self, DecodeError> {
        Self::read(bytes, limits, 0)
    }

    /// Decodes many chunks, one change each, using all cores if there is enough work. An error is that of the first bad
    /// chunk and contains its index.
    pub fn from_each<B: AsRef<[u8]> + Sync>(chunks: &[B], limits: &Limits) -> Result<Vec<Self>, DecodeError> {
        let read = |number, chunk: &B| Self::read(chunk.as_ref(), limits, number);
        let bytes: usize = chunks.iter().map(|chunk| chunk.as_ref().len()).sum();
        if (bytes as u64) < limits.parallel_from {
            return chunks.iter().enumerate().map(|(number, chunk)| read(number, chunk)).collect();
        }
        parallel::map(chunks, TOGETHER, read).into_iter().collect()
    }

    /// Decodes the chunk at index `number`.
    fn read(bytes: &[u8], limits: &Limits, number: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let chunk = Chunk::read(&mut reader, limits).map_err(|error| error.at_chunk(number, 0))?;
        let error = |offset, rule| FormatError {
            position: InputPosition { chunk: number, offset, column: None },
            rule,
        };
        reader.finish().map_err(|rule| error(reader.offset(), rule))?;
        if chunk.kind != ChunkType::Change {
            return Err(error(8, Rule::ChunkType(chunk.kind as u8)).into());
        }
        let mut budget = Budget::of_call(limits);
        let change =
            Scratch::with_thread_buffers(|scratch| Self::from_chunk(&chunk, limits, &mut budget, scratch));
        change.map_err(|fault| fault.at_chunk(number, chunk.header))
    }

    pub(crate) fn from_chunk(
        chunk: &Chunk<'_>,
        limits: &Limits,
        budget: &mut Budget,
        scratch: &mut Scratch<'_>,
    ) -> Result<Self, ChunkError> {
        budget.pay(chunk.body.len());
        Self::from_body(&chunk.body, chunk.hash, limits, budget, scratch)
    }

    /// Parses a body and checks all rules that need no document.
    pub(crate) fn from_body(
        body: &[u8],
        hash: ChangeHash,
        limits: &Limits,
        budget: &mut Budget,
        scratch: &mut Scratch<'_>,
    ) -> Result<Self, ChunkError> {
        // Independent of the transport: a plain and a deflated chunk are the same change.
        limits.check_change(0, body.len() as u64)?;
        if limits.shortcuts.taken()
            && limits.operations > 0
            && let Some((view, single)) = ChangeView::single(body)
        {
            return Ok(Self::from_view(&view, (body, hash), 1, SingleOpIndex::from_single(&single, body)));
        }
        let view = ChangeView::parse(body, limits)?;
        let len = view.check(limits, budget, scratch)?;
        Ok(Self::from_view(&view, (body, hash), len, None))
    }

    /// A change that this engine encoded itself.
    pub(crate) fn from_own(body: &[u8], hash: ChangeHash, len: u32, shortcuts: Shortcuts) -> Self {
        if shortcuts.taken()
            && let Some((view, single)) = ChangeView::single(body)
        {
            return Self::from_view(&view, (body, hash), 1, SingleOpIndex::from_single(&single, body));
        }
        let view = ChangeView::parse(body, &Limits::NONE).expect("the body was written by this engine");
        Self::from_view(&view, (body, hash), len, None)
    }

    /// The hash of a change body that this engine encoded itself.
    pub(crate) fn hash_body(body: &[u8]) -> ChangeHash {
        hash_chunk(ChunkType::Change, body)
    }

    fn from_view(
        view: &ChangeView<'_>,
        (body, hash): (&[u8], ChangeHash),
        len: u32,
        only: Option<SingleOpIndex>,
    ) -> Self {
        Self(Arc::new(ChangeData {
            body: SmallVec::from_slice(body),
            hash,
            actor: ActorId::from(view.actor),
            deps: view.deps().collect(),
            seq: view.seq,
            start_op: view.start_op,
            len,
            time: view.time,
            names_at: view.names_at,
            extra_at: body.len() - view.extra.len(),
            only,
        }))
    }

    /// The only operation, if it is a frequent one.
    pub(crate) fn single(&self) -> Option<Single<'_>> {
        Some(self.0.only.as_ref()?.get(&self.0.body))
    }

    /// The message of the change and the actors it refers to.
    pub(crate) fn names(&self) -> ChangeStrings<'_> {
        let mut reader = Reader::new(&self.0.body[self.0.names_at..]);
        ChangeStrings::read(&mut reader).expect("the body was checked when the change was made")
    }

    pub(crate) fn view(&self) -> ChangeView<'_> {
        ChangeView::parse(&self.0.body, &Limits::NONE).expect("the body was checked when the change was made")
    }

    /// The hash that identifies the change.
    pub fn hash(&self) -> ChangeHash {
        self.0.hash
    }

    /// The actor that made the change.
    pub fn actor_id(&self) -> &ActorId {
        &self.0.actor
    }

    /// The dependencies, in the order of the encoding.
    pub fn deps(&self) -> &[ChangeHash] {
        &self.0.deps
    }

    /// The sequence number: 1 for the actor's first change, and so on.
    pub fn seq(&self) -> u64 {
        self.0.seq.into()
    }

    /// Counter of the first operation.
    pub fn start_op(&self) -> u64 {
        self.0.start_op.into()
    }

    /// Counter of the last operation; one before [`Self::start_op`] if there is none.
    pub fn max_op(&self) -> u64 {
        self.start_op() + u64::from(self.0.len) - 1
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.0.len as usize
    }

    /// Is it without operations? Such a change only joins its dependencies.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Seconds since 1970 by the author's clock.
    pub fn timestamp(&self) -> i64 {
        self.0.time
    }

    /// The message.
    pub fn message(&self) -> Option<&str> {
        let message = self.names().message;
        (!message.is_empty()).then_some(message)
    }

    /// The actors it refers to besides its own.
    pub fn other_actor_ids(&self) -> Vec<ActorId> {
        self.names().others.iter().map(|actor| ActorId::from(*actor)).collect()
    }

    /// Bytes after the operations: records for later versions of the format.
    pub fn extra_bytes(&self) -> &[u8] {
        &self.0.body[self.0.extra_at..]
    }

    /// The recorded author.
    pub fn author(&self) -> Option<&[u8]> {
        author_in(self.extra_bytes())
    }

    /// The uncompressed chunk.
    pub fn raw_bytes(&self) -> Vec<u8> {
        frame_with(ChunkType::Change, &self.0.body, &self.0.hash)
    }

    /// The chunk, deflated if that makes it shorter.
    pub fn bytes(&self) -> Vec<u8> {
        let raw = self.raw_bytes();
        if raw.len() <= DEFLATE_OVER {
            return raw;
        }
        frame_with(ChunkType::Deflated, &deflate(&self.0.body, Effort::Texts), &self.0.hash)
    }

    /// Length in bytes of the uncompressed body.
    pub(crate) fn body_len(&self) -> usize {
        self.0.body.len()
    }
}

impl PartialEq for Change {
    fn eq(&self, other: &Self) -> bool {
        self.0.hash == other.0.hash
    }
}

impl Eq for Change {}

impl std::fmt::Debug for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Change")
            .field("hash", &self.0.hash)
            .field("actor", &self.0.actor)
            .field("seq", &self.0.seq)
            .field("start_op", &self.0.start_op)
            .field("len", &self.0.len)
            .finish_non_exhaustive()
    }
}

impl TryFrom<&[u8]> for Change {
    type Error = DecodeError;

    fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
        Self::from_bytes(bytes)
    }
}
