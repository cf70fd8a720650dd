//! Interface of a document engine for scripts, in plain types.

use super::script::{Encoding, Expand, Kind, Scalar, Tree};

/// The hash of a change.
pub type Hash = [u8; 32];

/// Result of a call; the error is the engine's message.
pub type CallResult<T> = Result<T, String>;

/// A key or an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PropRef<'a> {
    Key(&'a str),
    Index(usize),
}

/// Values of a key or an index: each value as text, with the id of its operation, in the order of the format.
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

    /// The id of the operation that inserted the element of a cursor.
    pub fn id(&self) -> &str {
        self.text.trim_start_matches('-')
    }

    /// The same cursor, but one that moves to the next element if its element is deleted.
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
/// Every method has the meaning of the official crate's method of the same name.
pub trait Peer: Sized {
    /// Checks the engine's internal structures, and panics if one is broken.
    fn check(&mut self) {}

    fn blank(actor: &[u8], encoding: Encoding) -> Self;
    fn load(bytes: &[u8], actor: &[u8], encoding: Encoding) -> CallResult<Self>;
    fn set_actor(&mut self, actor: &[u8]);

    fn put(&mut self, object: &str, prop: PropRef<'_>, value: &Scalar) -> CallResult<()>;
    fn put_object(&mut self, object: &str, prop: PropRef<'_>, kind: Kind) -> CallResult<String>;
    fn insert(&mut self, object: &str, index: usize, value: &Scalar) -> CallResult<()>;
    fn insert_object(&mut self, object: &str, index: usize, kind: Kind) -> CallResult<String>;
    fn delete(&mut self, object: &str, prop: PropRef<'_>) -> CallResult<()>;
    fn increment(&mut self, object: &str, prop: PropRef<'_>, by: i64) -> CallResult<()>;
    fn splice(&mut self, object: &str, index: usize, delete: isize, values: &[Tree]) -> CallResult<()>;
    fn splice_text(&mut self, object: &str, index: usize, delete: isize, text: &str) -> CallResult<()>;
    fn update_text(&mut self, object: &str, text: &str) -> CallResult<()>;
    fn update_object(&mut self, object: &str, value: &Tree) -> CallResult<()>;
    fn create(&mut self, object: &str, prop: PropRef<'_>, value: &Tree, insert: bool) -> CallResult<String>;

    fn mark(&mut self, object: &str, mark: &MarkSpec<'_>, expand: Expand) -> CallResult<()>;
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
    type SyncState: Default + Clone;
    /// The next message of a sync.
    fn next_message(&mut self, state: &mut Self::SyncState) -> Option<Vec<u8>>;
    fn receive_message(&mut self, state: &mut Self::SyncState, message: &[u8]) -> CallResult<()>;
    /// The part of the sync state that survives a connection.
    fn encode_state(state: &Self::SyncState) -> Vec<u8>;
    fn decode_state(bytes: &[u8]) -> CallResult<Self::SyncState>;
    fn read_only(state: &mut Self::SyncState, read_only: bool);
    /// Whether the peer of a sync state is known to have all changes of this replica.
    fn peer_has_all_changes(&mut self, state: &Self::SyncState) -> bool;

    /// The kind of an object, if this copy has it.
    fn kind(&self, object: &str) -> Option<Kind>;
    fn keys(&self, object: &str, at: Option<&[Hash]>) -> Vec<String>;
    fn length(&self, object: &str, at: Option<&[Hash]>) -> usize;
    fn text(&self, object: &str, at: Option<&[Hash]>) -> CallResult<String>;
    fn get(
        &self,
        object: &str,
        prop: PropRef<'_>,
        at: Option<&[Hash]>,
    ) -> CallResult<Option<(String, String)>>;
    fn get_all(&self, object: &str, prop: PropRef<'_>, at: Option<&[Hash]>) -> CallResult<Values>;
    /// The marks of a text, as texts.
    fn marks(&self, object: &str, at: Option<&[Hash]>) -> CallResult<Vec<String>>;
    /// The spans of a text, as texts.
    fn spans(&self, object: &str, at: Option<&[Hash]>) -> CallResult<Vec<String>>;
    /// The patches that lead from some heads to others. An error means that they must not be compared.
    fn diff(&mut self, before: &[Hash], after: &[Hash]) -> CallResult<Vec<PatchText>>;
    fn cursor(&self, object: &str, index: usize, before: bool, at: Option<&[Hash]>) -> CallResult<Pointer>;
    /// The position of a cursor. Both of its forms must be readable, with the same result.
    fn position(&self, object: &str, cursor: &Pointer, at: Option<&[Hash]>) -> CallResult<usize>;
}

/// A patch as text. Marks of inserted characters are not compared: for characters with unchanged marks the official crate repeats the
/// marks of the first one.
#[derive(Clone, Debug, PartialEq)]
pub enum PatchText {
    /// Characters were inserted into a text.
    Splice {
        /// The text object and its path.
        target: String,
        /// The position.
        index: usize,
        /// The characters.
        text: String,
    },
    /// The marks of characters changed.
    Marks(Vec<String>),
    /// Anything else.
    Other(String),
}

/// The patches with adjacent insertions merged into one, and the marks of all objects. If the marks of several successive texts change,
/// the official crate reports all changes for the first text.
pub fn merge_adjacent(patches: Vec<PatchText>, encoding: Encoding) -> (Vec<PatchText>, Vec<String>) {
    let width = |text: &str| match encoding {
        Encoding::Scalars | Encoding::Graphemes => text.chars().count(),
        Encoding::Utf8 => text.len(),
        Encoding::Utf16 => text.encode_utf16().count(),
    };
    let (mut merged, mut all_marks): (Vec<PatchText>, Vec<String>) = Default::default();
    for patch in patches {
        match (merged.last_mut(), &patch) {
            (
                Some(PatchText::Splice { target, index, text }),
                PatchText::Splice { target: next_target, index: next_index, text: next_text },
            ) if target == next_target && *index + width(text) == *next_index => {
                text.push_str(next_text);
            }
            (_, PatchText::Marks(marks)) => all_marks.extend_from_slice(marks),
            (Some(PatchText::Other(before)), PatchText::Other(patch))
                if is_conflict_after_increment(before, patch) => {}
            _ => merged.push(patch),
        }
    }
    all_marks.sort_unstable();
    (merged, all_marks)
}

/// Whether a patch reports a conflict of a counter right after its increment. The official crate reports only the increment.
fn is_conflict_after_increment(before: &str, patch: &str) -> bool {
    let conflict = patch.rsplit_once(" conflict ");
    conflict.is_some_and(|(target, prop)| before.starts_with(&format!("{target} increment {prop} ")))
}

/// Arguments of a new mark.
#[derive(Clone, Copy, Debug)]
pub struct MarkSpec<'a> {
    pub name: &'static str,
    pub value: &'a Scalar,
    pub start: usize,
    pub end: usize,
}

/// The text of a value that is an object: its kind. Its content follows under its id.
pub fn object_text(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "{map}",
        Kind::List => "{list}",
        Kind::Text => "{text}",
        Kind::Table => "{table}",
    }
}

/// Text of everything visible in a document: equal documents give equal texts.
///
/// `past` means that this is an earlier state, because of `at` or because the document is isolated.
pub fn visible_state<P: Peer>(peer: &P, at: Option<&[Hash]>, past: bool) -> String {
    let mut text = String::new();
    write_object(peer, "_root", Kind::Map, (at, past), &mut text);
    text
}

/// Whether the official crate may miscount the elements of a text at earlier heads: it counts an element once for each of several values
/// that are no text, but the text has one character for it.
pub fn is_miscounted<P: Peer>(peer: &P, text: &str, at: Option<&[Hash]>) -> bool {
    peer.text(text, at).is_ok_and(|text| text.contains('\u{fffc}'))
}

fn write_object<P: Peer>(
    peer: &P,
    object: &str,
    kind: Kind,
    (at, past): (Option<&[Hash]>, bool),
    out: &mut String,
) {
    use std::fmt::Write as _;
    let text = (kind == Kind::Text).then(|| peer.text(object, at));
    let hidden = past && kind == Kind::Text && is_miscounted(peer, object, at);
    let length = if hidden { 0 } else { peer.length(object, at) };
    writeln!(out, "{object} {} of {length}: {text:?}", object_text(kind))
        .expect("writing to a string does not fail");
    if kind == Kind::Text {
        writeln!(out, "  marks {:?}\n  spans {:?}", peer.marks(object, at), peer.spans(object, at))
            .expect("writing to a string does not fail");
    }
    let mut nested = Vec::new();
    let mut write_values = |name: &str, prop: PropRef<'_>| {
        let values = peer.get_all(object, prop, at);
        let winner = peer.get(object, prop, at);
        let is_winner_wrong = !matches!((&values, &winner), (Ok(all), Ok(one)) if all.last() == one.as_ref());
        write!(out, "  {name}:").expect("writing to a string does not fail");
        if is_winner_wrong {
            write!(out, " winner {winner:?} of {values:?}").expect("writing to a string does not fail");
        }
        for (value, id) in values.into_iter().flatten() {
            write!(out, " {value} by {id};").expect("writing to a string does not fail");
            let kind = [Kind::Map, Kind::List, Kind::Text, Kind::Table];
            nested.extend(kind.into_iter().find(|kind| object_text(*kind) == value).map(|kind| (id, kind)));
        }
        out.push('\n');
    };
    match kind {
        Kind::Map | Kind::Table => {
            for key in peer.keys(object, at) {
                write_values(&format!("{key:?}"), PropRef::Key(&key));
            }
        }
        Kind::List | Kind::Text => {
            (0..length).for_each(|index| write_values(&index.to_string(), PropRef::Index(index)));
        }
    }
    for (id, kind) in nested {
        write_object(peer, &id, kind, (at, past), out);
    }
}
