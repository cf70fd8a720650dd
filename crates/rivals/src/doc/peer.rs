//! Interface of a document engine for scripts, in plain types.

use super::script::{Encoding, Expand, Kind, Scalar, Tree};

/// A change's name.
pub type Hash = [u8; 32];

/// Result of a call; the error is the engine's message.
pub type CallResult<T> = Result<T, String>;

/// A key or an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place<'a> {
    Key(&'a str),
    Index(usize),
}

/// What stands at a place: the value in words and the operation that put it there, in the order of the format.
pub type Values = Vec<(String, String)>;

/// A cursor in both of its forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointer {
    pub text: String,
    pub bytes: Vec<u8>,
}

impl Pointer {
    /// The start of a sequence.
    pub fn start() -> Self {
        Self { text: "s".to_owned(), bytes: vec![1, 1] }
    }

    /// The end of a sequence.
    pub fn end() -> Self {
        Self { text: "e".to_owned(), bytes: vec![1, 2] }
    }

    /// The operation that a cursor at an element is named after.
    pub fn id(&self) -> &str {
        self.text.trim_start_matches('-')
    }

    /// The same, moving after when its element goes.
    #[must_use]
    pub fn after(&self) -> Self {
        let mut bytes = self.bytes.clone();
        if bytes.len() > 2 {
            bytes.pop();
            bytes.push(2);
        }
        Self { text: self.id().to_owned(), bytes }
    }
}

/// A copy of a document. Objects are named in the text form of the format, `_root` or `<counter>@<actor>`.
///
/// Every call means what the call of the same name means in the official crate.
pub trait Peer: Sized {
    /// Looks over the engine's own structures, and panics if one is broken.
    fn check(&mut self) {}

    fn blank(actor: &[u8], encoding: Encoding) -> Self;
    fn load(bytes: &[u8], actor: &[u8], encoding: Encoding) -> CallResult<Self>;
    fn set_actor(&mut self, actor: &[u8]);

