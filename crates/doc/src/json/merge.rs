//! What became of a document between two moments, as a JSON Merge Patch.

use std::io;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::pointer::escape;
use super::write::{Layout, string, write};
use super::{Form, TYPE};
use crate::items::MapRangeItem;
use crate::types::{ObjId, ObjType, ROOT, Value};
use crate::view::View;

/// A value with its id, as views give it.
type Found<'a> = (Value<'a>, ObjId);
type Members<'a> = Peekable<IntoIter<MapRangeItem<'a>>>;

/// Why there is no such patch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeDiffError {
    /// A null that came, where a patch says null of what goes.
    #[error("{0} became null, and a merge patch cannot say so: there null is what goes")]
    Null(String),
    /// A map with a key `__type` that changed, in the tagged form, where that key says that an object is no map.
    #[error("{0} has a key __type, and a merge patch with tags cannot say what changed in it")]
    Type(String),
    /// What was written could not be.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// A map, before and after, that is being told.
struct Level<'a> {
    key: &'a str,
    old: Members<'a>,
    new: Members<'a>,
    /// Where the member that this map is, and where its first one, was written.
    start: usize,
    first: usize,
    /// It was no map before, so that it is to be told even if there is nothing in it.
    came: bool,
}

impl<'a> Level<'a> {
    /// The next key, with what was there before and what is there after.
    fn member(&mut self) -> Option<(&'a str, Option<Found<'a>>, Option<Found<'a>>)> {
        let (old, new) = (self.old.peek().map(|item| item.key), self.new.peek().map(|item| item.key));
        let key = [old, new].into_iter().flatten().min()?;
        let take = |members: &mut Members<'a>| {
            members.next_if(|item| item.key == key).map(|item| (item.value, item.id))
        };
        Some((key, take(&mut self.old), take(&mut self.new)))
    }
}

/// The merge patch (RFC 7386) that makes `after` of `before`, both views of one document: the members of maps that are other
/// than before, and null for those that went. A list or a text that changed is told as a whole.
///
/// Such a patch says null of what goes, so it cannot say that a null came to a map: that is an error. In lists null is itself.
pub fn merge_diff(before: &View<'_>, after: &View<'_>, form: Form) -> Result<String, MergeDiffError> {
    let mut out = b"{".to_vec();
    let (old, new) = (members(before, &ROOT), members(after, &ROOT));
    let mut levels = vec![Level { key: "", old, new, start: 0, first: 1, came: true }];
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
            levels.push(Level { key, old, new: members(after, &new.1), start, first, came });
            continue;
        }
        let (both_maps, said) = (was.is_some() && is_map(&new), out.len());
        write(after, new, form, Layout::Compact, &mut out)?;
        if let Some(old) = old {
            let mut same = Vec::new();
            write(before, old, form, Layout::Compact, &mut same)?;
            if out[said..] == same[..] {
                out.truncate(start);
                continue;
            }
        }
        let pointer = || {
            let keys = levels.iter().skip(1).map(|level| level.key).chain([key]);
            keys.map(|key| format!("/{}", escape(key))).collect()
        };
        if both_maps {
            return Err(MergeDiffError::Type(pointer()));
        }
        if out[said..] == *b"null" {
            return Err(MergeDiffError::Null(pointer()));
        }
    }
    Ok(String::from_utf8(out).map_err(io::Error::other)?)
}

fn members<'a>(view: &View<'a>, id: &ObjId) -> Members<'a> {
    view.map_range(id, ..).peekable()
}

fn is_map(found: &Found<'_>) -> bool {
    matches!(found.0, Value::Object(ObjType::Map | ObjType::Table))
}

/// Whether a map would be taken for something else by whoever reads the patch.
fn has_type(view: &View<'_>, map: Option<&Found<'_>>, form: Form) -> bool {
    form == Form::Tagged && map.is_some_and(|(_, id)| matches!(view.get(id, TYPE), Ok(Some(_))))
}
