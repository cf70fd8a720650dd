//! Changes, and patches: what is different between two moments.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::doc::{edit, hm_doc, hm_doc_limits};
use super::error::{HM_RANGE, hm_error};
use super::pointers::{
    Arena, call, free, given, hm_change_hash, hm_hashes, hm_owner, hm_span, hm_spans, slot, two,
};
use super::text::hm_mark;
use super::values::{Found, Shown, Where, hm_item, hm_obj_id, hm_path};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use hashmill_doc::{AutoCommit, Change, Mark, Patch, PatchAction, Path, Prop};

/// A change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_change {
    /// Its hash.
    hash: hm_change_hash,
    /// Who made it.
    actor: hm_span,
    /// Which of its actor's changes it is, from 1.
    seq: u64,
    /// The counter of its first operation.
    start_op: u64,
    /// That of its last one.
    max_op: u64,
    /// When, in seconds since 1970, or 0.
    time: i64,
    /// Its message, which may have no bytes.
    message: hm_span,
    /// The changes before it.
    deps: *const hm_change_hash,
    /// How many.
    deps_len: usize,
    /// All of it, for `hm_doc_apply_changes`.
    bytes: hm_span,
    /// Who stands behind the actor, in its first change and if `hm_doc_commit_by` was told; else no bytes.
    author: hm_span,
    /// What else its writer put into it, the author among it, or no bytes.
    extra: hm_span,
    /// How many operations it has.
    operations: usize,
}

/// Changes, each after those it depends on.
#[repr(C)]
#[derive(Debug)]
pub struct hm_changes {
    /// The first.
    items: *const hm_change,
    /// How many.
    len: usize,
    /// The library's.
    owner: Option<Box<hm_owner>>,
}

fn changes(found: &[Change]) -> Box<hm_changes> {
    let (mut arena, mut deps) = (Arena::default(), Vec::new());
    let items: Vec<hm_change> = found
        .iter()
        .map(|change| {
            let before: Vec<hm_change_hash> = change.deps().iter().map(hm_change_hash::of).collect();
            let item = hm_change {
                hash: hm_change_hash::of(&change.hash()),
                actor: arena.show(change.actor_id().as_bytes()),
                seq: change.seq(),
                start_op: change.start_op(),
                max_op: change.max_op(),
                time: change.timestamp(),
                message: arena.show(change.message().unwrap_or_default()),
                deps: before.as_ptr(),
                deps_len: before.len(),
                bytes: arena.show(change.raw_bytes()),
                author: arena.show(change.author().unwrap_or_default()),
                extra: arena.show(change.extra_bytes()),
                operations: change.len(),
            };
            deps.push(before);
            item
        })
        .collect();
    Box::new(hm_changes {
        items: items.as_ptr(),
        len: items.len(),
        owner: hm_owner::of((items, arena, deps)),
    })
}

/// All changes that are not among `have` and what came before them; of NULL, all. Hashes that are unknown here are passed over.
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

/// The change of a hash, as a list of one, or of none.
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

/// The changes that another document has and this one lacks. It may be the same one.
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

/// The last change that was made here, by the actor who writes, as a list of one, or of none.
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

/// Reads changes without a document, each of its own bytes. `limits` may be NULL.
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

/// Frees changes, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_changes_free(changes: Option<Box<hm_changes>>) {
    free(changes);
}

/// What a patch does.
pub type hm_patch_kind = u32;

/// `key` of a map has the value of `items` now.
pub const HM_PATCH_PUT_MAP: hm_patch_kind = 0;
/// `index` of a list has the value of `items` now.
pub const HM_PATCH_PUT_LIST: hm_patch_kind = 1;
/// The values of `items` came before `index` of a list, or a block before that of a text.
pub const HM_PATCH_INSERT: hm_patch_kind = 2;
/// `text` came before `index` of a text, with `marks`, whose ranges are empty.
pub const HM_PATCH_SPLICE_TEXT: hm_patch_kind = 3;
/// The counter at `key` or `index` grew by `by`.
pub const HM_PATCH_INCREMENT: hm_patch_kind = 4;
/// What stands at `key` or `index` stays, but others are there now, too.
pub const HM_PATCH_CONFLICT: hm_patch_kind = 5;
/// `key` of a map has no value any more.
pub const HM_PATCH_DELETE_MAP: hm_patch_kind = 6;
/// `length` elements or units went from `index` on.
pub const HM_PATCH_DELETE_LIST: hm_patch_kind = 7;
/// A text is marked as `marks` say; null says that a mark was taken off.
pub const HM_PATCH_MARK: hm_patch_kind = 8;

/// A step from one moment of a document to another.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_patch {
    /// What it does.
    kind: hm_patch_kind,
    /// To which object.
    obj: *const hm_obj_id,
    /// A key, if the object is a map.
    key: hm_span,
    /// An index, if it is a list or text.
    index: usize,
    /// How many.
    length: usize,
    /// By how much.
    by: i64,
    /// Characters.
    text: hm_span,
    /// Values.
    items: *const hm_item,
    /// How many.
    items_len: usize,
    /// Marks.
    marks: *const hm_mark,
    /// How many.
    marks_len: usize,
}

