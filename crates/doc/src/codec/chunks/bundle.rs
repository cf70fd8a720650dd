//! Bundle chunk: changes of a document in one table. Each change is rebuilt and then treated like a change chunk.

use std::collections::BTreeSet;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::change::{Change, ChangeHead, Scratch};
use crate::codec::bytes::reader::Reader;
use crate::codec::columns::column_reader::{ColumnReader, Numbers, Texts};
use crate::codec::columns::section::{ChunkError, Columns, FormatFault, Layout};
use crate::codec::limits::{Budget, Limits};
use crate::codec::ops::op_reader::{OpReader, RowKind};
use crate::codec::row::{RawKey, Row};
use crate::codec::rules;
use crate::types::error::Rule;
use crate::types::{ActorId, ActorIdx, ChangeHash, OpId};

pub(in crate::codec) mod spec {
    pub(in crate::codec) const ACTOR: u32 = 0x01;
    pub(in crate::codec) const SEQ: u32 = 0x03;
    pub(in crate::codec) const START_OP: u32 = 0x13;
    pub(in crate::codec) const MAX_OP: u32 = 0x23;
    pub(in crate::codec) const TIME: u32 = 0x33;
    pub(in crate::codec) const MESSAGE: u32 = 0x45;
    pub(in crate::codec) const DEPS_COUNT: u32 = 0x50;
    pub(in crate::codec) const DEPS_INDEX: u32 = 0x53;
    pub(in crate::codec) const EXTRA_LEN: u32 = 0x60;
    pub(in crate::codec) const EXTRA: u32 = 0x67;
    pub(in crate::codec) const CHANGES: [u32; 10] =
        [ACTOR, SEQ, START_OP, MAX_OP, TIME, MESSAGE, DEPS_COUNT, DEPS_INDEX, EXTRA_LEN, EXTRA];

    /// For each operation, by actor and counter, its row. Early bundles stored the counters themselves.
    pub(in crate::codec) const ROW_OF: u32 = 0xb3;
    pub(in crate::codec) const OPS: [u32; 17] = {
        use crate::codec::ops::op_reader::spec::*;
        [
            OBJ_ACTOR,
            BUNDLE_OBJ_CTR,
            KEY_ACTOR,
            KEY_CTR,
            KEY_STR,
            ID_ACTOR,
            ID_CTR,
            INSERT,
            ACTION,
            META,
            RAW,
            PRED_COUNT,
            PRED_ACTOR,
            PRED_CTR,
            EXPAND,
            MARK,
            ROW_OF,
        ]
    };
}

struct Meta<'a> {
    actor: ActorIdx,
    seq: u32,
    start_op: u32,
    max_op: u64,
    time: i64,
    message: &'a str,
    deps: Vec<u64>,
    extra: &'a [u8],
}

/// The external dependencies of a bundle's changes, and the actors they name.
pub(crate) fn read_lists(reader: &mut Reader<'_>) -> Result<(Vec<ChangeHash>, Vec<ActorId>), ChunkError> {
    let mut lists = || Ok((reader.hashes()?, reader.actors()?));
    Ok(lists().map_err(|rule| FormatFault::at(reader.offset(), rule))?)
}

/// The changes of a bundle, in its order.
pub(crate) fn read(
    body: &[u8],
    limits: &Limits,
    budget: &mut Budget,
    scratch: &mut Scratch<'_>,
) -> Result<Vec<Change>, ChunkError> {
    let mut reader = Reader::new(body);
    let (external, actors) = read_lists(&mut reader)?;
    let mut inflatable = limits.inflated_bytes;
    let changes = Layout::read_bundle(&mut reader)?.read_columns(&mut reader, &mut inflatable, limits)?;
    let ops = Layout::read_bundle(&mut reader)?.read_columns(&mut reader, &mut inflatable, limits)?;
    reader.finish().map_err(|rule| FormatFault::at(reader.offset(), rule))?;
    for (columns, known) in [(&changes, &spec::CHANGES[..]), (&ops, &spec::OPS[..])] {
        if let Some(unknown) = columns.unknown(known) {
            return Err(FormatFault::in_column(unknown, 0, Rule::UnknownColumn).into());
        }
    }
    budget.pay(changes.len() + ops.len());
    budget.set_names(actors.iter().map(|actor| actor.as_bytes().len()).max().unwrap_or(0));
    let metas = read_metas(&changes, actors.len(), limits, budget)?;
    let counters = counters(&ops, &metas, limits, budget)?;
    let mut rows = OpReader::of_bundle(&ops, actors.len(), counters).metered(*budget);
    let by_change = sort_rows(&mut rows, &metas);
    *budget = rows.budget;
    let by_change = by_change?;
    let mut built: Vec<Change> = Vec::with_capacity(metas.len());
    for (meta, rows) in metas.iter().zip(&by_change) {
        let deps = meta.deps.iter().map(|&index| dep_hash(index, metas.len(), &built, &external));
        let deps = deps.collect::<Result<Vec<_>, FormatFault>>()?;
        built.push(build(meta, rows, &actors, &deps, limits, budget, scratch)?);
    }
    Ok(built)
}

