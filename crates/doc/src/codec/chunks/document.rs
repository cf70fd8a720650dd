//! Document chunk: all operations in document order, and all changes, as two tables.

use crate::codec::bytes::byte_rope::ByteRope;
use crate::codec::bytes::leb::put_u64;
use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::container::{ChunkType, frame};
use crate::codec::columns::column_reader::{ColumnReader, Deltas, Numbers, Texts, follows, same};
use crate::codec::columns::deflate::{Effort, deflate};
use crate::codec::columns::delta::DeltaEncoder;
use crate::codec::columns::rle::RleEncoder;
use crate::codec::columns::section::{
    ChunkError, Columns, DEFLATE_FROM, FormatFault, Layout, PARALLEL_FROM, Stored, effort_of, write_layout,
};
use crate::codec::limits::{Budget, Limits};
use crate::codec::ops::op_reader::{OpReader, RowKind, spec as ops};
use crate::codec::ops::op_writer::{OpWriter, RawColumn};
use crate::codec::ops::runs::Rewritten;
use crate::codec::parallel;
use crate::codec::raw_value::{RawValue, code};
use crate::codec::rules;
use crate::types::error::Rule;
use crate::types::{ActorId, ActorIdx, ChangeHash, ChangeIdx, OpId};

pub(in crate::codec) mod spec {
    pub(in crate::codec) const ACTOR: u32 = 0x01;
    pub(in crate::codec) const SEQ: u32 = 0x03;
    pub(in crate::codec) const MAX_OP: u32 = 0x13;
    pub(in crate::codec) const TIME: u32 = 0x23;
    pub(in crate::codec) use crate::codec::columns::section::MESSAGE;
    pub(in crate::codec) const DEPS_COUNT: u32 = 0x40;
    pub(in crate::codec) const DEPS_INDEX: u32 = 0x43;
    pub(in crate::codec) const EXTRA_META: u32 = 0x56;
    pub(in crate::codec) const EXTRA_RAW: u32 = 0x57;
}

/// The columns of changes and of operations in this version of the format, in order.
pub(in crate::codec) const COLUMNS: [&[u32]; 2] = [
    &[
        spec::ACTOR,
        spec::SEQ,
        spec::MAX_OP,
        spec::TIME,
        spec::MESSAGE,
        spec::DEPS_COUNT,
        spec::DEPS_INDEX,
        spec::EXTRA_META,
        spec::EXTRA_RAW,
    ],
    &[
        ops::OBJ_ACTOR,
        ops::OBJ_CTR,
        ops::KEY_ACTOR,
        ops::KEY_CTR,
        ops::KEY_STR,
        ops::ID_ACTOR,
        ops::ID_CTR,
        ops::INSERT,
        ops::ACTION,
        ops::META,
        ops::RAW,
        ops::SUCC_COUNT,
        ops::SUCC_ACTOR,
        ops::SUCC_CTR,
        ops::EXPAND,
        ops::MARK,
    ],
];

/// Metadata of extra bytes of length 0.
const NO_EXTRA: u64 = code::BYTES as u64;

/// A parsed document chunk with inflated, unread columns.
#[derive(Debug)]
pub(crate) struct DocumentView<'a> {
    pub(crate) actors: Vec<ActorId>,
    pub(crate) heads: Vec<ChangeHash>,
    pub(crate) changes: Columns<'a>,
    pub(crate) ops: Columns<'a>,
    /// Row of each head. Old writers omitted them.
    pub(crate) head_rows: Option<Vec<u64>>,
}

/// The actors and heads at the start of a body.
fn names(reader: &mut Reader<'_>) -> Result<(Vec<ActorId>, Vec<ChangeHash>), Rule> {
    let (actors, heads) = (reader.actors()?, reader.hashes()?);
    if actors.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Rule::NotAscending("actors"));
    }
    if heads.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Rule::NotAscending("heads"));
    }
    Ok((actors, heads))
}

/// The heads named in the body of a chunk.
pub(crate) fn named_heads(body: &[u8]) -> Result<Vec<ChangeHash>, Rule> {
    names(&mut Reader::new(body)).map(|(_, heads)| heads)
}