/// Patches, in the order in which they are to be applied.
#[repr(C)]
#[derive(Debug)]
pub struct hm_patches {
    /// The first.
    items: *const hm_patch,
    /// How many.
    len: usize,
    /// The library's.
    owner: Option<Box<hm_owner>>,
}

/// What patches show besides themselves.
#[derive(Default)]
struct Parts {
    shown: Shown,
    items: Vec<Vec<hm_item>>,
    marks: Vec<Vec<hm_mark>>,
    /// Shown when somebody asks: of many deep patches they would be far longer than the document.
    paths: Vec<Path>,
}

impl Parts {
    fn patch(&mut self, patch: Patch) -> hm_patch {
        let obj = self.shown.ids(vec![hm_obj_id(patch.obj)]);
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
                let items = self.items([Found { at: Where::Key(&key), value, id, conflict }]);
                hm_patch {
                    kind: HM_PATCH_PUT_MAP,
                    key: self.shown.arena.show(key),
                    items,
                    items_len: 1,
                    ..none
                }
            }
            PatchAction::PutSeq { index, value: (value, id), conflict } => {
                let items = self.items([Found { at: Where::Index(index), value, id, conflict }]);
                hm_patch { kind: HM_PATCH_PUT_LIST, index, items, items_len: 1, ..none }
            }
            PatchAction::Insert { index, values } => {
                let items_len = values.len();
                let found = values.into_iter().enumerate();
                let items = self.items(found.map(|(place, (value, id, conflict))| Found {
                    at: Where::Index(index + place),
                    value,
                    id,
                    conflict,
                }));
                hm_patch { kind: HM_PATCH_INSERT, index, items, items_len, ..none }
            }
            PatchAction::SpliceText { index, value, marks } => {
                let marks = marks.iter().map(|(name, value)| Mark::new(name, value.clone(), 0, 0));
                let (marks, marks_len) = self.marks(marks);
                let text = self.shown.arena.show(value);
                hm_patch { kind: HM_PATCH_SPLICE_TEXT, index, text, marks, marks_len, ..none }
            }
            PatchAction::Increment { prop, value } => {
                hm_patch { by: value, ..self.at(&prop, hm_patch { kind: HM_PATCH_INCREMENT, ..none }) }
            }
            PatchAction::Conflict { prop } => self.at(&prop, hm_patch { kind: HM_PATCH_CONFLICT, ..none }),
            PatchAction::DeleteMap { key } => {
                hm_patch { kind: HM_PATCH_DELETE_MAP, key: self.shown.arena.show(key), ..none }
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

    fn items<'a>(&mut self, found: impl IntoIterator<Item = Found<'a>>) -> *const hm_item {
        let items = self.shown.items(found);
        let first = items.as_ptr();
        self.items.push(items);
        first
    }

    fn marks<'a>(&mut self, marks: impl Iterator<Item = Mark<'a>>) -> (*const hm_mark, usize) {
        let marks: Vec<_> = marks.map(|mark| hm_mark::shown(&mark, &mut self.shown.arena)).collect();
        let first = (marks.as_ptr(), marks.len());
        self.marks.push(marks);
        first
    }

    fn at(&mut self, prop: &Prop<'_>, patch: hm_patch) -> hm_patch {
        match prop {
            Prop::Map(key) => hm_patch { key: self.shown.arena.show(&**key), ..patch },
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
    *out = Some(Box::new(hm_patches { items: first, len, owner: hm_owner::of((items, parts)) }));
    Ok(())
}

/// The steps from the document as it was at `before` to what it was at `after`, which may be earlier. No heads stand for the document
/// before its first change.
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

/// The steps since the last time, or from nothing: for whoever shows a document.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_diff_incremental(
    doc: Option<&mut hm_doc>,
    found: Option<&mut MaybeUninit<Option<Box<hm_patches>>>>,
) -> Option<Box<hm_error>> {
    call(|| patches(doc, found, |doc| Ok(doc.diff_incremental())))
}

/// The way from the root to the object of patch `index`, when all patches are applied.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_patches_path(
    patches: Option<&hm_patches>,
    index: usize,
    path: Option<&mut MaybeUninit<Option<Box<hm_path>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, patches) = (slot(path, None, "path")?, given(patches, "patches")?);
        let parts = patches.owner.as_ref().and_then(|owner| owner.kept::<(Vec<hm_patch>, Parts)>());
        let (_, parts) = given(parts, "patches->owner")?;
        let beyond = || hm_error::new(HM_RANGE, format!("patch {index} of {}", parts.paths.len()));
        *out = Some(hm_path::new(parts.paths.get(index).ok_or_else(beyond)?.iter()));
        Ok(())
    })
}

/// Frees patches, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_patches_free(patches: Option<Box<hm_patches>>) {
    free(patches);
}
