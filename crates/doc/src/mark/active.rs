//! Active marks at a position: a scan over mark boundaries.

use std::collections::BinaryHeap;

use hashbrown::HashMap;

use super::MarkSet;
use crate::store::log::MarkOp;
use crate::store::log::value::StoredValue;
use crate::store::memory::byte_arena::Bytes;
use crate::store::state::DocumentState;
use crate::types::{ActorIdx, OpId, ScalarValue};

/// The start of a mark, ordered by its operation: counter, rank of the actor, and actor.
type MarkStart = (u32, u32, ActorIdx);

/// Marks of one name.
struct Name<'a> {
    name: &'a str,
    /// Starts of marks if many overlap, the newest first. Ended ones are removed when they reach the front.
    begins: BinaryHeap<MarkStart>,
    /// Value of the newest mark if it has one, and its index in [`ActiveMarks::holding`].
    holds: Option<(StoredValue, usize)>,
}

/// A mark that has not ended.
#[derive(Clone, Copy)]
struct OpenMark {
    begins: MarkStart,
    name: usize,
    val: StoredValue,
}

impl OpenMark {
    fn id(&self) -> OpId {
        OpId::new(self.begins.0, self.begins.2)
    }
}

/// Up to this many overlapping marks, a linear search is faster than a table and a heap for each name.
const FEW: usize = 8;

/// Marks that have begun and not ended. Each boundary costs O(log n) in the number of overlapping marks.
pub(crate) struct ActiveMarks<'a> {
    state: &'a DocumentState,
    names: Vec<Name<'a>>,
    numbers: HashMap<&'a str, usize>,
    /// The last name, as its range in the heap: the next one is likely to be the same.
    last: Option<(Bytes, usize)>,
    /// All active marks while they are few.
    few: Vec<OpenMark>,
    /// All active marks, with name and value, from when they are many until there is none.
    many: HashMap<OpId, (usize, StoredValue)>,
    /// Names with an active value, in any order.
    holding: Vec<usize>,
}

impl<'a> ActiveMarks<'a> {
    pub(crate) fn new(state: &'a DocumentState) -> Self {
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

    /// Passes a boundary. Returns the index of the name whose value changes there, if any.
    ///
    /// An end without a begin, as in unverified files, has no effect.
    #[inline]
    pub(crate) fn pass(&mut self, id: OpId, mark: &MarkOp) -> Option<usize> {
        let number = match mark.name {
            Some(name) => {
                let name = self.number(name);
                let begins = (id.ctr, self.state.actors.rank(id.actor), id.actor);
                self.begin(OpenMark { begins, name, val: mark.val });
                name
            }
            None => self.end(OpId::new(id.ctr.checked_sub(1)?, id.actor))?,
        };
        let holds = self.youngest(number).filter(|val| *val != StoredValue::NULL);
        let name = &mut self.names[number];
        match (&mut name.holds, holds) {
            (None, None) => return None,
            (Some((old, _)), Some(new)) if *old == new => return None,
            (Some((old, _)), Some(new)) => *old = new,
            (None, Some(new)) => {
                name.holds = Some((new, self.holding.len()));
                self.holding.push(number);
            }
            (Some((_, index)), None) => {
                let index = *index;
                name.holds = None;
                self.holding.swap_remove(index);
                if let Some(moved) = self.holding.get(index)
                    && let Some((_, known)) = &mut self.names[*moved].holds
                {
                    *known = index;
                }
            }
        }
        Some(number)
    }

    #[inline]
    fn begin(&mut self, open: OpenMark) {
        if self.many.is_empty() && self.few.len() < FEW {
            return self.few.push(open);
        }
        for open in self.few.drain(..).chain([open]) {
            self.many.insert(open.id(), (open.name, open.val));
            self.names[open.name].begins.push(open.begins);
        }
    }

    /// Ends a mark; returns the index of its name.
    #[inline]
    fn end(&mut self, id: OpId) -> Option<usize> {
        match self.few.iter().position(|open| open.id() == id) {
            Some(index) => Some(self.few.swap_remove(index).name),
            None if self.many.is_empty() => None,
            None => self.many.remove(&id).map(|(name, _)| name),
        }
    }

    /// Value of the newest active mark of a name.
    #[inline]
    fn youngest(&mut self, number: usize) -> Option<StoredValue> {
        if self.many.is_empty() {
            let open = self.few.iter().filter(|open| open.name == number);
            return open.max_by_key(|open| open.begins).map(|open| open.val);
        }
        let begins = &mut self.names[number].begins;
        while let Some((ctr, _, actor)) = begins.peek() {
            if let Some((_, val)) = self.many.get(&OpId::new(*ctr, *actor)) {
                return Some(*val);
            }
            begins.pop();
        }
        None
    }

    /// Index of a name.
    #[inline]
    fn number(&mut self, name: Bytes) -> usize {
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == name) {
            return number;
        }
        let text = self.state.heap.text(name);
        let next = self.names.len();
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.names.push(Name { name: text, begins: BinaryHeap::new(), holds: None });
        }
        self.last = Some((name, number));
        number
    }

    /// Active value of a name.
    #[inline]
    pub(super) fn value(&self, number: usize) -> Option<StoredValue> {
        self.names[number].holds.map(|(val, _)| val)
    }

    /// The name at an index.
    #[inline]
    pub(super) fn name(&self, number: usize) -> &'a str {
        self.names[number].name
    }

    /// Every name that was passed.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().map(|name| name.name)
    }

    /// All active marks.
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
