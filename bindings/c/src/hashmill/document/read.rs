//! Reading a document.
#![expect(unsafe_code, reason = "names that a linker finds")]

use crate::hashmill::document::doc::{hm_doc, view};
use crate::hashmill::document::values::{
    FoundValue, ValuePos, hm_items, hm_kind, hm_obj_id, hm_path, kind_of, object,
};
use crate::hashmill::error::{HM_WRONG_TYPE, hm_error};
use crate::hashmill::pointers::{call, hm_bytes, hm_hashes, hm_span, slot};
use core::mem::MaybeUninit;
use core::ops::Bound;
use hashmill_doc::{ListRangeItem, MapRangeItem, ObjId, View};

/// The object, if its kind has keys, or indexes.
fn check(view: &View<'_>, obj: &ObjId, is_sequence: bool) -> Result<(), hm_error> {
    let kind = view.object_type(obj)?;
    if kind.is_sequence() == is_sequence {
        return Ok(());
    }
    Err(hm_error::new(HM_WRONG_TYPE, format!("a {kind} cannot do that")))
}

fn in_map(item: MapRangeItem<'_>) -> FoundValue<'_> {
    FoundValue { at: ValuePos::Key(item.key), value: item.value, id: item.id, conflict: item.conflict }
}

fn in_list(item: ListRangeItem<'_>) -> FoundValue<'_> {
    FoundValue { at: ValuePos::Index(item.index), value: item.value, id: item.id, conflict: item.conflict }
}

/// The value at a key of a map, as a list with one entry or none. `heads` selects a point of the history, and NULL the current
/// state, in all functions. `conflict` is not set here; use `hm_map_get_all`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_map_get(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    key: hm_span,
    heads: Option<&hm_hashes>,
    items: Option<&mut MaybeUninit<Option<Box<hm_items>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, key) = (slot(items, None, "items")?, key.text("key")?);
        let view = view(doc, heads)?;
        check(&view, object(obj), false)?;
        let found = view.get(object(obj), key)?;
        let found =
            found.map(|(value, id)| FoundValue { at: ValuePos::Key(key), value, id, conflict: false });
        *out = Some(hm_items::new(found));
        Ok(())
    })
}

/// All visible values at a key of a map, several after a conflict: the last one wins.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_map_get_all(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    key: hm_span,
    heads: Option<&hm_hashes>,
    items: Option<&mut MaybeUninit<Option<Box<hm_items>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, key) = (slot(items, None, "items")?, key.text("key")?);
        let view = view(doc, heads)?;
        check(&view, object(obj), false)?;
        let found = view.get_all(object(obj), key)?;
        let conflict = found.len() > 1;
        let found = found.into_iter();
        let found = found.map(|(value, id)| FoundValue { at: ValuePos::Key(key), value, id, conflict });
        *out = Some(hm_items::new(found));
        Ok(())
    })
}

/// The keys of a map from `begin` on and before `end` with their values, in the order of the keys' bytes. An empty `end` means no
/// upper bound.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_map_range(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    begin: hm_span,
    end: hm_span,
    heads: Option<&hm_hashes>,
    items: Option<&mut MaybeUninit<Option<Box<hm_items>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, begin, end) = (slot(items, None, "items")?, begin.text("begin")?, end.text("end")?);
        let view = view(doc, heads)?;
        check(&view, object(obj), false)?;
        let end_bound = if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(end) };
        let found = if !end.is_empty() && end <= begin {
            Vec::new()
        } else {
            view.map_range(object(obj), (Bound::Included(begin), end_bound)).collect()
        };
        *out = Some(hm_items::new(found.into_iter().map(in_map)));
        Ok(())
    })
}

/// The value at an index of a list, as a list with one entry, or none past the end.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_list_get(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    heads: Option<&hm_hashes>,
    items: Option<&mut MaybeUninit<Option<Box<hm_items>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(items, None, "items")?;
        let view = view(doc, heads)?;
        check(&view, object(obj), true)?;
        let found = view.get(object(obj), index)?;
        let found =
            found.map(|(value, id)| FoundValue { at: ValuePos::Index(index), value, id, conflict: false });
        *out = Some(hm_items::new(found));
        Ok(())
    })
}

/// All visible values at an index of a list, several after a conflict: the last one wins.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_list_get_all(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    heads: Option<&hm_hashes>,
    items: Option<&mut MaybeUninit<Option<Box<hm_items>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(items, None, "items")?;
        let view = view(doc, heads)?;
        check(&view, object(obj), true)?;
        let found = view.get_all(object(obj), index)?;
        let conflict = found.len() > 1;
        let found = found.into_iter();
        let found = found.map(|(value, id)| FoundValue { at: ValuePos::Index(index), value, id, conflict });
        *out = Some(hm_items::new(found));
        Ok(())
    })
}

/// The elements of a list from index `begin` on and before index `end` with their values. An `end` past the end means the end.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_list_range(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    begin: usize,
    end: usize,
    heads: Option<&hm_hashes>,
    items: Option<&mut MaybeUninit<Option<Box<hm_items>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(items, None, "items")?;
        let view = view(doc, heads)?;
        check(&view, object(obj), true)?;
        *out = Some(hm_items::new(view.list_range(object(obj), begin..end.max(begin)).map(in_list)));
        Ok(())
    })
}

/// The number of keys of a map, elements of a list, units of a text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_size(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    heads: Option<&hm_hashes>,
    size: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(size, 0, "size")?;
        let view = view(doc, heads)?;
        view.object_type(object(obj))?;
        *out = view.length(object(obj));
        Ok(())
    })
}

/// The kind of an object.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_kind(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    kind: Option<&mut MaybeUninit<hm_kind>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(kind, 0, "kind")?;
        *out = kind_of(view(doc, None)?.object_type(object(obj))?);
        Ok(())
    })
}

/// The path from the root to an object: empty for the root, and for an object that is no longer reachable.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_obj_path(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    heads: Option<&hm_hashes>,
    path: Option<&mut MaybeUninit<Option<Box<hm_path>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(path, None, "path")?;
        let path_of_obj = view(doc, heads)?.path(object(obj))?;
        *out = Some(hm_path::new(path_of_obj.iter().map(|(obj, prop)| (obj, prop))));
        Ok(())
    })
}

/// A text. Its elements that are not text appear as U+FFFC.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_text(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    heads: Option<&hm_hashes>,
    text: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(text, None, "text")?;
        *out = Some(hm_bytes::new(view(doc, heads)?.text(object(obj))?));
        Ok(())
    })
}
