//! Marks on texts, and cursors: positions that follow their element during other edits.
#![expect(unsafe_code, reason = "names that a linker finds")]

use crate::hashmill::document::doc::{edit, hm_doc, view};
use crate::hashmill::document::values::{hm_obj_id, hm_value, object};
use crate::hashmill::error::{HM_ARGUMENT, HM_MALFORMED, hm_error};
use crate::hashmill::pointers::{Arena, call, free, hm_bytes, hm_hashes, hm_owner, hm_span, slot};
use core::mem::MaybeUninit;
use hashmill_doc::{Cursor, CursorPosition, ExpandMark, Mark, MoveCursor, Transactable};

/// Whether text typed at the edge of a mark belongs to it.
pub type hm_expand = u32;

/// At neither edge, as for links.
pub const HM_EXPAND_NONE: hm_expand = 0;
/// At the start.
pub const HM_EXPAND_BEFORE: hm_expand = 1;
/// At the end, as for bold.
pub const HM_EXPAND_AFTER: hm_expand = 2;
/// At both.
pub const HM_EXPAND_BOTH: hm_expand = 3;

/// A marked range of a text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_mark {
    /// The first unit.
    start: usize,
    /// The end, after the last unit.
    end: usize,
    /// The name, such as `bold`.
    name: hm_span,
    /// The value, such as `true` or a link.
    value: hm_value,
}

/// Marks.
#[repr(C)]
#[derive(Debug)]
pub struct hm_marks {
    /// The first.
    items: *const hm_mark,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

impl hm_mark {
    pub(super) fn from_mark(mark: &Mark<'_>, arena: &mut Arena) -> hm_mark {
        let value = hm_value::from_scalar(&mark.value, arena);
        hm_mark { start: mark.start, end: mark.end, name: arena.store(&*mark.name), value }
    }
}

impl hm_marks {
    fn new<'a>(found: impl Iterator<Item = Mark<'a>>) -> Box<hm_marks> {
        let mut arena = Arena::default();
        let items: Vec<hm_mark> = found.map(|mark| hm_mark::from_mark(&mark, &mut arena)).collect();
        Box::new(hm_marks { items: items.as_ptr(), len: items.len(), owner: hm_owner::new((items, arena)) })
    }
}

fn expansion(expand: hm_expand) -> Result<ExpandMark, hm_error> {
    match expand {
        HM_EXPAND_NONE => Ok(ExpandMark::None),
        HM_EXPAND_BEFORE => Ok(ExpandMark::Before),
        HM_EXPAND_AFTER => Ok(ExpandMark::After),
        HM_EXPAND_BOTH => Ok(ExpandMark::Both),
        _ => Err(hm_error::new(HM_ARGUMENT, format!("expand: {expand} is no value of hm_expand"))),
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

/// Removes the marks with a name from a range.
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
        let out = slot(marks, None, "marks")?;
        *out = Some(hm_marks::new(view(doc, heads)?.marks(object(obj))?.into_iter()));
        Ok(())
    })
}

/// The marks at an index of a text, with empty ranges.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_get_marks_at(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    heads: Option<&hm_hashes>,
    marks: Option<&mut MaybeUninit<Option<Box<hm_marks>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(marks, None, "marks")?;
        let found = view(doc, heads)?.get_marks(object(obj), index)?;
        *out = Some(hm_marks::new(found.iter().map(|(name, value)| Mark::new(name, value.clone(), 0, 0))));
        Ok(())
    })
}

/// Frees marks, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_marks_free(marks: Option<Box<hm_marks>>) {
    free(marks);
}

/// The direction of a cursor when its element is deleted.
pub type hm_move = u32;

/// To the next visible element, or the end.
pub const HM_MOVE_AFTER: hm_move = 0;
/// To the previous visible element, or the start.
pub const HM_MOVE_BEFORE: hm_move = 1;

/// A cursor at an index of a list or text, as bytes: equal bytes are the same cursor. `HM_CURSOR_START` and `HM_CURSOR_END` are
/// indexes, too: they always stay at the start and the end. When its element is deleted, the cursor moves to the next one.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_get_cursor(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    heads: Option<&hm_hashes>,
    cursor: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    hm_get_cursor_moving(doc, obj, index, HM_MOVE_AFTER, heads, cursor)
}

/// As `hm_get_cursor`, with a choice of direction.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_get_cursor_moving(
    doc: Option<&hm_doc>,
    obj: Option<&hm_obj_id>,
    index: usize,
    moving: hm_move,
    heads: Option<&hm_hashes>,
    cursor: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    const START: usize = usize::MAX - 1;
    call(|| {
        let out = slot(cursor, None, "cursor")?;
        let at = match index {
            usize::MAX => CursorPosition::End,
            START => CursorPosition::Start,
            index => CursorPosition::Index(index),
        };
        let moving = match moving {
            HM_MOVE_AFTER => MoveCursor::After,
            HM_MOVE_BEFORE => MoveCursor::Before,
            _ => return Err(hm_error::new(HM_ARGUMENT, format!("moving: {moving} is no value of hm_move"))),
        };
        *out = Some(hm_bytes::new(view(doc, heads)?.get_cursor_moving(object(obj), at, moving)?.to_bytes()));
        Ok(())
    })
}

/// A cursor as a text.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_cursor_text(
    cursor: hm_span,
    text: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(text, None, "text")?;
        *out = Some(hm_bytes::new(read(cursor)?.to_string()));
        Ok(())
    })
}

/// Reads a cursor as `hm_cursor_text` writes it: "s", "e", or `<counter>@<actor in hex>`, with a minus if it moves before.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_cursor_parse(
    text: hm_span,
    cursor: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, text) = (slot(cursor, None, "cursor")?, text.text("text")?);
        let read: Cursor = text.parse().map_err(|error| hm_error::from_display(HM_MALFORMED, &error))?;
        *out = Some(hm_bytes::new(read.to_bytes()));
        Ok(())
    })
}

fn read(cursor: hm_span) -> Result<Cursor, hm_error> {
    Cursor::try_from(cursor.bytes("cursor")?).map_err(|error| hm_error::from_display(HM_MALFORMED, &error))
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
        let (out, cursor) = (slot(index, 0, "index")?, read(cursor)?);
        *out = view(doc, heads)?.get_cursor_position(object(obj), &cursor)?;
        Ok(())
    })
}
