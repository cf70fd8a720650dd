//! Writing in a document.
#![expect(unsafe_code, reason = "names that a linker finds")]

use crate::hashmill::document::doc::{edit, hm_doc};
use crate::hashmill::document::values::{hm_kind, hm_obj_id, hm_value, hm_values, object, object_kind};
use crate::hashmill::error::hm_error;
use crate::hashmill::pointers::{call, hm_span};
use core::mem::MaybeUninit;
use hashmill_doc::{Literal, ObjId, Prop, Transactable};

/// Output for a new object's id, unless it is NULL.
type NewObjId<'a> = Option<&'a mut MaybeUninit<Option<Box<hm_obj_id>>>>;

pub(super) fn write_new_id(
    out: NewObjId<'_>,
    make: impl FnOnce() -> Result<ObjId, hm_error>,
) -> Result<(), hm_error> {
    let out = out.map(|out| out.write(None));
    let id = make()?;
    if let Some(out) = out {
        *out = Some(Box::new(hm_obj_id(id)));
    }
    Ok(())
}

/// Puts a value at a key of a map. `obj` is an object of the document, or NULL for its root, in all functions.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_map_put(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    key: hm_span,
    value: hm_value,
) -> Option<Box<hm_error>> {
    call(|| {
        let (key, value) = (key.text("key")?, value.scalar()?);
        edit(doc, |doc| Ok(doc.put(object(obj), key, value)?))
    })
}

/// Puts a new object at a key of a map. `id` may be NULL, here and below.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_map_put_object(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    key: hm_span,
    kind: hm_kind,
    id: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        write_new_id(id, || {
            let (key, kind) = (key.text("key")?, object_kind(kind)?);
            edit(doc, |doc| Ok(doc.put_object(object(obj), key, kind)?))
        })
    })
}

/// Adds to the counter at a key of a map.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_map_increment(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    key: hm_span,
    by: i64,
) -> Option<Box<hm_error>> {
    call(|| {
        let key = key.text("key")?;
        edit(doc, |doc| Ok(doc.increment(object(obj), key, by)?))
    })
}

/// Deletes a key of a map. A key without a value is not an error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_map_delete(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    key: hm_span,
) -> Option<Box<hm_error>> {
    call(|| {
        let key = key.text("key")?;
        edit(doc, |doc| Ok(doc.delete(object(obj), key)?))
    })
}

/// Inserts a value before an index of a list, or replaces the value at the index.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_list_put(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    insert: bool,
    value: hm_value,
) -> Option<Box<hm_error>> {
    call(|| {
        let value = value.scalar()?;
        edit(doc, |doc| match insert {
            true => Ok(doc.insert(object(obj), index, value)?),
            false => Ok(doc.put(object(obj), index, value)?),
        })
    })
}

/// Inserts a new object before an index of a list, or replaces the value at the index.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_list_put_object(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    insert: bool,
    kind: hm_kind,
    id: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        write_new_id(id, || {
            let kind = object_kind(kind)?;
            edit(doc, |doc| match insert {
                true => Ok(doc.insert_object(object(obj), index, kind)?),
                false => Ok(doc.put_object(object(obj), index, kind)?),
            })
        })
    })
}

/// Adds to the counter at an index of a list.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_list_increment(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    by: i64,
) -> Option<Box<hm_error>> {
    call(|| edit(doc, |doc| Ok(doc.increment(object(obj), Prop::Seq(index), by)?)))
}

/// Deletes an element of a list.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_list_delete(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
) -> Option<Box<hm_error>> {
    call(|| edit(doc, |doc| Ok(doc.delete(object(obj), Prop::Seq(index))?)))
}

/// Deletes `count` elements of a list from `index` on, or before it if `count` is negative, and inserts values there. In a text,
/// `count` is in units and only strings can be inserted.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_splice(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    count: isize,
    values: hm_values,
) -> Option<Box<hm_error>> {
    call(|| {
        let values = values.values("values")?.iter();
        let values = values.map(|value| Ok(Literal::Scalar(value.scalar()?.into_owned())));
        let values = values.collect::<Result<Vec<_>, hm_error>>()?;
        edit(doc, |doc| Ok(doc.splice(object(obj), index, count, values)?))
    })
}

/// Deletes `count` units of a text from `index` on, or before it if `count` is negative, and inserts a text there. A deletion
/// past the end stops at the end.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_splice_text(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    count: isize,
    text: hm_span,
) -> Option<Box<hm_error>> {
    call(|| {
        let text = text.text("text")?;
        edit(doc, |doc| Ok(doc.splice_text(object(obj), index, count, text)?))
    })
}

/// Changes a text to a new one, with few edits.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_update_text(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    text: hm_span,
) -> Option<Box<hm_error>> {
    call(|| {
        let text = text.text("text")?;
        edit(doc, |doc| Ok(doc.update_text(object(obj), text)?))
    })
}
