//! Marks on texts, and cursors: places that stay where they are while others edit.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::doc::{edit, hm_doc, view};
use super::error::{HM_ARGUMENT, HM_MALFORMED, hm_error};
use super::pointers::{Arena, call, free, hm_bytes, hm_hashes, hm_owner, hm_span, slot};
use super::values::{hm_obj_id, hm_value, object};
use core::mem::MaybeUninit;
use hashmill_doc::{Cursor, CursorPosition, ExpandMark, Mark, Transactable};

/// Whether what is typed at the edge of a mark belongs to it.
pub type hm_expand = u32;

/// At neither edge, as for links.
pub const HM_EXPAND_NONE: hm_expand = 0;
/// At the start.
pub const HM_EXPAND_BEFORE: hm_expand = 1;
/// At the end, as for bold.
pub const HM_EXPAND_AFTER: hm_expand = 2;
/// At both.
pub const HM_EXPAND_BOTH: hm_expand = 3;

/// A range of a text that is marked.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_mark {
    /// The first unit.
    start: usize,
    /// Behind the last unit.
    end: usize,
    /// What is said of the range, such as `bold`.
    name: hm_span,
    /// How.
    value: hm_value,
}

/// Marks.
#[repr(C)]
#[derive(Debug)]
pub struct hm_marks {
    /// The first.
    items: *const hm_mark,
    /// How many.
    len: usize,
    /// The library's.
    owner: Option<Box<hm_owner>>,
}

impl hm_mark {
    pub(super) fn shown(mark: &Mark<'_>, arena: &mut Arena) -> hm_mark {
        let value = hm_value::scalar_shown(&mark.value, arena);
        hm_mark { start: mark.start, end: mark.end, name: arena.show(&*mark.name), value }
    }
}

fn expansion(expand: hm_expand) -> Result<ExpandMark, hm_error> {
    match expand {
        HM_EXPAND_NONE => Ok(ExpandMark::None),
        HM_EXPAND_BEFORE => Ok(ExpandMark::Before),
        HM_EXPAND_AFTER => Ok(ExpandMark::After),
        HM_EXPAND_BOTH => Ok(ExpandMark::Both),
        _ => Err(hm_error::new(HM_ARGUMENT, format!("expand: {expand} is none"))),
    }
}

/// Marks the units of a text from `start` on and before `end`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_mark_create(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    start: usize,
    end: usize,
    expand: hm_expand,
    name: hm_span,
    value: hm_value,
) -> Option<Box<hm_error>> {
    call(|| {
        let mark = Mark::new(name.text("name")?, value.scalar()?, start, end);
        let expand = expansion(expand)?;
        edit(doc, |doc| Ok(doc.mark(object(obj), mark, expand)?))
    })
}

/// Takes the marks of a name off a range.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_mark_clear(
    doc: Option<&mut hm_doc>,
    obj: Option<&hm_obj_id>,
    start: usize,
    end: usize,
    expand: hm_expand,
    name: hm_span,
) -> Option<Box<hm_error>> {
    call(|| {
        let (name, expand) = (name.text("name")?, expansion(expand)?);
        edit(doc, |doc| Ok(doc.unmark(object(obj), name, start, end, expand)?))
    })
}

/// The marks of a text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_get_marks(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    heads: Option<&hm_hashes>,
    marks: Option<&mut MaybeUninit<Option<Box<hm_marks>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, mut arena) = (slot(marks, None, "marks")?, Arena::default());
        let found = view(doc, heads)?.marks(object(obj))?;
        let items: Vec<hm_mark> = found.iter().map(|mark| hm_mark::shown(mark, &mut arena)).collect();
        let (first, len) = (items.as_ptr(), items.len());
        *out = Some(Box::new(hm_marks { items: first, len, owner: hm_owner::of((items, arena)) }));
        Ok(())
    })
}

/// Frees marks, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_marks_free(marks: Option<Box<hm_marks>>) {
    free(marks);
}

/// A cursor at an index of a list or text, as bytes; `SIZE_MAX` stands for the end, however far it moves.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_get_cursor(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    heads: Option<&hm_hashes>,
    cursor: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(cursor, None, "cursor")?;
        let at = if index == usize::MAX { CursorPosition::End } else { CursorPosition::Index(index) };
        *out = Some(hm_bytes::new(view(doc, heads)?.get_cursor(object(obj), at)?.to_bytes()));
        Ok(())
    })
}

/// The index at which a cursor is.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_get_cursor_position(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    cursor: hm_span,
    heads: Option<&hm_hashes>,
    index: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, bytes) = (slot(index, 0, "index")?, cursor.bytes("cursor")?);
        let cursor = Cursor::try_from(bytes).map_err(|error| hm_error::of(HM_MALFORMED, &error))?;
        *out = view(doc, heads)?.get_cursor_position(object(obj), &cursor)?;
        Ok(())
    })
}
