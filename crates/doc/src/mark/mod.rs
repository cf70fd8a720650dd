//! Rich text: marks on ranges of a text, and blocks between its characters.
//!
//! A mark is two boundaries among the elements of a text. The marks at a position follow from the boundaries before it:
//! of several marks with one name the newest wins, and a mark without a value removes it. A block is a map that is one
//! element of a text.

pub(crate) mod active;
mod edit;
mod read;
mod update;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::store::state::PLACEHOLDER;
use crate::types::ScalarValue;
use crate::types::literal::Entries;

pub use read::Spans;
pub use update::UpdateSpansConfig;

/// A marked range of a text. Indexes count units of the document's encoding.
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
    /// First unit.
    pub start: usize,
    /// Unit after the last one.
    pub end: usize,
    /// Name of the mark, such as `bold` or `link`.
    pub name: Cow<'a, str>,
    /// Value of the mark. Null is written to remove marks of this name, and is never read.
    pub value: ScalarValue<'a>,
}

impl<'a> Mark<'a> {
    /// A mark named `name` from unit `start` to before unit `end`.
    pub fn new(
        name: impl Into<Cow<'a, str>>,
        value: impl Into<ScalarValue<'a>>,
        start: usize,
        end: usize,
    ) -> Self {
        Self { start, end, name: name.into(), value: value.into() }
    }

    /// This mark with owned name and value.
    pub fn into_owned(self) -> Mark<'static> {
        let Self { start, end, name, value } = self;
        Mark { start, end, name: Cow::Owned(name.into_owned()), value: value.into_owned() }
    }
}

/// Does text typed at the edges of a mark belong to it?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ExpandMark {
    /// At the start only.
    Before,
    /// At the end only, as for bold.
    #[default]
    After,
    /// At both edges.
    Both,
    /// At neither edge, as for links.
    None,
}

impl ExpandMark {
    /// Does text typed directly before the mark belong to it?
    pub fn before(self) -> bool {
        matches!(self, Self::Before | Self::Both)
    }

    /// Does text typed directly after the mark belong to it?
    pub fn after(self) -> bool {
        matches!(self, Self::After | Self::Both)
    }
}

/// Marks at a position: values by name, in the order of the names' bytes.
#[derive(Clone, Debug, Default)]
pub struct MarkSet<'a>(SmallMarkSet<'a>);

/// Most positions have at most one mark.
#[derive(Clone, Debug, Default)]
enum SmallMarkSet<'a> {
    #[default]
    Nothing,
    One((Cow<'a, str>, ScalarValue<'a>)),
    Many(Vec<(Cow<'a, str>, ScalarValue<'a>)>),
}

impl<'a> MarkSet<'a> {
    fn one(mark: (Cow<'a, str>, ScalarValue<'a>)) -> Self {
        Self(SmallMarkSet::One(mark))
    }

    /// From marks with different names.
    fn sorted(mut marks: Vec<(Cow<'a, str>, ScalarValue<'a>)>) -> Self {
        marks.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self(SmallMarkSet::Many(marks))
    }

    fn as_slice(&self) -> &[(Cow<'a, str>, ScalarValue<'a>)] {
        match &self.0 {
            SmallMarkSet::Nothing => &[],
            SmallMarkSet::One(mark) => std::slice::from_ref(mark),
            SmallMarkSet::Many(marks) => marks,
        }
    }

    /// All marks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &ScalarValue<'a>)> {
        self.as_slice().iter().map(|(name, value)| (&**name, value))
    }

    /// Value of the mark with this name, if it is set.
    pub fn get(&self, name: &str) -> Option<&ScalarValue<'a>> {
        let marks = self.as_slice();
        let at = marks.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        Some(&marks[at].1)
    }

    /// Number of marks.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Are there no marks?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// These marks with owned names and values.
    pub fn into_owned(self) -> MarkSet<'static> {
        let owned = |(name, value): (Cow<'a, str>, ScalarValue<'a>)| {
            (Cow::Owned(name.into_owned()), value.into_owned())
        };
        MarkSet(match self.0 {
            SmallMarkSet::Nothing => SmallMarkSet::Nothing,
            SmallMarkSet::One(mark) => SmallMarkSet::One(owned(mark)),
            SmallMarkSet::Many(marks) => SmallMarkSet::Many(marks.into_iter().map(owned).collect()),
        })
    }
}

impl PartialEq for MarkSet<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

/// The last value of each name is used; null means no mark.
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
    /// Text with equal marks. Values that are neither text nor a block appear as U+FFFC.
    Text {
        /// The text, never empty when read.
        text: Cow<'a, str>,
        /// The marks on all of it.
        marks: MarkSet<'a>,
    },
    /// A block with its contents.
    Block(Entries),
}

impl<'a> Span<'a> {
    /// Text with marks.
    pub fn marked(text: impl Into<Cow<'a, str>>, marks: impl Into<MarkSet<'a>>) -> Self {
        Self::Text { text: text.into(), marks: marks.into() }
    }

    /// The text; for a block its placeholder character.
    pub fn as_str(&self) -> &str {
        match self {
            Span::Text { text, .. } => text,
            Span::Block(_) => PLACEHOLDER,
        }
    }

    /// This span with owned contents.
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
