//! Transformations of whole documents: the contents before and after are equal, object by object.

use std::collections::{BTreeMap, BTreeSet};

use hashmill_doc::sync::{State, SyncDoc as _};
use hashmill_doc::{ActorId, Change, CommitOptions, Document, ReadDoc as _, SaveOptions};
use hashmill_testkit::doc::History;
use hashmill_testkit::doc::forge::Forge;

use crate::oracle::compare::{deliver, each};
use crate::support::worlds::contents::{Contents, Depth, Entry, Part, Text, contents_of};
use crate::support::worlds::{counting_as, document, document_with_heads, for_all};

/// Makes another document from one.
type Transformation = fn(&mut Document) -> Document;

fn empty(doc: &Document) -> Document {
    Document::with_encoding(doc.text_encoding())
}

fn loaded(doc: &Document, file: &[u8]) -> Document {
    Document::load_with(file, counting_as(doc)).expect("its own file")
}

fn synced(doc: &mut Document) -> Document {
    let mut peer = empty(doc);
    let (mut here, mut there) = (State::new(), State::new());
    loop {
        let to = doc.generate_sync_message(&mut here);
        let back = peer.generate_sync_message(&mut there);
        if to.is_none() && back.is_none() {
            return peer;
        }
        if let Some(message) = to {
            peer.receive_sync_message(&mut there, message).expect("a message of this engine");
        }
        if let Some(message) = back {
            doc.receive_sync_message(&mut here, message).expect("a message of this engine");
        }
    }
}

/// Transformations after which everything is equal, including ids and conflicts.
const EXACT: [(&str, Transformation); 15] = [
    ("fork", |doc| doc.fork()),
    ("fork_at", |doc| doc.fork_at(&doc.get_heads()).expect("its heads")),
    ("clone", |doc| doc.clone()),
    ("save and load", |doc| loaded(doc, &doc.clone().save())),
    ("save and load, not compressed", |doc| loaded(doc, &doc.clone().save_nocompress())),
    ("save without orphans and load", |doc| {
        loaded(doc, &doc.clone().save_with(SaveOptions { retain_orphans: false, ..SaveOptions::default() }))
    }),
    ("open", |doc| {
        let file = doc.save();
        let opened = Document::open_with(file, counting_as(doc)).expect("its own file");
        opened.into_document().expect("its own file")
    }),
    ("rescue", |doc| Document::rescue(&doc.clone().save(), counting_as(doc)).document),
    ("changes", |doc| {
        let mut other = empty(doc);
        other.apply_changes(doc.get_changes(&[])).expect("its own changes");
        other
    }),
    ("changes, the last first", |doc| {
        let mut other = empty(doc);
        for change in doc.get_changes(&[]).into_iter().rev() {
            other.apply_changes([change]).expect("its own changes");
        }
        other
    }),
    ("expanded changes", |doc| {
        let again = |change: &Change| Change::try_from(&change.decode()).expect("a change of its own");
        let mut other = empty(doc);
        other.apply_changes(doc.get_changes(&[]).iter().map(again)).expect("its own changes");
        other
    }),
    ("merge", |doc| {
        let mut other = empty(doc);
        other.merge(doc).expect("its own changes");
        other
    }),
    ("bundle", |doc| {
        let mut other = empty(doc);
        let hashes = doc.get_changes(&[]).into_iter().map(|change| change.hash()).collect::<Vec<_>>();
        other.load_incremental(doc.bundle(hashes).expect("its own changes").bytes()).expect("its own bundle");
        other
    }),
    ("fragments", |doc| {
        let mut other = empty(doc);
        let fragments = doc.fragments(..).expect("a short history");
        let bytes = |fragment| doc.fragment_bytes(fragment).expect("its own fragment");
        let all: Vec<_> = fragments.iter().map(|fragment| (fragment.head, bytes(fragment))).collect();
        other.add_fragments(&all).expect("its own fragments");
        other
    }),
    ("sync", synced),
];

