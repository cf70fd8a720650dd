//! Generator of random changes of several writers, valid and invalid.
//!
//! Covers all values and objects, runs of typed text, conflicts, deletions of concurrent writes, counters, overlapping marks, and
//! writers that know only a part of the other changes.

use super::state::{State, registers};
use super::{Action, Actor, Change, Content, Hash, History, Id, Key, Kind, Op, Value};
use crate::Rng;

/// Generator of changes, each on top of earlier ones.
#[derive(Debug, Clone)]
pub struct Forge {
    /// The accepted changes.
    pub history: History,
    /// All generated changes, in order.
    pub generated: Vec<Change>,
    /// Only what real programs write: counters without gaps, visible predecessors, no tables, no unknown types, and only letters in
    /// texts.
    pub plain: bool,
    rng: Rng,
}

impl Forge {
    /// Continues `history`.
    pub fn new(seed: u64, history: History) -> Self {
        let generated = history.changes().to_vec();
        Self { history, generated, plain: false, rng: Rng::new(seed) }
    }

    /// The `n`-th writer. Their names are not in the order of their numbers.
    pub fn actor(n: usize) -> Actor {
        match n {
            0 => Actor([7, 1].into()),
            1 => Actor([3].into()),
            2 => Actor([7].into()),
            3 => Actor([].into()),
            _ => Actor([200 ^ n as u8, 0, 1].into()),
        }
    }