impl<'a> DocumentView<'a> {
    pub(crate) fn parse(body: &'a [u8], limits: &Limits) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(body);
        let (actors, heads) = names(&mut reader).map_err(|rule| FormatFault::at(reader.offset(), rule))?;
        let change_layout = Layout::read(&mut reader)?;
        let op_layout = Layout::read(&mut reader)?;
        let mut inflatable = limits.inflated_bytes;
        let changes = change_layout.read_columns(&mut reader, &mut inflatable, limits)?;
        let ops = op_layout.read_columns(&mut reader, &mut inflatable, limits)?;
        let head_rows = if reader.is_empty() {
            None
        } else {
            let rows = (0..heads.len()).map(|_| reader.u64()).collect::<Result<_, _>>();
            Some(rows.map_err(|rule| FormatFault::at(reader.offset(), rule))?)
        };
        reader.finish().map_err(|rule| FormatFault::at(reader.offset(), rule))?;
        Ok(Self { actors, heads, changes, ops, head_rows })
    }

    /// Total length of its columns in bytes.
    pub(crate) fn len(&self) -> usize {
        self.changes.len() + self.ops.len()
    }

    /// Length of the longest actor id.
    pub(crate) fn longest_name(&self) -> usize {
        self.actors.iter().map(|actor| actor.as_bytes().len()).max().unwrap_or(0)
    }

    pub(crate) fn change_rows(&self, budget: Budget) -> ChangeReader<'_> {
        ChangeReader::new(&self.changes, self.actors.len(), budget)
    }

    pub(crate) fn op_rows(&self, budget: Budget) -> OpReader<'_> {
        OpReader::new(RowKind::Document, &self.ops, self.actors.len(), OpId::NONE).metered(budget)
    }
}

/// One change as a table row. Its dependencies are in [`ChangeReader::deps`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChangeRow<'a> {
    pub(crate) actor: ActorIdx,
    pub(crate) seq: u32,
    pub(crate) max_op: u32,
    pub(crate) time: i64,
    pub(crate) message: Option<&'a str>,
    pub(crate) extra: &'a [u8],
}

/// Reader of the table of changes.
pub(crate) struct ChangeReader<'a> {
    actors: u32,
    /// Number of rows read.
    row: u32,
    actor: Numbers<'a>,
    seq: Deltas<'a>,
    max_op: Deltas<'a>,
    time: Deltas<'a>,
    message: Texts<'a>,
    deps_count: Numbers<'a>,
    deps_index: Deltas<'a>,
    extra_meta: Numbers<'a>,
    extra_raw: Reader<'a>,
    /// Rows of the dependencies of the last change read.
    pub(crate) deps: Vec<ChangeIdx>,
    /// Budget of the reader.
    pub(crate) budget: Budget,
}

impl<'a> ChangeReader<'a> {
    fn new(columns: &'a Columns<'_>, actors: usize, budget: Budget) -> Self {
        let delta = |spec| ColumnReader::delta(spec, columns.get(spec));
        let rle = |spec| ColumnReader::rle(spec, columns.get(spec));
        Self {
            actors: u32::try_from(actors).unwrap_or(u32::MAX),
            row: 0,
            actor: rle(spec::ACTOR),
            seq: delta(spec::SEQ),
            max_op: delta(spec::MAX_OP),
            time: delta(spec::TIME),
            message: ColumnReader::rle(spec::MESSAGE, columns.get(spec::MESSAGE)),
            deps_count: rle(spec::DEPS_COUNT),
            deps_index: delta(spec::DEPS_INDEX),
            extra_meta: rle(spec::EXTRA_META),
            extra_raw: Reader::new(columns.get(spec::EXTRA_RAW)),
            deps: Vec::new(),
            budget,
        }
    }

    /// Adds a position to an error without one: after the last row, in the column of actors.
    pub(crate) fn locate_error(&self, error: ChunkError) -> ChunkError {
        error.in_column(spec::ACTOR, self.actor.offset())
    }

