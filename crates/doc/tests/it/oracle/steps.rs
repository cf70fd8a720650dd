//! A model that receives only patches: it equals the state of the oracle, including conflict flags.

use std::collections::{BTreeMap, BTreeSet};

use hashmill_doc::{ChangeHash, Document, ObjType, Patch, PatchAction, Prop, Value as Shown};
use hashmill_testkit::Rng;
use hashmill_testkit::doc::forge::Forge;
use hashmill_testkit::doc::{Content, Entry, Hash, History, Id, Kind, State, Value};

use super::compare::{deliver, each, entry, hash_of, id, marks, value};

/// A unit of a text: a character with its marks, or a block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Unit {
    Char(char, BTreeMap<String, Value>),
    Block(Id),
}

/// The winner at a place, and whether it has concurrent values.
pub(crate) type Winner = (Entry, bool);

/// Model of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Screen {
    Map(BTreeMap<String, Winner>),
    List(Vec<Winner>),
    Text(Vec<Unit>),
}

/// Model of a document.
pub(crate) type Screens = BTreeMap<Option<Id>, Screen>;

fn empty(kind: Kind) -> Screen {
    match kind {
        Kind::Map | Kind::Table => Screen::Map(BTreeMap::new()),
        Kind::List => Screen::List(vec![]),
        Kind::Text => Screen::Text(vec![]),
    }
}

pub(crate) fn object(entry: &Entry) -> Option<(Id, Kind)> {
    match entry.value {
        Content::Object(kind) => Some((entry.id.clone(), kind)),
        Content::Scalar(_) => None,
    }
}

/// Visible contents of the reachable objects of a state.
fn shown(state: &State) -> Screens {
    let (mut screens, mut open) = (Screens::new(), vec![None]);
    while let Some(name) = open.pop() {
        let there = &state.objects[&name];
        let winner =
            |values: &[Entry]| (values.last().cloned().expect("a visible key has a value"), values.len() > 1);
        let mut inside = vec![];
        let screen = match there.kind {
            Kind::Map | Kind::Table => {
                let keys = there.keys.iter().map(|(key, values)| (key.clone(), winner(values)));
                let keys: BTreeMap<String, Winner> = keys.collect();
                inside.extend(keys.values().filter_map(|(entry, _)| object(entry)));
                Screen::Map(keys)
            }
            Kind::List => {
                let elements: Vec<Winner> = there.elements.iter().map(|e| winner(&e.values)).collect();
                inside.extend(elements.iter().filter_map(|(entry, _)| object(entry)));
                Screen::List(elements)
            }
            Kind::Text => {
                let mut units = vec![];
                for element in &there.elements {
                    let (winner, _) = winner(&element.values);
                    if winner.value == Content::Object(Kind::Map) {
                        units.push(Unit::Block(winner.id.clone()));
                        inside.extend(object(&winner));
                    } else {
                        // A value that is neither text nor a block is shown as its placeholder.
                        units.extend(element.text().chars().map(|c| Unit::Char(c, element.marks.clone())));
                    }
                }
                Screen::Text(units)
            }
        };
        open.extend(inside.into_iter().map(|(id, _)| Some(id)));
        screens.insert(name, screen);
    }
    screens
}

