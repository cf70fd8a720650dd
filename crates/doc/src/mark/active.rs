//! Which marks hold at a place, while the boundaries before it go by.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::MarkSet;
use crate::store::log::{MarkOp, Val};
use crate::store::state::State;
use crate::types::{OpId, ScalarValue};

/// The order of operations as numbers.
type Age = (u32, u32);

/// The marks that have begun and not ended.
pub(super) struct Active<'a> {
    state: &'a State,
    /// The names of those that have begun, by the operations that began them.
    names: HashMap<OpId, &'a str>,
    /// Their values, those of one name from the oldest to the youngest.
    begun: BTreeMap<(&'a str, Age), Val>,
    /// The youngest of each name that has a value: what holds.
    holding: BTreeMap<&'a str, Val>,
}

impl<'a> Active<'a> {
    pub(super) fn new(state: &'a State) -> Self {
        Self { state, names: HashMap::new(), begun: BTreeMap::new(), holding: BTreeMap::new() }
    }

    /// Goes over a boundary; gives the name for which something else holds behind it, if there is one.
    ///
    /// An end whose begin did not go by, as in files that were not verified, ends nothing.
    pub(super) fn pass(&mut self, id: OpId, mark: &MarkOp) -> Option<&'a str> {
        let state = self.state;
        let age = |id: OpId| (id.ctr, state.actors.rank(id.actor));
        let name = match mark.name {
            Some(name) => {
                let name = state.heap.text(name);
                self.names.insert(id, name);
                self.begun.insert((name, age(id)), mark.val);
                name
            }
            None => {
                let begin = OpId::new(id.ctr.checked_sub(1)?, id.actor);
                let name = self.names.remove(&begin)?;
                self.begun.remove(&(name, age(begin)));
                name
            }
        };
        let youngest = self.begun.range((name, (0, 0))..=(name, (u32::MAX, u32::MAX))).next_back();
        let holds = youngest.map(|(_, val)| *val).filter(|val| *val != Val::NULL);
        let held = match holds {
            Some(val) => self.holding.insert(name, val),
            None => self.holding.remove(name),
        };
        (held != holds).then_some(name)
    }

    /// The value that holds for a name.
    pub(super) fn value(&self, name: &str) -> Option<ScalarValue<'a>> {
        self.holding.get(name).map(|val| self.state.scalar(*val))
    }

    /// All that hold.
    pub(super) fn set(&self) -> MarkSet<'a> {
        MarkSet(self.holding.iter().map(|(name, val)| ((*name).into(), self.state.scalar(*val))).collect())
    }
}
