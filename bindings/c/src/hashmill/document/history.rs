//! Changes, and patches: differences between two points of the history.
#![expect(unsafe_code, reason = "names that a linker finds")]

use crate::hashmill::document::doc::{edit, hm_doc, hm_doc_limits};
use crate::hashmill::document::text::hm_mark;
use crate::hashmill::document::values::{FoundValue, ValueList, ValuePos, hm_item, hm_obj_id, hm_path};
use crate::hashmill::error::{HM_RANGE, hm_error};
use crate::hashmill::pointers::{
    Arena, call, free, given, hm_change_hash, hm_hashes, hm_owner, hm_span, hm_spans, slot, two,
};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use hashmill_doc::{AutoCommit, Change, Mark, Patch, PatchAction, Path, Prop};

/// A change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_change {
    /// Its hash.
    hash: hm_change_hash,
    /// Its actor.
    actor: hm_span,
    /// Its number among its actor's changes, from 1.
    seq: u64,
    /// The counter of its first operation.
    start_op: u64,
    /// The counter of its last operation.
    max_op: u64,
    /// Its time, in seconds since 1970, or 0.
    time: i64,
    /// Its message, which may have no bytes.
    message: hm_span,
    /// The changes that it depends on.
    deps: *const hm_change_hash,
    /// Their number.
    deps_len: usize,
    /// The encoded change, for `hm_doc_apply_changes`.
    bytes: hm_span,
    /// The author of the actor, in its first change and if it was passed to `hm_doc_commit_by`; otherwise no bytes.
    author: hm_span,
    /// Extra bytes of its writer, including the author, or no bytes.
    extra: hm_span,
    /// The number of its operations.
    operations: usize,
}

/// Changes, each after its dependencies.
#[repr(C)]
#[derive(Debug)]
pub struct hm_changes {
    /// The first.
    items: *const hm_change,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

fn changes(found: &[Change]) -> Box<hm_changes> {
    let (mut arena, mut deps) = (Arena::default(), Vec::new());
    let items: Vec<hm_change> = found
        .iter()
        .map(|change| {
            let before: Vec<hm_change_hash> = change.deps().iter().map(hm_change_hash::from_hash).collect();
            let item = hm_change {
                hash: hm_change_hash::from_hash(&change.hash()),
                actor: arena.store(change.actor_id().as_bytes()),
                seq: change.seq(),
                start_op: change.start_op(),
                max_op: change.max_op(),
                time: change.timestamp(),
                message: arena.store(change.message().unwrap_or_default()),
                deps: before.as_ptr(),
                deps_len: before.len(),
                bytes: arena.store(change.raw_bytes()),
                author: arena.store(change.author().unwrap_or_default()),
                extra: arena.store(change.extra_bytes()),
                operations: change.len(),
            };
            deps.push(before);
            item
        })
        .collect();
    Box::new(hm_changes {
        items: items.as_ptr(),
        len: items.len(),
        owner: hm_owner::new((items, arena, deps)),
    })
}

/// All changes except `have` and their ancestors; with NULL, all. Unknown hashes are ignored.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_changes(
    doc: Option<&mut hm_doc>,
    have: Option<&hm_hashes>,
    found: Option<&mut MaybeUninit<Option<Box<hm_changes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(found, None, "found")?;
        let have = have.map_or(Ok(Vec::new()), |have| have.hashes("have"))?;
        *out = Some(changes(&edit(doc, |doc| Ok(doc.get_changes(&have)))?));
        Ok(())
    })
}

/// The change with a hash, as a list with one entry or none.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_change_by_hash(
    doc: Option<&mut hm_doc>,
    hash: Option<&hm_change_hash>,
    found: Option<&mut MaybeUninit<Option<Box<hm_changes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, hash) = (slot(found, None, "found")?, given(hash, "hash")?.hash());
        *out = Some(changes(edit(doc, |doc| Ok(doc.get_change_by_hash(&hash)))?.as_slice()));
        Ok(())
    })
}

/// The changes that another document has and this one lacks. Both may be the same document.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_changes_added(
    doc: Option<NonNull<hm_doc>>,
    other: Option<NonNull<hm_doc>>,
    found: Option<&mut MaybeUninit<Option<Box<hm_changes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(found, None, "found")?;
        let added = match two(doc, other, ["doc", "other"])? {
            Some((doc, other)) => doc.edit(|doc| other.edit(|other| Ok(doc.get_changes_added(other))))?,
            None => Vec::new(),
        };
        *out = Some(changes(&added));
        Ok(())
    })
}

