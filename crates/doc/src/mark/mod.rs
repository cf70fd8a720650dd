//! Rich text: marks on ranges of a text, and blocks between its characters.
//!
//! A mark is two boundaries among the elements of a text. What holds at a place follows from the boundaries before it:
//! of several marks with one name the youngest wins, and a mark without a value is none. A block is a map that stands in
//! a text as one element.

pub(crate) mod active;
mod edit;
mod read;
mod update;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::literal::Entries;
use crate::store::state::PLACEHOLDER;
use crate::types::ScalarValue;

pub use read::Spans;
pub use update::UpdateSpansConfig;

/// A range of a text that is marked. Indexes count units of the document's encoding.
///
/// ```
/// use hashmill_doc::{AutoCommit, ExpandMark, Mark, ObjType, ReadDoc, Transactable, ROOT};
///
/// let mut doc = AutoCommit::new();
/// let text = doc.put_object(ROOT, "text", ObjType::Text)?;
/// doc.splice_text(&text, 0, 0, "Hello you")?;
/// doc.mark(&text, Mark::new("bold", true, 0, 5), ExpandMark::After)?;
/// assert_eq!(doc.marks(&text)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mark<'a> {
    /// The first unit.
    pub start: usize,
    /// Behind the last unit.
    pub end: usize,
    /// What is said of the range, as `bold` or `link`.
    pub name: Cow<'a, str>,
    /// How. Null is written to take marks of this name off, and never read.
    pub value: ScalarValue<'a>,
}

impl<'a> Mark<'a> {
    /// A mark called `name` from unit `start` to before unit `end`.
    pub fn new(
        name: impl Into<Cow<'a, str>>,
        value: impl Into<ScalarValue<'a>>,
        start: usize,
        end: usize,
    ) -> Self {
        Self { start, end, name: name.into(), value: value.into() }
    }

    /// The same, owning its name and value.
    pub fn into_owned(self) -> Mark<'static> {
        let Self { start, end, name, value } = self;
        Mark { start, end, name: Cow::Owned(name.into_owned()), value: value.into_owned() }
    }
}

/// Whether what is typed at the edge of a mark belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ExpandMark {
    /// At the start.
    Before,
    /// At the end, as for bold.
    #[default]
    After,
    /// At both.
    Both,
    /// At neither, as for links.
    None,
}

impl ExpandMark {
    /// Whether what is typed right before the mark belongs to it.
    pub fn before(self) -> bool {
        matches!(self, Self::Before | Self::Both)
    }

    /// Whether what is typed right behind the mark belongs to it.
    pub fn after(self) -> bool {
        matches!(self, Self::After | Self::Both)
    }
}

/// The marks that hold at a place: values by names, in the order of the names' bytes.
#[derive(Clone, Debug, Default)]
pub struct MarkSet<'a>(Held<'a>);

/// Most places have no mark or one.
#[derive(Clone, Debug, Default)]
enum Held<'a> {
    #[default]
    Nothing,
    One((Cow<'a, str>, ScalarValue<'a>)),
    Many(Vec<(Cow<'a, str>, ScalarValue<'a>)>),
}

impl<'a> MarkSet<'a> {
    fn one(mark: (Cow<'a, str>, ScalarValue<'a>)) -> Self {
        Self(Held::One(mark))
    }

    /// Of marks with different names.
    fn sorted(mut marks: Vec<(Cow<'a, str>, ScalarValue<'a>)>) -> Self {
        marks.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self(Held::Many(marks))
    }

    fn as_slice(&self) -> &[(Cow<'a, str>, ScalarValue<'a>)] {
        match &self.0 {
            Held::Nothing => &[],
            Held::One(mark) => std::slice::from_ref(mark),
            Held::Many(marks) => marks,
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &ScalarValue<'a>)> {
        self.as_slice().iter().map(|(name, value)| (&**name, value))
    }

    /// The value of the mark of a name, if one holds.
    pub fn get(&self, name: &str) -> Option<&ScalarValue<'a>> {
        let marks = self.as_slice();
        let at = marks.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        Some(&marks[at].1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same, owning its names and values.
    pub fn into_owned(self) -> MarkSet<'static> {
        let owned = |(name, value): (Cow<'a, str>, ScalarValue<'a>)| {
            (Cow::Owned(name.into_owned()), value.into_owned())
        };
        MarkSet(match self.0 {
            Held::Nothing => Held::Nothing,
            Held::One(mark) => Held::One(owned(mark)),
            Held::Many(marks) => Held::Many(marks.into_iter().map(owned).collect()),
        })
    }
}

impl PartialEq for MarkSet<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

/// The last value of a name counts; null is no mark.
impl<'a, N: Into<Cow<'a, str>>, V: Into<ScalarValue<'a>>> FromIterator<(N, V)> for MarkSet<'a> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(marks: I) -> Self {
        let mut set: BTreeMap<Cow<'a, str>, ScalarValue<'a>> =
            marks.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        set.retain(|_, value| *value != ScalarValue::Null);
        Self::sorted(set.into_iter().collect())
    }
}

impl<'a, N: Into<Cow<'a, str>>, V: Into<ScalarValue<'a>>, const M: usize> From<[(N, V); M]> for MarkSet<'a> {
    fn from(marks: [(N, V); M]) -> Self {
        marks.into_iter().collect()
    }
}

/// A part of a rich text.
#[derive(Clone, Debug, PartialEq)]
pub enum Span<'a> {
    /// Text under the same marks. What is neither text nor a block appears as U+FFFC.
    Text {
        /// The text, which is never empty when read.
        text: Cow<'a, str>,
        /// What holds for all of it.
        marks: MarkSet<'a>,
    },
    /// A block, with everything inside it.
    Block(Entries),
}

impl<'a> Span<'a> {
    /// Text with marks.
    pub fn marked(text: impl Into<Cow<'a, str>>, marks: impl Into<MarkSet<'a>>) -> Self {
        Self::Text { text: text.into(), marks: marks.into() }
    }

    /// The text; of a block the character that stands for it.
    pub fn as_str(&self) -> &str {
        match self {
            Span::Text { text, .. } => text,
            Span::Block(_) => PLACEHOLDER,
        }
    }

    /// The same, owning what it holds.
    pub fn into_owned(self) -> Span<'static> {
        match self {
            Self::Text { text, marks } => {
                Span::Text { text: Cow::Owned(text.into_owned()), marks: marks.into_owned() }
            }
            Self::Block(entries) => Span::Block(entries),
        }
    }
}

/// Text without marks.
impl<'a> From<&'a str> for Span<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text { text: text.into(), marks: MarkSet::default() }
    }
}

impl From<Entries> for Span<'_> {
    fn from(entries: Entries) -> Self {
        Self::Block(entries)
    }
}
