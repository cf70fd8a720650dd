//! Random scripts of edits, merges and syncs of several replicas.
//!
//! Every number in a script is reduced modulo the existing count. So every script can be run, and every part of a script is a
//! script, which makes scripts easy to shrink.

use hashmill_testkit::Rng;

/// Maximum number of replicas.
pub const MAX_REPLICAS: usize = 4;

/// A script: replicas, and steps in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// How indexes into text are counted.
    pub encoding: Encoding,
    pub replicas: usize,
    pub steps: Vec<Step>,
}

/// One action of one replica.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub replica: usize,
    pub action: Action,
}

/// Unit of text indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Scalars,
    Utf8,
    Utf16,
    /// Grapheme clusters.
    Graphemes,
}

impl Encoding {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Scalars, Self::Utf8, Self::Utf16, Self::Graphemes];
}

/// A position: one of the objects that the replica knows, and a key or an index in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Number of the object.
    pub object: usize,
    /// Number of the key, or the index.
    pub prop: usize,
}

/// A value that is no object.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Null,
    Boolean(bool),
    Uint(u64),
    Int(i64),
    F64(f64),
    Str(String),
    Bytes(Vec<u8>),
    Counter(i64),
    Timestamp(i64),
}

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Map,
    List,
    Text,
    Table,
}

/// A value with its content.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Leaf(Scalar),
    /// A map. No key occurs twice.
    Map(Vec<(String, Tree)>),
    List(Vec<Tree>),
    Text(String),
}

/// The edges of a mark at which inserted text gets the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expand {
    Before,
    After,
    Both,
    None,
}

/// An action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Put(Position, Scalar),
    PutObject(Position, Kind),
    Insert(Position, Scalar),
    InsertObject(Position, Kind),
    Delete(Position),
    Increment(Position, i64),
    Splice(Position, isize, Vec<Tree>),
    SpliceText(Position, isize, String),
    UpdateText(Position, String),
    UpdateObject(Position, Tree),
    /// Inserts if the flag is set, else puts.
    Create(Position, Tree, bool),
    /// A mark at a position, its length in units, and one of a few names; null removes it.
    Mark(Position, usize, usize, Scalar, Expand),
    SplitBlock(Position),
    JoinBlock(Position),
    ReplaceBlock(Position),
    /// Creates cursors, which are resolved from then on.
    CreateCursors(Position),
    Commit(Option<String>, i64),
    Rollback,
    EmptyChange(i64),
    /// Merges another replica.
    Merge(usize),
    /// Applies the changes of another replica in a random order, some of them twice.
    Deliver(usize, u64),
    /// Saves and loads the document.
    Reload(SaveForm),
    /// Loads a file of another replica into the own document.
    LoadIncremental(usize, SaveForm),
    /// Isolates the document at earlier heads.
    Isolate(usize),
    Integrate,
    /// Replaces the document by a fork of another replica at earlier heads.
    ForkAt(usize, usize),
    /// Sends the next sync message to another replica.
    Send(usize),
    /// Receives such a message; it may be late, lost or repeated.
    Receive(usize, Delivery),
    /// Ends a connection. With the flag, both keep the encoded part of their sync state.
    Disconnect(usize, bool),
    /// Ignores the changes of another replica in a sync, or accepts them again.
    ReadOnly(usize, bool),
    /// Syncs on a new connection until no message is left. With the flag, the sync state of the last connection is reused.
    Sync(usize, bool),
}

/// Delivery of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It arrives.
    InTurn,
    /// It arrives, and will once more.
    Again,
    /// It is the last one and arrives before the others.
    Late,
    /// It does not arrive.
    Lost,
}

/// Forms of a saved document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveForm {
    /// Everything, compressed.
    Whole,
    /// Everything, not compressed.
    Plain,
    /// The changes after earlier heads.
    After(usize),
    /// The changes since the last save.
    Incremental,
}

const KEYS: [&str; 6] = ["a", "b", "key", "é", "", "zz"];