    fn chance(&mut self, of: usize) -> bool {
        self.rng.below(of) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.rng.below(from.len())].clone())
    }

    /// A change of one of `writers`, who knows a part of the other changes. One of `wrong` changes is altered, which need not make it
    /// invalid; 0 alters none. A writer whose change was refused stops.
    pub fn change(&mut self, writers: usize, wrong: usize) -> Change {
        let right = |actor: &Actor| {
            let refused = self.generated.iter().filter(|change| change.actor == *actor);
            refused.map(|change| change.hash).all(|hash| self.history.before(&[hash]).is_ok())
        };
        let going: Vec<Actor> = (0..).map(Self::actor).filter(right).take(writers).collect();
        let actor = self.pick(&going).expect("there are writers");
        let own_changes = self.history.changes().iter().filter(|change| change.actor == actor);
        let mut deps: Vec<Hash> =
            own_changes.max_by_key(|change| change.seq).map(|change| change.hash).into_iter().collect();
        let (all, heads) = (self.hashes(), self.history.heads());
        match self.rng.below(4) {
            0 => {}
            1 => deps.extend(self.pick(&all)),
            _ => deps.extend(heads),
        }
        deps.sort_unstable();
        deps.dedup();
        let mut change = self.change_by(&actor, deps);
        if wrong > 0 && self.chance(wrong) {
            self.spoil(&mut change);
        }
        let change = change.seal();
        self.history.deliver(change.clone());
        self.generated.push(change.clone());
        change
    }

    fn hashes(&self) -> Vec<Hash> {
        self.history.changes().iter().map(|change| change.hash).collect()
    }

    /// A change by `actor`, who knows `deps`, including their own last change. It is not delivered.
    pub fn change_by(&mut self, actor: &Actor, deps: Vec<Hash>) -> Change {
        let past = self.history.before(&deps).expect("deps that are here");
        let seq = past.iter().filter(|change| change.actor == *actor).count() as u64 + 1;
        let start = past.iter().map(|change| change.max_op()).max().unwrap_or(0) + 1;
        let mut ops: Vec<Op> = past.iter().flat_map(|change| change.ops.clone()).collect();
        let before = ops.len();
        let start = start + if !self.plain && self.chance(8) { self.rng.below(5) as u64 } else { 0 };
        for _ in 0..self.rng.below(5) {
            self.write(&mut ops, before, actor, start);
        }
        let time = [0, 1_700_000_000, -1][self.rng.below(3)];
        let message = if self.chance(4) { "said".to_owned() } else { String::new() };
        let author = seq == 1 && self.chance(4);
        let extra = if author { vec![1, 2, 0xaa, 0xbb] } else { vec![9; self.rng.below(2)] };
        let (actor, ops) = (actor.clone(), ops.split_off(before));
        Change { hash: [0; 32], deps, actor, seq, start, time, message, ops, extra }.seal()
    }

    fn value(&mut self) -> Value {
        let n = self.rng.next_u64();
        match n % 13 {
            0 => Value::Null,
            1 => Value::Bool(n & 32 == 0),
            2 => Value::Uint(n >> self.rng.below(64)),
            3 => Value::Int((n as i64) >> self.rng.below(64)),
            4 => Value::F64(n),
            5 => Value::Bytes(n.to_le_bytes()[..self.rng.below(8)].to_vec()),
            6 => Value::Timestamp((n as i64) >> self.rng.below(64)),
            7 if self.plain => Value::Int(7),
            7 => Value::Unknown(10 + (n >> 40) as u8 % 6, vec![n as u8; self.rng.below(3)]),
            8..11 => Value::Counter((n as i64) >> self.rng.below(64)),
            _ => Value::Str(
                [if self.plain { "b" } else { "" }, "a", "é", "👨‍👩‍👧", "words"][self.rng.below(5)].to_owned(),
            ),
        }
    }

    /// Adds one edit, as one or more operations.
    fn write(&mut self, ops: &mut Vec<Op>, before: usize, actor: &Actor, start: u64) {
        let known: Vec<&Op> = ops.iter().collect();
        let state = State::from_ops(known.iter().copied(), vec![]);
        let objects: Vec<(Option<Id>, Kind)> =
            state.objects.iter().map(|(id, object)| (id.clone(), object.kind)).collect();
        // Mostly the newest ones.
        let recent = objects.len().saturating_sub(1 + self.rng.below(3));
        let at = if self.chance(3) { self.rng.below(objects.len()) } else { recent };
        let (obj, kind) = objects[at].clone();
        let next = start + (ops.len() - before) as u64;
        let mut op = Op {
            id: Id { counter: next, actor: actor.clone() },
            obj: obj.clone(),
            key: Key::Head,
            insert: false,
            action: Action::Set,
            value: Value::Null,
            expand: false,
            mark: None,
            preds: vec![],
        };
        let inside: Vec<&Op> = ops.iter().filter(|op| op.obj == obj).collect();
        let elements: Vec<(Id, Action)> =
            inside.iter().filter(|op| op.insert).map(|op| (op.id.clone(), op.action)).collect();
        let changeable: Vec<Id> =
            elements.iter().filter(|(_, action)| *action != Action::Mark).map(|(id, _)| id.clone()).collect();
        if kind.is_sequence() && (self.chance(2) || changeable.is_empty()) {
            op.insert = true;
            if let Some((after, _)) = if self.chance(4) { None } else { self.pick(&elements) } {
                op.key = Key::Element(after);
            }
            return self.insert(op, kind, ops, &elements);
        }
        op.key = if kind.is_sequence() {
            Key::Element(self.pick(&changeable).expect("there is one"))
        } else {
            Key::Map(["a", "b", "", "é", "long name of a key"][self.rng.below(5)].to_owned())
        };
        let there: Vec<Id> = registers(&inside)
            .remove(&op.key)
            .into_iter()
            .flatten()
            .filter(|op| op.action != Action::Delete)
            .map(|op| op.id.clone())
            .collect();
        let object = &state.objects[&obj];
        let entries =
            object.keys.values().chain(object.elements.iter().map(|element| &element.values)).flatten();
        let visible: Vec<_> = entries.filter(|entry| there.contains(&entry.id)).collect();
        op.preds = visible.iter().map(|entry| entry.id.clone()).collect();
        if !self.plain && self.chance(6) {
            // Valid predecessors that no program writes, but readers must accept.
            op.preds = there.iter().filter(|_| self.chance(2)).cloned().collect();
        }
        let counts = |entry: &&super::Entry| matches!(entry.value, Content::Scalar(Value::Counter(_)));
        let counter = visible.iter().any(counts);
        if self.plain && kind == Kind::Text {
            if op.preds.is_empty() {
                return;
            }
            op.action = Action::Delete;
        }
        match self.rng.below(6) {
            _ if op.action == Action::Delete => {}
            0 | 1 if !op.preds.is_empty() => op.action = Action::Delete,
            2 | 3 if counter && !op.preds.is_empty() => {
                op.action = Action::Increment;
                op.value = [Value::Int(-3), Value::Uint(1 << 40), Value::Int(7)][self.rng.below(3)].clone();
            }
            4 => op.action = self.make(),
            _ => op.value = self.value(),
        }
        ops.push(op);
    }

    fn make(&mut self) -> Action {
        let tables = if self.plain { 4 } else { 5 };
        [Action::MakeMap, Action::MakeList, Action::MakeText, Action::MakeText, Action::MakeTable]
            [self.rng.below(tables)]
    }

    /// Adds an insertion: typed text, a value, an object, or a mark with its end.
    fn insert(&mut self, mut op: Op, kind: Kind, ops: &mut Vec<Op>, elements: &[(Id, Action)]) {
        let next = |op: &Op, key: Key| Op {
            id: Id { counter: op.id.counter + 1, actor: op.id.actor.clone() },
            key,
            ..op.clone()
        };
        match self.rng.below(6) {
            0 if !self.plain || kind == Kind::List => op.action = self.make(),
            1 if !self.plain || kind == Kind::List => op.value = self.value(),
            2 | 3 if kind == Kind::Text => {
                op.action = Action::Mark;
                (op.expand, op.mark) = (self.chance(2), Some(["bold", "link"][self.rng.below(2)].to_owned()));
                op.value = [Value::Bool(true), Value::Null, Value::Str("there".to_owned())]
                    [self.rng.below(3)]
                .clone();
                // Behind its begin, or behind an element, which is behind its begin or not.
                let key = match self.pick(elements) {
                    Some((after, _)) if !self.chance(4) => Key::Element(after),
                    _ => op.register(),
                };
                let mut end = next(&op, key);
                (end.expand, end.mark, end.value) = (self.chance(2), None, Value::Null);
                ops.push(op);
                // The end may be missing: the author has not received it yet.
                if !self.chance(10) && self.behind(&end, ops) {
                    ops.push(end);
                }
                return;
            }
            _ => {
                let text = ["a", "typed", "é👍", "of several words"][self.rng.below(4)];
                for letter in text.chars() {
                    op.value = Value::Str(letter.to_string());
                    ops.push(op.clone());
                    op = next(&op, op.register());
                }
                return;
            }
        }
        ops.push(op);
    }

    /// Whether the end of a mark would come behind its begin.
    fn behind(&self, end: &Op, ops: &[Op]) -> bool {
        let inside: Vec<&Op> = ops.iter().chain([end]).filter(|op| op.obj == end.obj).collect();
        let order = super::state::order(&inside);
        let at =
            |counter: u64| order.iter().position(|op| op.id == Id { counter, actor: end.id.actor.clone() });
        at(end.id.counter - 1) < at(end.id.counter)
    }

    /// An id of anything that was ever made, or of nothing.
    fn any_id(&mut self) -> Id {
        let ids: Vec<Id> =
            self.generated.iter().flat_map(|change| &change.ops).map(|op| op.id.clone()).collect();
        let mut id = self.pick(&ids).unwrap_or(Id { counter: 1, actor: Self::actor(0) });
        if self.chance(5) {
            id.counter = (id.counter + self.rng.below(3) as u64).saturating_sub(1).max(1);
        }
        id
    }

    /// Alters a change, mostly so that it contradicts itself or its dependencies.
    fn spoil(&mut self, change: &mut Change) {
        let hashes: Vec<Hash> = self.generated.iter().map(|change| change.hash).collect();
        let shift = self.rng.below(3) as u64;
        match self.rng.below(6) {
            0 => change.seq = (change.seq + shift).saturating_sub(1).max(1),
            1 => self.renumber(change, shift),
            2 => drop(change.deps.pop()),
            3 => change.deps.extend(self.pick(&hashes)),
            4 if self.chance(4) => change.extra = vec![1, 1, 0xcc],
            _ => {
                let ids: Vec<usize> = (0..change.ops.len()).collect();
                if let Some(at) = self.pick(&ids) {
                    let mut op = change.ops[at].clone();
                    self.spoil_op(&mut op);
                    change.ops[at] = op;
                }
            }
        }
    }

    /// Moves the counters of a change.
    fn renumber(&mut self, change: &mut Change, shift: u64) {
        change.start = (change.start + shift).saturating_sub(1 + self.rng.below(2) as u64).max(1);
        for (n, op) in (0..).zip(&mut change.ops) {
            op.id.counter = change.start + n;
        }
    }

    fn spoil_op(&mut self, op: &mut Op) {
        match self.rng.below(12) {
            0 => op.obj = if self.chance(4) { None } else { Some(self.any_id()) },
            1 => op.key = Key::Element(self.any_id()),
            2 => op.key = Key::Map("a".to_owned()),
            3 => op.key = Key::Head,
            4 => op.insert = !op.insert,
            5 => op.action = Action::ALL[self.rng.below(8)],
            6 => op.value = self.value(),
            7 => op.expand = !op.expand,
            8 => op.mark = if op.mark.is_some() { None } else { Some("bold".to_owned()) },
            9 => drop(op.preds.pop()),
            10 => op.preds.reverse(),
            _ => {
                op.preds.push(self.any_id());
                op.preds.sort_unstable();
            }
        }
    }
}
