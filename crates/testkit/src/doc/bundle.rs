//! The bundle chunk (reference 2.8): some changes of a document in one table, with predecessors. The changes are rebuilt
//! from it as if each had come alone.

use super::bytes::Input;
use super::column::{Columns, counter, layout, need};
use super::op::{self, Form, Op};
use super::{Actor, Change, Hash, Refused, refuse};

const CHANGES: [u32; 10] = [0x01, 0x03, 0x13, 0x23, 0x33, 0x45, 0x50, 0x53, 0x60, 0x67];
const OPS: [u32; 17] =
    [0x01, 0x03, 0x11, 0x13, 0x15, 0x21, 0x23, 0x34, 0x42, 0x56, 0x57, 0x70, 0x71, 0x73, 0x94, 0xa5, 0xb3];

/// The changes of the body of a chunk of type 3, with tables of at most `most` rows.
pub(super) fn read(body: &[u8], most: usize) -> Result<Vec<Change>, Refused> {
    let mut input = Input(body);
    let external = input.list(Input::hash)?;
    let actors = input.list(|input| Ok(Actor(input.prefixed()?.into())))?;
    // Extra bytes follow their lengths, which are a group.
    let mut section = || {
        let layout = layout(&mut input, 0)?;
        Columns::read(&mut input, &layout, true, most)
    };
    let (changes, ops) = (section()?, section()?);
    if !input.0.is_empty() {
        return Err(refuse("leftover", format!("{} bytes", input.0.len())));
    }
    for (columns, known) in [(&changes, &CHANGES[..]), (&ops, &OPS[..])] {
        if let Some(spec) = columns.bytes.keys().find(|spec| !known.contains(spec)) {
            return Err(refuse("unknown column in a bundle", format!("{spec:#x}")));
        }
    }
    let mut changes = read_changes(&changes, &actors)?;
    let counters = counters(&ops, &changes)?;
    for (mut op, _) in op::read(&ops, &actors, Form::Bundle(&counters))? {
        op.preds.sort_unstable();
        let owner = changes.iter_mut().find(|(change, max_op, _)| {
            change.actor == op.id.actor && (change.start..=*max_op).contains(&op.id.counter)
        });
        let (change, ..) =
            owner.ok_or_else(|| refuse("operations of a change", format!("{} belongs to none", op.id)))?;
        change.ops.push(op);
    }
    let count = changes.len() as u64;
    let mut built: Vec<Change> = vec![];
    for (mut change, max_op, deps) in changes {
        change.ops.sort_unstable_by(|a: &Op, b| a.id.cmp(&b.id));
        if !change.ops.iter().map(|op| op.id.counter).eq(change.start..=max_op) {
            return Err(refuse("operations of a change", format!("{} of {}", change.seq, change.actor)));
        }
        for index in deps {
            let hash = match index.checked_sub(count) {
                None => built.get(index as usize).map(|change| change.hash),
                Some(index) => usize::try_from(index).ok().and_then(|index| external.get(index)).copied(),
            };
            change.deps.push(hash.ok_or_else(|| refuse("index of a change", index))?);
        }
        built.push(change.seal());
    }
    Ok(built)
}

/// A change without operations, the counter of its last one, and the numbers of its dependencies.
type Row = (Change, u64, Vec<u64>);

fn read_changes(columns: &Columns, actors: &[Actor]) -> Result<Vec<Row>, Refused> {
    let rows = columns.rows(0x01)?;
    let (actor, seq) = (columns.numbers(0x01, rows)?, columns.deltas(0x03, rows)?);
    let (start, max_op) = (columns.deltas(0x13, rows)?, columns.deltas(0x23, rows)?);
    let (time, message) = (columns.deltas(0x33, rows)?, columns.texts(0x45, rows)?);
    let (dep_count, extra_len) = (columns.numbers(0x50, rows)?, columns.numbers(0x60, rows)?);
    let all = dep_count.iter().flatten().try_fold(0usize, |sum, more| sum.checked_add(*more as usize));
    let all = all.filter(|all| *all <= columns.most).ok_or_else(|| Refused::too_large("dependencies"))?;
    let mut deps = columns.deltas(0x53, all)?.into_iter();
    let mut extra = Input(columns.get(0x67));
    let mut found = vec![];
    for row in 0..rows {
        let index = need(actor[row], "the actor of a change")?;
        let of = usize::try_from(index).ok().and_then(|index| actors.get(index));
        let start = counter(need(start[row], "a first operation")?, "a first operation")?;
        // A change without operations ends one before it starts.
        let max_op = need(max_op[row], "a last operation")?;
        let max_op =
            u64::try_from(max_op).ok().filter(|max_op| (start - 1..u64::from(u32::MAX)).contains(max_op));
        let deps = deps.by_ref().take(dep_count[row].unwrap_or(0) as usize);
        let deps = deps.map(|dep| need(dep.and_then(|dep| u64::try_from(dep).ok()), "a dependency"));
        let change = Change {
            hash: Hash::default(),
            deps: vec![],
            actor: of.cloned().ok_or_else(|| refuse("actor index", index))?,
            seq: counter(need(seq[row], "a sequence number")?, "a sequence number")?,
            start,
            time: time[row].unwrap_or(0),
            message: message[row].clone().unwrap_or_default(),
            ops: vec![],
            extra: extra.take(extra_len[row].unwrap_or(0))?.to_vec(),
        };
        let max_op = max_op.ok_or_else(|| refuse("counter", "the last operation of a change"))?;
        found.push((change, max_op, deps.collect::<Result<_, _>>()?));
    }
    if extra.0.is_empty() { Ok(found) } else { Err(refuse("uneven columns", "extra bytes are left over")) }
}

/// The counter of each row. A column says for the operations by actor and counter which rows they are; early bundles had
/// the counters themselves.
fn counters(ops: &Columns, changes: &[Row]) -> Result<Vec<u64>, Refused> {
    let rows = ops.rows(0x42)?;
    if ops.get(0xb3).is_empty() {
        let counters = ops.deltas(0x23, rows)?.into_iter();
        return counters.map(|ctr| counter(need(ctr, "an id")?, "an id")).collect();
    }
    let mut order: Vec<&Row> = changes.iter().collect();
    order.sort_unstable_by_key(|(change, ..)| (&change.actor, change.seq));
    let counters = order.iter().flat_map(|(change, max_op, _)| change.start..=*max_op);
    let mut found = vec![0; rows];
    let mut left = counters.take(rows + 1);
    for row in ops.deltas(0xb3, rows)? {
        let row = row.and_then(|row| usize::try_from(row).ok());
        match (row.and_then(|row| found.get_mut(row)), left.next()) {
            (Some(slot @ 0), Some(counter)) => *slot = counter,
            _ => return Err(refuse("operations of a change", "of a bundle")),
        }
    }
    if left.next().is_none() { Ok(found) } else { Err(refuse("operations of a change", "of a bundle")) }
}
