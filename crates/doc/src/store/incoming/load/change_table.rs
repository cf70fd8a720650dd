//! Table of changes of a document chunk: assigns to each change its operations from the collected ones.

use crate::codec::chunks::document::{ChangeReader, ChangeRow, DocumentView};
use crate::codec::columns::section::{ChunkError, FormatFault};
use crate::codec::limits::{Budget, Limits};
use crate::codec::rules;
use crate::store::history::ChangeRun;
use crate::store::incoming::load::{Loader, fault};
use crate::store::log::{LogRun, RunAction};
use crate::types::ChangeIdx;
use crate::types::Number as _;
use crate::types::error::Rule;

/// The operations of one actor that no change has yet, ascending.
#[derive(Clone, Copy, Default)]
struct ActorOps {
    /// Index in the sorted items.
    next: usize,
    end: usize,
    /// Sequence number and last counter of the actor's last change.
    seq: u32,
    max_op: u32,
    /// Counters up to here are known to be contiguous.
    solid: u32,
}

impl ActorOps {
    /// Number of contiguous operations after the actor's last change.
    ///
    /// A change made at earlier heads still continues above all counters of the document, not above those of its actor.
    /// Each item is visited once: the next gap is cached.
    fn following(&mut self, items: &[LogRun]) -> u32 {
        let start = self.max_op + 1;
        if self.solid < start {
            self.solid = start;
            for run in &items[self.next..self.end] {
                if run.id.ctr != self.solid {
                    break;
                }
                self.solid = self.solid.saturating_add(run.len);
            }
        }
        self.solid - start
    }
}

impl Loader {
    /// Reads the table of changes and fills the log in its order.
    pub(in crate::store) fn history(
        &mut self,
        view: &DocumentView<'_>,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Result<(), ChunkError> {
        let mut items = std::mem::take(&mut self.items);
        self.state.log.runs.expect(items.len());
        self.state.log.keyed.expect(self.keyed.len());
        crate::store::memory::sort::by_id(&mut items, |run| run.id);
        let mut by_id = vec![ActorOps::default(); view.actors.len()];
        let mut at = 0;
        for group in items.chunk_by(|a, b| a.id.actor == b.id.actor) {
            let lane = &mut by_id[group[0].id.actor.index()];
            (lane.next, lane.end) = (at, at + group.len());
            at += group.len();
        }
        if items
            .windows(2)
            .any(|pair| pair[0].id.actor == pair[1].id.actor && pair[1].id.ctr - pair[0].id.ctr < pair[0].len)
        {
            return Err(fault(Rule::OperationCount).into());
        }
        let mut rows = view.change_rows(*budget);
        let read = self.changes(&mut rows, &mut items, &mut by_id, limits);
        *budget = rows.budget;
        let judged =
            read.and_then(|()| if self.branched { self.state.check_references(budget) } else { Ok(()) });
        judged.map_err(|error| rows.locate_error(error))
    }

    fn changes(
        &mut self,
        rows: &mut ChangeReader<'_>,
        items: &mut [LogRun],
        by_id: &mut [ActorOps],
        limits: &Limits,
    ) -> Result<(), ChunkError> {
        let mut count = 0u64;
        while let Some(row) = rows.next()? {
            count += 1;
            self.state.history.heads.pay(&mut rows.budget)?;
            let deps = rows.deps.iter().copied().collect();
            let ops = self.change(&row, deps, items, by_id)?;
            let mut last = row;
            loop {
                let lane = &mut by_id[last.actor.index()];
                let most = lane.following(items).checked_div(ops).unwrap_or(0);
                let more = rows.extend(&last, ops, most)?;
                if more == 0 {
                    break;
                }
                count += u64::from(more);
                last = self.chain(&last, ops, more, items, by_id)?;
            }
            if count > limits.changes {
                return Err(ChunkError::limit("changes", limits.changes));
            }
        }
        if by_id.iter().any(|lane| lane.next < lane.end) {
            return Err(fault(Rule::OperationCount).into());
        }
        Ok(())
    }

