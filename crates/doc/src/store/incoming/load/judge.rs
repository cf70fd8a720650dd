//! What the operations of a loaded document refer to: it was in the past of their changes.

use crate::codec::column::{ChunkError, Fault};
use crate::codec::limits::Budget;
use crate::codec::rules;
use crate::error::{OpFault, Rule};
use crate::store::history::heads::Heads;
use crate::store::history::seen::{Present, Recent, Seen};
use crate::store::log::key_op::Key;
use crate::store::log::{LogRun, What, stepped};
use crate::store::state::State;
use crate::types::OpId;

impl State {
    /// Asks of every operation of a document whose changes were not made one after another whether what it refers to is in
    /// the past of its change. Where they were, smaller counters say so.
    pub(super) fn judge(&self, budget: &mut Budget) -> Result<(), ChunkError> {
        let (mut heads, mut all, mut recent) = (Heads::default(), Seen::default(), Recent::default());
        for (number, run) in self.history.runs().enumerate() {
            let broken = |rule| ChunkError::from(Fault::at(0, rule));
            if run.whole {
                self.refers_to(number, &all).map_err(|rule| broken(Rule::Operation(rule)))?;
            } else {
                let there = Present { history: &self.history, heads: heads.rows(), last: all.reaches() };
                let past = recent.before(&run.deps, there, budget)?;
                rules::sequence(past.seq(run.actor), run.seq).map_err(|_| broken(Rule::ChangeOrder))?;
                self.refers_to(number, &past).map_err(|rule| broken(Rule::Operation(rule)))?;
                recent.learn(run.last(), run.actor, run.reach(), past, &run.deps);
            }
            heads.replace(&run.deps, run.last());
            all.set(run.actor, run.reach());
        }
        Ok(())
    }

    /// Whether the operations of a run of changes refer to none but those in `past` and their own actor's.
    fn refers_to(&self, number: usize, past: &Seen) -> Result<(), OpFault> {
        let Some(changes) = self.history.run(number).filter(|run| run.ops > 0) else { return Ok(()) };
        let (start, end) = (changes.start, changes.start + changes.ops * changes.rows);
        let past = |id: OpId| rules::past(id.actor == changes.actor || past.covers(id));
        let (from, to) = self.log_range(number);
        let mut last = None;
        for at in from..to {
            let run = &self.log.runs[at];
            // Runs of the log may go on from change to change.
            let (skip, stop) = (start.saturating_sub(run.id.ctr), run.len.min(end - run.id.ctr));
            if last.replace(run.obj) != Some(run.obj) {
                past(self.objects[run.obj].id)?;
            }
            self.run_refers_to(run, skip, stop, past)?;
        }
        Ok(())
    }

    #[inline]
    fn run_refers_to(
        &self,
        run: &LogRun,
        skip: u32,
        stop: u32,
        past: impl Fn(OpId) -> Result<(), OpFault>,
    ) -> Result<(), OpFault> {
        match run.what {
            // All but the first are behind the one before them.
            What::Text { origin, .. } | What::Values { origin, .. } if skip == 0 => past(origin),
            What::Text { .. } | What::Values { .. } => Ok(()),
            What::Mark(number) => past(self.log.marks[number as usize].origin),
            What::Delete { elem, step } => {
                past(stepped(elem, step, skip)).and(past(stepped(elem, step, stop - 1)))
            }
            What::KeyOp(first) => {
                for op in self.log.keyed.iter_from(first.plus(skip)).take((stop - skip) as usize) {
                    if let Key::Elem(elem) = op.key() {
                        past(elem)?;
                    }
                    self.log.preds(op).iter().try_for_each(|pred| past(*pred))?;
                }
                Ok(())
            }
        }
    }
}
