//! JSON Pointers (RFC 6901): paths into a document.

use std::fmt;
use std::str::FromStr;

use crate::interop::pointer_token::escape_token;
use crate::read::view::View;
use crate::types::error::EditError;
use crate::types::{ObjId, ObjType, Prop, ROOT, Value};

/// A JSON Pointer such as `/cards/0/title`; the empty one is the whole document. In a key, `~1` is a slash and `~0` a
/// tilde.
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

/// Error in a pointer, or in following it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointerError {
    /// The first character is not a slash.
    #[error("a pointer must be empty or start with a slash")]
    NoSlash,
    /// A tilde that is not followed by 0 or 1.
    #[error("byte {at}: a tilde must be followed by 0 (for ~) or 1 (for /)")]
    Tilde {
        /// Byte offset.
        at: usize,
    },
    /// The path leads to a place without a value.
    #[error("there is nothing at {0}")]
    Nothing(Pointer),
    /// The path leads through a value without contents.
    #[error("{at} is a {found}: there is nothing inside")]
    Scalar {
        /// Path of the value.
        at: Pointer,
        /// Its type.
        found: &'static str,
    },
    /// An invalid index: not a number, with leading zeros, or not in the list.
    #[error("{at} is a {found}: '{word}' is not a valid index{}", behind(*.len))]
    Index {
        /// Path of the list or text.
        at: Pointer,
        /// Its type.
        found: ObjType,
        /// The token in place of an index.
        word: String,
        /// Number of elements or units.
        len: usize,
    },
    /// The document could not be read.
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
                // In this order, so that `~01` becomes `~1`.
                None => Ok(token.replace("~1", "/").replace("~0", "~")),
            }
        };
        rest.split('/').map(token).collect::<Result<Vec<String>, _>>().map(Self)
    }
}

/// For messages: the empty pointer is spelled out.
impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() { f.write_str("the whole document") } else { f.write_str(&self.text()) }
    }
}

/// A place that can be written to.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteTarget {
    /// The object.
    pub obj: ObjId,
    /// Kind of the object.
    pub kind: ObjType,
    /// The key or index in it.
    pub prop: Prop<'static>,
    /// Does it have a value?
    pub taken: bool,
}

impl Pointer {
    /// The pointer in the syntax of RFC 6901.
    pub fn text(&self) -> String {
        self.0.iter().map(|token| format!("/{}", escape_token(token))).collect()
    }

    /// Does it point to the whole document?
    pub fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// Is `other` a prefix of it, or equal?
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    pub(super) fn tokens(&self) -> &[String] {
        &self.0
    }

    /// The value at the pointer.
    pub fn find<'a>(&self, view: &View<'a>) -> Result<(Value<'a>, ObjId), PointerError> {
        let mut at = (Value::Object(ObjType::Map), ROOT);
        for depth in 0..self.0.len() {
            let prop = self.step(view, depth, &at)?;
            at = view.get(&at.1, prop)?.ok_or_else(|| PointerError::Nothing(self.upto(depth + 1)))?;
        }
        Ok(at)
    }

    /// The place at the pointer, which may be free: a missing key, or the end of a list as its length or `-`. An error
    /// for the empty pointer.
    pub fn write_target(&self, view: &View<'_>) -> Result<WriteTarget, PointerError> {
        let last = self.0.len().checked_sub(1).ok_or_else(|| PointerError::Nothing(self.clone()))?;
        let parent = self.upto(last).find(view)?;
        let prop = self.step(view, last, &parent)?;
        let taken = view.get(&parent.1, prop.clone())?.is_some();
        match parent.0 {
            Value::Object(kind) => Ok(WriteTarget { obj: parent.1, kind, prop, taken }),
            Value::Scalar(_) => Err(PointerError::Nothing(self.clone())),
        }
    }

    fn upto(&self, depth: usize) -> Self {
        Self(self.0[..depth].to_vec())
    }

    /// The place of token `depth` in the object that the tokens before it lead to.
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
