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
    /// Where many marks overlap, the youngest first. Those that have ended are taken out when they come to the front.
    begun: BinaryHeap<Begun>,
    /// The value of the youngest, if it has one, and where that is known in [`Active::holding`].
    holds: Option<(Val, usize)>,
}

/// A mark that goes on.
#[derive(Clone, Copy)]
struct Open {
    begun: Begun,
    name: usize,
    val: Val,
}

impl Open {
    fn id(&self) -> OpId {
        OpId::new(self.begun.0, self.begun.2)
    }
}

/// So many marks that overlap are few: looking at all of them is faster than a table and a heap for each name.
const FEW: usize = 8;

/// The marks that have begun and not ended. Each boundary costs O(log n), however many marks overlap.
pub(crate) struct Active<'a> {
    state: &'a State,
    names: Vec<Name<'a>>,
    numbers: HashMap<&'a str, usize>,
    /// The name that was told last, as it lies in the heap: the next one is likely to be the same.
    last: Option<(Bytes, usize)>,
    /// All that go on, while they are few.
    few: Vec<Open>,
    /// All that go on, with name and value, once they are more, until there is none.
    many: HashMap<OpId, (usize, Val)>,
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
            few: Vec::with_capacity(FEW),
            many: HashMap::new(),
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
                let name = self.number(name);
                let begun = (id.ctr, self.state.actors.rank(id.actor), id.actor);
                self.begin(Open { begun, name, val: mark.val });
                name
            }
            None => self.end(OpId::new(id.ctr.checked_sub(1)?, id.actor))?,
        };
        let holds = self.youngest(number).filter(|val| *val != Val::NULL);
        let name = &mut self.names[number];
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

    #[inline]
    fn begin(&mut self, open: Open) {
        if self.many.is_empty() && self.few.len() < FEW {
            return self.few.push(open);
        }
        for open in self.few.drain(..).chain([open]) {
            self.many.insert(open.id(), (open.name, open.val));
            self.names[open.name].begun.push(open.begun);
        }
    }

    /// Ends a mark; gives the number of its name.
    #[inline]
    fn end(&mut self, id: OpId) -> Option<usize> {
        match self.few.iter().position(|open| open.id() == id) {
            Some(place) => Some(self.few.swap_remove(place).name),
            None if self.many.is_empty() => None,
            None => self.many.remove(&id).map(|(name, _)| name),
        }
    }

    /// The value of the youngest mark of a name that goes on.
    #[inline]
    fn youngest(&mut self, number: usize) -> Option<Val> {
        if self.many.is_empty() {
            let open = self.few.iter().filter(|open| open.name == number);
            return open.max_by_key(|open| open.begun).map(|open| open.val);
        }
        let begun = &mut self.names[number].begun;
        while let Some((ctr, _, actor)) = begun.peek() {
            if let Some((_, val)) = self.many.get(&OpId::new(*ctr, *actor)) {
                return Some(*val);
            }
            begun.pop();
        }
        None
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

    /// The name with a number.
    #[inline]
    pub(super) fn name(&self, number: usize) -> &'a str {
        self.names[number].name
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
