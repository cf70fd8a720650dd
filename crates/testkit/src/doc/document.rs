//! The document chunk (reference 2.7): a table of changes without their operations, and a table of all operations, which
//! name what superseded them. The changes are rebuilt from both.

use std::collections::{BTreeMap, BTreeSet};

use super::bytes::{self, Input};
use super::column::{Columns, counter, layout, need, put_deltas, put_layout, put_numbers, put_texts};
use super::op::{self, Form, Row};
use super::state::{order, registers, successors};
use super::value::Value;
use super::{Action, Actor, Change, Hash, History, Id, Kind, Op, Refused, refuse};
use crate::format::numbers::{put_prefixed, put_unsigned};

/// A parsed document chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// All actors, ascending.
    pub actors: Vec<Actor>,
    /// The heads that it claims, ascending.
    pub heads: Vec<Hash>,
    /// Its changes, each after its dependencies.
    pub changes: Vec<ChangeRow>,
    /// Its operations with what superseded them. Deletions are only there as what supersedes.
    pub ops: Vec<(Op, Vec<Id>)>,
    /// The row of each head. Old files do not have them.
    pub head_rows: Vec<u64>,
}

/// A change in a document. Its operations are those of its actor up to `max_op` that no change before it has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in a change")]
pub struct ChangeRow {
    pub actor: Actor,
    pub seq: u64,
    pub max_op: u64,
    pub time: i64,
    pub message: String,
    /// Rows of this table.
    pub deps: Vec<u64>,
    pub extra: Vec<u8>,
}

/// Operations that are not assigned to a change yet.
type Queue = std::iter::Peekable<std::vec::IntoIter<Op>>;