    /// Adds one change; returns the number of its operations.
    fn change(
        &mut self,
        row: &ChangeRow<'_>,
        deps: smallvec::SmallVec<[ChangeIdx; 2]>,
        items: &mut [LogRun],
        by_id: &mut [ActorOps],
    ) -> Result<u32, FormatFault> {
        let lane = &mut by_id[row.actor.index()];
        if rules::sequence(lane.seq, row.seq).is_err() || row.max_op < lane.max_op {
            return Err(fault(Rule::ChangeOrder));
        }
        (lane.seq, lane.max_op) = (row.seq, row.max_op);
        let next = items[lane.next..lane.end].first().map(|run| run.id.ctr);
        let start = next.filter(|ctr| *ctr <= row.max_op).unwrap_or(row.max_op + 1);
        let end = deps.iter().map(|dep| self.state.history.next_counter_after(*dep)).max().unwrap_or(0);
        rules::start(start, end).map_err(|_| fault(Rule::StartOp))?;
        let first_run = self.state.log.runs.len().saturating_sub(1);
        let ops = row.max_op + 1 - start;
        self.emit(start, ops, items, lane)?;
        let log = self.state.log_of(first_run, start, row.actor);
        let message = self.state.heap.name(row.message.unwrap_or_default());
        let extra = self.state.heap.push(row.extra);
        let (actor, seq, time) = (row.actor, row.seq, row.time);
        self.push_changes(ChangeRun {
            first_row: self.state.history.next(),
            follows_all: false,
            row_count: 1,
            actor,
            seq,
            first_counter: start,
            ops_per_change: ops,
            time,
            message,
            extra,
            deps,
            log,
        });
        Ok(ops)
    }

    /// The changes directly after `last`, by the same actor with equally many operations.
    fn chain<'a>(
        &mut self,
        last: &ChangeRow<'a>,
        ops: u32,
        rows: u32,
        items: &mut [LogRun],
        by_id: &mut [ActorOps],
    ) -> Result<ChangeRow<'a>, FormatFault> {
        let lane = &mut by_id[last.actor.index()];
        let first_run = self.state.log.runs.len().saturating_sub(1);
        let start = last.max_op + 1;
        let all = ops.checked_mul(rows).ok_or_else(|| fault(Rule::CounterRange))?;
        self.emit(start, all, items, lane)?;
        let log = self.state.log_of(first_run, start, last.actor);
        let row = ChangeRow { seq: last.seq + rows, max_op: last.max_op + all, ..*last };
        (lane.seq, lane.max_op) = (row.seq, row.max_op);
        let deps = smallvec::smallvec![self.state.history.next().before()];
        let nothing = crate::store::memory::byte_arena::Bytes::default();
        self.push_changes(ChangeRun {
            first_row: self.state.history.next(),
            follows_all: false,
            row_count: rows,
            actor: last.actor,
            seq: last.seq + 1,
            first_counter: start,
            ops_per_change: ops,
            time: last.time,
            message: nothing,
            extra: nothing,
            deps,
            log,
        });
        Ok(row)
    }

    /// Moves the operations from `start` on into the log.
    fn emit(
        &mut self,
        start: u32,
        ops: u32,
        items: &mut [LogRun],
        lane: &mut ActorOps,
    ) -> Result<(), FormatFault> {
        let (mut ctr, end) = (start, start + ops);
        while ctr < end {
            let item = items[lane.next..lane.end].first_mut().filter(|run| run.id.ctr == ctr);
            let item = item.ok_or_else(|| fault(Rule::OperationCount))?;
            let run = if item.len > end - ctr {
                // Wrapping: the end of a run that ends with the last possible counter is 0.
                let all = (item.id.ctr, item.id.ctr.wrapping_add(item.len));
                let run = self.state.clip(item, ctr, end);
                *item = self.state.clip(item, end, all.1);
                run
            } else {
                lane.next += 1;
                *item
            };
            ctr += run.len;
            self.append(run);
        }
        Ok(())
    }

    fn append(&mut self, mut run: LogRun) {
        if let RunAction::KeyOp(first) = &mut run.what {
            let log = &mut self.state.log.keyed;
            let from = std::mem::replace(first, log.next()).index();
            for at in &self.order[from..from + run.len as usize] {
                let mut op = self.keyed[*at as usize];
                let before = self.lasts[op.group()].replace(log.next());
                op.follow(before, (None, 0));
                log.push(op);
            }
        }
        self.state.log.push(run);
    }
}