    /// The next row, or `None` at the end, after a check that every column has ended.
    pub(crate) fn next(&mut self) -> Result<Option<ChangeRow<'a>>, ChunkError> {
        let Some(actor) = self.actor.next_or_end()? else { return Ok(self.finish().map(|()| None)?) };
        self.budget.rows(1)?;
        let actor = match actor.map(|actor| (actor, u32::try_from(actor))) {
            Some((_, Ok(actor))) if actor < self.actors => ActorIdx::from_u32(actor),
            Some((actor, _)) => return Err(self.actor.fault(Rule::ActorIndex(actor)).into()),
            None => return Err(self.actor.fault(Rule::Missing).into()),
        };
        let seq = self
            .seq
            .next()?
            .ok_or(Rule::Missing)
            .and_then(rules::counter)
            .map_err(|rule| self.seq.fault(rule))?;
        let max_op = self.max_op.next()?.ok_or_else(|| self.max_op.fault(Rule::Missing))?;
        let max_op = u32::try_from(max_op).ok().filter(|max_op| *max_op <= rules::LAST);
        let max_op = max_op.ok_or_else(|| self.max_op.fault(Rule::CounterRange))?;
        let time = self.time.next()?.ok_or_else(|| self.time.fault(Rule::Missing))?;
        let message = self.message.next()?.filter(|message| !message.is_empty());
        self.budget.text(message.unwrap_or_default())?;
        self.read_deps()?;
        let extra = self.extra()?;
        self.row = self.row.checked_add(1).ok_or_else(|| self.actor.fault(Rule::CounterRange))?;
        Ok(Some(ChangeRow { actor, seq, max_op, time, message, extra }))
    }

    fn read_deps(&mut self) -> Result<(), ChunkError> {
        self.deps.clear();
        let count = self.deps_count.next()?.ok_or_else(|| self.deps_count.fault(Rule::Missing))?;
        self.budget.rows(count)?;
        for _ in 0..count {
            let index = self.deps_index.next()?.ok_or_else(|| self.deps_index.fault(Rule::Missing))?;
            match u32::try_from(index) {
                // Dependencies precede their dependents.
                Ok(index) if index < self.row => self.deps.push(ChangeIdx::from_u32(index)),
                _ => return Err(self.deps_index.fault(Rule::ChangeIndex(index as u64)).into()),
            }
        }
        Ok(())
    }

    fn extra(&mut self) -> Result<&'a [u8], FormatFault> {
        // Writers before the column existed omitted it.
        let meta = self.extra_meta.next()?.unwrap_or(NO_EXTRA);
        if meta & 15 != u64::from(code::BYTES) {
            return Err(self.extra_meta.fault(Rule::Value));
        }
        let fault = |rule| FormatFault::in_column(spec::EXTRA_RAW, 0, rule);
        usize::try_from(meta >> 4)
            .map_err(|_| Rule::Truncated)
            .and_then(|len| self.extra_raw.read_bytes(len))
            .map_err(fault)
    }

    /// Reads the next rows, at most `most`, that continue a run: changes by the same actor, each depending only on the
    /// one before, with equally many operations, at the same time, without message or extra bytes. Skips them and
    /// returns their number.
    pub(crate) fn extend(&mut self, last: &ChangeRow<'_>, ops: u32, most: u32) -> Result<u32, ChunkError> {
        if most == 0 {
            return Ok(0);
        }
        let step = i64::from(ops);
        let rows = same(self.actor.peek()?, Some(last.actor.into()))
            .min(follows(self.seq.peek()?, last.seq, 1))
            .min(follows(self.max_op.peek()?, last.max_op, step))
            .min(same(self.message.peek()?, None))
            .min(same(self.deps_count.peek()?, Some(1)))
            .min(match self.extra_meta.peek()? {
                (None, rows) => rows,
                run => same(run, Some(NO_EXTRA)),
            })
            .min(match self.time.peek()? {
                (Some(ramp), rows) if ramp.first == last.time => {
                    if ramp.step == 0 {
                        rows
                    } else {
                        1
                    }
                }
                _ => 0,
            });
        if rows == 0 {
            return Ok(0);
        }
        let rows = rows.min(follows(self.deps_index.peek()?, self.row.wrapping_sub(2), 1));
        let rows = rows.min(most.into()).min(u64::from(u32::MAX - self.row));
        // Each of them will be hashed.
        self.budget.rows(rows)?;
        self.actor.skip(rows);
        self.seq.skip(rows);
        self.max_op.skip(rows);
        self.message.skip(rows);
        self.deps_count.skip(rows);
        self.deps_index.skip(rows);
        self.extra_meta.skip(rows);
        self.time.skip(rows);
        self.row += rows as u32;
        Ok(rows as u32)
    }

    fn finish(&mut self) -> Result<(), FormatFault> {
        for column in [&mut self.seq, &mut self.max_op, &mut self.time, &mut self.deps_index] {
            column.finish()?;
        }
        self.message.finish()?;
        self.deps_count.finish()?;
        self.extra_meta.finish()?;
        self.extra_raw.finish().map_err(|_| FormatFault::in_column(spec::EXTRA_RAW, 0, Rule::Uneven))
    }
}