impl Document {
    /// Reads the body of a chunk of type 0, with tables of at most `most` rows.
    pub fn read(body: &[u8], most: usize) -> Result<Self, Refused> {
        let mut input = Input(body);
        let actors = input.list(|input| Ok(Actor(input.prefixed()?.into())))?;
        let heads = input.list(Input::hash)?;
        if actors.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(refuse("order of actors", "in a document"));
        }
        if heads.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(refuse("order of heads", "in a document"));
        }
        let (change_layout, op_layout) = (layout(&mut input, 6)?, layout(&mut input, 6)?);
        let changes = Columns::read(&mut input, &change_layout, true, most)?;
        let ops = Columns::read(&mut input, &op_layout, true, most)?;
        let mut head_rows = vec![];
        if !input.0.is_empty() {
            head_rows = heads.iter().map(|_| input.unsigned()).collect::<Result<_, _>>()?;
        }
        if !input.0.is_empty() {
            return Err(refuse("leftover", format!("{} bytes", input.0.len())));
        }
        let changes = read_changes(&changes, &actors)?;
        let ops = op::read(&ops, &actors, Form::Document)?;
        Ok(Self { actors, heads, changes, ops, head_rows })
    }

    /// The history, if the chunk is valid: its changes are acceptable, their heads are the stated ones, and its rows are those of the
    /// changes, in document order.
    pub fn check(&self) -> Result<History, Refused> {
        let mut history = History::new();
        for change in self.changes()? {
            history.deliver(change);
            if let Some((_, reason)) = history.refused().first_key_value() {
                return Err(reason.clone());
            }
        }
        if history.heads() != self.heads {
            return Err(refuse("heads", "its changes lead to others"));
        }
        let rows = rows(history.changes());
        debug_assert_eq!(rows.len(), self.ops.len(), "each row is an operation of a change");
        if let Some((found, right)) = self.ops.iter().zip(&rows).find(|(found, right)| found != right) {
            return Err(refuse("rows of a document", format!("{} where {} belongs", found.0.id, right.0.id)));
        }
        Ok(history)
    }

    /// The changes as they were before they were written into a document.
    pub fn changes(&self) -> Result<Vec<Change>, Refused> {
        let mut ops = self.operations()?;
        let mut built: Vec<Change> = vec![];
        let mut last: BTreeMap<&Actor, (u64, u64)> = BTreeMap::new();
        for row in &self.changes {
            let (seq, max_op) = last.insert(&row.actor, (row.seq, row.max_op)).unwrap_or_default();
            if row.seq != seq + 1 || row.max_op < max_op {
                return Err(refuse("order of changes", format!("{} of {}", row.seq, row.actor)));
            }
            let mut own_ops = vec![];
            if let Some(ops) = ops.get_mut(&row.actor) {
                own_ops.extend(std::iter::from_fn(|| ops.next_if(|op| op.id.counter <= row.max_op)));
            }
            let start = own_ops.first().map_or(row.max_op + 1, |op| op.id.counter);
            let counters = own_ops.iter().map(|op| op.id.counter);
            if !counters.eq(start..=row.max_op) {
                return Err(refuse("operations of a change", format!("{} of {}", row.seq, row.actor)));
            }
            counter(row.max_op + 1, "the last operation")?;
            let dep = |at: &u64| {
                let change = usize::try_from(*at).ok().and_then(|at| built.get(at));
                Ok(change.ok_or_else(|| refuse("index of a change", at))?.hash)
            };
            let change = Change {
                hash: [0; 32],
                deps: row.deps.iter().map(dep).collect::<Result<_, Refused>>()?,
                actor: row.actor.clone(),
                seq: row.seq,
                start,
                time: row.time,
                message: row.message.clone(),
                ops: own_ops,
                extra: row.extra.clone(),
            };
            built.push(change.seal());
        }
        match ops.values_mut().find_map(Iterator::next) {
            Some(op) => Err(refuse("operations of a change", format!("{} belongs to none", op.id))),
            None => Ok(built),
        }
    }

    /// The operations of each actor, ascending, deletions among them, with predecessors instead of successors.
    fn operations(&self) -> Result<BTreeMap<Actor, Queue>, Refused> {
        let mut ops: BTreeMap<Id, Op> = BTreeMap::new();
        for (op, _) in &self.ops {
            if op.action == Action::Delete {
                return Err(refuse("a deletion as a row", &op.id));
            }
            if ops.insert(op.id.clone(), op.clone()).is_some() {
                return Err(refuse("an id twice", &op.id));
            }
        }
        for (row, over) in &self.ops {
            for id in over {
                let delete = || Op {
                    id: id.clone(),
                    obj: row.obj.clone(),
                    key: row.register(),
                    insert: false,
                    action: Action::Delete,
                    value: Value::Null,
                    expand: false,
                    mark: None,
                    preds: vec![],
                };
                ops.entry(id.clone()).or_insert_with(delete).preds.push(row.id.clone());
            }
        }
        let mut by_actor: BTreeMap<Actor, Vec<Op>> = BTreeMap::new();
        ops.into_values().for_each(|op| by_actor.entry(op.id.actor.clone()).or_default().push(op));
        Ok(by_actor.into_iter().map(|(actor, ops)| (actor, ops.into_iter().peekable())).collect())
    }

    /// A document of these changes, each after what it was made after.
    pub fn from_changes(changes: &[Change]) -> Self {
        let ops = rows(changes);
        let mut actors: BTreeSet<Actor> = changes.iter().map(|change| change.actor.clone()).collect();
        actors.extend(
            changes.iter().flat_map(|change| &change.ops).flat_map(|op| &op.preds).map(|id| id.actor.clone()),
        );
        let at = |hash: &Hash| changes.iter().position(|change| change.hash == *hash);
        let at = |hash: &Hash| at(hash).expect("the caller gives what they depend on") as u64;
        let row = |change: &Change| ChangeRow {
            actor: change.actor.clone(),
            seq: change.seq,
            max_op: change.max_op(),
            time: change.time,
            message: change.message.clone(),
            deps: change.deps.iter().map(at).collect(),
            extra: change.extra.clone(),
        };
        let before: BTreeSet<&Hash> = changes.iter().flat_map(|change| &change.deps).collect();
        let heads: BTreeSet<Hash> = changes.iter().map(|change| change.hash).collect();
        let heads: Vec<Hash> = heads.into_iter().filter(|hash| !before.contains(hash)).collect();
        let head_rows = heads.iter().map(at).collect();
        let changes = changes.iter().map(row).collect();
        Self { actors: actors.into_iter().collect(), heads, changes, ops, head_rows }
    }

    /// As a chunk, without compression.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![];
        put_unsigned(&mut out, self.actors.len() as u64);
        self.actors.iter().for_each(|actor| put_prefixed(&mut out, &actor.0));
        put_unsigned(&mut out, self.heads.len() as u64);
        out.extend(self.heads.concat());
        let rows: Vec<(&Op, &[Id])> = self.ops.iter().map(|(op, over)| (op, &over[..])).collect();
        let ops = if rows.is_empty() { vec![] } else { op::write(&rows, &self.actors, Form::Document) };
        let changes = write_changes(&self.changes, &self.actors);
        out.extend([put_layout(&changes), put_layout(&ops)].concat());
        changes.iter().chain(&ops).for_each(|(_, bytes)| out.extend(bytes));
        self.head_rows.iter().for_each(|row| put_unsigned(&mut out, *row));
        bytes::chunk(0, &out)
    }
}