#[test]
fn copies_with_history_are_equal() {
    for_all("copies with history", 0..60, |seed| {
        let mut doc = document(seed, 60);
        let before = contents_of(&doc.view(), Depth::Everything);
        for (name, transformation) in EXACT {
            let other = transformation(&mut doc);
            assert_same(&before, &contents_of(&other.view(), Depth::Everything), name);
            assert_eq!(other.get_heads(), doc.get_heads(), "{name}");
        }
        doc.stats().operations as usize
    });
}

/// The state at some heads equals a fork at these heads, and both states of a file in two parts.
#[test]
fn parts_of_a_history_are_equal_to_forks() {
    for_all("parts of a history", 0..60, |seed| {
        let (mut doc, heads) = document_with_heads(seed, 50);
        for heads in heads.iter().step_by(4) {
            let before = contents_of(&doc.at(heads).expect("its past"), Depth::Everything);
            let fork = doc.fork_at(heads).expect("its past");
            assert_same(&before, &contents_of(&fork.view(), Depth::Everything), "fork_at");
            let mut again = loaded(&doc, &fork.clone().save());
            assert_same(&before, &contents_of(&again.view(), Depth::Everything), "fork_at, saved");
            again.load_incremental(&doc.save_after(heads)).expect("the rest of its file");
            let (is, wanted) = (again.view(), doc.view());
            assert_same(
                &contents_of(&wanted, Depth::Everything),
                &contents_of(&is, Depth::Everything),
                "save_after",
            );
        }
        doc.save();
        doc.stats().operations as usize
    });
}

/// The first differing line, with its neighbours.
fn first_difference(before: &impl std::fmt::Debug, after: &impl std::fmt::Debug) -> String {
    let [before, after] = [format!("{before:#?}"), format!("{after:#?}")];
    let [before, after] = [&before, &after].map(|words| words.lines().collect::<Vec<_>>());
    let same = before.iter().zip(&after).take_while(|(before, after)| before == after).count();
    let around = |lines: &[&str]| lines[same.saturating_sub(4)..lines.len().min(same + 8)].join("\n");
    format!("line {same}:\n{}\nbecame\n{}", around(&before), around(&after))
}

#[track_caller]
fn assert_same(before: &Contents, after: &Contents, what: &str) {
    assert!(before == after, "{what}: {}", first_difference(before, after));
}

fn assert_squashed(doc: &Document) {
    let before = contents_of(&doc.view(), Depth::Winners);
    let actor = ActorId::from([1]);
    let mut squashed = doc.squash(actor.clone(), &CommitOptions::default()).expect("within the limits");
    squashed.check(true);
    assert_same(&before, &contents_of(&squashed.view(), Depth::Winners), "squash");
    assert!(squashed.stats().changes <= 1);
    let again = loaded(doc, &squashed.save());
    assert_same(&before, &contents_of(&again.view(), Depth::Winners), "squash, saved and loaded");
    let twice = squashed.squash(actor, &CommitOptions::default()).expect("within the limits");
    assert_same(&before, &contents_of(&twice.view(), Depth::Winners), "squash of a squashed document");
}

#[test]
fn copies_without_history_have_the_winners() {
    for_all("copies without history", 0..200, |seed| {
        let doc = document(seed, 60);
        assert_squashed(&doc);
        doc.stats().operations as usize
    });
    // Tables, and contents written by other programs.
    each(0..60, |seed| {
        let mut forge = Forge::new(seed, History::new());
        let (mut doc, mut history) = (Document::new(), History::new());
        for _ in 0..25 {
            deliver(&mut doc, &mut history, &forge.change(3, 0));
        }
        assert_squashed(&doc);
    });
}

#[test]
fn anonymised_copies_have_the_same_structure() {
    for_all("anonymous copies", 0..200, |seed| {
        let doc = document(seed, 60);
        let masked = doc.anonymise().expect("its own changes");
        let (before, after) =
            (contents_of(&doc.view(), Depth::Everything), contents_of(&masked.view(), Depth::Everything));
        // Cluster units depend on adjacent characters, and these are replaced.
        let units = doc.text_encoding() != hashmill_doc::TextEncoding::GraphemeCluster;
        let [before, after] =
            [(&doc, before), (&masked, after)].map(|(doc, contents)| Structure::new(doc, &contents, units));
        assert!(before == after, "{}", first_difference(&before, &after));
        doc.stats().operations as usize
    });
}