    fn put(&mut self, object: &str, prop: Place<'_>, value: &Scalar) -> CallResult<()>;
    fn put_object(&mut self, object: &str, prop: Place<'_>, kind: Kind) -> CallResult<String>;
    fn insert(&mut self, object: &str, index: usize, value: &Scalar) -> CallResult<()>;
    fn insert_object(&mut self, object: &str, index: usize, kind: Kind) -> CallResult<String>;
    fn delete(&mut self, object: &str, prop: Place<'_>) -> CallResult<()>;
    fn increment(&mut self, object: &str, prop: Place<'_>, by: i64) -> CallResult<()>;
    fn splice(&mut self, object: &str, index: usize, delete: isize, values: &[Tree]) -> CallResult<()>;
    fn splice_text(&mut self, object: &str, index: usize, delete: isize, text: &str) -> CallResult<()>;
    fn update_text(&mut self, object: &str, text: &str) -> CallResult<()>;
    fn update_object(&mut self, object: &str, value: &Tree) -> CallResult<()>;
    fn create(&mut self, object: &str, prop: Place<'_>, value: &Tree, insert: bool) -> CallResult<String>;

    fn mark(&mut self, object: &str, mark: &Marked<'_>, expand: Expand) -> CallResult<()>;
    fn split_block(&mut self, object: &str, index: usize) -> CallResult<String>;
    fn join_block(&mut self, object: &str, index: usize) -> CallResult<()>;
    fn replace_block(&mut self, object: &str, index: usize) -> CallResult<String>;

    fn commit(&mut self, message: Option<&str>, time: i64) -> Option<Hash>;
    fn rollback(&mut self) -> usize;
    fn empty_change(&mut self, time: i64) -> Hash;
    fn isolate(&mut self, heads: &[Hash]) -> CallResult<()>;
    fn integrate(&mut self);

    fn heads(&mut self) -> Vec<Hash>;
    /// The uncompressed chunks of all changes that `after` does not cover.
    fn changes(&mut self, after: &[Hash]) -> Vec<Vec<u8>>;
    fn change(&mut self, hash: Hash) -> Option<Vec<u8>>;
    fn missing(&mut self, heads: &[Hash]) -> Vec<Hash>;
    fn apply(&mut self, changes: &[Vec<u8>]) -> CallResult<()>;
    fn merge(&mut self, other: &mut Self) -> CallResult<()>;
    fn fork_at(&mut self, heads: &[Hash], actor: &[u8]) -> CallResult<Self>;

    fn save(&mut self) -> Vec<u8>;
    fn save_plain(&mut self) -> Vec<u8>;
    fn save_after(&mut self, heads: &[Hash]) -> Vec<u8>;
    fn save_incremental(&mut self) -> Vec<u8>;
    fn load_incremental(&mut self, bytes: &[u8]) -> CallResult<()>;

    /// Sync state for another replica.
    type Known: Default + Clone;
    /// The next message of a sync.
    fn say(&mut self, to: &mut Self::Known) -> Option<Vec<u8>>;
    fn hear(&mut self, of: &mut Self::Known, message: &[u8]) -> CallResult<()>;
    /// The part of the sync state that is kept between connections.
    fn encode_state(known: &Self::Known) -> Vec<u8>;
    fn decode_state(bytes: &[u8]) -> CallResult<Self::Known>;
    fn read_only(known: &mut Self::Known, read_only: bool);
    /// Whether the other replica is known to have all changes of this one.
    fn is_with(&mut self, known: &Self::Known) -> bool;

    /// The kind of an object, if this copy has it.
    fn kind(&self, object: &str) -> Option<Kind>;
    fn keys(&self, object: &str, at: Option<&[Hash]>) -> Vec<String>;
    fn length(&self, object: &str, at: Option<&[Hash]>) -> usize;
    fn text(&self, object: &str, at: Option<&[Hash]>) -> CallResult<String>;
    fn get(&self, object: &str, prop: Place<'_>, at: Option<&[Hash]>)
    -> CallResult<Option<(String, String)>>;
    fn get_all(&self, object: &str, prop: Place<'_>, at: Option<&[Hash]>) -> CallResult<Values>;
    /// The marks of a text in words.
    fn marks(&self, object: &str, at: Option<&[Hash]>) -> CallResult<Vec<String>>;
    /// The spans of a text in words.
    fn spans(&self, object: &str, at: Option<&[Hash]>) -> CallResult<Vec<String>>;
    /// The patches that lead from some heads to others. An error says that they are not to be compared.
    fn diff(&mut self, before: &[Hash], after: &[Hash]) -> CallResult<Vec<PatchText>>;
    fn cursor(&self, object: &str, index: usize, before: bool, at: Option<&[Hash]>) -> CallResult<Pointer>;
    /// Where a cursor is; both of its forms must be read, and as the same.
    fn position(&self, object: &str, cursor: &Pointer, at: Option<&[Hash]>) -> CallResult<usize>;
}

/// A patch in words. What characters that came are marked with is not compared: the official crate tells the marks of
/// the first of them for all that follow as long as no mark is other than before.
#[derive(Clone, Debug, PartialEq)]
pub enum PatchText {
    /// Characters came to a text.
    Splice {
        /// The text, and the way there.
        of: String,
        /// Where.
        index: usize,
        /// The characters.
        text: String,
    },
    /// Characters are marked otherwise.
    Marks(Vec<String>),
    /// Anything else.
    Other(String),
}

/// The same patches, with characters that came side by side in one, and the marks of all objects: where several texts one
/// after another are marked otherwise, the official crate tells it all of the first one.
pub fn joined(patches: Vec<PatchText>, encoding: Encoding) -> (Vec<PatchText>, Vec<String>) {
    let width = |text: &str| match encoding {
        Encoding::Scalars | Encoding::Graphemes => text.chars().count(),
        Encoding::Utf8 => text.len(),
        Encoding::Utf16 => text.encode_utf16().count(),
    };
    let (mut joined, mut all): (Vec<PatchText>, Vec<String>) = Default::default();
    for patch in patches {
        match (joined.last_mut(), &patch) {
            (
                Some(PatchText::Splice { of, index, text }),
                PatchText::Splice { of: then, index: at, text: more },
            ) if of == then && *index + width(text) == *at => {
                text.push_str(more);
            }
            (_, PatchText::Marks(marks)) => all.extend_from_slice(marks),
            (Some(PatchText::Other(before)), PatchText::Other(patch)) if is_conflict_of(before, patch) => {}
            _ => joined.push(patch),
        }
    }
    all.sort_unstable();
    (joined, all)
}

/// Whether a patch tells that a counter has others beside it now, after one that it grew. The official crate tells the increment
/// alone.
fn is_conflict_of(before: &str, patch: &str) -> bool {
    let conflict = patch.rsplit_once(" conflict ");
    conflict.is_some_and(|(of, prop)| before.starts_with(&format!("{of} increment {prop} ")))
}

/// A mark to be made.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a> {
    pub name: &'static str,
    pub value: &'a Scalar,
    pub start: usize,
    pub end: usize,
}

/// How a value that is an object is written: its kind. What is inside follows under its id.
pub fn object_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "{map}",
        Kind::List => "{list}",
        Kind::Text => "{text}",
        Kind::Table => "{table}",
    }
}

/// Text of everything visible in a document: equal documents give equal texts.
///
/// `past` says that this is an earlier state, be it because of `at` or because the document is isolated.
pub fn portrait<P: Peer>(peer: &P, at: Option<&[Hash]>, past: bool) -> String {
    let mut words = String::new();
    draw(peer, "_root", Kind::Map, (at, past), &mut words);
    words
}

/// Whether the official crate counts the elements of a text of the past wrongly: an element once for each of several
/// values that are no text; the text itself shows it once.
pub fn miscounted<P: Peer>(peer: &P, text: &str, at: Option<&[Hash]>) -> bool {
    peer.text(text, at).is_ok_and(|text| text.contains('\u{fffc}'))
}

fn draw<P: Peer>(
    peer: &P,
    object: &str,
    kind: Kind,
    (at, past): (Option<&[Hash]>, bool),
    words: &mut String,
) {
    use std::fmt::Write as _;
    let text = (kind == Kind::Text).then(|| peer.text(object, at));
    let hidden = past && kind == Kind::Text && miscounted(peer, object, at);
    let length = if hidden { 0 } else { peer.length(object, at) };
    writeln!(words, "{object} {} of {length}: {text:?}", object_word(kind))
        .expect("a string takes everything");
    if kind == Kind::Text {
        writeln!(words, "  marks {:?}\n  spans {:?}", peer.marks(object, at), peer.spans(object, at))
            .expect("a string takes everything");
    }
    let mut inside = Vec::new();
    let mut draw_values = |name: &str, prop: Place<'_>| {
        let values = peer.get_all(object, prop, at);
        let winner = peer.get(object, prop, at);
        let loser = !matches!((&values, &winner), (Ok(all), Ok(one)) if all.last() == one.as_ref());
        write!(words, "  {name}:").expect("a string takes everything");
        if loser {
            write!(words, " winner {winner:?} of {values:?}").expect("a string takes everything");
        }
        for (value, id) in values.into_iter().flatten() {
            write!(words, " {value} by {id};").expect("a string takes everything");
            let kind = [Kind::Map, Kind::List, Kind::Text, Kind::Table];
            inside.extend(kind.into_iter().find(|kind| object_word(*kind) == value).map(|kind| (id, kind)));
        }
        words.push('\n');
    };
    match kind {
        Kind::Map | Kind::Table => {
            for key in peer.keys(object, at) {
                draw_values(&format!("{key:?}"), Place::Key(&key));
            }
        }
        Kind::List | Kind::Text => {
            (0..length).for_each(|index| draw_values(&index.to_string(), Place::Index(index)));
        }
    }
    for (id, kind) in inside {
        draw(peer, &id, kind, (at, past), words);
    }
}
