//! Operations and their columns (reference 2.6), and the rules that one operation keeps whatever is around it.

use super::bytes::Input;
use super::column::{Columns, counter, need, put_deltas, put_flags, put_numbers, put_texts};
use super::value::Value;
use super::{Actor, Id, Refused, refuse};

/// The place in its object that an operation is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A key of a map.
    Map(String),
    /// The front of a list or text: only for insertions.
    Head,
    /// The element after which another is inserted, or which is changed.
    Element(Id),
}

/// Action of an operation, with the numbers of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum Action {
    MakeMap,
    Set,
    MakeList,
    Delete,
    MakeText,
    Increment,
    MakeTable,
    Mark,
}

impl Action {
    /// All of them, by their numbers.
    pub const ALL: [Self; 8] = [
        Self::MakeMap,
        Self::Set,
        Self::MakeList,
        Self::Delete,
        Self::MakeText,
        Self::Increment,
        Self::MakeTable,
        Self::Mark,
    ];

    /// The kind of object that it makes.
    pub fn makes(self) -> Option<Kind> {
        match self {
            Self::MakeMap => Some(Kind::Map),
            Self::MakeList => Some(Kind::List),
            Self::MakeText => Some(Kind::Text),
            Self::MakeTable => Some(Kind::Table),
            _ => None,
        }
    }
}

/// Kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum Kind {
    Map,
    List,
    Text,
    Table,
}

impl Kind {
    /// Whether it has elements and no keys.
    pub fn is_sequence(self) -> bool {
        matches!(self, Self::List | Self::Text)
    }
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Its own id. In a change it follows from its place.
    pub id: Id,
    /// The object that it changes; none is the root.
    pub obj: Option<Id>,
    /// Its key or element.
    pub key: Key,
    /// Whether it makes a new element after `key`.
    pub insert: bool,
    /// Its action.
    pub action: Action,
    /// The value of a set, the amount of an increment, the value of a mark.
    pub value: Value,
    /// Of a mark: whether what is written at this end belongs to it.
    pub expand: bool,
    /// The name of a mark, where it begins.
    pub mark: Option<String>,
    /// Superseded operations, ascending. Rows of documents have none.
    pub preds: Vec<Id>,
}

impl Op {
    /// The register that it writes: operations are compared, and supersede each other, in one register.
    pub fn register(&self) -> Key {
        if self.insert { Key::Element(self.id.clone()) } else { self.key.clone() }
    }

    /// The rules that need nothing but the operation.
    pub(super) fn check(&self) -> Result<(), Refused> {
        let fault = |rule| Err(refuse(rule, format!("operation {}", self.id)));
        let null = self.value == Value::Null;
        let element = if let Key::Element(id) = &self.key { Some(id) } else { None };
        let named = self.obj.iter().chain(element).chain(&self.preds);
        if named.into_iter().any(|id| id.counter >= self.id.counter) {
            return fault("reference to what is not earlier");
        }
        match (&self.key, self.insert) {
            (Key::Head, false) => return fault("an update of no element"),
            (Key::Map(_), true) => return fault("an insertion into a map"),
            _ => {}
        }
        match self.action {
            Action::Set => {}
            Action::Increment if self.insert => return fault("an increment that inserts"),
            Action::Increment if self.value.amount().is_none() => return fault("an increment by no number"),
            Action::Increment => {}
            Action::Delete if self.insert => return fault("a deletion that inserts"),
            Action::Mark if !self.insert => return fault("a mark that is no insertion"),
            Action::Mark if self.mark.is_none() && !null => return fault("the end of a mark has a value"),
            Action::Mark => return Ok(()),
            _ if !null => return fault("a value of what has none"),
            _ => {}
        }
        match (self.expand, &self.mark) {
            (true, _) => fault("what is no mark expands"),
            (_, Some(_)) => fault("what is no mark has the name of one"),
            _ if self.insert && !self.preds.is_empty() => fault("an insertion over something"),
            _ => Ok(()),
        }
    }
}

