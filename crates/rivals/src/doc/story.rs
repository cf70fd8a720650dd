//! What several people do to their copies of one document, as data.
//!
//! A number in a story means "that many, modulo what there is": so every story can be told, and every part of a story
//! is a story. That is what makes a long one short when something is wrong with it.

use hashmill_testkit::Rng;

/// How many people may take part.
pub const PEOPLE: usize = 4;

/// A story: some people, and what they do one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    /// How indexes into text are counted.
    pub encoding: Encoding,
    /// How many people.
    pub people: usize,
    /// What happens.
    pub scenes: Vec<Scene>,
}

/// One person does one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Who.
    pub who: usize,
    /// What.
    pub step: Step,
}

/// What an index into text counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Unicode scalar values.
    Scalars,
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16.
    Utf16,
    /// What a reader calls a character.
    Graphemes,
}

impl Encoding {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Scalars, Self::Utf8, Self::Utf16, Self::Graphemes];
}

/// A place: an object of those that the person has seen, and a key or an index in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Which object.
    pub object: usize,
    /// Which key or index.
    pub place: usize,
}

/// A value that is no object.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are those of the format")]
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
#[expect(missing_docs, reason = "the names are those of the format")]
pub enum Kind {
    Map,
    List,
    Text,
    Table,
}

/// A value with everything in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// No object.
    Leaf(Scalar),
    /// A map. No key occurs twice.
    Map(Vec<(String, Tree)>),
    /// A list.
    List(Vec<Tree>),
    /// A text.
    Text(String),
}

/// What a person can do.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the call of the same name")]
pub enum Step {
    Put(Spot, Scalar),
    PutObject(Spot, Kind),
    Insert(Spot, Scalar),
    InsertObject(Spot, Kind),
    Delete(Spot),
    Increment(Spot, i64),
    Splice(Spot, isize, Vec<Tree>),
    SpliceText(Spot, isize, String),
    UpdateText(Spot, String),
    UpdateObject(Spot, Tree),
    /// The flag says whether to insert instead of putting.
    Create(Spot, Tree, bool),
    /// Makes cursors, which are followed from then on.
    Point(Spot),
    Commit(Option<String>, i64),
    Rollback,
    EmptyChange(i64),
    /// Takes over everything that another person has.
    Merge(usize),
    /// Gets the changes of another person in an order of their own, some of them twice.
    Deliver(usize, u64),
    /// Starts again from what was saved.
    Reload(Saved),
    /// Adds what another person saved to one's own document.
    LoadIncremental(usize, Saved),
    /// Goes back to some earlier heads and edits there.
    Isolate(usize),
    Integrate,
    /// Throws the document away and goes on from another person's earlier heads.
    ForkAt(usize, usize),
}

/// The ways to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Everything, compressed.
    Whole,
    /// Everything, not compressed.
    Plain,
    /// What came after some earlier heads.
    After(usize),
    /// What came after the last time.
    Incremental,
}

const KEYS: [&str; 6] = ["a", "b", "key", "é", "", "zz"];

/// Pieces of text that are easy to count wrong: accents that combine, flags, families, line ends, jamo.
const PIECES: [&str; 14] =
    ["x", "hello ", "ä", "e\u{301}", "\u{301}", "🇬🇧", "🇬", "👨‍👩‍👧", "\u{200d}", "\r\n", "\n", "字", "ᄒ", "😀"];

/// The key that a place means in a map.
pub fn key(place: usize) -> &'static str {
    KEYS[place % KEYS.len()]
}

impl Story {
    /// A random story of `length` scenes.
    pub fn invent(seed: u64, length: usize) -> Self {
        let mut rng = Rng::new(seed);
        let encoding = Encoding::ALL[rng.below(4)];
        let people = 1 + rng.below(PEOPLE);
        // Some stories are about one thing: many edits of the same text, or many values at the same key.
        let focus = rng.below(5);
        let scenes =
            (0..length).map(|_| Scene { who: rng.below(people), step: step(&mut rng, people, focus) });
        let scenes = scenes.collect();
        Self { encoding, people, scenes }
    }
}

fn step(rng: &mut Rng, people: usize, focus: usize) -> Step {
    if rng.below(12) == 0 {
        return Step::Point(spot(rng));
    }
    let sort = match focus {
        0 if rng.below(3) > 0 => 40 + rng.below(20),
        1 if rng.below(3) > 0 => rng.below(40),
        _ => rng.below(100),
    };
    match sort {
        0..14 => Step::Put(spot(rng), scalar(rng)),
        14..18 => Step::PutObject(spot(rng), kind(rng)),
        18..26 => Step::Insert(spot(rng), scalar(rng)),
        26..28 => Step::InsertObject(spot(rng), kind(rng)),
        28..34 => Step::Delete(spot(rng)),
        34..40 => Step::Increment(spot(rng), number(rng)),
        40..56 => Step::SpliceText(spot(rng), amount(rng), text(rng)),
        56..60 => Step::UpdateText(spot(rng), text(rng)),
        60..64 => Step::Splice(spot(rng), amount(rng), (0..rng.below(4)).map(|_| tree(rng, 2)).collect()),
        64..67 => Step::Create(spot(rng), tree(rng, 3), rng.below(2) == 0),
        67..69 => Step::UpdateObject(spot(rng), tree(rng, 2)),
        69..80 => Step::Commit((rng.below(4) == 0).then(|| text(rng)), number(rng)),
        80..82 => Step::Rollback,
        82..83 => Step::EmptyChange(number(rng)),
        83..89 => Step::Merge(rng.below(people)),
        89..93 => Step::Deliver(rng.below(people), rng.next_u64()),
        93..95 => Step::Reload(saved(rng)),
        95..97 => Step::LoadIncremental(rng.below(people), saved(rng)),
        97..98 => Step::Isolate(rng.below(1000)),
        98..99 => Step::Integrate,
        _ => Step::ForkAt(rng.below(people), rng.below(1000)),
    }
}

fn spot(rng: &mut Rng) -> Spot {
    // The latest objects are the most interesting ones: zero is the root, one is the last.
    let object = if rng.below(3) == 0 { rng.below(1000) } else { rng.below(4) };
    Spot { object, place: rng.below(1000) }
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
    (0..rng.below(5)).map(|_| PIECES[rng.below(PIECES.len())]).collect()
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

fn saved(rng: &mut Rng) -> Saved {
    [Saved::Whole, Saved::Plain, Saved::After(rng.below(1000)), Saved::Incremental][rng.below(4)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_of_step_occurs_and_a_seed_is_a_story() {
        let stories: Vec<Story> = (0..40).map(|seed| Story::invent(seed, 100)).collect();
        let steps = stories.iter().flat_map(|story| &story.scenes).map(|scene| &scene.step);
        let kinds: HashSet<_> = steps.map(std::mem::discriminant).collect();
        assert_eq!(kinds.len(), 22);
        assert_eq!(stories[7], Story::invent(7, 100));
        let encodings: Vec<_> = stories.iter().map(|story| story.encoding).collect();
        assert!(Encoding::ALL.iter().all(|encoding| encodings.contains(encoding)));
    }
}
