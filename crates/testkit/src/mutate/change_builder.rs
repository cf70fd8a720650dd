//! Changes as lists of operations, with ids that mean the same in every change.

use crate::mutate::cells::Cells;
use crate::mutate::chunk::{Change, Column, Hash};

/// An operation: its counter, and the number of its actor among all that are known.
pub type Id = (u64, usize);

/// Target of an operation in its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key of a map.
    Map(Vec<u8>),
    /// The front of a sequence.
    Head,
    /// An element, or what goes behind it.
    Element(Id),
}

/// One operation, as its row says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// The object; none is the root.
    pub obj: Option<Id>,
    /// The place in it.
    pub key: Key,
    /// Whether it puts a new element there.
    pub insert: bool,
    /// Its action.
    pub action: u64,
    /// The type of its value.
    pub code: u64,
    /// The bytes of its value.
    pub value: Vec<u8>,
    /// Superseded operations.
    pub preds: Vec<Id>,
    /// Whether a mark grows.
    pub expand: bool,
    /// The name of a mark.
    pub mark: Option<Vec<u8>>,
}

/// A change under construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Dependencies.
    pub deps: Vec<Hash>,
    /// The number of its actor.
    pub actor: usize,
    /// Its number among theirs.
    pub seq: u64,
    /// The counter of its first operation.
    pub start: u64,
    /// When.
    pub time: i64,
    /// Why.
    pub message: Vec<u8>,
    /// Its action.
    pub ops: Vec<Op>,
    /// Bytes after the columns.
    pub extra: Vec<u8>,
}

/// All known actors, numbered by index.
#[derive(Clone, Debug, Default)]
pub struct Actors(Vec<Vec<u8>>);

impl Actors {
    /// The number of an actor.
    pub fn number(&mut self, name: &[u8]) -> usize {
        match self.0.iter().position(|known| known == name) {
            Some(number) => number,
            None => {
                self.0.push(name.to_vec());
                self.0.len() - 1
            }
        }
    }

