//! Visible state of a set of operations (reference 4.2 to 4.5), by sorting and scanning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Action, Hash, Id, Key, Kind, Op, Value, hex};

/// A document at some heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The heads, ascending.
    pub heads: Vec<Hash>,
    /// Every object ever created, also unreachable ones. `None` is the root.
    pub objects: BTreeMap<Option<Id>, Object>,
}

/// Content of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// The keys that have values, of a map or table.
    pub keys: BTreeMap<String, Vec<Entry>>,
    /// The elements that have values, of a list or text.
    pub elements: Vec<Element>,
}

/// A value and the operation that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The operation; of an object its name too.
    pub id: Id,
    /// The value that it put.
    pub value: Content,
}

/// Content of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A scalar. A counter has grown.
    Scalar(Value),
    /// An object.
    Object(Kind),
}

/// An element that is visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Values that are not superseded, ascending: the last wins.
    pub values: Vec<Entry>,
    /// The marks that hold here, by their names.
    pub marks: BTreeMap<String, Value>,
}

impl State {
    pub(super) fn from_ops<'a>(ops: impl Iterator<Item = &'a Op>, heads: Vec<Hash>) -> Self {
        let ops: Vec<&Op> = ops.collect();
        let over = successors(&ops);
        let mut objects = BTreeMap::from([(None, Kind::Map)]);
        objects.extend(ops.iter().filter_map(|op| Some((Some(op.id.clone()), op.action.makes()?))));
        let mut inside: BTreeMap<&Option<Id>, Vec<&Op>> = BTreeMap::new();
        ops.iter().for_each(|op| inside.entry(&op.obj).or_default().push(op));
        let object = |(id, kind): (Option<Id>, Kind)| {
            let ops = inside.get(&id).map_or(&[][..], Vec::as_slice);
            let (mut keys, mut elements) = (BTreeMap::new(), vec![]);
            if kind.is_sequence() {
                elements = sequence(ops, &over);
            } else {
                keys = registers(ops)
                    .into_iter()
                    .filter_map(|(key, ops)| match key {
                        Key::Map(key) => Some((key, visible(&ops, &over))),
                        _ => None,
                    })
                    .filter(|(_, values)| !values.is_empty())
                    .collect();
            }
            (id, Object { kind, keys, elements })
        };
        Self { heads, objects: objects.into_iter().map(object).collect() }
    }

    /// Everything, a line for each thing: two states are equal if their lines are.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.heads.iter().map(|head| format!("head {}", hex::encode(head))).collect();
        for (id, object) in &self.objects {
            let name = id.as_ref().map_or_else(|| "root".to_owned(), Id::to_string);
            lines.push(format!("{name} is a {:?}", object.kind));
            lines.extend(object.keys.iter().map(|(key, values)| format!("{name} {key:?} {values:?}")));
            lines.extend(
                object.elements.iter().enumerate().map(|(n, element)| format!("{name} {n} {element:?}")),
            );
        }
        lines
    }

    /// The first lines that differ from those of `other`.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        let (own_lines, other_lines) = (self.lines(), other.lines());
        let (own_set, other_set) =
            (own_lines.iter().collect::<BTreeSet<_>>(), other_lines.iter().collect::<BTreeSet<_>>());
        let mut out = String::new();
        for (sign, lines, common) in [('-', &own_lines, &other_set), ('+', &other_lines, &own_set)] {
            for line in lines.iter().filter(|line| !common.contains(line)).take(5) {
                writeln!(out, "{sign} {line}").expect("writing to a string does not fail");
            }
        }
        Some(out)
    }
}

impl Object {
    /// The content of a text. A value that is no string is one character in it.
    pub fn text(&self) -> String {
        self.elements.iter().map(Element::text).collect()
    }
}

impl Element {
    /// The winner as a piece of text.
    pub fn text(&self) -> &str {
        match self.values.last().map(|winner| &winner.value) {
            Some(Content::Scalar(Value::Str(text))) => text,
            _ => "\u{fffc}",
        }
    }
}

