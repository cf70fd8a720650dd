//! JSON Merge Patch between two views of a document.

use std::io;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::write::{Layout, string, write};
use super::{ScalarEncoding, TYPE};
use crate::interop::pointer_token::escape_token;
use crate::read::range_items::MapRangeItem;
use crate::read::view::View;
use crate::types::{ObjId, ObjType, ROOT, Value};

/// A value with its id, as returned by views.
type VisibleValue<'a> = (Value<'a>, ObjId);
type Members<'a> = Peekable<IntoIter<MapRangeItem<'a>>>;

/// Reason why no merge patch exists.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeDiffError {
    /// A new null: a patch uses null for deletion.
    #[error("{0} became null, which a merge patch cannot express: there null means deletion")]
    Null(String),
    /// A changed map with a key `__type`, in the tagged form, where that key marks an object that is not a map.
    #[error("{0} has a key __type, so a merge patch with tags cannot express its changes")]
    Type(String),
    /// The output could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// A map before and after, while it is written.
struct StackFrame<'a> {
    key: &'a str,
    old: Members<'a>,
    new: Members<'a>,
    /// Offsets in the output of the map's own member and of its first one.
    start: usize,
    first: usize,
    /// Was it not a map before? Then it is written even if it is empty.
    came: bool,
}

impl<'a> StackFrame<'a> {
    /// The next key, with the values before and after.
    fn member(&mut self) -> Option<(&'a str, Option<VisibleValue<'a>>, Option<VisibleValue<'a>>)> {
        let (old, new) = (self.old.peek().map(|item| item.key), self.new.peek().map(|item| item.key));
        let key = [old, new].into_iter().flatten().min()?;
        let take = |members: &mut Members<'a>| {
            members.next_if(|item| item.key == key).map(|item| (item.value, item.id))
        };
        Some((key, take(&mut self.old), take(&mut self.new)))
    }
}

/// The merge patch (RFC 7386) that turns `before` into `after`, two views of one document: changed members of maps, and
/// null for deleted ones. A changed list or text is written as a whole.
///
/// A patch uses null for deletion, so it cannot express that a map member became null: that is an error. Inside lists
/// null is a value.
pub fn merge_diff(
    before: &View<'_>,
    after: &View<'_>,
    form: ScalarEncoding,
) -> Result<String, MergeDiffError> {
    let mut out = b"{".to_vec();
    let (old, new) = (members(before, &ROOT), members(after, &ROOT));
    let mut levels = vec![StackFrame { key: "", old, new, start: 0, first: 1, came: true }];
    while let Some(level) = levels.last_mut() {
        let Some((key, old, new)) = level.member() else {
            if out.len() == level.first && !level.came {
                out.truncate(level.start);
            } else {
                out.push(b'}');
            }
            levels.pop();
            continue;
        };
        let start = out.len();
        if start > level.first {
            out.push(b',');
        }
        string(&mut out, key)?;
        out.push(b':');
        let Some(new) = new else {
            out.extend_from_slice(b"null");
            continue;
        };
        let was = old.as_ref().filter(|old| is_map(old));
        if is_map(&new) && !(has_type(before, was, form) || has_type(after, Some(&new), form)) {
            let old = was.map_or_else(|| vec![].into_iter().peekable(), |(_, id)| members(before, id));
            out.push(b'{');
            let (first, came) = (out.len(), was.is_none());
            levels.push(StackFrame { key, old, new: members(after, &new.1), start, first, came });
            continue;
        }
        let (both_maps, start_len) = (was.is_some() && is_map(&new), out.len());
        write(after, new, form, Layout::Compact, &mut out)?;
        if let Some(old) = old {
            let mut same = Vec::new();
            write(before, old, form, Layout::Compact, &mut same)?;
            if out[start_len..] == same[..] {
                out.truncate(start);
                continue;
            }
        }
        let pointer = || {
            let keys = levels.iter().skip(1).map(|level| level.key).chain([key]);
            keys.map(|key| format!("/{}", escape_token(key))).collect()
        };
        if both_maps {
            return Err(MergeDiffError::Type(pointer()));
        }
        if out[start_len..] == *b"null" {
            return Err(MergeDiffError::Null(pointer()));
        }
    }
    Ok(String::from_utf8(out).map_err(io::Error::other)?)
}

fn members<'a>(view: &View<'a>, id: &ObjId) -> Members<'a> {
    view.map_range(id, ..).peekable()
}

fn is_map(found: &VisibleValue<'_>) -> bool {
    matches!(found.0, Value::Object(ObjType::Map | ObjType::Table))
}

/// Would a reader of the patch take the map for a tagged value?
fn has_type(view: &View<'_>, map: Option<&VisibleValue<'_>>, form: ScalarEncoding) -> bool {
    form == ScalarEncoding::Tagged && map.is_some_and(|(_, id)| matches!(view.get(id, TYPE), Ok(Some(_))))
}
