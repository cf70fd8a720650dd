//! Flat JSON form of documents: one object with the path and value of each scalar.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::vec::IntoIter;

use serde_json::{Map, Value as Json};

use super::pointer::{Pointer, PointerError};
use super::read::{ReadError, literal};
use super::write::{Layout, string, write};
use super::{ScalarEncoding, TYPE};
use crate::interop::pointer_token::escape_token;
use crate::read::view::View;
use crate::types::literal::Literal;
use crate::types::{ObjId, ObjType, ROOT, Value};

/// Maximum depth, as of other JSON input.
const DEEPEST: usize = 128;

/// An object that is being written.
struct StackFrame<'a> {
    members: IntoIter<(String, Value<'a>, ObjId)>,
    /// Length of the path to it.
    path_len: usize,
}

/// Writes the contents of a document as one object with one member per line: JSON Pointers (RFC 6901) and their values.
///
/// Maps and lists follow from the pointers. An empty one is written itself; a map whose keys could be list indexes is
/// written, too, as `{}`. With tags, a map with a key `__type` is one value. Costs the length of the path for each
/// value.
pub fn flatten(view: &View<'_>, form: ScalarEncoding, mut out: impl Write) -> io::Result<()> {
    let mut levels = vec![StackFrame { members: members(view, ObjType::Map, &ROOT), path_len: 0 }];
    let (mut pointer, mut begin) = (String::new(), "{\n");
    while let Some(level) = levels.last_mut() {
        pointer.truncate(level.path_len);
        let Some((token, value, id)) = level.members.next() else {
            levels.pop();
            continue;
        };
        pointer.push('/');
        pointer.push_str(&escape_token(&token));
        let mut inside = None;
        let mut shown = None;
        if let Value::Object(kind @ (ObjType::Map | ObjType::Table | ObjType::List)) = value {
            let there = members(view, kind, &id);
            let is_value =
                form == ScalarEncoding::Tagged && there.as_slice().iter().any(|(key, ..)| key == TYPE);
            if there.len() > 0 && !is_value {
                shown = (kind != ObjType::List && like_indexes(there.as_slice().iter().map(|(key, ..)| key)))
                    .then_some("{}");
                inside = Some(there);
            }
        }
        if inside.is_none() || shown.is_some() {
            out.write_all(std::mem::replace(&mut begin, ",\n").as_bytes())?;
            string(&mut out, &pointer)?;
            out.write_all(b":")?;
            match shown {
                Some(shown) => out.write_all(shown.as_bytes())?,
                None => write(view, (value, id), form, Layout::Compact, &mut out)?,
            }
        }
        if let Some(members) = inside {
            levels.push(StackFrame { members, path_len: pointer.len() });
        }
    }
    out.write_all(if begin == "{\n" { b"{}" } else { b"\n}" })
}

/// The keys or indexes of an object, and the values there.
fn members<'a>(view: &View<'a>, kind: ObjType, id: &ObjId) -> IntoIter<(String, Value<'a>, ObjId)> {
    let all: Vec<_> = if kind == ObjType::List {
        view.list_range(id, ..).map(|item| (item.index.to_string(), item.value, item.id)).collect()
    } else {
        view.map_range(id, ..).map(|item| (item.key.to_owned(), item.value, item.id)).collect()
    };
    all.into_iter()
}

/// Could these distinct keys be the indexes of a list?
fn like_indexes<'k>(mut keys: impl ExactSizeIterator<Item = &'k String>) -> bool {
    let len = keys.len();
    keys.all(|key| {
        let index = key.parse::<usize>().ok().filter(|index| *index < len);
        index.is_some_and(|index| index.to_string() == *key)
    })
}

/// Reason why a flat object is not a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnflattenError {
    /// Not valid JSON, or a value that a document cannot hold.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Not an object.
    #[error("a flat document must be an object of JSON Pointers and values")]
    Flat,
    /// A key is not a JSON Pointer.
    #[error("{key:?}: {reason}")]
    Pointer {
        /// The key.
        key: String,
        /// The error in the pointer.
        reason: PointerError,
    },
    /// A pointer with more than 128 tokens.
    #[error("{0:.40}… has more than 128 levels")]
    Deep(String),
    /// One pointer leads to a scalar or empty value, and another one into it.
    #[error("{0} has a value, and other pointers lead inside it")]
    Both(String),
    /// The root is not a map.
    #[error("a document is a map")]
    Root,
}

/// Contents of a place: a value, or children.
#[derive(Default)]
struct Node {
    value: Option<Literal>,
    /// Is it marked as a map?
    is_map: bool,
    inside: BTreeMap<String, Node>,
}

/// Parses the output of [`flatten`]. Keys that are the indexes from 0 on make a list, unless there is a `{}` for the
/// object itself.
pub fn unflatten(json: &[u8], form: ScalarEncoding) -> Result<Literal, UnflattenError> {
    let json = serde_json::from_slice(json).map_err(ReadError::from)?;
    let Json::Object(flat): Json = json else { return Err(UnflattenError::Flat) };
    let mut root = Node::default();
    let is_empty_map = |value: &Json| value.as_object().is_some_and(Map::is_empty);
    for (key, value) in flat {
        let pointer: Pointer = match key.parse() {
            Ok(pointer) => pointer,
            Err(reason) => return Err(UnflattenError::Pointer { key, reason }),
        };
        if pointer.tokens().len() > DEEPEST {
            return Err(UnflattenError::Deep(key));
        }
        let mut at = &mut root;
        for token in pointer.tokens() {
            at = at.inside.entry(token.clone()).or_default();
        }
        if is_empty_map(&value) {
            at.is_map = true;
        } else {
            at.value = Some(literal(value, form)?);
        }
    }
    if root.value.is_some() {
        return Err(UnflattenError::Root);
    }
    root.is_map = true;
    root.literal(&mut String::new())
}

impl Node {
    /// The number of tokens was checked.
    fn literal(self, path: &mut String) -> Result<Literal, UnflattenError> {
        if let Some(value) = self.value {
            return if self.inside.is_empty() { Ok(value) } else { Err(UnflattenError::Both(path.clone())) };
        }
        let is_list = !self.is_map && like_indexes(self.inside.keys());
        let length = path.len();
        let mut inside = Vec::with_capacity(self.inside.len());
        for (key, node) in self.inside {
            path.push('/');
            path.push_str(&escape_token(&key));
            inside.push((key, node.literal(path)?));
            path.truncate(length);
        }
        if !is_list {
            return Ok(Literal::Map(inside.into_iter().collect()));
        }
        inside.sort_by_key(|(key, _)| key.len());
        Ok(Literal::List(inside.into_iter().map(|(_, value)| value).collect()))
    }
}
