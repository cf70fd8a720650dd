//! History of a document: accepted and waiting changes (reference 2.9, 2.12 and 4.7).
//!
//! A change is accepted if its dependencies are, and if its operations are valid for its ancestors. So acceptance is a property of
//! a set of changes, independent of their order, with one exception: of two different changes with one actor and sequence
//! number, the first ready one is accepted. Two programs used the same actor then, and it is undecidable which one is right.

use std::collections::{BTreeMap, BTreeSet};

use super::bundle;
use super::bytes::chunks;
use super::state::{self, State};
use super::{Action, Actor, Change, Document, Hash, Id, Key, Kind, Op, Refused, hex, refuse};

/// For each actor the last sequence number among the ancestors, which include all earlier ones.
type Past = BTreeMap<Actor, u64>;

/// The accepted, waiting and refused changes of a document.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Accepted changes, each after its dependencies.
    changes: Vec<Change>,
    /// Ancestors of each change, and itself.
    pasts: Vec<Past>,
    by_hash: BTreeMap<Hash, usize>,
    /// Index of each operation: the change, and the operation in it.
    by_op: BTreeMap<Id, (usize, usize)>,
    by_seq: BTreeMap<(Actor, u64), Hash>,
    waiting: Vec<Change>,
    refused: BTreeMap<Hash, Refused>,
}

impl History {
    /// A document without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a file with tables of at most `most` rows. Every chunk must be valid, no change may be refused, and changes may wait
    /// only after a document.
    pub fn load(file: &[u8], most: usize) -> Result<Self, Refused> {
        let mut history = Self::new();
        let chunks = chunks(file)?;
        for chunk in &chunks {
            let changes = match chunk.kind {
                0 => {
                    let read = Document::read(&chunk.body, most)?.check()?;
                    if history.changes.is_empty() && history.waiting.is_empty() {
                        history = read;
                        continue;
                    }
                    read.changes
                }
                1 => vec![Change::read(&chunk.body, most)?],
                _ => bundle::read(&chunk.body, most)?,
            };
            for change in changes {
                history.deliver(change);
            }
            if let Some((_, reason)) = history.refused.pop_first() {
                return Err(reason);
            }
        }
        match history.waiting.first() {
            Some(change) if chunks[0].kind != 0 => {
                Err(refuse("missing dependencies", format!("of change {} of {}", change.seq, change.actor)))
            }
            _ => Ok(history),
        }
    }

    /// The accepted changes, each after its dependencies.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The changes with missing dependencies.
    pub fn waiting(&self) -> &[Change] {
        &self.waiting
    }

    /// The refused changes and their errors.
    pub fn refused(&self) -> &BTreeMap<Hash, Refused> {
        &self.refused
    }

    /// Applies a change and the changes that waited for it.
    pub fn deliver(&mut self, change: Change) {
        if self.by_hash.contains_key(&change.hash) || self.waiting.contains(&change) {
            return;
        }
        self.waiting.push(change);
        self.refuse_names();
        let ready =
            |history: &Self, change: &Change| change.deps.iter().all(|dep| history.by_hash.contains_key(dep));
        while let Some(at) = self.waiting.iter().position(|change| ready(self, change)) {
            let change = self.waiting.remove(at);
            match self.check(&change) {
                Ok(past) => {
                    self.accept(change, past);
                    self.refuse_names();
                }
                Err(reason) => drop(self.refused.insert(change.hash, reason)),
            }
        }
    }

    /// Refuses waiting changes with the actor and sequence number of an accepted one.
    fn refuse_names(&mut self) {
        let taken = |change: &Change| self.by_seq.contains_key(&(change.actor.clone(), change.seq));
        let (refused, waiting): (Vec<Change>, _) =
            std::mem::take(&mut self.waiting).into_iter().partition(taken);
        self.waiting = waiting;
        for change in refused {
            let what = format!("{} of {}", change.seq, change.actor);
            self.refused.insert(change.hash, refuse("sequence number twice", what));
        }
    }

