//! Documents as one flat JSON object: the way to each single value, and the value.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::vec::IntoIter;

use serde_json::{Map, Value as Json};

use super::pointer::{Pointer, PointerError, escape};
use super::read::{ReadError, literal};
use super::write::{Layout, string, write};
use super::{Form, TYPE};
use crate::literal::Literal;
use crate::types::{ObjId, ObjType, ROOT, Value};
use crate::view::View;

/// As deep as other JSON may be.
const DEEPEST: usize = 128;

/// An object that is being told.
struct Level<'a> {
    members: IntoIter<(String, Value<'a>, ObjId)>,
    /// How long the way to it is.
    way: usize,
}

/// Writes what is in a document as one object, a member a line: JSON Pointers (RFC 6901) and the values they lead to.
///
/// Maps and lists are what the pointers say; where there is nothing in one, it is there itself, and so is a map whose keys
/// could be taken for the indexes of a list, as `{}`. With tags a map with a key `__type` is one value. Costs the
/// length of the way for each value.
pub fn flatten(view: &View<'_>, form: Form, mut out: impl Write) -> io::Result<()> {
    let mut levels = vec![Level { members: members(view, ObjType::Map, &ROOT), way: 0 }];
    let (mut way, mut begin) = (String::new(), "{\n");
    while let Some(level) = levels.last_mut() {
        way.truncate(level.way);
        let Some((token, value, id)) = level.members.next() else {
            levels.pop();
            continue;
        };
        way.push('/');
        way.push_str(&escape(&token));
        let mut inside = None;
        let mut shown = None;
        if let Value::Object(kind @ (ObjType::Map | ObjType::Table | ObjType::List)) = value {
            let there = members(view, kind, &id);
            let is_value = form == Form::Tagged && there.as_slice().iter().any(|(key, ..)| key == TYPE);
            if there.len() > 0 && !is_value {
                shown = (kind != ObjType::List && like_indexes(there.as_slice().iter().map(|(key, ..)| key)))
                    .then_some("{}");
                inside = Some(there);
            }
        }
        if inside.is_none() || shown.is_some() {
            out.write_all(std::mem::replace(&mut begin, ",\n").as_bytes())?;
            string(&mut out, &way)?;
            out.write_all(b":")?;
            match shown {
                Some(shown) => out.write_all(shown.as_bytes())?,
                None => write(view, (value, id), form, Layout::Compact, &mut out)?,
            }
        }
        if let Some(members) = inside {
            levels.push(Level { members, way: way.len() });
        }
    }
    out.write_all(if begin == "{\n" { b"{}" } else { b"\n}" })
}

/// The keys or indexes of an object and what is there.
fn members<'a>(view: &View<'a>, kind: ObjType, id: &ObjId) -> IntoIter<(String, Value<'a>, ObjId)> {
    let all: Vec<_> = if kind == ObjType::List {
        view.list_range(id, ..).map(|item| (item.index.to_string(), item.value, item.id)).collect()
    } else {
        view.map_range(id, ..).map(|item| (item.key.to_owned(), item.value, item.id)).collect()
    };
    all.into_iter()
}

/// Whether these keys, each there once, could be the indexes of a list.
fn like_indexes<'k>(mut keys: impl ExactSizeIterator<Item = &'k String>) -> bool {
    let len = keys.len();
    keys.all(|key| {
        let index = key.parse::<usize>().ok().filter(|index| *index < len);
        index.is_some_and(|index| index.to_string() == *key)
    })
}

/// Why a flat object is no document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnflattenError {
    /// It is no JSON, or holds a value that a document cannot.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is something else than an object.
    #[error("a flat document is an object of pointers and values")]
    Flat,
    /// A key of it is no pointer.
    #[error("{key:?}: {why}")]
    Pointer {
        /// The key.
        key: String,
        /// What is wrong with it.
        why: PointerError,
    },
    /// A pointer with more than 128 keys and indexes.
    #[error("{0:.40}… has more than 128 levels")]
    Deep(String),
    /// One pointer leads to a value that has nothing inside, and another one into it.
    #[error("{0} is a value of its own, and others lie inside it")]
    Both(String),
    /// The whole document would be something else than a map.
    #[error("a document is a map")]
    Root,
}

/// What lies at a place: a value, or others.
#[derive(Default)]
struct Node {
    value: Option<Literal>,
    /// It says itself that it is a map.
    is_map: bool,
    inside: BTreeMap<String, Node>,
}

/// Reads what [`flatten`] writes. Keys that are the indexes from 0 on make a list, unless `{}` stands where it would be.
pub fn unflatten(json: &[u8], form: Form) -> Result<Literal, UnflattenError> {
    let json = serde_json::from_slice(json).map_err(ReadError::from)?;
    let Json::Object(flat): Json = json else { return Err(UnflattenError::Flat) };
    let mut root = Node::default();
    let is_empty_map = |value: &Json| value.as_object().is_some_and(Map::is_empty);
    for (key, value) in flat {
        let pointer: Pointer = match key.parse() {
            Ok(pointer) => pointer,
            Err(why) => return Err(UnflattenError::Pointer { key, why }),
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
    /// No pointer has too many levels.
    fn literal(self, way: &mut String) -> Result<Literal, UnflattenError> {
        if let Some(value) = self.value {
            return if self.inside.is_empty() { Ok(value) } else { Err(UnflattenError::Both(way.clone())) };
        }
        let is_list = !self.is_map && like_indexes(self.inside.keys());
        let length = way.len();
        let mut inside = Vec::with_capacity(self.inside.len());
        for (key, node) in self.inside {
            way.push('/');
            way.push_str(&escape(&key));
            inside.push((key, node.literal(way)?));
            way.truncate(length);
        }
        if !is_list {
            return Ok(Literal::Map(inside.into_iter().collect()));
        }
        inside.sort_by_key(|(key, _)| key.len());
        Ok(Literal::List(inside.into_iter().map(|(_, value)| value).collect()))
    }
}