fn read_metas<'a>(
    columns: &'a Columns<'_>,
    actors: usize,
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<Meta<'a>>, ChunkError> {
    let delta = |spec| ColumnReader::delta(spec, columns.get(spec));
    let mut actor = Numbers::rle(spec::ACTOR, columns.get(spec::ACTOR));
    let (mut seq, mut start_op, mut max_op) = (delta(spec::SEQ), delta(spec::START_OP), delta(spec::MAX_OP));
    let (mut time, mut deps_index) = (delta(spec::TIME), delta(spec::DEPS_INDEX));
    let mut message = Texts::rle(spec::MESSAGE, columns.get(spec::MESSAGE));
    let mut deps_count = Numbers::rle(spec::DEPS_COUNT, columns.get(spec::DEPS_COUNT));
    let mut extra_len = Numbers::rle(spec::EXTRA_LEN, columns.get(spec::EXTRA_LEN));
    let mut extra = Reader::new(columns.get(spec::EXTRA));
    let mut metas = vec![];
    let need = |column, value: Option<i64>| {
        value
            .ok_or(Rule::Missing)
            .and_then(rules::counter)
            .map_err(|rule| FormatFault::in_column(column, 0, rule))
    };
    while let Some(index) = actor.next_or_end()? {
        budget.rows(1)?;
        let index: u64 = index.ok_or_else(|| actor.fault(Rule::Missing))?;
        let actor = match u32::try_from(index) {
            Ok(index) if (index as usize) < actors => ActorIdx::from_u32(index),
            _ => return Err(actor.fault(Rule::ActorIndex(index)).into()),
        };
        let seq = need(spec::SEQ, seq.next()?)?;
        // A change without operations may start after the last possible counter.
        let start_op = match start_op.next()?.map(u32::try_from) {
            Some(Ok(start)) if start > 0 => start,
            Some(Ok(_)) => return Err(FormatFault::in_column(spec::START_OP, 0, Rule::Zero).into()),
            Some(Err(_)) => return Err(FormatFault::in_column(spec::START_OP, 0, Rule::CounterRange).into()),
            None => return Err(FormatFault::in_column(spec::START_OP, 0, Rule::Missing).into()),
        };
        let max_op = max_op.next()?.and_then(|max| u64::try_from(max).ok());
        // The last counter of an empty change is one before its first.
        let Some(max_op) = max_op.filter(|max| max + 1 >= start_op.into() && *max <= rules::LAST.into())
        else {
            return Err(FormatFault::in_column(spec::MAX_OP, 0, Rule::CounterRange).into());
        };
        let mut deps = vec![];
        let count = deps_count.next()?.unwrap_or(0);
        budget.rows(count)?;
        for _ in 0..count {
            let index = deps_index.next()?.ok_or_else(|| deps_index.fault(Rule::Missing))?;
            deps.push(index as u64);
        }
        let len: u64 = extra_len.next()?.unwrap_or(0);
        let extra = usize::try_from(len).ok().and_then(|len| extra.read_bytes(len).ok());
        let extra = extra.ok_or_else(|| FormatFault::in_column(spec::EXTRA, 0, Rule::Truncated))?;
        let (time, message) = (time.next()?.unwrap_or(0), message.next()?.unwrap_or_default());
        budget.text(message)?;
        metas.push(Meta { actor, seq, start_op, max_op, time, message, deps, extra });
        if metas.len() as u64 > limits.changes {
            return Err(ChunkError::limit("changes", limits.changes));
        }
    }
    for column in [&mut seq, &mut start_op, &mut max_op, &mut deps_index] {
        column.finish()?;
    }
    extra.finish().map_err(|_| FormatFault::in_column(spec::EXTRA, 0, Rule::Uneven))?;
    Ok(metas)
}

/// The counter of each row, from the row indexes in order of actor and counter, or as stored in early bundles.
fn counters(
    ops: &Columns<'_>,
    metas: &[Meta<'_>],
    limits: &Limits,
    budget: &mut Budget,
) -> Result<Vec<u32>, ChunkError> {
    let total: u64 = metas.iter().map(|meta| meta.max_op + 1 - u64::from(meta.start_op)).sum();
    limits.check_total(total)?;
    budget.rows(total)?;
    let uneven = |column| FormatFault::in_column(column, 0, Rule::OperationCount);
    if ops.get(spec::ROW_OF).is_empty() {
        let mut column = ColumnReader::delta(
            crate::codec::ops::op_reader::spec::ID_CTR,
            ops.get(crate::codec::ops::op_reader::spec::ID_CTR),
        );
        let mut counters = vec![];
        while let Some(ctr) = column.next_or_end()? {
            counters
                .push(ctr.ok_or(Rule::Missing).and_then(rules::counter).map_err(|rule| column.fault(rule))?);
            if counters.len() as u64 > total {
                return Err(uneven(crate::codec::ops::op_reader::spec::ID_CTR).into());
            }
        }
        return Ok(counters);
    }
    let mut order: Vec<&Meta<'_>> = metas.iter().collect();
    order.sort_unstable_by_key(|meta| (meta.actor, meta.seq));
    let mut column = ColumnReader::delta(spec::ROW_OF, ops.get(spec::ROW_OF));
    let mut counters = vec![0; total as usize];
    for ctr in order.iter().flat_map(|meta| u64::from(meta.start_op)..=meta.max_op) {
        let row = column.next()?.and_then(|row| usize::try_from(row).ok());
        match row.and_then(|row| counters.get_mut(row)) {
            // The counters fit because `max_op` does; each row must be named once.
            Some(slot @ 0) => *slot = ctr as u32,
            _ => return Err(uneven(spec::ROW_OF).into()),
        }
    }
    column.finish()?;
    Ok(counters)
}

/// A row with its predecessors.
type FullRow<'a> = (Row<'a>, SmallVec<[OpId; 1]>);

