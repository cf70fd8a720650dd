//! Rich text: blocks, which divide a text into paragraphs and similar parts.
#![expect(unsafe_code, reason = "names that a linker finds")]

use crate::hashmill::document::doc::{edit, hm_doc, view};
use crate::hashmill::document::edit::write_new_id;
use crate::hashmill::document::text::hm_mark;
use crate::hashmill::document::values::{ValueList, hm_obj_id, object};
use crate::hashmill::error::hm_error;
use crate::hashmill::pointers::{call, free, hm_hashes, hm_owner, hm_span, slot};
use core::mem::MaybeUninit;
use core::ptr;
use hashmill_doc::{Mark, ObjType, Span, Transactable, Value};

/// A part of a rich text: text under the same marks, or a block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_part {
    /// The text. Elements that are neither text nor a block appear as U+FFFC. For a block it is U+FFFC alone.
    text: hm_span,
    /// The marks on the whole part, with empty ranges.
    marks: *const hm_mark,
    /// Their number.
    marks_len: usize,
    /// The block: a map that describes it; NULL for text. `hm_obj_path` ends in its index.
    block: *const hm_obj_id,
}

/// The parts of a rich text, in their order.
#[repr(C)]
#[derive(Debug)]
pub struct hm_parts {
    /// The first.
    items: *const hm_part,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

/// The parts of a rich text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_get_parts(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    heads: Option<&hm_hashes>,
    parts: Option<&mut MaybeUninit<Option<Box<hm_parts>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, mut values, mut marks) = (slot(parts, None, "parts")?, ValueList::default(), Vec::new());
        let view = view(doc, heads)?;
        let spans: Vec<_> = view.spans(object(obj))?.collect();
        // The maps of a text are its blocks, in the same order.
        let mut blocks = Vec::new();
        if spans.iter().any(|span| matches!(span, Span::Block(_))) {
            let elements = view.list_range(object(obj), ..);
            let maps = elements.filter(|element| matches!(element.value, Value::Object(ObjType::Map)));
            blocks.extend(maps.map(|element| hm_obj_id(element.id)));
        }
        let mut block = values.ids(blocks);
        let part = |span: &Span<'_>| {
            let text = values.arena.store(span.as_str());
            let Span::Text { marks: set, .. } = span else {
                let part = hm_part { text, marks: ptr::null(), marks_len: 0, block };
                block = block.wrapping_add(1);
                return part;
            };
            let set = set.iter().map(|(name, value)| Mark::new(name, value.clone(), 0, 0));
            let set: Vec<_> = set.map(|mark| hm_mark::from_mark(&mark, &mut values.arena)).collect();
            let part = hm_part { text, marks: set.as_ptr(), marks_len: set.len(), block: ptr::null() };
            marks.push(set);
            part
        };
        let items: Vec<hm_part> = spans.iter().map(part).collect();
        let (first, len) = (items.as_ptr(), items.len());
        *out = Some(Box::new(hm_parts { items: first, len, owner: hm_owner::new((items, values, marks)) }));
        Ok(())
    })
}

/// Frees parts, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_parts_free(parts: Option<Box<hm_parts>>) {
    free(parts);
}

/// Inserts a new block, an empty map, before an index of a text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_split_block(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    id: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| write_new_id(id, || edit(doc, |doc| Ok(doc.split_block(object(obj), index)?))))
}

/// Deletes the block at an index of a text, so that the parts around it are joined.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_join_block(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
) -> Option<Box<hm_error>> {
    call(|| edit(doc, |doc| Ok(doc.join_block(object(obj), index)?)))
}

/// Replaces the block at an index of a text with a new block, an empty map.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_replace_block(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    id: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| write_new_id(id, || edit(doc, |doc| Ok(doc.replace_block(object(obj), index)?))))
}