    fn accept(&mut self, change: Change, mut past: Past) {
        past.insert(change.actor.clone(), change.seq);
        let at = self.changes.len();
        self.by_hash.insert(change.hash, at);
        self.by_seq.insert((change.actor.clone(), change.seq), change.hash);
        self.by_op.extend(change.ops.iter().enumerate().map(|(n, op)| (op.id.clone(), (at, n))));
        self.refused.remove(&change.hash);
        self.pasts.push(past);
        self.changes.push(change);
    }

    /// Hashes of the missing changes that waiting ones depend on, ascending.
    pub fn missing(&self) -> Vec<Hash> {
        let here: BTreeSet<&Hash> =
            self.by_hash.keys().chain(self.waiting.iter().map(|change| &change.hash)).collect();
        let named: BTreeSet<&Hash> = self.waiting.iter().flat_map(|change| &change.deps).collect();
        named.difference(&here).map(|hash| **hash).collect()
    }

    /// These changes and their ancestors.
    pub fn before(&self, heads: &[Hash]) -> Result<Vec<&Change>, Refused> {
        let past = self.past(heads)?;
        let known = |change: &&Change| past.get(&change.actor).is_some_and(|seq| change.seq <= *seq);
        Ok(self.changes.iter().filter(known).collect())
    }

    /// The elements inserted into a list or text up to these heads, in its order, including deleted ones and the boundaries of
    /// marks.
    pub fn order(&self, obj: &Id, heads: &[Hash]) -> Result<Vec<&Op>, Refused> {
        let ops = self.before(heads)?.into_iter().flat_map(|change| &change.ops);
        let inside: Vec<&Op> = ops.filter(|op| op.obj.as_ref() == Some(obj)).collect();
        Ok(state::order(&inside))
    }

    /// An operation of a change that was accepted.
    pub fn op(&self, id: &Id) -> Option<&Op> {
        self.by_op.get(id).map(|(change, op)| &self.changes[*change].ops[*op])
    }

    /// The operations of these changes and their ancestors.
    fn past(&self, heads: &[Hash]) -> Result<Past, Refused> {
        let mut past = Past::new();
        for head in heads {
            let at = self.by_hash.get(head).ok_or_else(|| refuse("unknown heads", hex::encode(head)))?;
            for (actor, seq) in &self.pasts[*at] {
                let known = past.entry(actor.clone()).or_default();
                *known = (*known).max(*seq);
            }
        }
        Ok(past)
    }

    /// The rules of a change whose dependencies are here. Gives its past.
    fn check(&self, change: &Change) -> Result<Past, Refused> {
        let past = self.past(&change.deps)?;
        let last = past.get(&change.actor).copied().unwrap_or(0);
        if change.seq != last + 1 {
            return Err(refuse("sequence number", format!("{} after {last}", change.seq)));
        }
        let known = change.deps.iter().map(|dep| self.changes[self.by_hash[dep]].max_op()).max();
        let known = known.unwrap_or(0);
        if change.start <= known {
            return Err(refuse("start", format!("{} after operation {known}", change.start)));
        }
        if change.seq > 1 && change.author().is_some() {
            return Err(refuse("author", "only the first change of an actor names one"));
        }
        let scope = Scope { history: self, past: &past, change };
        for op in &change.ops {
            op.check()?;
            let with_operation = |rule| refuse(rule, format!("operation {} of {}", op.id, change.seq));
            scope.check(op).map_err(with_operation)?;
        }
        Ok(past)
    }

    /// The hashes that no change depends on, ascending.
    pub fn heads(&self) -> Vec<Hash> {
        let before: BTreeSet<&Hash> = self.changes.iter().flat_map(|change| &change.deps).collect();
        let heads = self.by_hash.keys().filter(|hash| !before.contains(hash));
        heads.copied().collect()
    }

    /// The current document.
    pub fn state(&self) -> State {
        let ops = self.changes.iter().flat_map(|change| &change.ops);
        State::from_ops(ops, self.heads())
    }