/// Texts that are easy to count wrong: combining accents, flags, families, line ends, jamo.
const TEXTS: [&str; 14] =
    ["x", "hello ", "ä", "e\u{301}", "\u{301}", "🇬🇧", "🇬", "👨‍👩‍👧", "\u{200d}", "\r\n", "\n", "字", "ᄒ", "😀"];

/// The key with a number, modulo the number of keys.
pub fn key(prop: usize) -> &'static str {
    KEYS[prop % KEYS.len()]
}

impl Script {
    /// A random script of `length` steps.
    pub fn random(seed: u64, length: usize) -> Self {
        let mut rng = Rng::new(seed);
        let encoding = Encoding::ALL[rng.below(4)];
        let replicas = 1 + rng.below(MAX_REPLICAS);
        // Some scripts have a focus: many edits of the same text, or many values at the same key.
        let focus = rng.below(5);
        // While isolated, the official crate inserts after marks of later heads, in changes that cannot be applied. So scripts with rich
        // text have no isolation.
        let rich = rng.below(3) == 0;
        let step = |_| Step {
            replica: rng.below(replicas),
            action: match rich && rng.below(4) == 0 {
                true => rich_text(&mut rng),
                false => action(&mut rng, replicas, focus),
            },
        };
        let mut steps: Vec<Step> = (0..length).map(step).collect();
        steps.retain(|step| !(rich && matches!(step.action, Action::Isolate(_))));
        Self { encoding, replicas, steps }
    }
}

fn action(rng: &mut Rng, replicas: usize, focus: usize) -> Action {
    if rng.below(12) == 0 {
        return Action::CreateCursors(position(rng));
    }
    if replicas > 1 && rng.below(8) == 0 {
        return sync(rng, replicas);
    }
    let choice = match focus {
        0 if rng.below(3) > 0 => 40 + rng.below(20),
        1 if rng.below(3) > 0 => rng.below(40),
        _ => rng.below(100),
    };
    match choice {
        0..14 => Action::Put(position(rng), scalar(rng)),
        14..18 => Action::PutObject(position(rng), kind(rng)),
        18..26 => Action::Insert(position(rng), scalar(rng)),
        26..28 => Action::InsertObject(position(rng), kind(rng)),
        28..34 => Action::Delete(position(rng)),
        34..40 => Action::Increment(position(rng), number(rng)),
        40..56 => Action::SpliceText(position(rng), amount(rng), text(rng)),
        56..60 => Action::UpdateText(position(rng), text(rng)),
        60..64 => {
            Action::Splice(position(rng), amount(rng), (0..rng.below(4)).map(|_| tree(rng, 2)).collect())
        }
        64..67 => Action::Create(position(rng), tree(rng, 3), rng.below(2) == 0),
        67..69 => Action::UpdateObject(position(rng), tree(rng, 2)),
        69..80 => Action::Commit((rng.below(4) == 0).then(|| text(rng)), number(rng)),
        80..82 => Action::Rollback,
        82..83 => Action::EmptyChange(number(rng)),
        83..89 => Action::Merge(rng.below(replicas)),
        89..93 => Action::Deliver(rng.below(replicas), rng.next_u64()),
        93..95 => Action::Reload(save_form(rng)),
        95..97 => Action::LoadIncremental(rng.below(replicas), save_form(rng)),
        97..98 => Action::Isolate(rng.below(1000)),
        98..99 => Action::Integrate,
        _ => Action::ForkAt(rng.below(replicas), rng.below(1000)),
    }
}

fn rich_text(rng: &mut Rng) -> Action {
    match rng.below(10) {
        0..6 => {
            let value = match rng.below(4) {
                0 => Scalar::Null,
                // Of two zeros with different signs the official crate shows sometimes the older one, sometimes the newer one.
                1 => match scalar(rng) {
                    Scalar::F64(0.0) => Scalar::F64(1.0),
                    other => other,
                },
                _ => Scalar::Boolean(true),
            };
            let expand = [Expand::Before, Expand::After, Expand::Both, Expand::None][rng.below(4)];
            Action::Mark(position(rng), rng.below(6), rng.below(3), value, expand)
        }
        6..8 => Action::SplitBlock(position(rng)),
        8 => Action::JoinBlock(position(rng)),
        _ => Action::ReplaceBlock(position(rng)),
    }
}

