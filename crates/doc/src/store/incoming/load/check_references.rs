//! Check of the references in a loaded document: each must be to an ancestor.

use crate::codec::columns::section::{ChunkError, FormatFault};
use crate::codec::limits::Budget;
use crate::codec::rules;
use crate::store::history::ancestor_search::CurrentHistory;
use crate::store::history::ancestry::{AncestorCache, AncestorClock};
use crate::store::history::heads::Heads;
use crate::store::log::key_op::Key;
use crate::store::log::{LogRun, RunAction, stepped};
use crate::store::state::DocumentState;
use crate::types::OpId;
use crate::types::error::{OpFault, Rule};

impl DocumentState {
    /// Checks for every operation of a document with concurrent changes that its references are to ancestors of its
    /// change. Without concurrent changes, smaller counters prove this.
    pub(super) fn check_references(&self, budget: &mut Budget) -> Result<(), ChunkError> {
        let (mut heads, mut all, mut recent) =
            (Heads::default(), AncestorClock::default(), AncestorCache::default());
        for (number, run) in self.history.runs().enumerate() {
            let broken = |rule| ChunkError::from(FormatFault::at(0, rule));
            if run.follows_all {
                self.refers_to(number, &all).map_err(|rule| broken(Rule::Operation(rule)))?;
            } else {
                let there =
                    CurrentHistory { history: &self.history, heads: heads.rows(), last: all.positions() };
                let past = recent.ancestors_of(&run.deps, there, budget)?;
                rules::sequence(past.seq(run.actor), run.seq).map_err(|_| broken(Rule::ChangeOrder))?;
                self.refers_to(number, &past).map_err(|rule| broken(Rule::Operation(rule)))?;
                recent.insert(run.last(), run.actor, run.position(), past, &run.deps);
            }
            heads.replace(&run.deps, run.last());
            all.set(run.actor, run.position());
        }
        Ok(())
    }

    /// Does a run of changes refer only to operations in `past` and of its own actor?
    fn refers_to(&self, number: usize, past: &AncestorClock) -> Result<(), OpFault> {
        let Some(changes) = self.history.run(number).filter(|run| run.ops_per_change > 0) else {
            return Ok(());
        };
        let (start, end) =
            (changes.first_counter, changes.first_counter + changes.ops_per_change * changes.row_count);
        let past = |id: OpId| rules::ancestor(id.actor == changes.actor || past.covers(id));
        let (from, to) = self.log_range(number);
        let mut last = None;
        for at in from..to {
            let run = &self.log.runs[at];
            // A run of the log may extend over several changes.
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
            // Each element but the first follows the one before it.
            RunAction::Text { origin, .. } | RunAction::Values { origin, .. } if skip == 0 => past(origin),
            RunAction::Text { .. } | RunAction::Values { .. } => Ok(()),
            RunAction::Mark(number) => past(self.log.marks[number as usize].origin),
            RunAction::Delete { elem, step } => {
                past(stepped(elem, step, skip)).and(past(stepped(elem, step, stop - 1)))
            }
            RunAction::KeyOp(first) => {
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
