//! Ways into a document: JSON Pointers, RFC 6901.

use std::fmt;
use std::str::FromStr;

use crate::error::EditError;
use crate::types::{ObjId, ObjType, Prop, ROOT, Value};
use crate::view::View;

/// A JSON Pointer: `/cards/0/title`; the empty one is the whole document. In a key, `~1` is a slash and `~0` a tilde.
///
/// ```
/// use hashmill_doc::json::Pointer;
///
/// let pointer: Pointer = "/cards/0/a~1b".parse()?;
/// assert_eq!(pointer.to_string(), "/cards/0/a~1b");
/// assert!("cards".parse::<Pointer>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Pointer(Vec<String>);

/// What is wrong with a pointer, or where it leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointerError {
    /// It starts with something else than a slash.
    #[error("a pointer is empty or starts with a slash")]
    NoSlash,
    /// A tilde with something else behind it than 0 or 1.
    #[error("byte {at}: a tilde is followed by 0 (for ~) or 1 (for /)")]
    Tilde {
        /// Byte offset.
        at: usize,
    },
    /// It leads to something, and on from there to nothing.
    #[error("there is nothing at {0}")]
    Nothing(Pointer),
    /// It leads through what has nothing inside.
    #[error("{at} is a {found}: there is nothing inside")]
    Scalar {
        /// The way to it.
        at: Pointer,
        /// What it is.
        found: &'static str,
    },
    /// An index that is none: not a number, with a zero in front, or not in the list.
    #[error("{at} is a {found}, where '{word}' is no place{}", behind(*.len))]
    Index {
        /// The way to the list or text.
        at: Pointer,
        /// What it is.
        found: ObjType,
        /// What should be an index.
        word: String,
        /// How many elements or units there are.
        len: usize,
    },
    /// The document does not answer.
    #[error(transparent)]
    Edit(#[from] EditError),
}

fn behind(len: usize) -> String {
    format!(" (it has {len})")
}

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let rest = text.strip_prefix('/').ok_or(PointerError::NoSlash)?;
        let mut at = 1;
        let token = |token: &str| {
            let start = at;
            at += token.len() + 1;
            let wrong = token
                .match_indices('~')
                .find(|(at, _)| !matches!(token.as_bytes().get(at + 1), Some(b'0' | b'1')));
            match wrong {
                Some((inside, _)) => Err(PointerError::Tilde { at: start + inside }),
                // In this order: `~01` is `~1`.
                None => Ok(token.replace("~1", "/").replace("~0", "~")),
            }
        };
        rest.split('/').map(token).collect::<Result<Vec<String>, _>>().map(Self)
    }
}

/// A key or an index as a pointer has it.
pub(super) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// For people: the empty pointer in words.
impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() { f.write_str("the whole document") } else { f.write_str(&self.text()) }
    }
}

/// A place that can be written to.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The object.
    pub obj: ObjId,
    /// What it is.
    pub kind: ObjType,
    /// The key or the index in it.
    pub prop: Prop<'static>,
    /// Whether something is there.
    pub taken: bool,
}

impl Pointer {
    /// As it is read.
    pub fn text(&self) -> String {
        self.0.iter().map(|token| format!("/{}", escape(token))).collect()
    }

    /// Whether it leads to the whole document.
    pub fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it leads through what the other one leads to, or there.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    pub(super) fn tokens(&self) -> &[String] {
        &self.0
    }

    /// What it leads to.
    pub fn find<'a>(&self, view: &View<'a>) -> Result<(Value<'a>, ObjId), PointerError> {
        let mut at = (Value::Object(ObjType::Map), ROOT);
        for depth in 0..self.0.len() {
            let prop = self.step(view, depth, &at)?;
            at = view.get(&at.1, prop)?.ok_or_else(|| PointerError::Nothing(self.upto(depth + 1)))?;
        }
        Ok(at)
    }

    /// The place it names, which may be free: a key that is not there, the end of a list as its length or `-`. The empty
    /// pointer names none.
    pub fn place(&self, view: &View<'_>) -> Result<Place, PointerError> {
        let last = self.0.len().checked_sub(1).ok_or_else(|| PointerError::Nothing(self.clone()))?;
        let parent = self.upto(last).find(view)?;
        let prop = self.step(view, last, &parent)?;
        let taken = view.get(&parent.1, prop.clone())?.is_some();
        match parent.0 {
            Value::Object(kind) => Ok(Place { obj: parent.1, kind, prop, taken }),
            Value::Scalar(_) => Err(PointerError::Nothing(self.clone())),
        }
    }

    fn upto(&self, depth: usize) -> Self {
        Self(self.0[..depth].to_vec())
    }

    /// The place that token `depth` names in what the ones before it lead to.
    fn step(
        &self,
        view: &View<'_>,
        depth: usize,
        (value, obj): &(Value<'_>, ObjId),
    ) -> Result<Prop<'static>, PointerError> {
        let word = &self.0[depth];
        let kind = match value {
            Value::Object(kind) => *kind,
            Value::Scalar(_) => {
                return Err(PointerError::Scalar { at: self.upto(depth), found: "single value" });
            }
        };
        if !kind.is_sequence() {
            return Ok(Prop::Map(word.clone().into()));
        }
        let len = view.length(obj);
        let canonical = word == "0" || !word.starts_with('0');
        let digits = canonical && word.bytes().all(|byte| byte.is_ascii_digit());
        let index = if word == "-" { Some(len) } else { word.parse().ok().filter(|_| digits) };
        match index.filter(|index| *index <= len) {
            Some(index) => Ok(Prop::Seq(index)),
            None => Err(PointerError::Index { at: self.upto(depth), found: kind, word: word.clone(), len }),
        }
    }
}