/// Differences between the operation columns of the kinds of chunks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// Ids count up from this one; predecessors.
    Change(&'a Id),
    /// Ids; successors.
    Document,
    /// The actors of ids, whose counters are these; predecessors. Counters of objects are differences.
    Bundle(&'a [u64]),
}

/// An operation, and what its columns name: predecessors in a change, successors in a document.
pub(super) type Row = (Op, Vec<Id>);

pub(super) fn read(columns: &Columns, actors: &[Actor], form: Form<'_>) -> Result<Vec<Row>, Refused> {
    let rows = columns.rows(0x42)?;
    let actor = |index: u64| {
        let actor = usize::try_from(index).ok().and_then(|index| actors.get(index));
        actor.cloned().ok_or_else(|| refuse("actor index", index))
    };
    let id = |index: u64, ctr: u64| Ok(Id { counter: ctr, actor: actor(index)? });
    let both = |(index, ctr), what: &str| match (index, ctr) {
        (None, None) => Ok(None),
        (Some(index), Some(ctr)) => id(index, ctr).map(Some),
        _ => Err(refuse("half an id", what)),
    };
    let count = |ctr: Option<i64>, what| ctr.map(|ctr| counter(ctr, what)).transpose();

    let obj_actor = columns.numbers(0x01, rows)?;
    let obj_ctr: Vec<Option<u64>> = match form {
        // A negative number is never a counter.
        Form::Bundle(_) => {
            columns.deltas(0x03, rows)?.into_iter().map(|ctr| ctr.map(|ctr| ctr as u64)).collect()
        }
        _ => columns.numbers(0x02, rows)?,
    };
    let (key_actor, key_ctr) = (columns.numbers(0x11, rows)?, columns.deltas(0x13, rows)?);
    let key_text = columns.texts(0x15, rows)?;
    let (insert, action) = (columns.flags(0x34, rows)?, columns.numbers(0x42, rows)?);
    let meta = columns.numbers(0x56, rows)?;
    let mut raw = Input(columns.get(0x57));
    let (expand, mark) = (columns.flags(0x94, rows)?, columns.texts(0xa5, rows)?);
    let (id_actor, id_ctr, refs) = match form {
        Form::Change(_) => (vec![], vec![], [0x70, 0x71, 0x73]),
        Form::Bundle(_) => (columns.numbers(0x21, rows)?, vec![], [0x70, 0x71, 0x73]),
        Form::Document => (columns.numbers(0x21, rows)?, columns.deltas(0x23, rows)?, [0x80, 0x81, 0x83]),
    };
    let ref_count = columns.numbers(refs[0], rows)?;
    let all = ref_count.iter().flatten().try_fold(0usize, |sum, more| sum.checked_add(*more as usize));
    let all = all.filter(|all| *all <= columns.most).ok_or_else(|| Refused::too_large("references"))?;
    let ref_ids = columns.numbers(refs[1], all)?.into_iter().zip(columns.deltas(refs[2], all)?);
    let mut ref_ids = ref_ids.map(|(index, ctr)| {
        let what = "a reference";
        id(need(index, what)?, counter(need(ctr, what)?, what)?)
    });

    let mut found = vec![];
    for row in 0..rows {
        let obj_ctr = obj_ctr[row].map(|ctr| counter(ctr, "an object")).transpose()?;
        let obj = both((obj_actor[row], obj_ctr), "an object")?;
        let key = match (key_actor[row], key_ctr[row], &key_text[row]) {
            (None, None, Some(text)) => Key::Map(text.clone()),
            (None, Some(0), None) => Key::Head,
            (index, ctr, None) => {
                let element = both((index, count(ctr, "an element")?), "an element")?;
                Key::Element(need(element, "a key")?)
            }
            _ => return Err(refuse("a key and an element", row)),
        };
        let id = match form {
            Form::Change(first) => Id { counter: first.counter + row as u64, actor: first.actor.clone() },
            Form::Bundle(counters) => id(need(id_actor[row], "an id")?, counters[row])?,
            Form::Document => {
                let ctr = counter(need(id_ctr[row], "an id")?, "an id")?;
                id(need(id_actor[row], "an id")?, ctr)?
            }
        };
        let action = need(action[row], "an action")?;
        let known = usize::try_from(action).ok().and_then(|action| Action::ALL.get(action));
        let action = *known.ok_or_else(|| refuse("action", action))?;
        let meta = need(meta[row], "the type of a value")?;
        let value = Value::read(meta as u8 & 0xf, raw.take(meta >> 4)?)?;
        let refs: Vec<Id> = ref_ids
            .by_ref()
            .take(need(ref_count[row], "a count of references")? as usize)
            .collect::<Result<_, Refused>>()?;
        let preds = if form == Form::Document { vec![] } else { refs.clone() };
        let (insert, expand, mark) = (insert[row], expand[row], mark[row].clone());
        let op = Op { id, obj, key, insert, action, value, expand, mark, preds };
        op.check()?;
        found.push((op, refs));
    }
    if raw.0.is_empty() { Ok(found) } else { Err(refuse("uneven columns", "values are left over")) }
}

/// The columns of operations. Actors are named by their places in `actors`.
pub(super) fn write(rows: &[(&Op, &[Id])], actors: &[Actor], form: Form<'_>) -> Vec<(u32, Vec<u8>)> {
    let index = |id: &Id| {
        let at = actors.iter().position(|actor| *actor == id.actor);
        Some(at.expect("the caller listed every actor") as u64)
    };
    let each = |of: &dyn Fn(&Op) -> Option<u64>| {
        let values: Vec<Option<u64>> = rows.iter().map(|(op, _)| of(op)).collect();
        if values.iter().all(Option::is_none) { vec![] } else { put_numbers(&values) }
    };
    let signed = |values: Vec<Option<i64>>| {
        if values.iter().all(Option::is_none) { vec![] } else { put_deltas(&values) }
    };
    let texts = |of: &dyn Fn(&Op) -> Option<String>| {
        let values: Vec<Option<String>> = rows.iter().map(|(op, _)| of(op)).collect();
        if values.iter().all(Option::is_none) { vec![] } else { put_texts(&values) }
    };
    let element = |op: &Op| match &op.key {
        Key::Element(id) => Some(id.clone()),
        _ => None,
    };
    let key_ctr = |(op, _): &(&Op, &[Id])| match &op.key {
        Key::Map(_) => None,
        Key::Head => Some(0),
        Key::Element(id) => Some(id.counter as i64),
    };
    let values: Vec<(u8, Vec<u8>)> = rows.iter().map(|(op, _)| op.value.write()).collect();
    let metas: Vec<_> =
        values.iter().map(|(code, bytes)| Some((bytes.len() as u64) << 4 | u64::from(*code))).collect();
    let expands: Vec<bool> = rows.iter().map(|(op, _)| op.expand).collect();
    let refs: Vec<&Id> = rows.iter().flat_map(|(_, refs)| *refs).collect();
    let counts: Vec<_> = rows.iter().map(|(_, refs)| Some(refs.len() as u64)).collect();
    let specs = if form == Form::Document { [0x80, 0x81, 0x83] } else { [0x70, 0x71, 0x73] };

    let mut columns = vec![
        (0x01, each(&|op| op.obj.as_ref().and_then(index))),
        (0x02, each(&|op| op.obj.as_ref().map(|id| id.counter))),
        (0x11, each(&|op| element(op).as_ref().and_then(index))),
        (0x13, signed(rows.iter().map(key_ctr).collect())),
        (0x15, texts(&|op| if let Key::Map(key) = &op.key { Some(key.clone()) } else { None })),
    ];
    if form == Form::Document {
        columns.push((0x21, each(&|op| index(&op.id))));
        columns.push((0x23, signed(rows.iter().map(|(op, _)| Some(op.id.counter as i64)).collect())));
    }
    columns.extend([
        (0x34, put_flags(&rows.iter().map(|(op, _)| op.insert).collect::<Vec<_>>())),
        (0x42, each(&|op| Some(op.action as u64))),
        (0x56, put_numbers(&metas)),
        (0x57, values.into_iter().flat_map(|(_, bytes)| bytes).collect()),
        (specs[0], put_numbers(&counts)),
        (specs[1], put_numbers(&refs.iter().map(|id| index(id)).collect::<Vec<_>>())),
        (specs[2], put_deltas(&refs.iter().map(|id| Some(id.counter as i64)).collect::<Vec<_>>())),
        (0x94, if expands.contains(&true) { put_flags(&expands) } else { vec![] }),
        (0xa5, texts(&|op| op.mark.clone())),
    ]);
    columns
}