/// The last change by the actor of this document, as a list with one entry or none.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_last_local_change(
    doc: Option<&mut hm_doc>,
    found: Option<&mut MaybeUninit<Option<Box<hm_changes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(found, None, "found")?;
        *out = Some(changes(edit(doc, |doc| Ok(doc.get_last_local_change()))?.as_slice()));
        Ok(())
    })
}

/// Decodes changes without a document, each from its own bytes. `limits` may be NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_changes_decode(
    bytes: hm_spans,
    limits: Option<&hm_doc_limits>,
    found: Option<&mut MaybeUninit<Option<Box<hm_changes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, bytes) = (slot(found, None, "found")?, bytes.bytes("bytes")?);
        *out = Some(changes(&Change::from_each(&bytes, &hm_doc_limits::limits(limits, "limits")?)?));
        Ok(())
    })
}

/// Frees changes, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_changes_free(changes: Option<Box<hm_changes>>) {
    free(changes);
}

/// The kind of a patch.
pub type hm_patch_kind = u32;

/// The key `key` of a map now has the value in `items`.
pub const HM_PATCH_PUT_MAP: hm_patch_kind = 0;
/// The index `index` of a list now has the value in `items`.
pub const HM_PATCH_PUT_LIST: hm_patch_kind = 1;
/// The values in `items` were inserted before `index` of a list, or a block before `index` of a text.
pub const HM_PATCH_INSERT: hm_patch_kind = 2;
/// `text` was inserted before `index` of a text, with `marks`, whose ranges are empty.
pub const HM_PATCH_SPLICE_TEXT: hm_patch_kind = 3;
/// The counter at `key` or `index` was incremented by `by`.
pub const HM_PATCH_INCREMENT: hm_patch_kind = 4;
/// The value at `key` or `index` stays, but now has conflicting values.
pub const HM_PATCH_CONFLICT: hm_patch_kind = 5;
/// The key `key` of a map was deleted.
pub const HM_PATCH_DELETE_MAP: hm_patch_kind = 6;
/// From `index` on, `length` elements or units were deleted.
pub const HM_PATCH_DELETE_LIST: hm_patch_kind = 7;
/// A text has the marks in `marks`; null means that a mark was removed.
pub const HM_PATCH_MARK: hm_patch_kind = 8;

/// A step from one point of a document's history to another.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_patch {
    /// Its kind.
    kind: hm_patch_kind,
    /// The object.
    obj: *const hm_obj_id,
    /// A key, if the object is a map.
    key: hm_span,
    /// An index, if it is a list or text.
    index: usize,
    /// Their number.
    length: usize,
    /// By how much.
    by: i64,
    /// Characters.
    text: hm_span,
    /// Values.
    items: *const hm_item,
    /// Their number.
    items_len: usize,
    /// Marks.
    marks: *const hm_mark,
    /// Their number.
    marks_len: usize,
}

/// Patches, in the order in which they must be applied.
#[repr(C)]
#[derive(Debug)]
pub struct hm_patches {
    /// The first.
    items: *const hm_patch,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

/// Memory that patches point to.
#[derive(Default)]
struct Parts {
    values: ValueList,
    items: Vec<Vec<hm_item>>,
    marks: Vec<Vec<hm_mark>>,
    /// Converted on request: for many deep patches they would be far longer than the document.
    paths: Vec<Path>,
}

impl Parts {
    fn patch(&mut self, patch: Patch) -> hm_patch {
        let obj = self.values.ids(vec![hm_obj_id(patch.obj)]);
        self.paths.push(patch.path);
        let none = hm_patch {
            kind: 0,
            obj,
            key: hm_span::EMPTY,
            index: 0,
            length: 0,
            by: 0,
            text: hm_span::EMPTY,
            items: ptr::null(),
            items_len: 0,
            marks: ptr::null(),
            marks_len: 0,
        };
        match patch.action {
            PatchAction::PutMap { key, value: (value, id), conflict } => {
                let items = self.items([FoundValue { at: ValuePos::Key(&key), value, id, conflict }]);
                hm_patch {
                    kind: HM_PATCH_PUT_MAP,
                    key: self.values.arena.store(key),
                    items,
                    items_len: 1,
                    ..none
                }
            }
            PatchAction::PutSeq { index, value: (value, id), conflict } => {
                let items = self.items([FoundValue { at: ValuePos::Index(index), value, id, conflict }]);
                hm_patch { kind: HM_PATCH_PUT_LIST, index, items, items_len: 1, ..none }
            }
            PatchAction::Insert { index, values } => {
                let items_len = values.len();
                let found = values.into_iter().enumerate();
                let items = self.items(found.map(|(offset, (value, id, conflict))| FoundValue {
                    at: ValuePos::Index(index + offset),
                    value,
                    id,
                    conflict,
                }));
                hm_patch { kind: HM_PATCH_INSERT, index, items, items_len, ..none }
            }
            PatchAction::SpliceText { index, value, marks } => {
                let marks = marks.iter().map(|(name, value)| Mark::new(name, value.clone(), 0, 0));
                let (marks, marks_len) = self.marks(marks);
                let text = self.values.arena.store(value);
                hm_patch { kind: HM_PATCH_SPLICE_TEXT, index, text, marks, marks_len, ..none }
            }
            PatchAction::Increment { prop, value } => {
                hm_patch { by: value, ..self.at(&prop, hm_patch { kind: HM_PATCH_INCREMENT, ..none }) }
            }
            PatchAction::Conflict { prop } => self.at(&prop, hm_patch { kind: HM_PATCH_CONFLICT, ..none }),
            PatchAction::DeleteMap { key } => {
                hm_patch { kind: HM_PATCH_DELETE_MAP, key: self.values.arena.store(key), ..none }
            }
            PatchAction::DeleteSeq { index, length } => {
                hm_patch { kind: HM_PATCH_DELETE_LIST, index, length, ..none }
            }
            PatchAction::Mark { marks } => {
                let (marks, marks_len) = self.marks(marks.into_iter());
                hm_patch { kind: HM_PATCH_MARK, marks, marks_len, ..none }
            }
        }
    }