/// The rows of each change, ordered by counter.
fn sort_rows<'a>(reader: &mut OpReader<'a>, metas: &[Meta<'_>]) -> Result<Vec<Vec<FullRow<'a>>>, ChunkError> {
    let mut spans: Vec<(ActorIdx, u32, u64, usize)> =
        metas.iter().enumerate().map(|(i, meta)| (meta.actor, meta.start_op, meta.max_op, i)).collect();
    spans.sort_unstable();
    let mut by_change: Vec<Vec<FullRow<'a>>> = metas.iter().map(|_| vec![]).collect();
    while let Some(row) = reader.next()? {
        let after = spans.partition_point(|span| (span.0, span.1) <= (row.id.actor, row.id.ctr));
        match after.checked_sub(1).map(|i| spans[i]) {
            Some((actor, _, max, i)) if actor == row.id.actor && u64::from(row.id.ctr) <= max => {
                by_change[i].push((row, SmallVec::from_slice(&reader.refs)));
            }
            _ => return Err(FormatFault::at(0, Rule::OperationCount).into()),
        }
    }
    for (meta, rows) in metas.iter().zip(&mut by_change) {
        rows.sort_unstable_by_key(|(row, _)| row.id.ctr);
        let expected = u64::from(meta.start_op)..=meta.max_op;
        if !rows.iter().map(|(row, _)| u64::from(row.id.ctr)).eq(expected) {
            return Err(FormatFault::at(0, Rule::OperationCount).into());
        }
    }
    Ok(by_change)
}

fn dep_hash(
    index: u64,
    changes: usize,
    built: &[Change],
    external: &[ChangeHash],
) -> Result<ChangeHash, FormatFault> {
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    let hash = match index.checked_sub(changes) {
        None => built.get(index).map(Change::hash),
        Some(index) => external.get(index).copied(),
    };
    hash.ok_or_else(|| FormatFault::in_column(spec::DEPS_INDEX, 0, Rule::ChangeIndex(index as u64)))
}

fn build(
    meta: &Meta<'_>,
    rows: &[FullRow<'_>],
    actors: &[ActorId],
    deps: &[ChangeHash],
    limits: &Limits,
    budget: &mut Budget,
    scratch: &mut Scratch<'_>,
) -> Result<Change, ChunkError> {
    let mut named = BTreeSet::new();
    let mut note = |id: OpId| {
        if !id.is_none() && id.actor != meta.actor {
            named.insert(id.actor);
        }
    };
    for (row, preds) in rows {
        note(row.obj);
        if let RawKey::Elem(elem) = row.key {
            note(elem);
        }
        preds.iter().for_each(|pred| note(*pred));
    }
    let bytes = |actor: ActorIdx| actors[actor.index()].as_bytes();
    let mut others: Vec<ActorIdx> = named.into_iter().collect();
    others.sort_unstable_by_key(|actor| bytes(*actor));
    let numbers: HashMap<ActorIdx, ActorIdx> =
        others.iter().copied().zip((1..).map(ActorIdx::from_u32)).collect();
    let local = |id: OpId| match numbers.get(&id.actor) {
        _ if id.is_none() => id,
        number => OpId::new(id.ctr, number.copied().unwrap_or(ActorIdx::FIRST)),
    };
    let mut writer = std::mem::take(&mut scratch.writer).recycle();
    for (row, preds) in rows {
        let key = match row.key {
            RawKey::Elem(elem) => RawKey::Elem(local(elem)),
            key => key,
        };
        let mut preds = preds.clone();
        preds.sort_unstable_by_key(|pred| (pred.ctr, bytes(pred.actor)));
        preds.iter_mut().for_each(|pred| *pred = local(*pred));
        writer.row(&Row { obj: local(row.obj), key, ..*row }, &preds, RowKind::Change);
    }
    let others: Vec<&[u8]> = others.iter().map(|actor| bytes(*actor)).collect();
    let head = ChangeHead {
        deps,
        actor: bytes(meta.actor),
        seq: meta.seq.into(),
        start_op: meta.start_op.into(),
        time: meta.time,
        message: meta.message,
        others: &others,
        extra: meta.extra,
    };
    let mut body = vec![];
    head.write(&writer.columns(RowKind::Change), &mut body);
    scratch.writer = writer.recycle();
    let hash = Change::hash_body(&body);
    budget.pay(body.len());
    Change::from_body(&body, hash, limits, budget, scratch)
}