    /// The document at these heads.
    pub fn at(&self, heads: &[Hash]) -> Result<State, Refused> {
        let ops = self.before(heads)?.into_iter().flat_map(|change| &change.ops);
        let mut heads = heads.to_vec();
        heads.sort_unstable();
        Ok(State::from_ops(ops, heads))
    }
}

/// A change with its past: what its operations may refer to.
struct Scope<'a> {
    history: &'a History,
    past: &'a Past,
    change: &'a Change,
}

impl Scope<'_> {
    /// An operation of an ancestor, or of the change itself before `before`.
    fn find(&self, id: &Id, before: &Op) -> Option<&Op> {
        if id >= &before.id {
            return None;
        }
        if let Some((change, op)) = self.history.by_op.get(id) {
            let change = &self.history.changes[*change];
            let known = self.past.get(&change.actor).is_some_and(|seq| change.seq <= *seq);
            return known.then(|| &change.ops[*op]);
        }
        let index = id.counter.checked_sub(self.change.start)?;
        self.change.ops.get(usize::try_from(index).ok()?).filter(|op| op.id == *id)
    }

    /// The rules of an operation in its past, by their names.
    fn check(&self, op: &Op) -> Result<(), &'static str> {
        let kind = match &op.obj {
            None => Kind::Map,
            Some(obj) => self.find(obj, op).and_then(|creator| creator.action.makes()).ok_or("object")?,
        };
        if kind.is_sequence() == matches!(op.key, Key::Map(_)) {
            return Err("key of the wrong kind");
        }
        if let Key::Element(element) = &op.key {
            let element =
                self.find(element, op).filter(|insertion| insertion.insert && insertion.obj == op.obj);
            let element = element.ok_or("element")?;
            // A mark is a place and no value: it is never changed, but others are inserted behind it.
            if !op.insert && element.action == Action::Mark {
                return Err("element");
            }
        }
        if op.action == Action::Mark {
            self.check_mark(op, kind)?;
        }
        if op.preds.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("order of predecessors");
        }
        for pred in &op.preds {
            let pred = self.find(pred, op).ok_or("predecessor")?;
            // A deletion is no row of a document, so nothing can be written that names one.
            let named = !matches!(pred.action, Action::Delete | Action::Mark);
            if !named || pred.obj != op.obj || pred.register() != op.register() {
                return Err("predecessor");
            }
        }
        if op.insert && !op.preds.is_empty() {
            return Err("insertion over something");
        }
        match op.action {
            Action::Delete | Action::Increment if op.preds.is_empty() => Err("no predecessor"),
            _ => Ok(()),
        }
    }

    /// Marks stand in texts. The end of one comes behind its begin, whose id is one less.
    fn check_mark(&self, op: &Op, kind: Kind) -> Result<(), &'static str> {
        if kind != Kind::Text {
            return Err("mark outside a text");
        }
        if op.mark.is_some() {
            return Ok(());
        }
        let begin = Id { counter: op.id.counter - 1, actor: op.id.actor.clone() };
        let begin = self.find(&begin, op).filter(|begin| begin.action == Action::Mark && begin.obj == op.obj);
        let begin = begin.filter(|begin| begin.mark.is_some()).ok_or("end of no mark")?;
        let (begin, end) = (self.insertion_path(begin, op), self.insertion_path(op, op));
        if begin < end { Ok(()) } else { Err("end of a mark before its begin") }
    }

    /// The ids from the head to an element, each inserted after the one before it. Paths are ordered like elements: an insertion follows
    /// the element that it was inserted after, and of two insertions after the same element the greater id comes first.
    fn insertion_path(&self, op: &Op, before: &Op) -> Vec<std::cmp::Reverse<Id>> {
        let mut path = vec![std::cmp::Reverse(op.id.clone())];
        let mut key = &op.key;
        while let Key::Element(id) = key {
            path.push(std::cmp::Reverse(id.clone()));
            key = &self.find(id, before).expect("accepted operations refer to known ones").key;
        }
        path.reverse();
        path
    }
}