fn sync(rng: &mut Rng, replicas: usize) -> Action {
    let other = rng.below(replicas);
    match rng.below(16) {
        0..6 => Action::Send(other),
        6..9 => Action::Receive(other, Delivery::InTurn),
        9 => Action::Receive(
            other,
            [Delivery::InTurn, Delivery::Again, Delivery::Late, Delivery::Lost][rng.below(4)],
        ),
        10 => Action::Disconnect(other, rng.below(2) == 0),
        11 => Action::ReadOnly(other, rng.below(3) == 0),
        _ => Action::Sync(other, rng.below(2) == 0),
    }
}

fn position(rng: &mut Rng) -> Position {
    // Prefer the latest objects: zero is the root, one is the last.
    let object = if rng.below(3) == 0 { rng.below(1000) } else { rng.below(4) };
    Position { object, prop: rng.below(1000) }
}

fn kind(rng: &mut Rng) -> Kind {
    [Kind::Map, Kind::List, Kind::Text, Kind::Text][rng.below(4)]
}

fn amount(rng: &mut Rng) -> isize {
    [0, 0, 0, 1, 1, 2, 3, 7, -1, -2][rng.below(10)]
}

fn number(rng: &mut Rng) -> i64 {
    match rng.below(6) {
        0 => [0, -1, 63, 64, -64, -65, 127, 128, i64::from(i32::MAX), 1 << 40][rng.below(10)],
        _ => rng.below(5) as i64,
    }
}

fn scalar(rng: &mut Rng) -> Scalar {
    match rng.below(12) {
        0 => Scalar::Null,
        1 => Scalar::Boolean(rng.below(2) == 0),
        2 => Scalar::Uint([0, 1, 127, 128, u64::MAX][rng.below(5)]),
        3 => Scalar::F64([0.0, -0.0, 1.5, f64::MIN_POSITIVE, f64::INFINITY][rng.below(5)]),
        4 => Scalar::Str(text(rng)),
        5 => Scalar::Bytes((0..rng.below(4)).map(|_| rng.next_u64() as u8).collect()),
        6..9 => Scalar::Counter(number(rng)),
        9 => Scalar::Timestamp(number(rng)),
        _ => Scalar::Int(number(rng)),
    }
}

fn text(rng: &mut Rng) -> String {
    (0..rng.below(5)).map(|_| TEXTS[rng.below(TEXTS.len())]).collect()
}

fn tree(rng: &mut Rng, depth: usize) -> Tree {
    match rng.below(if depth == 0 { 4 } else { 8 }) {
        0..4 => Tree::Leaf(scalar(rng)),
        4 => Tree::Text(text(rng)),
        5 => Tree::List((0..rng.below(4)).map(|_| tree(rng, depth - 1)).collect()),
        _ => {
            let mut pairs: Vec<(String, Tree)> =
                (0..rng.below(4)).map(|_| (key(rng.below(6)).to_owned(), tree(rng, depth - 1))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            pairs.dedup_by(|a, b| a.0 == b.0);
            Tree::Map(pairs)
        }
    }
}

fn save_form(rng: &mut Rng) -> SaveForm {
    [SaveForm::Whole, SaveForm::Plain, SaveForm::After(rng.below(1000)), SaveForm::Incremental][rng.below(4)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_of_step_occurs_and_a_seed_determines_the_script() {
        let scripts: Vec<Script> = (0..40).map(|seed| Script::random(seed, 100)).collect();
        let actions = scripts.iter().flat_map(|script| &script.steps).map(|step| &step.action);
        let kinds: HashSet<_> = actions.map(std::mem::discriminant).collect();
        assert_eq!(kinds.len(), 31);
        assert_eq!(scripts[7], Script::random(7, 100));
        let encodings: Vec<_> = scripts.iter().map(|script| script.encoding).collect();
        assert!(Encoding::ALL.iter().all(|encoding| encodings.contains(encoding)));
    }
}