type Successors<'a> = BTreeMap<&'a Id, Vec<&'a Op>>;

/// For each operation those that name it as a predecessor, ascending.
pub(super) fn successors<'a>(ops: &[&'a Op]) -> Successors<'a> {
    let mut over: Successors<'a> = BTreeMap::new();
    for op in ops {
        op.preds.iter().for_each(|pred| over.entry(pred).or_default().push(op));
    }
    over.values_mut().for_each(|ops| ops.sort_unstable_by_key(|op| &op.id));
    over
}

/// The operations of an object by the registers that they write, ascending.
pub(super) fn registers<'a>(ops: &[&'a Op]) -> BTreeMap<Key, Vec<&'a Op>> {
    let mut registers: BTreeMap<Key, Vec<&Op>> = BTreeMap::new();
    ops.iter().for_each(|op| registers.entry(op.register()).or_default().push(op));
    registers.values_mut().for_each(|ops| ops.sort_unstable_by_key(|op| &op.id));
    registers
}

/// The values of a register that nothing supersedes. Increments do not supersede a counter, they add to it.
fn visible(ops: &[&Op], over: &Successors<'_>) -> Vec<Entry> {
    let mut values = vec![];
    for op in ops.iter().filter(|op| op.action.makes().is_some() || op.action == Action::Set) {
        let mut over = over.get(&op.id).into_iter().flatten();
        let value = match (op.action.makes(), &op.value) {
            (Some(kind), _) => over.next().is_none().then_some(Content::Object(kind)),
            (None, Value::Counter(from)) => over
                .try_fold(*from, |sum, op| match op.action {
                    Action::Increment => Some(sum.wrapping_add(op.value.amount()?)),
                    _ => None,
                })
                .map(|sum| Content::Scalar(Value::Counter(sum))),
            (None, value) => over.next().is_none().then(|| Content::Scalar(value.clone())),
        };
        values.extend(value.map(|value| Entry { id: op.id.clone(), value }));
    }
    values
}

/// The insertions of a list or text in its order: what was inserted after an element comes behind it, and of two inserted
/// after the same the greater id comes first.
pub(super) fn order<'a>(ops: &[&'a Op]) -> Vec<&'a Op> {
    let mut after: BTreeMap<&Key, Vec<&'a Op>> = BTreeMap::new();
    ops.iter().filter(|op| op.insert).for_each(|op| after.entry(&op.key).or_default().push(op));
    after.values_mut().for_each(|ops| ops.sort_unstable_by_key(|op| &op.id));
    let mut order = vec![];
    // Remaining items, the next one last.
    let mut open = after.remove(&Key::Head).unwrap_or_default();
    while let Some(op) = open.pop() {
        order.push(op);
        open.extend(after.remove(&op.register()).unwrap_or_default());
    }
    order
}

/// The visible elements of a list or text. A mark holds from its begin to its end; of several with one name that which
/// began with the greatest id, and no value ends it.
fn sequence(ops: &[&Op], over: &Successors<'_>) -> Vec<Element> {
    let registers = registers(ops);
    let mut elements = vec![];
    let mut open: BTreeMap<Id, (&str, &Value)> = BTreeMap::new();
    for op in order(ops) {
        match (op.action, &op.mark) {
            (Action::Mark, Some(name)) => drop(open.insert(op.id.clone(), (name, &op.value))),
            (Action::Mark, None) => {
                open.remove(&Id { counter: op.id.counter - 1, actor: op.id.actor.clone() });
            }
            _ => {
                let values = visible(&registers[&op.register()], over);
                if !values.is_empty() {
                    let mut marks: BTreeMap<String, Value> =
                        open.values().map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect();
                    marks.retain(|_, value| *value != Value::Null);
                    elements.push(Element { values, marks });
                }
            }
        }
    }
    elements
}
