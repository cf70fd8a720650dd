//! Which marks hold at a place, while the boundaries before it go by.

use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::MarkSet;
use crate::store::log::{MarkOp, Val};
use crate::store::memory::byte_arena::Bytes;
use crate::store::state::State;
use crate::types::{ActorIdx, OpId, ScalarValue};

/// A mark that has begun: the order of its operation, and by whom that is.
type Begun = (u32, u32, ActorIdx);

/// Marks of one name.
struct Name<'a> {
    name: &'a str,
    /// The youngest first. Those that have ended are taken out when they come to the front.
    begun: BinaryHeap<Begun>,
    /// The value of the youngest, if it has one, and where that is known in [`Active::holding`].
    holds: Option<(Val, usize)>,
}

/// The name and the value of each mark that goes on. Where few do, looking at all of them is faster than a table.
#[derive(Default)]
struct Open {
    few: Vec<(OpId, (usize, Val))>,
    many: HashMap<OpId, (usize, Val)>,
}

impl Open {
    const FEW: usize = 8;

    fn insert(&mut self, id: OpId, mark: (usize, Val)) {
        match self.few.len() < Self::FEW {
            true => self.few.push((id, mark)),
            false => drop(self.many.insert(id, mark)),
        }
    }

    fn get(&self, id: OpId) -> Option<(usize, Val)> {
        let few = self.few.iter().find(|(other, _)| *other == id).map(|(_, mark)| *mark);
        few.or_else(|| if self.many.is_empty() { None } else { self.many.get(&id).copied() })
    }

    fn remove(&mut self, id: OpId) -> Option<(usize, Val)> {
        match self.few.iter().position(|(other, _)| *other == id) {
            Some(place) => Some(self.few.swap_remove(place).1),
            None => self.many.remove(&id),
        }
    }
}

/// The marks that have begun and not ended. Each boundary costs O(log n), however many marks overlap.
pub(crate) struct Active<'a> {
    state: &'a State,
    names: Vec<Name<'a>>,
    numbers: HashMap<&'a str, usize>,
    /// The name that was told last, as it lies in the heap: the next one is likely to be the same.
    last: Option<(Bytes, usize)>,
    open: Open,
    /// The names of which a mark holds, in any order.
    holding: Vec<usize>,
}

impl<'a> Active<'a> {
    pub(crate) fn new(state: &'a State) -> Self {
        Self {
            state,
            names: Vec::new(),
            numbers: HashMap::new(),
            last: None,
            open: Open::default(),
            holding: Vec::new(),
        }
    }

    /// Goes over a boundary; gives the number of the name for which something else holds behind it, if there is one.
    ///
    /// An end whose begin did not go by, as in files that were not verified, ends nothing.
    #[inline]
    pub(crate) fn pass(&mut self, id: OpId, mark: &MarkOp) -> Option<usize> {
        let number = match mark.name {
            Some(name) => {
                let number = self.number(name);
                self.open.insert(id, (number, mark.val));
                self.names[number].begun.push((id.ctr, self.state.actors.rank(id.actor), id.actor));
                number
            }
            None => self.open.remove(OpId::new(id.ctr.checked_sub(1)?, id.actor))?.0,
        };
        let name = &mut self.names[number];
        let holds = loop {
            let Some((ctr, _, actor)) = name.begun.peek() else { break None };
            if let Some((_, val)) = self.open.get(OpId::new(*ctr, *actor)) {
                break Some(val).filter(|val| *val != Val::NULL);
            }
            name.begun.pop();
        };
        match (&mut name.holds, holds) {
            (None, None) => return None,
            (Some((old, _)), Some(new)) if *old == new => return None,
            (Some((old, _)), Some(new)) => *old = new,
            (None, Some(new)) => {
                name.holds = Some((new, self.holding.len()));
                self.holding.push(number);
            }
            (Some((_, place)), None) => {
                let place = *place;
                name.holds = None;
                self.holding.swap_remove(place);
                if let Some(moved) = self.holding.get(place)
                    && let Some((_, known)) = &mut self.names[*moved].holds
                {
                    *known = place;
                }
            }
        }
        Some(number)
    }

    /// The number of a name.
    #[inline]
    fn number(&mut self, name: Bytes) -> usize {
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == name) {
            return number;
        }
        let text = self.state.heap.text(name);
        let next = self.names.len();
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.names.push(Name { name: text, begun: BinaryHeap::new(), holds: None });
        }
        self.last = Some((name, number));
        number
    }

    /// The value that holds for a name.
    #[inline]
    pub(super) fn value(&self, number: usize) -> Option<Val> {
        self.names[number].holds.map(|(val, _)| val)
    }

    /// Each name that went by.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().map(|name| name.name)
    }

    /// All that hold.
    pub(crate) fn set(&self) -> MarkSet<'a> {
        let mark = |number: &usize| {
            let Name { name, holds, .. } = &self.names[*number];
            let value = holds.map_or(ScalarValue::Null, |(val, _)| self.state.scalar(val));
            ((*name).into(), value)
        };
        match &self.holding[..] {
            [] => MarkSet::default(),
            [only] => MarkSet::one(mark(only)),
            holding => MarkSet::sorted(holding.iter().map(mark).collect()),
        }
    }
}
