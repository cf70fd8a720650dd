//! Rich text: blocks, which divide it into paragraphs and the like.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::doc::{edit, hm_doc, view};
use super::edit::made;
use super::error::hm_error;
use super::pointers::{call, free, hm_hashes, hm_owner, hm_span, slot};
use super::text::hm_mark;
use super::values::{Shown, hm_obj_id, object};
use core::mem::MaybeUninit;
use core::ptr;
use hashmill_doc::{Mark, ObjType, Span, Transactable, Value};

/// A part of a rich text: text under the same marks, or a block.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_part {
    /// The text. What is neither text nor a block appears as U+FFFC. Of a block it is that alone.
    text: hm_span,
    /// The marks on all of it, whose ranges are empty.
    marks: *const hm_mark,
    /// How many.
    marks_len: usize,
    /// The block: a map, which says what it is; NULL for text. `hm_obj_path` ends in its index.
    block: *const hm_obj_id,
}

/// The parts of a rich text, in their order.
#[repr(C)]
#[derive(Debug)]
pub struct hm_parts {
    /// The first.
    items: *const hm_part,
    /// How many.
    len: usize,
    /// The library's.
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
        let (out, mut shown, mut marks) = (slot(parts, None, "parts")?, Shown::default(), Vec::new());
        let view = view(doc, heads)?;
        let spans: Vec<_> = view.spans(object(obj))?.collect();
        // The maps of a text are its blocks, in the same order.
        let mut blocks = Vec::new();
        if spans.iter().any(|span| matches!(span, Span::Block(_))) {
            let elements = view.list_range(object(obj), ..);
            let maps = elements.filter(|element| matches!(element.value, Value::Object(ObjType::Map)));
            blocks.extend(maps.map(|element| hm_obj_id(element.id)));
        }
        let mut block = shown.ids(blocks);
        let part = |span: &Span<'_>| {
            let text = shown.arena.show(span.as_str());
            let Span::Text { marks: set, .. } = span else {
                let part = hm_part { text, marks: ptr::null(), marks_len: 0, block };
                block = block.wrapping_add(1);
                return part;
            };
            let set = set.iter().map(|(name, value)| Mark::new(name, value.clone(), 0, 0));
            let set: Vec<_> = set.map(|mark| hm_mark::shown(&mark, &mut shown.arena)).collect();
            let part = hm_part { text, marks: set.as_ptr(), marks_len: set.len(), block: ptr::null() };
            marks.push(set);
            part
        };
        let items: Vec<hm_part> = spans.iter().map(part).collect();
        let (first, len) = (items.as_ptr(), items.len());
        *out = Some(Box::new(hm_parts { items: first, len, owner: hm_owner::of((items, shown, marks)) }));
        Ok(())
    })
}

/// Frees parts, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_parts_free(parts: Option<Box<hm_parts>>) {
    free(parts);
}

/// Puts a new block, an empty map, before an index of a text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_split_block(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    id: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| made(id, || edit(doc, |doc| Ok(doc.split_block(object(obj), index)?))))
}

/// Deletes the block at an index of a text, so that what it divided is joined.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_join_block(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
) -> Option<Box<hm_error>> {
    call(|| edit(doc, |doc| Ok(doc.join_block(object(obj), index)?)))
}

/// Puts a new block, an empty map, in the place of that at an index of a text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_replace_block(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    id: Option<&mut MaybeUninit<Option<Box<hm_obj_id>>>>,
) -> Option<Box<hm_error>> {
    call(|| made(id, || edit(doc, |doc| Ok(doc.replace_block(object(obj), index)?))))
}