/// Applies one patch.
pub(crate) fn take(screens: &mut Screens, patch: &Patch) {
    let come = |screens: &mut Screens, entry: &Entry| {
        if let Some((id, kind)) = object(entry) {
            screens.insert(Some(id), empty(kind));
        }
    };
    let name = id(&patch.obj);
    let on = screens.get(&name).cloned().unwrap_or_else(|| panic!("{name:?} is not shown"));
    let now = match (on, &patch.action) {
        (Screen::Map(mut keys), action) => {
            match action {
                PatchAction::PutMap { key, value, conflict } => {
                    come(screens, &entry(value));
                    keys.insert(key.clone(), (entry(value), *conflict));
                }
                PatchAction::DeleteMap { key } => drop(keys.remove(key).expect("it was there")),
                PatchAction::Increment { prop: Prop::Map(key), value: by } => {
                    grow(&mut keys.get_mut(&**key).expect("a counter").0, *by);
                }
                PatchAction::Conflict { prop: Prop::Map(key) } => {
                    keys.get_mut(&**key).expect("a value").1 = true;
                }
                other => panic!("{other:?} in a map"),
            }
            Screen::Map(keys)
        }
        (Screen::List(mut elements), action) => {
            match action {
                PatchAction::PutSeq { index, value, conflict } => {
                    come(screens, &entry(value));
                    elements[*index] = (entry(value), *conflict);
                }
                PatchAction::Insert { index, values } => {
                    for (n, (value, id, conflict)) in values.iter().enumerate() {
                        let new = entry(&(value.clone(), id.clone()));
                        come(screens, &new);
                        elements.insert(index + n, (new, *conflict));
                    }
                }
                PatchAction::DeleteSeq { index, length } => drop(elements.drain(*index..index + length)),
                PatchAction::Increment { prop: Prop::Seq(index), value: by } => {
                    grow(&mut elements[*index].0, *by);
                }
                PatchAction::Conflict { prop: Prop::Seq(index) } => elements[*index].1 = true,
                other => panic!("{other:?} in a list"),
            }
            Screen::List(elements)
        }
        (Screen::Text(mut units), action) => {
            match action {
                PatchAction::SpliceText { index, value, marks: set } => {
                    let new: Vec<Unit> = value.chars().map(|c| Unit::Char(c, marks(set))).collect();
                    units.splice(index..index, new);
                }
                PatchAction::Insert { index, values } => {
                    for (n, (value, id, _)) in values.iter().enumerate() {
                        let new = entry(&(value.clone(), id.clone()));
                        assert_eq!(
                            *value,
                            Shown::Object(ObjType::Map),
                            "values other than blocks are reported as text"
                        );
                        come(screens, &new);
                        units.insert(index + n, Unit::Block(new.id));
                    }
                }
                PatchAction::DeleteSeq { index, length } => drop(units.drain(*index..index + length)),
                PatchAction::Mark { marks } => {
                    for mark in marks {
                        for unit in &mut units[mark.start..mark.end] {
                            let Unit::Char(_, set) = unit else { continue };
                            match value(&mark.value) {
                                Value::Null => drop(set.remove(&*mark.name)),
                                value => drop(set.insert(mark.name.clone().into_owned(), value)),
                            }
                        }
                    }
                }
                other => panic!("{other:?} in a text"),
            }
            Screen::Text(units)
        }
    };
    screens.insert(name, now);
}

fn grow(entry: &mut Entry, by: i64) {
    match &mut entry.value {
        Content::Scalar(Value::Counter(value)) => *value = value.wrapping_add(by),
        other => panic!("{other:?} grows"),
    }
}

/// The objects reachable from the root; removes the others.
pub(crate) fn reached(mut screens: Screens) -> Screens {
    let (mut reachable, mut open) = (Screens::new(), vec![None]);
    while let Some(name) = open.pop() {
        let screen = screens.remove(&name).unwrap_or_else(|| panic!("{name:?} is not shown"));
        match &screen {
            Screen::Map(keys) => {
                open.extend(keys.values().filter_map(|(entry, _)| object(entry)).map(|(id, _)| Some(id)));
            }
            Screen::List(elements) => {
                open.extend(elements.iter().filter_map(|(entry, _)| object(entry)).map(|(id, _)| Some(id)));
            }
            Screen::Text(units) => open.extend(units.iter().filter_map(|unit| match unit {
                Unit::Block(id) => Some(Some(id.clone())),
                Unit::Char(..) => None,
            })),
        }
        reachable.insert(name, screen);
    }
    reachable
}

#[test]
fn model_fed_by_patches_equals_the_oracle() {
    let steps = std::cell::Cell::new(0);
    each(0..60, |seed| {
        let (mut rng, mut forge) = (Rng::new(seed), Forge::new(seed, History::new()));
        let (mut doc, mut history) = (Document::new(), History::new());
        for _ in 0..30 {
            deliver(&mut doc, &mut history, &forge.change(3, 0));
        }
        let mut moments: Vec<Vec<Hash>> = history.changes().iter().map(|change| vec![change.hash]).collect();
        moments.extend([vec![], history.heads()]);
        for _ in 0..30 {
            let (before, after) = (&moments[rng.below(moments.len())], &moments[rng.below(moments.len())]);
            let hashes = |heads: &[Hash]| heads.iter().map(hash_of).collect::<Vec<ChangeHash>>();
            let patches = doc.diff(&hashes(before), &hashes(after)).expect("moments of the document");
            let mut screens = shown(&history.at(before).expect("a moment"));
            for patch in &patches {
                take(&mut screens, patch);
            }
            let expected = shown(&history.at(after).expect("a moment"));
            let found = reached(screens);
            let names: BTreeSet<_> = found.keys().chain(expected.keys()).collect();
            for name in names {
                let (actual, model) = (found.get(name), expected.get(name));
                let of: Vec<_> = patches.iter().filter(|patch| id(&patch.obj) == *name).collect();
                assert_eq!(actual, model, "{name:?} after {of:#?}");
            }
            steps.set(steps.get() + patches.len());
        }
    });
    assert!(steps.get() > 5_000, "{} steps", steps.get());
}