/// Encoder of the table of changes.
#[derive(Debug, Default)]
pub(crate) struct ChangeWriter<'a> {
    row: u64,
    /// Actor, sequence number and message of the last change.
    last: Option<(ActorIdx, u32, Option<&'a str>)>,
    /// Number of pending changes: each follows the one before by the same actor with the same message, and only their
    /// columns of operations and times are written yet.
    alike: u64,
    actor: RleEncoder<'a, u64>,
    seq: DeltaEncoder<'a>,
    max_op: DeltaEncoder<'a>,
    time: DeltaEncoder<'a>,
    message: RleEncoder<'a, &'a str>,
    deps_count: RleEncoder<'a, u64>,
    deps_index: DeltaEncoder<'a>,
    extra_meta: RleEncoder<'a, u64>,
    extra_raw: Vec<u8>,
}

impl<'a> ChangeWriter<'a> {
    #[inline]
    pub(crate) fn push(&mut self, row: &ChangeRow<'a>, deps: &[ChangeIdx]) {
        let follows = self.last.is_some_and(|(actor, seq, message)| {
            (row.actor, row.seq) == (actor, seq + 1) && same_text(row.message, message)
        });
        let follows =
            follows && matches!(*deps, [dep] if u64::from(dep) + 1 == self.row) && row.extra.is_empty();
        self.max_op.push(Some(row.max_op.into()));
        self.time.push(Some(row.time));
        if follows {
            self.alike += 1;
        } else {
            self.push_alike();
            self.actor.push(Some(row.actor.into()));
            self.seq.push(Some(row.seq.into()));
            self.message.push(row.message);
            self.deps_count.push(Some(deps.len() as u64));
            deps.iter().for_each(|dep| self.deps_index.push(Some(dep.get().into())));
            self.extra_meta.push(Some((row.extra.len() as u64) << 4 | NO_EXTRA));
            self.extra_raw.extend_from_slice(row.extra);
        }
        self.last = Some((row.actor, row.seq, row.message));
        self.row += 1;
    }

    /// Adds `rows` changes directly after `last`, as defined by [`ChangeReader::extend`].
    pub(crate) fn push_run(&mut self, last: &ChangeRow<'a>, ops: u32, rows: u32) {
        debug_assert!(last.message.is_none(), "a run has none");
        self.max_op.push_ramp(i64::from(last.max_op) + i64::from(ops), ops.into(), rows.into());
        self.time.push_ramp(last.time, 0, rows.into());
        self.alike += u64::from(rows);
        self.last = Some((last.actor, last.seq + rows, None));
        self.row += u64::from(rows);
    }