    fn items<'a>(&mut self, found: impl IntoIterator<Item = FoundValue<'a>>) -> *const hm_item {
        let items = self.values.items(found);
        let first = items.as_ptr();
        self.items.push(items);
        first
    }

    fn marks<'a>(&mut self, marks: impl Iterator<Item = Mark<'a>>) -> (*const hm_mark, usize) {
        let marks: Vec<_> = marks.map(|mark| hm_mark::from_mark(&mark, &mut self.values.arena)).collect();
        let first = (marks.as_ptr(), marks.len());
        self.marks.push(marks);
        first
    }

    fn at(&mut self, prop: &Prop<'_>, patch: hm_patch) -> hm_patch {
        match prop {
            Prop::Map(key) => hm_patch { key: self.values.arena.store(&**key), ..patch },
            Prop::Seq(index) => hm_patch { index: *index, ..patch },
        }
    }
}

fn patches(
    doc: Option<&mut hm_doc>,
    out: Option<&mut MaybeUninit<Option<Box<hm_patches>>>>,
    find: impl FnOnce(&mut AutoCommit) -> Result<Vec<Patch>, hm_error>,
) -> Result<(), hm_error> {
    let (out, mut parts) = (slot(out, None, "found")?, Parts::default());
    let items: Vec<_> = edit(doc, find)?.into_iter().map(|patch| parts.patch(patch)).collect();
    let (first, len) = (items.as_ptr(), items.len());
    *out = Some(Box::new(hm_patches { items: first, len, owner: hm_owner::new((items, parts)) }));
    Ok(())
}

/// The patches from the document at `before` to the document at `after`, which may be earlier. No heads mean the document before
/// its first change.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_diff(
    doc: Option<&mut hm_doc>,
    before: Option<&hm_hashes>,
    after: Option<&hm_hashes>,
    found: Option<&mut MaybeUninit<Option<Box<hm_patches>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let heads = |heads: Option<&hm_hashes>, what| given(heads, what)?.hashes(what);
        let (before, after) = (heads(before, "before"), heads(after, "after"));
        patches(doc, found, |doc| Ok(doc.diff(&before?, &after?)?))
    })
}

/// The patches since the last call, or from the empty document: for programs that show a document.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_diff_incremental(
    doc: Option<&mut hm_doc>,
    found: Option<&mut MaybeUninit<Option<Box<hm_patches>>>>,
) -> Option<Box<hm_error>> {
    call(|| patches(doc, found, |doc| Ok(doc.diff_incremental())))
}

/// The path from the root to the object of patch `index`, after all patches are applied.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_patches_path(
    patches: Option<&hm_patches>,
    index: usize,
    path: Option<&mut MaybeUninit<Option<Box<hm_path>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, patches) = (slot(path, None, "path")?, given(patches, "patches")?);
        let parts = patches.owner.as_ref().and_then(|owner| owner.downcast::<(Vec<hm_patch>, Parts)>());
        let (_, parts) = given(parts, "patches->owner")?;
        let beyond = || hm_error::new(HM_RANGE, format!("patch {index} of {}", parts.paths.len()));
        *out = Some(hm_path::new(parts.paths.get(index).ok_or_else(beyond)?.iter()));
        Ok(())
    })
}

/// Frees patches, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_patches_free(patches: Option<Box<hm_patches>>) {
    free(patches);
}
