//! Encoder of the bundle chunk: a table of changes and a table of their operations.

use super::bundle::spec;
use super::document::{Column, deflated, effort, stored};
use crate::codec::bytes::byte_rope::ByteRope;
use crate::codec::bytes::leb::put_u64;
use crate::codec::chunks::container::{ChunkType, frame};
use crate::codec::columns::delta::DeltaEncoder;
use crate::codec::columns::rle::RleEncoder;
use crate::codec::columns::section::{Stored, effort_of, write_layout};
use crate::codec::ops::op_reader::{RowKind, spec as ops};
use crate::codec::ops::op_writer::OpWriter;
use crate::codec::row::Row;
use crate::types::{ActorIdx, ChangeHash, OpId};

/// One change as a table row, without its dependencies.
pub(crate) struct BundleRow<'a> {
    pub(crate) actor: ActorIdx,
    pub(crate) seq: u32,
    pub(crate) start_op: u32,
    /// One less than the first counter if there are no operations.
    pub(crate) max_op: u32,
    pub(crate) time: i64,
    pub(crate) message: Option<&'a str>,
    pub(crate) extra: &'a [u8],
}

/// Bundle encoder. Actors are indexes in the bundle's list.
#[derive(Debug, Default)]
pub(crate) struct BundleWriter<'a> {
    actor: RleEncoder<'a, u64>,
    seq: DeltaEncoder<'a>,
    start_op: DeltaEncoder<'a>,
    max_op: DeltaEncoder<'a>,
    time: DeltaEncoder<'a>,
    message: RleEncoder<'a, &'a str>,
    deps_count: RleEncoder<'a, u64>,
    deps_index: DeltaEncoder<'a>,
    extra_len: RleEncoder<'a, u64>,
    extra: Vec<u8>,
    ops: OpWriter<'a>,
    obj_ctr: DeltaEncoder<'a>,
    row_of: DeltaEncoder<'a>,
    ids: Vec<OpId>,
}

impl<'a> BundleWriter<'a> {
    /// Adds a change whose dependencies have these indexes: first those in the bundle, then the external ones.
    pub(crate) fn change(&mut self, row: &BundleRow<'a>, deps: impl ExactSizeIterator<Item = u64>) {
        self.actor.push(Some(row.actor.into()));
        self.seq.push(Some(row.seq.into()));
        self.start_op.push(Some(row.start_op.into()));
        self.max_op.push(Some(row.max_op.into()));
        self.time.push(Some(row.time));
        self.message.push(row.message);
        self.deps_count.push(Some(deps.len() as u64));
        deps.for_each(|dep| self.deps_index.push(Some(dep as i64)));
        self.extra_len.push(Some(row.extra.len() as u64));
        self.extra.extend_from_slice(row.extra);
    }

    /// Adds an operation of one of the changes, with its predecessors.
    pub(crate) fn op(&mut self, row: &Row<'a>, preds: &[OpId]) {
        self.ops.row(row, preds, RowKind::Bundle);
        self.obj_ctr.push((!row.obj.is_none()).then_some(row.obj.ctr.into()));
        self.ids.push(row.id);
    }

    /// The chunk. `actors` must ascend.
    pub(crate) fn write(mut self, external: &[ChangeHash], actors: &[&[u8]]) -> Vec<u8> {
        let mut order: Vec<(ActorIdx, u32, i64)> =
            self.ids.iter().zip(0..).map(|(id, row)| (id.actor, id.ctr, row)).collect();
        order.sort_unstable();
        order.into_iter().for_each(|(_, _, row)| self.row_of.push(Some(row)));
        let mut head = vec![];
        put_u64(&mut head, external.len() as u64);
        external.iter().for_each(|hash| head.extend_from_slice(&hash.0));
        put_u64(&mut head, actors.len() as u64);
        for actor in actors {
            put_u64(&mut head, actor.len() as u64);
            head.extend_from_slice(actor);
        }
        let columns = self.columns();
        let packed = deflated(&columns.concat(), true);
        let [changes, ops] = stored(columns.each_ref().map(Vec::as_slice), &packed);
        write_layout(&changes, &mut head);
        let mut middle = vec![];
        write_layout(&ops, &mut middle);
        let bytes = |columns: &[Stored<ByteRope<'_>>]| {
            columns.iter().fold(vec![], |mut all, column| {
                column.bytes.append_to(&mut all);
                all
            })
        };
        frame(ChunkType::Bundle, &[&head, &bytes(&changes), &middle, &bytes(&ops)])
    }

    /// The columns of changes and of operations that are not empty.
    fn columns(&mut self) -> [Vec<Column<'_>>; 2] {
        let column = |spec, bytes| (spec, bytes, effort_of(spec));
        let mut changes: Vec<Column<'_>> = vec![
            column(spec::ACTOR, self.actor.finish()),
            column(spec::SEQ, self.seq.finish()),
            column(spec::START_OP, self.start_op.finish()),
            column(spec::MAX_OP, self.max_op.finish()),
            column(spec::TIME, self.time.finish()),
            column(spec::MESSAGE, self.message.finish()),
            column(spec::DEPS_COUNT, self.deps_count.finish()),
            column(spec::DEPS_INDEX, self.deps_index.finish()),
            column(spec::EXTRA_LEN, self.extra_len.finish()),
            column(spec::EXTRA, self.extra[..].into()),
        ];
        let mut rows: Vec<Column<'_>> = Vec::with_capacity(16);
        let values = effort(self.ops.has_texts());
        let obj_ctr = self.obj_ctr.finish();
        self.ops.finish(RowKind::Bundle, |spec, bytes| {
            rows.push(match spec {
                ops::OBJ_CTR => column(ops::BUNDLE_OBJ_CTR, obj_ctr),
                ops::RAW => (spec, bytes, values),
                spec => column(spec, bytes),
            });
        });
        rows.push(column(spec::ROW_OF, self.row_of.finish()));
        changes.retain(|(_, bytes, _)| !bytes.is_empty());
        rows.retain(|(_, bytes, _)| !bytes.is_empty());
        [changes, rows]
    }
}