    /// Writes the columns that are equal in all pending changes.
    fn push_alike(&mut self) {
        let (Some((actor, seq, message)), rows) = (self.last, std::mem::take(&mut self.alike)) else {
            return;
        };
        self.actor.push_n(Some(actor.into()), rows);
        self.seq.push_ramp(i64::from(seq) + 1 - rows as i64, 1, rows);
        self.message.push_n(message, rows);
        self.deps_count.push_n(Some(1), rows);
        self.deps_index.push_ramp((self.row - rows) as i64 - 1, 1, rows);
        self.extra_meta.push_n(Some(NO_EXTRA), rows);
    }

    fn finish<'s>(&'s mut self, mut out: impl FnMut(u32, ByteRope<'s>)) {
        self.push_alike();
        out(spec::ACTOR, self.actor.finish());
        out(spec::SEQ, self.seq.finish());
        out(spec::MAX_OP, self.max_op.finish());
        out(spec::TIME, self.time.finish());
        if self.message.has_values() {
            out(spec::MESSAGE, self.message.finish());
        }
        out(spec::DEPS_COUNT, self.deps_count.finish());
        out(spec::DEPS_INDEX, self.deps_index.finish());
        out(spec::EXTRA_META, self.extra_meta.finish());
        out(spec::EXTRA_RAW, self.extra_raw[..].into());
    }
}

/// Compares two messages; often they are the same bytes in memory.
fn same_text(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::ptr::eq(one, other) || one == other,
        _ => one.is_none() && other.is_none(),
    }
}

/// A document chunk to be encoded.
pub(crate) struct DocumentOut<'a> {
    pub(crate) actors: Vec<&'a [u8]>,
    /// Sorted, each with its row.
    pub(crate) heads: Vec<(ChangeHash, u64)>,
    pub(crate) changes: ChangeWriter<'a>,
    pub(crate) ops: OpWriter<'a>,
}

/// A column to be encoded, and its compression effort.
pub(in crate::codec) type Column<'a> = (u32, ByteRope<'a>, Effort);

impl<'a> DocumentOut<'a> {
    /// Total length of all columns in bytes.
    pub(crate) fn column_bytes(mut self) -> u64 {
        let columns = columns(&mut self.changes, &mut self.ops);
        columns.iter().flatten().map(|(_, bytes, _)| bytes.len() as u64).sum()
    }

    /// The chunk, with long columns deflated if `compress`.
    #[cfg(test)]
    pub(crate) fn write(self, compress: bool) -> Vec<u8> {
        self.pack(compress).frame(None)
    }

    /// Finishes the columns and deflates long ones if `compress`.
    pub(crate) fn pack(mut self, compress: bool) -> Packed<'a> {
        let deflated = deflated(&columns(&mut self.changes, &mut self.ops).concat(), compress);
        Packed { out: self, deflated }
    }
}

/// The columns of changes and of operations.
fn columns<'w>(changes: &'w mut ChangeWriter<'_>, ops: &'w mut OpWriter<'_>) -> [Vec<Column<'w>>; 2] {
    let (mut first, mut second) = (Vec::with_capacity(9), Vec::with_capacity(16));
    if changes.row > 0 {
        changes.finish(|spec, bytes| first.push((spec, bytes, effort_of(spec))));
    }
    let values = effort(ops.has_texts());
    ops.finish(RowKind::Document, |spec, bytes| {
        second.push((spec, bytes, if spec == ops::RAW { values } else { effort_of(spec) }));
    });
    [first, second]
}

/// Deflates the columns that are long enough, if `compress`.
pub(in crate::codec) fn deflated(columns: &[Column<'_>], compress: bool) -> Vec<Option<Vec<u8>>> {
    if !compress {
        return vec![None; columns.len()];
    }
    let pack = |(_, plain, effort): &Column<'_>| {
        (plain.len() >= DEFLATE_FROM).then(|| deflate(&plain.into_contiguous(), *effort))
    };
    let lens = columns.iter().map(|(_, plain, _)| plain.len());
    if lens.clone().sum::<usize>() - lens.max().unwrap_or(0) < PARALLEL_FROM {
        return columns.iter().map(pack).collect();
    }
    // One column may hold most of the bytes, so each is a task of its own.
    parallel::map(columns, 1, |_, column| pack(column))
}