/// The parts of a document that `anonymise` keeps. Keys are identified by their values, actors by their rank, names and
/// values of marks by their ranges.
#[derive(Debug, PartialEq)]
struct Structure(Vec<String>);

impl Structure {
    fn new(doc: &Document, contents: &Contents, units: bool) -> Self {
        let changes = doc.get_changes(&[]);
        let actors: BTreeSet<Vec<u8>> =
            changes.iter().map(|change| change.actor_id().as_bytes().to_vec()).collect();
        let ranks = (0..).zip(actors).map(|(rank, actor): (usize, _)| (actor, rank)).collect();
        let mut lines = vec![];
        Masked { ranks, units }.lines(contents, "", &mut lines);
        Self(lines)
    }
}

struct Masked {
    ranks: BTreeMap<Vec<u8>, usize>,
    /// Are the lengths of texts compared?
    units: bool,
}

impl Masked {
    fn id(&self, entry: &Entry) -> (u64, usize) {
        let (counter, actor) = entry.id.as_ref().expect("ids are read");
        (*counter, self.ranks[actor])
    }

    fn ids(&self, values: &[Entry]) -> Vec<(u64, usize)> {
        values.iter().map(|value| self.id(value)).collect()
    }

    fn values(&self, values: &[Entry], path: &str, lines: &mut Vec<String>) {
        for value in values {
            self.lines(&value.value, &format!("{path} {:?}", self.id(value)), lines);
        }
    }

    fn lines(&self, contents: &Contents, path: &str, lines: &mut Vec<String>) {
        match contents {
            // The type, with the code of an unknown one.
            Contents::Scalar(words) => {
                let kind = words.split(['(', ',']).next();
                lines.push(format!("{path}: {}", kind.expect("there is a first part")));
            }
            Contents::Map(keys) | Contents::Table(keys) => {
                let mut keys: Vec<&Vec<Entry>> = keys.values().collect();
                keys.sort_by_key(|values| self.ids(values));
                lines.push(format!("{path}: {} keys", keys.len()));
                keys.into_iter().for_each(|values| self.values(values, path, lines));
            }
            Contents::List(elements) => {
                lines.push(format!("{path}: {} elements", elements.len()));
                for (n, values) in elements.iter().enumerate() {
                    self.values(values, &format!("{path} [{n}]"), lines);
                }
            }
            Contents::Text(text) => self.text(text, path, lines),
        }
    }

    fn text(&self, text: &Text, path: &str, lines: &mut Vec<String>) {
        let sizes: Vec<usize> = text.text.chars().map(char::len_utf8).collect();
        lines.push(format!("{path}: text of {sizes:?}"));
        self.values(&text.elements, path, lines);
        if !self.units {
            return;
        }
        for (n, (values, marks)) in text.units.iter().enumerate() {
            lines.push(format!("{path} [{n}]: {:?}, {} marks", self.ids(values), marks.len()));
        }
        // The ranges of each name, with indexes of its values in the order of the ranges.
        let mut names: BTreeMap<&str, Vec<(usize, usize, usize)>> = BTreeMap::new();
        let mut numbers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (start, end, name, value) in &text.marks {
            let known = numbers.entry(name).or_default();
            let number = known.iter().position(|other| other == value).unwrap_or_else(|| {
                known.push(value);
                known.len() - 1
            });
            names.entry(name).or_default().push((*start, *end, number));
        }
        let mut ranges: Vec<_> = names.into_values().collect();
        ranges.sort_unstable();
        lines.push(format!("{path}: marks {ranges:?}"));
        let spans = text.spans.iter().map(|part| match part {
            Part::Text(_, marks) => Some(marks.len()),
            Part::Block(_) => None,
        });
        lines.push(format!("{path}: spans {:?}", spans.collect::<Vec<_>>()));
    }
}