    /// The name of a number.
    pub fn name(&self, number: usize) -> &[u8] {
        &self.0[number]
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no actors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Draft {
    /// The operations of a change; nothing where a column is broken.
    pub fn from_change(change: &Change, actors: &mut Actors) -> Option<Self> {
        let local: Vec<usize> =
            [&change.actor].into_iter().chain(&change.others).map(|name| actors.number(name)).collect();
        let column = |spec: u64| {
            let found = change.ops.iter().find(|column| column.spec == spec);
            Cells::read(spec, found.map_or(&[][..], |column| &column.data))
        };
        let numbers = |spec| match column(spec) {
            Some(Cells::Numbers(cells)) => Some(cells),
            _ => None,
        };
        let steps = |spec| match column(spec) {
            Some(Cells::Steps(cells)) => Some(cells),
            _ => None,
        };
        let flags = |spec| match column(spec) {
            Some(Cells::Flags(flags)) => Some(flags),
            _ => None,
        };
        let texts = |spec| match column(spec) {
            Some(Cells::Texts(texts)) => Some(texts),
            _ => None,
        };
        let id = |actor: Option<u64>, ctr: u64| Some((ctr, *local.get(usize::try_from(actor?).ok()?)?));
        let (obj_actor, obj_ctr) = (numbers(0x01)?, numbers(0x02)?);
        let (key_actor, key_ctr, key_str) = (numbers(0x11)?, steps(0x13)?, texts(0x15)?);
        let (insert, action, meta) = (flags(0x34)?, numbers(0x42)?, numbers(0x56)?);
        let Some(Cells::Raw(raw)) = column(0x57) else { return None };
        let (count, pred_actor, pred_ctr) = (numbers(0x70)?, numbers(0x71)?, steps(0x73)?);
        let (expand, mark) = (flags(0x94)?, texts(0xa5)?);
        let (mut ops, mut at, mut pred) = (vec![], 0_usize, 0);
        for row in 0..action.len() {
            let cell = |cells: &[Option<u64>]| cells.get(row).copied().flatten();
            let obj = match cell(&obj_ctr) {
                Some(ctr) => Some(id(cell(&obj_actor), ctr)?),
                None => None,
            };
            let key = match (key_str.get(row).cloned().flatten(), key_ctr.get(row).copied().flatten()) {
                (Some(key), _) => Key::Map(key),
                (None, Some(0)) => Key::Head,
                (None, ctr) => Key::Element(id(cell(&key_actor), ctr? as u64)?),
            };
            let meta = cell(&meta)?;
            let end = at.checked_add(usize::try_from(meta >> 4).ok()?)?;
            let value = raw.get(at..end)?.to_vec();
            at = end;
            let mut preds = vec![];
            for _ in 0..cell(&count)? {
                let ctr = pred_ctr.get(pred).copied().flatten()?;
                preds.push(id(pred_actor.get(pred).copied().flatten(), ctr as u64)?);
                pred += 1;
            }
            ops.push(Op {
                obj,
                key,
                insert: insert.get(row).copied().unwrap_or(false),
                action: cell(&action)?,
                code: meta & 15,
                value,
                preds,
                expand: expand.get(row).copied().unwrap_or(false),
                mark: mark.get(row).cloned().flatten(),
            });
        }
        let Change { deps, seq, start, time, message, extra, .. } = change.clone();
        Some(Self { deps, actor: local[0], seq, start, time, message, ops, extra })
    }

    /// The change, as a careful writer writes it.
    pub fn change(&self, actors: &Actors) -> Change {
        let mut others: Vec<usize> = self.named().filter(|actor| *actor != self.actor).collect();
        others.sort_unstable_by_key(|actor| actors.name(*actor));
        others.dedup();
        let local = |actor: usize| match others.iter().position(|other| *other == actor) {
            Some(at) => at as u64 + 1,
            None => 0,
        };
        let ops = &self.ops;
        let element = |op: &Op| match op.key {
            Key::Element(id) => Some(id),
            Key::Map(_) | Key::Head => None,
        };
        let numbers = |cell: &dyn Fn(&Op) -> Option<u64>| Cells::Numbers(ops.iter().map(cell).collect());
        let preds = || ops.iter().flat_map(|op| &op.preds);
        let key_ctr = ops.iter().map(|op| match op.key {
            Key::Element((ctr, _)) => Some(ctr as i64),
            Key::Head => Some(0),
            Key::Map(_) => None,
        });
        let key_str = ops.iter().map(|op| match &op.key {
            Key::Map(key) => Some(key.clone()),
            Key::Head | Key::Element(_) => None,
        });
        let columns = [
            (0x01, numbers(&|op| op.obj.map(|(_, actor)| local(actor)))),
            (0x02, numbers(&|op| op.obj.map(|(ctr, _)| ctr))),
            (0x11, numbers(&|op| element(op).map(|(_, actor)| local(actor)))),
            (0x13, Cells::Steps(key_ctr.collect())),
            (0x15, Cells::Texts(key_str.collect())),
            (0x34, Cells::Flags(ops.iter().map(|op| op.insert).collect())),
            (0x42, numbers(&|op| Some(op.action))),
            (0x56, numbers(&|op| Some((op.value.len() as u64) << 4 | op.code))),
            (0x57, Cells::Raw(ops.iter().flat_map(|op| op.value.clone()).collect())),
            (0x70, numbers(&|op| Some(op.preds.len() as u64))),
            (0x71, Cells::Numbers(preds().map(|(_, actor)| Some(local(*actor))).collect())),
            (0x73, Cells::Steps(preds().map(|(ctr, _)| Some(*ctr as i64)).collect())),
            (0x94, Cells::Flags(ops.iter().map(|op| op.expand).collect())),
            (0xa5, Cells::Texts(ops.iter().map(|op| op.mark.clone()).collect())),
        ];
        let always = |spec| matches!(spec, 0x34 | 0x42 | 0x56 | 0x70);
        let written = columns
            .into_iter()
            .filter(|(spec, cells)| !ops.is_empty() && (always(*spec) || !cells.is_blank()));
        let column = |(spec, cells): (u64, Cells)| {
            let mut data = vec![];
            cells.write(&mut data);
            Column { spec, data }
        };
        Change {
            deps: self.deps.clone(),
            actor: actors.name(self.actor).to_vec(),
            seq: self.seq,
            start: self.start,
            time: self.time,
            message: self.message.clone(),
            others: others.iter().map(|other| actors.name(*other).to_vec()).collect(),
            ops: written.map(column).collect(),
            extra: self.extra.clone(),
            deflated: false,
        }
    }

    /// The id of an operation.
    pub fn id(&self, row: usize) -> Id {
        (self.start.wrapping_add(row as u64), self.actor)
    }

    /// Actors that its operations name.
    fn named(&self) -> impl Iterator<Item = usize> {
        self.ops.iter().flat_map(|op| {
            let element = match op.key {
                Key::Element((_, actor)) => Some(actor),
                Key::Map(_) | Key::Head => None,
            };
            op.obj.map(|(_, actor)| actor).into_iter().chain(element).chain(op.preds.iter().map(|it| it.1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::chunk;
    use crate::mutate::chunk::Chunk;

    /// The second, third and fourth golden vectors: a text, a mark in it, an author.
    const VECTORS: [&str; 3] = [
        "856f4a83c1c13ae30160001000112233445566778899aabbccddeeff010180e2cfaa06016d000a0104020411041307\
         15083402420456065706700200010500000105010002040000017e000203017f0474657874000501057f0405017d00\
         1626031668c3a96c6c6f0600",
        "856f4a839a609d5c016901c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd10001122\
         33445566778899aabbccddeeff02070000000a0102020211021302340142025602570370029401\
         02a50108020002010200020200020207\
         7e0200020000027f04626f6c640001",
        "856f4a837d6458330134001000112233445566778899aabbccddeeff01010000000615034001420256025701700201\
         7f016b017f017f14017f000103010203",
    ];

    #[test]
    fn a_change_comes_back_from_its_operations() {
        let vector = crate::hex::decode(VECTORS[0]);
        let [Chunk::Change(change)] = &chunk::split(&vector)[..] else { panic!("a change") };
        let mut actors = Actors::default();
        let draft = Draft::from_change(change, &mut actors).unwrap();
        assert_eq!((draft.ops.len(), draft.id(5)), (6, (6, 0)));
        assert_eq!(draft.ops[0].key, Key::Map(b"text".to_vec()));
        assert_eq!(draft.ops[5].value, b"o");
        assert_eq!(draft.change(&actors).bytes(), vector);
    }
}