/// A document chunk with all columns in their final form.
pub(crate) struct Packed<'a> {
    out: DocumentOut<'a>,
    /// The deflated form of each column that is deflated.
    deflated: Vec<Option<Vec<u8>>>,
}

impl Packed<'_> {
    /// The chunk, with the value column that a writer without values omitted.
    pub(crate) fn frame(mut self, values: Option<&PackedValues>) -> Vec<u8> {
        let columns = columns(&mut self.out.changes, &mut self.out.ops);
        let mut sections = stored(columns.each_ref().map(Vec::as_slice), &self.deflated);
        if let Some(PackedValues { bytes, deflated }) = values {
            let [_, columns] = &mut sections;
            let at = columns.partition_point(|column| column.spec < ops::RAW);
            columns.insert(at, Stored { spec: ops::RAW, deflated: *deflated, bytes: bytes[..].into() });
        }
        frame_sections(&self.out.actors, &self.out.heads, sections)
    }
}

/// The columns of changes and of operations in their final form, some deflated.
pub(in crate::codec) fn stored<'a>(
    columns: [&[Column<'a>]; 2],
    deflated: &'a [Option<Vec<u8>>],
) -> [Vec<Stored<ByteRope<'a>>>; 2] {
    let mut deflated = deflated.iter();
    columns.map(|section| {
        let column = |(&(spec, plain, _), deflated): (&Column<'a>, &'a Option<Vec<u8>>)| match deflated {
            None => Stored { spec, deflated: false, bytes: plain },
            Some(bytes) => Stored { spec, deflated: true, bytes: bytes[..].into() },
        };
        section.iter().zip(deflated.by_ref()).map(column).collect()
    })
}

/// The chunk with these columns. Empty ones are omitted.
pub(in crate::codec) fn frame_sections(
    actors: &[&[u8]],
    heads: &[(ChangeHash, u64)],
    mut sections: [Vec<Stored<ByteRope<'_>>>; 2],
) -> Vec<u8> {
    let (mut head, mut rows) = (vec![], vec![]);
    put_u64(&mut head, actors.len() as u64);
    for actor in actors {
        put_u64(&mut head, actor.len() as u64);
        head.extend_from_slice(actor);
    }
    put_u64(&mut head, heads.len() as u64);
    heads.iter().for_each(|(hash, _)| head.extend_from_slice(&hash.0));
    for section in &mut sections {
        section.retain(|column| !column.bytes.is_empty());
        write_layout(section, &mut head);
    }
    heads.iter().for_each(|(_, row)| put_u64(&mut rows, *row));
    let columns = sections.iter().flatten().flat_map(|column| column.bytes.pieces());
    let pieces: Vec<&[u8]> = std::iter::once(&head[..]).chain(columns).chain([&rows[..]]).collect();
    frame(ChunkType::Document, &pieces)
}

/// The values of all operations.
#[derive(Debug, Default)]
pub(crate) struct Values(RawColumn<'static>);

impl Values {
    pub(crate) fn push(&mut self, value: RawValue<'_>) {
        self.0.push(value);
    }

    pub(crate) fn append(&mut self, past: &Rewritten) {
        self.0.append(&past.raw);
    }

    /// Deflates the values if they are long enough.
    pub(crate) fn pack(self) -> PackedValues {
        let bytes = self.0.written().into_contiguous();
        match bytes.len() {
            ..DEFLATE_FROM => PackedValues { bytes: bytes.to_vec(), deflated: false },
            _ => PackedValues { bytes: deflate(&bytes, effort(self.0.texts)), deflated: true },
        }
    }
}

/// The values of all operations in their final form.
#[derive(Debug)]
pub(crate) struct PackedValues {
    bytes: Vec<u8>,
    deflated: bool,
}

/// Compression effort for values; `texts` tells whether some are not integers.
pub(in crate::codec) fn effort(texts: bool) -> Effort {
    if texts { Effort::Texts } else { Effort::Numbers }
}