/// The rows of a document of these changes: objects ascending, in a map its keys, in a sequence its elements, at each of
/// them the operations ascending.
fn rows(changes: &[Change]) -> Vec<Row> {
    let ops: Vec<&Op> = changes.iter().flat_map(|change| &change.ops).collect();
    let over = successors(&ops);
    let kinds: BTreeMap<&Id, Kind> = ops.iter().filter_map(|op| Some((&op.id, op.action.makes()?))).collect();
    let mut objects: BTreeMap<&Option<Id>, Vec<&Op>> = BTreeMap::new();
    ops.iter().for_each(|op| objects.entry(&op.obj).or_default().push(op));
    let mut found: Vec<&Op> = vec![];
    for (obj, ops) in objects {
        let mut registers = registers(&ops);
        let kind = obj.as_ref().and_then(|id| kinds.get(id)).copied().unwrap_or(Kind::Map);
        if kind.is_sequence() {
            let elements = order(&ops);
            found.extend(elements.iter().filter_map(|op| registers.remove(&op.register())).flatten());
        } else {
            found.extend(registers.into_values().flatten());
        }
    }
    let row = |op: &Op| {
        let over = over.get(&op.id).into_iter().flatten().map(|op| op.id.clone()).collect();
        (Op { preds: vec![], ..op.clone() }, over)
    };
    found.into_iter().filter(|op| op.action != Action::Delete).map(row).collect()
}

fn read_changes(columns: &Columns, actors: &[Actor]) -> Result<Vec<ChangeRow>, Refused> {
    let rows = columns.rows(0x01)?;
    let (actor, seq) = (columns.numbers(0x01, rows)?, columns.deltas(0x03, rows)?);
    let (max_op, time) = (columns.deltas(0x13, rows)?, columns.deltas(0x23, rows)?);
    let message = columns.texts(0x35, rows)?;
    let deps_count = columns.numbers(0x40, rows)?;
    let all = deps_count.iter().flatten().try_fold(0usize, |sum, more| sum.checked_add(*more as usize));
    let all = all.filter(|all| *all <= columns.most).ok_or_else(|| Refused::too_large("dependencies"))?;
    let mut deps = columns.deltas(0x43, all)?.into_iter().map(|dep| need(dep, "a dependency"));
    let extra_meta = columns.numbers(0x56, rows)?;
    let mut extra = Input(columns.get(0x57));
    let mut found = vec![];
    for row in 0..rows {
        let index = need(actor[row], "the actor of a change")?;
        let of = usize::try_from(index).ok().and_then(|index| actors.get(index));
        let actor = of.cloned().ok_or_else(|| refuse("actor index", index))?;
        let deps = deps.by_ref().take(need(deps_count[row], "a count of dependencies")? as usize);
        let deps: Vec<i64> = deps.collect::<Result<_, _>>()?;
        let earlier = |dep: &i64| u64::try_from(*dep).ok().filter(|dep| *dep < row as u64);
        let deps = deps.iter().map(|dep| earlier(dep).ok_or_else(|| refuse("index of a change", dep)));
        // Old writers left the column out.
        let meta = extra_meta[row].unwrap_or(7);
        let Value::Bytes(extra) = Value::read(meta as u8 & 0xf, extra.take(meta >> 4)?)? else {
            return Err(refuse("value", "extra bytes are bytes"));
        };
        let max_op = need(max_op[row], "the last operation of a change")?;
        found.push(ChangeRow {
            actor,
            seq: counter(need(seq[row], "a sequence number")?, "a sequence number")?,
            max_op: u32::try_from(max_op).map_err(|_| refuse("counter", max_op))?.into(),
            time: need(time[row], "the time of a change")?,
            message: message[row].clone().unwrap_or_default(),
            deps: deps.collect::<Result<_, _>>()?,
            extra,
        });
    }
    if extra.0.is_empty() { Ok(found) } else { Err(refuse("uneven columns", "extra bytes are left over")) }
}

fn write_changes(rows: &[ChangeRow], actors: &[Actor]) -> Vec<(u32, Vec<u8>)> {
    let index = |actor: &Actor| actors.iter().position(|found| found == actor).map(|at| at as u64);
    let signed = |of: &dyn Fn(&ChangeRow) -> i64| {
        put_deltas(&rows.iter().map(|row| Some(of(row))).collect::<Vec<_>>())
    };
    let numbers =
        |of: &dyn Fn(&ChangeRow) -> Option<u64>| put_numbers(&rows.iter().map(of).collect::<Vec<_>>());
    let message = |row: &ChangeRow| Some(row.message.clone()).filter(|message| !message.is_empty());
    let messages: Vec<_> = rows.iter().map(message).collect();
    let deps: Vec<_> = rows.iter().flat_map(|row| &row.deps).map(|dep| Some(*dep as i64)).collect();
    let has_messages = messages.iter().any(Option::is_some);
    vec![
        (0x01, numbers(&|row| index(&row.actor))),
        (0x03, signed(&|row| row.seq as i64)),
        (0x13, signed(&|row| row.max_op as i64)),
        (0x23, signed(&|row| row.time)),
        (0x35, if has_messages { put_texts(&messages) } else { vec![] }),
        (0x40, numbers(&|row| Some(row.deps.len() as u64))),
        (0x43, put_deltas(&deps)),
        (0x56, numbers(&|row| Some((row.extra.len() as u64) << 4 | 7))),
        (0x57, rows.iter().flat_map(|row| row.extra.clone()).collect()),
    ]
}
