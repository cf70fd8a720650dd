//! Forged changes: operations on known objects, mostly valid, some on objects that the change cannot know.

use super::chunk::{Change, Chunk, Hash, hash, split};
use crate::Rng;
use crate::mutate::change_builder::{Actors, Draft, Id, Key, Op};
use crate::mutate::values;

/// Keys of maps: few, so that they meet.
const KEYS: [&[u8]; 5] = [b"a", b"k", b"text", b"list", "é".as_bytes()];

/// Strictness with which forged operations follow the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeStrictness {
    /// Every operation follows the rules, as far as is known here.
    Great,
    /// Most do.
    Little,
}

/// Operations of known changes, which new ones may refer to.
#[derive(Clone, Debug, Default)]
pub struct KnownOps {
    /// All named actors.
    pub actors: Actors,
    changes: Vec<(Hash, Draft)>,
    /// Objects: who made them, and whether they are sequences, and whether texts.
    objects: Vec<(Id, bool, bool)>,
    /// Elements, and the object of each.
    elements: Vec<(Id, Id)>,
    /// Values at keys.
    puts: Vec<(Option<Id>, Vec<u8>, Id)>,
}

impl KnownOps {
    /// Operations of the changes in some files. Documents and bundles among them are skipped.
    pub fn from_files<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut universe = Self::default();
        for chunk in files.into_iter().flat_map(split) {
            if let Chunk::Change(change) = chunk {
                universe.learn(&change);
            }
        }
        universe
    }

    /// Takes a change in, unless a column of it is broken.
    pub fn learn(&mut self, change: &Change) {
        let Some(draft) = Draft::from_change(change, &mut self.actors) else { return };
        for (row, op) in draft.ops.iter().enumerate() {
            let id = draft.id(row);
            if let 0 | 2 | 4 | 6 = op.action {
                self.objects.push((id, matches!(op.action, 2 | 4), op.action == 4));
            }
            match (&op.key, op.obj) {
                (Key::Map(key), obj) if op.action != 3 => self.puts.push((obj, key.clone(), id)),
                (Key::Head | Key::Element(_), Some(obj)) if op.insert => self.elements.push((id, obj)),
                _ => {}
            }
        }
        self.changes.push((hash(&Change { deflated: false, ..change.clone() }.bytes()), draft));
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The name of any change.
    pub fn any(&self, rng: &mut Rng) -> Option<Hash> {
        (!self.changes.is_empty()).then(|| self.changes[rng.below(self.changes.len())].0)
    }

    /// The changes that no other was made after.
    pub fn heads(&self) -> Vec<Hash> {
        let named = |hash: &Hash| self.changes.iter().any(|(_, draft)| draft.deps.contains(hash));
        let mut heads: Vec<Hash> =
            self.changes.iter().map(|(hash, _)| *hash).filter(|hash| !named(hash)).collect();
        heads.sort_unstable();
        heads
    }

    /// A change by `author`, mostly on top of `deps`.
    pub fn forge(&mut self, author: &[u8], deps: Vec<Hash>, care: ForgeStrictness, rng: &mut Rng) -> Change {
        let actor = self.actors.number(author);
        let past = self.past(&deps);
        let end = |draft: &Draft| draft.start.saturating_add(draft.ops.len() as u64);
        let known = past.iter().map(|at| end(&self.changes[*at].1)).max().unwrap_or(1);
        let own = self.changes.iter().filter(|(_, draft)| draft.actor == actor);
        let (seq, last) = own.fold((1, 1), |(seq, last), (_, draft)| {
            (seq.max(draft.seq.saturating_add(1)), last.max(end(draft)))
        });
        let mut draft = Draft {
            deps,
            actor,
            seq,
            start: known.max(last),
            time: 0,
            message: vec![],
            ops: vec![],
            extra: vec![],
        };
        for _ in 0..1 + rng.below(4) {
            let op = self.op(&draft, &past, care, rng);
            draft.ops.push(op);
        }
        if care == ForgeStrictness::Little && rng.below(4) > 0 {
            (0..1 + rng.below(2)).for_each(|_| self.twist(&mut draft, rng));
        }
        draft.change(&self.actors)
    }

    /// A change with some of its operations twisted; as it was where a column of it is broken.
    pub fn twisted(&mut self, change: &Change, rng: &mut Rng) -> Change {
        let Some(mut draft) = Draft::from_change(change, &mut self.actors) else { return change.clone() };
        (0..1 + rng.below(3)).for_each(|_| self.twist(&mut draft, rng));
        Change { deflated: change.deflated, ..draft.change(&self.actors) }
    }

    /// Ancestors of changes, by index.
    fn past(&self, heads: &[Hash]) -> Vec<usize> {
        let mut past: Vec<usize> = vec![];
        let mut open: Vec<Hash> = heads.to_vec();
        while let Some(next) = open.pop() {
            let Some(at) = self.changes.iter().position(|(hash, _)| *hash == next) else { continue };
            if !past.contains(&at) {
                past.push(at);
                open.extend(&self.changes[at].1.deps);
            }
        }
        past
    }

    /// Whether an operation belongs to one of these changes.
    fn knows(&self, past: &[usize], id: Id) -> bool {
        past.iter().any(|at| {
            let draft = &self.changes[*at].1;
            draft.actor == id.1
                && id.0.checked_sub(draft.start).is_some_and(|row| row < draft.ops.len() as u64)
        })
    }

    /// An operation that follows the rules, on what the change knows or, now and then, on whatever there is.
    fn op(&self, draft: &Draft, past: &[usize], care: ForgeStrictness, rng: &mut Rng) -> Op {
        let strict = care == ForgeStrictness::Great || rng.below(6) > 0;
        let fits = |id: Id| !strict || self.knows(past, id);
        let objects: Vec<_> = self.objects.iter().filter(|it| fits(it.0)).copied().collect();
        let pick = if objects.is_empty() { 0 } else { rng.below(objects.len() + 1) };
        let object = pick.checked_sub(1).map(|at| objects[at]);
        let obj = object.map(|it| it.0);
        let (code, value) = values::good_value(rng);
        let op = Op {
            obj,
            key: Key::Head,
            insert: false,
            action: 1,
            code,
            value,
            preds: vec![],
            expand: false,
            mark: None,
        };
        let Some((obj, true, text)) = object else {
            let mut key = KEYS[rng.below(KEYS.len())].to_vec();
            let puts: Vec<_> = self.puts.iter().filter(|(at, _, id)| *at == obj && fits(*id)).collect();
            if !puts.is_empty() && rng.below(3) > 0 {
                key = puts[rng.below(puts.len())].1.clone();
            }
            let mut preds: Vec<Id> = puts.iter().filter(|(_, at, _)| *at == key).map(|it| it.2).collect();
            self.sort(&mut preds);
            if rng.below(3) == 0 && !preds.is_empty() {
                preds.drain(..rng.below(preds.len()));
            }
            return self.act(Op { key: Key::Map(key), preds, ..op }, rng);
        };
        let elements: Vec<Id> =
            self.elements.iter().filter(|(id, at)| *at == obj && fits(*id)).map(|it| it.0).collect();
        let pick = if elements.is_empty() { 0 } else { rng.below(elements.len() + 1) };
        match pick.checked_sub(1).map(|at| elements[at]) {
            Some(element) if rng.below(2) == 0 => {
                self.act(Op { key: Key::Element(element), preds: vec![element], ..op }, rng)
            }
            element => {
                let key = element.map_or(Key::Head, Key::Element);
                let op = Op { key, insert: true, ..op };
                match (text, rng.below(4)) {
                    (true, 0) => self.mark(op, draft, rng),
                    (true, 1 | 2) => Op { code: 6, value: b"x".to_vec(), ..op },
                    _ => op,
                }
            }
        }
    }

    /// The begin of a mark, or the end where one has begun.
    fn mark(&self, op: Op, draft: &Draft, rng: &mut Rng) -> Op {
        let is_open = draft.ops.last().is_some_and(|last| last.action == 7 && last.mark.is_some());
        let op = Op { action: 7, code: 0, value: vec![], expand: rng.below(2) == 0, ..op };
        if is_open {
            let row = draft.ops.len() - 1;
            let key = if rng.below(2) == 0 { Key::Element(draft.id(row)) } else { op.key.clone() };
            return Op { key, ..op };
        }
        Op { mark: Some(b"bold".to_vec()), code: 2, ..op }
    }

    /// An action on a target that may exist.
    fn act(&self, op: Op, rng: &mut Rng) -> Op {
        let nothing = |action, op| Op { action, code: 0, value: vec![], ..op };
        match rng.below(12) {
            0 | 1 if !op.preds.is_empty() => nothing(3, op),
            2 if !op.preds.is_empty() => Op { action: 5, code: 4, value: vec![3], ..op },
            3 => nothing(0, op),
            4 => nothing(2, op),
            5 => nothing(4, op),
            _ => op,
        }
    }

    fn sort(&self, ids: &mut [Id]) {
        ids.sort_unstable_by(|a, b| (a.0, self.actors.name(a.1)).cmp(&(b.0, self.actors.name(b.1))));
    }

    /// Any id: of something that is there, or near.
    fn any_id(&self, draft: &Draft, rng: &mut Rng) -> Id {
        let near = |id: Id, rng: &mut Rng| (values::number(id.0, rng).clamp(1, u32::MAX as u64 + 1), id.1);
        match rng.below(8) {
            0 | 1 if !self.objects.is_empty() => self.objects[rng.below(self.objects.len())].0,
            2 | 3 if !self.elements.is_empty() => self.elements[rng.below(self.elements.len())].0,
            4 | 5 if !self.puts.is_empty() => self.puts[rng.below(self.puts.len())].2,
            6 => draft.id(rng.below(draft.ops.len() + 2)),
            _ => near((draft.start, rng.below(self.actors.len().max(1))), rng),
        }
    }

    /// Does something wrong to a change, or something rare.
    fn twist(&self, draft: &mut Draft, rng: &mut Rng) {
        if draft.ops.is_empty() || rng.below(10) == 0 {
            return self.twist_fields(draft, rng);
        }
        let at = rng.below(draft.ops.len());
        let id = self.any_id(draft, rng);
        let other = draft.ops[rng.below(draft.ops.len())].clone();
        let op = &mut draft.ops[at];
        match rng.below(20) {
            0 => op.obj = if rng.below(4) == 0 { None } else { Some(id) },
            1 => op.key = Key::Element(id),
            2 => op.key = [Key::Head, Key::Map(values::text(rng)), other.key][rng.below(3)].clone(),
            3 => op.insert = !op.insert,
            4 => op.action = values::number(op.action, rng) % 10,
            5 => (op.code, op.value) = values::value(rng),
            6 => op.preds.push(id),
            7 => {
                let mut preds = op.preds.clone();
                preds.push(id);
                self.sort(&mut preds);
                op.preds = preds;
            }
            8 => drop(op.preds.pop()),
            9 => op.preds = vec![id],
            10 if !op.preds.is_empty() => {
                let at = rng.below(op.preds.len());
                op.preds.insert(at, op.preds[at]);
            }
            11 => op.preds.reverse(),
            12 => op.expand = !op.expand,
            13 => op.mark = if op.mark.is_some() { None } else { Some(values::text(rng)) },
            14 => op.action = 7,
            15 => drop(draft.ops.remove(at)),
            16 => draft.ops.insert(at, other),
            17 => draft.ops.swap(at, 0),
            // The same again and again: a run.
            18 => {
                let same = vec![draft.ops[at].clone(); 1 << rng.below(9)];
                drop(draft.ops.splice(at..at, same));
            }
            _ => *op = other,
        }
    }

    fn twist_fields(&self, draft: &mut Draft, rng: &mut Rng) {
        match rng.below(9) {
            0 => draft.seq = values::number(draft.seq, rng),
            1 | 2 => draft.start = values::number(draft.start, rng).max(1),
            3 => draft.time = values::number(draft.time as u64, rng) as i64,
            4 => draft.message = values::text(rng),
            5 => draft.extra = if rng.below(2) == 0 { vec![1, 1, 7] } else { rng.bytes(3) },
            6 => draft.deps.reverse(),
            7 => drop(draft.deps.pop()),
            _ => {
                if !self.changes.is_empty() {
                    draft.deps.push(self.changes[rng.below(self.changes.len())].0);
                    draft.deps.sort_unstable();
                }
            }
        }
    }
}
