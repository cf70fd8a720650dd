//! Documents: creation, files and changes.
#![expect(unsafe_code, reason = "names that a linker finds")]

use crate::hashmill::error::{HM_ARGUMENT, HM_INTERNAL, hm_error};
use crate::hashmill::pointers::{
    call, free, given, hm_bytes, hm_change_hash, hm_hashes, hm_span, hm_spans, slot, two, unused,
};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use hashmill_doc::{
    ActorId, AutoCommit, Change, CommitOptions, Limits, LoadOptions, OnPartialLoad, ReadDoc, TextEncoding,
    Transactable, View,
};

/// The unit of indexes into texts.
pub type hm_text_encoding = u32;

/// Unicode scalar values.
pub const HM_TEXT_CODE_POINTS: hm_text_encoding = 0;
/// Bytes of UTF-8.
pub const HM_TEXT_UTF8: hm_text_encoding = 1;
/// Units of UTF-16, as in JavaScript.
pub const HM_TEXT_UTF16: hm_text_encoding = 2;
/// Grapheme clusters, which users see as characters.
pub const HM_TEXT_GRAPHEMES: hm_text_encoding = 3;

/// Limits of the resources that input may request, and of the size of a document. 0 means a default above any known document; set
/// lower values for untrusted input.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_doc_limits {
    /// Bytes that one chunk may inflate to.
    inflated_bytes: u64,
    /// Operations in one change.
    operations: u64,
    /// Operations of a document.
    total: u64,
    /// Changes of a document, and changes that wait for their dependencies.
    changes: u64,
    /// Steps of work that one call may take beyond those that its bytes pay for.
    steps: u64,
    /// Minimum length in bytes of a chunk that several threads read. The library starts these threads on first use and keeps
    /// them. 0: only the calling thread.
    parallel_from: u64,
    /// Reserved for later versions: 0.
    reserved: [u64; 4],
}

/// How a document is created or read. All zeros are good defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_doc_options {
    /// The actor that writes: any unique bytes. No bytes mean random ones.
    actor: hm_span,
    /// The unit of indexes into texts.
    text_encoding: hm_text_encoding,
    /// Not 0: if the end of a file cannot be read, the rest is kept.
    keep_partial: u32,
    /// Limits.
    limits: hm_doc_limits,
    /// Reserved for later versions: 0.
    reserved: [u64; 4],
}

/// A document with its whole history, and the edits since the last commit. Functions that take it as a pointer to const see those edits,
/// too; most others commit them first, without a message.
#[derive(Debug)]
pub struct hm_doc {
    doc: AutoCommit,
    /// A call panicked, so the state is unknown.
    broken: bool,
    limits: Limits,
}

impl hm_doc {
    fn new(doc: AutoCommit, limits: Limits) -> Box<hm_doc> {
        Box::new(hm_doc { doc, broken: false, limits })
    }

    fn check(&self) -> Result<(), hm_error> {
        let broken =
            || hm_error::new(HM_INTERNAL, "an earlier call on this document panicked: load it again");
        if self.broken { Err(broken()) } else { Ok(()) }
    }

    pub(super) fn edit<T>(
        &mut self,
        work: impl FnOnce(&mut AutoCommit) -> Result<T, hm_error>,
    ) -> Result<T, hm_error> {
        self.check()?;
        self.broken = true;
        let result = work(&mut self.doc);
        self.broken = false;
        result
    }
}

/// Edits a document, or commits first.
pub(super) fn edit<T>(
    doc: Option<&mut hm_doc>,
    work: impl FnOnce(&mut AutoCommit) -> Result<T, hm_error>,
) -> Result<T, hm_error> {
    given(doc, "doc")?.edit(work)
}

/// The current document, or the document at some heads.
pub(super) fn view<'d>(doc: Option<&'d hm_doc>, heads: Option<&hm_hashes>) -> Result<View<'d>, hm_error> {
    let doc = given(doc, "doc")?;
    doc.check()?;
    match heads {
        Some(heads) => Ok(doc.doc.at(&heads.hashes("heads")?)?),
        None => Ok(doc.doc.view()),
    }
}

impl hm_doc_limits {
    /// The limits, with defaults for missing ones; `what` names them in errors.
    pub(super) fn limits(given: Option<&hm_doc_limits>, what: &str) -> Result<Limits, hm_error> {
        // The library starts its own threads only on request.
        let limits = Limits { parallel_from: u64::MAX, ..Limits::default() };
        let Some(given) = given else { return Ok(limits) };
        unused(&given.reserved, what)?;
        let or = |given: u64, default| if given == 0 { default } else { given };
        Ok(Limits {
            inflated_bytes: or(given.inflated_bytes, limits.inflated_bytes),
            operations: or(given.operations, limits.operations),
            total: or(given.total, limits.total),
            changes: or(given.changes, limits.changes),
            steps: or(given.steps, limits.steps),
            parallel_from: or(given.parallel_from, limits.parallel_from),
            ..limits
        })
    }
}

fn load_options(options: Option<&hm_doc_options>) -> Result<(LoadOptions, Limits), hm_error> {
    let limits = hm_doc_limits::limits(options.map(|options| &options.limits), "options.limits")?;
    let Some(options) = options else { return Ok((LoadOptions::new().limits(limits), limits)) };
    unused(&options.reserved, "options")?;
    let encoding = match options.text_encoding {
        HM_TEXT_CODE_POINTS => TextEncoding::UnicodeCodePoint,
        HM_TEXT_UTF8 => TextEncoding::Utf8CodeUnit,
        HM_TEXT_UTF16 => TextEncoding::Utf16CodeUnit,
        HM_TEXT_GRAPHEMES => TextEncoding::GraphemeCluster,
        other => {
            return Err(hm_error::new(
                HM_ARGUMENT,
                format!("options.text_encoding: {other} is not a text encoding"),
            ));
        }
    };
    let partial = if options.keep_partial == 0 { OnPartialLoad::Error } else { OnPartialLoad::Ignore };
    let load = LoadOptions::new().text_encoding(encoding).limits(limits).on_partial_load(partial);
    let actor = options.actor.bytes("options.actor")?;
    Ok((if actor.is_empty() { load } else { load.actor(ActorId::from(actor)) }, limits))
}

/// An empty document. `options` may be NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_create(
    options: Option<&hm_doc_options>,
    doc: Option<&mut MaybeUninit<Option<Box<hm_doc>>>>,
) -> Option<Box<hm_error>> {
    hm_doc_load(hm_span::EMPTY, options, doc)
}

/// Reads a file: a document, changes, or any sequence of them. `options` may be NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_load(
    bytes: hm_span,
    options: Option<&hm_doc_options>,
    doc: Option<&mut MaybeUninit<Option<Box<hm_doc>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(doc, None, "doc")?;
        let (options, limits) = load_options(options)?;
        *out = Some(hm_doc::new(AutoCommit::load_with(bytes.bytes("bytes")?, options)?, limits));
        Ok(())
    })
}

/// Applies the valid chunks at the beginning of a stream, such as the output of `hm_doc_save_incremental`. The rest after the
/// first bad chunk is ignored, because streams may be truncated anywhere. `operations`, unless it is NULL, is their number.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_load_incremental(
    doc: Option<&mut hm_doc>,
    bytes: hm_span,
    operations: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let operations = operations.map(|out| out.write(0));
        let bytes = bytes.bytes("bytes")?;
        let count = edit(doc, |doc| Ok(doc.load_incremental(bytes)?))?;
        if let Some(operations) = operations {
            *operations = count;
        }
        Ok(())
    })
}

/// Encodes a document as bytes.
fn save(
    doc: Option<&mut hm_doc>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
    work: impl FnOnce(&mut AutoCommit) -> Result<Vec<u8>, hm_error>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(bytes, None, "bytes")?;
        *out = Some(hm_bytes::new(edit(doc, work)?));
        Ok(())
    })
}

/// The file of a document.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_save(
    doc: Option<&mut hm_doc>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    save(doc, bytes, |doc| Ok(doc.save()))
}

/// The changes since the last save, to be appended to it.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_save_incremental(
    doc: Option<&mut hm_doc>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    save(doc, bytes, |doc| Ok(doc.save_incremental()))
}

/// The changes after `heads`, one after the other; unknown hashes are ignored.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_save_after(
    doc: Option<&mut hm_doc>,
    heads: Option<&hm_hashes>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    save(doc, bytes, |doc| Ok(doc.save_after(&given(heads, "heads")?.hashes("heads")?)))
}

/// The file of a document without compression: larger, and faster to write.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_save_nocompress(
    doc: Option<&mut hm_doc>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    save(doc, bytes, |doc| Ok(doc.save_nocompress()))
}

/// A copy of the document with another actor, in its current state or at `heads`; both share memory until one of them changes.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_fork(
    doc: Option<&mut hm_doc>,
    heads: Option<&hm_hashes>,
    fork: Option<&mut MaybeUninit<Option<Box<hm_doc>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(fork, None, "fork")?;
        let heads = heads.map(|heads| heads.hashes("heads")).transpose()?;
        let doc = given(doc, "doc")?;
        let fork = doc.edit(|doc| match &heads {
            Some(heads) => Ok(doc.fork_at(heads)?),
            None => Ok(doc.fork()),
        })?;
        *out = Some(hm_doc::new(fork, doc.limits));
        Ok(())
    })
}

/// Merges the changes of another document into this one. Pending edits of the other one are committed. Both may be the same
/// document.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_merge(
    doc: Option<NonNull<hm_doc>>,
    other: Option<NonNull<hm_doc>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let Some((doc, other)) = two(doc, other, ["doc", "other"])? else { return Ok(()) };
        other.edit(|other| doc.edit(|doc| Ok(doc.merge(other)?)))?;
        Ok(())
    })
}

/// The actor that writes.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_actor(
    doc: Option<&hm_doc>,
    actor: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, doc) = (slot(actor, None, "actor")?, given(doc, "doc")?);
        doc.check()?;
        *out = Some(hm_bytes::new(doc.doc.get_actor().as_bytes()));
        Ok(())
    })
}

/// The author of an actor, as passed to `hm_doc_commit_by`; NULL if there is none.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_author(
    doc: Option<&hm_doc>,
    actor: hm_span,
    author: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, doc) = (slot(author, None, "author")?, given(doc, "doc")?);
        let actor = ActorId::from(actor.bytes("actor")?);
        doc.check()?;
        *out = doc.doc.get_author_for_actor(&actor).map(hm_bytes::new);
        Ok(())
    })
}

/// Sets the actor of later changes.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_set_actor(doc: Option<&mut hm_doc>, actor: hm_span) -> Option<Box<hm_error>> {
    call(|| {
        let actor = ActorId::from(actor.bytes("actor")?);
        edit(doc, |doc| {
            doc.set_actor(actor);
            Ok(())
        })
    })
}

fn commit_options(message: hm_span, time: i64) -> Result<CommitOptions, hm_error> {
    let options = CommitOptions::default().with_time(time);
    Ok(if message.is_empty() { options } else { options.with_message(message.text("message")?) })
}

/// Commits the edits since the last change as a new one, with a message, unless that is empty, and a time in seconds since 1970,
/// or 0. `made`, unless it is NULL, is true if there was any edit. `hash`, unless it is NULL, is the hash of the change, or zeros
/// without one.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_commit(
    doc: Option<&mut hm_doc>,
    message: hm_span,
    time: i64,
    made: Option<&mut MaybeUninit<bool>>,
    hash: Option<&mut MaybeUninit<hm_change_hash>>,
) -> Option<Box<hm_error>> {
    hm_doc_commit_by(doc, hm_span::EMPTY, message, time, made, hash)
}

/// As `hm_doc_commit`, with an author, which may be any bytes: one person may write as several actors. Only an actor's first
/// change records the author.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_commit_by(
    doc: Option<&mut hm_doc>,
    author: hm_span,
    message: hm_span,
    time: i64,
    made: Option<&mut MaybeUninit<bool>>,
    hash: Option<&mut MaybeUninit<hm_change_hash>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (has_edits, hash) =
            (made.map(|out| out.write(false)), hash.map(|out| out.write(hm_change_hash::NONE)));
        let (options, author) = (commit_options(message, time)?, author.bytes("author")?);
        let options = if author.is_empty() { options } else { options.with_author(author) };
        edit(doc, |doc| {
            let Some(commit) = doc.commit_with(&options) else { return Ok(()) };
            if let Some(has_edits) = has_edits {
                *has_edits = true;
            }
            if let (Some(out), Some(hash)) = (hash, doc.hash(commit)) {
                *out = hm_change_hash::from_hash(&hash);
            }
            Ok(())
        })
    })
}

/// Makes a change without edits, which depends on all heads.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_empty_change(
    doc: Option<&mut hm_doc>,
    message: hm_span,
    time: i64,
) -> Option<Box<hm_error>> {
    call(|| {
        let options = commit_options(message, time)?;
        edit(doc, |doc| {
            doc.empty_commit(&options);
            Ok(())
        })
    })
}

/// Rolls back the edits since the last commit. `operations`, unless it is NULL, is their number.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_rollback(
    doc: Option<&mut hm_doc>,
    operations: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let operations = operations.map(|out| out.write(0));
        let count = edit(doc, |doc| Ok(doc.rollback()))?;
        if let Some(operations) = operations {
            *operations = count;
        }
        Ok(())
    })
}

/// The number of operations since the last commit.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_pending_ops(
    doc: Option<&hm_doc>,
    operations: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let (out, doc) = (slot(operations, 0, "operations")?, given(doc, "doc")?);
        doc.check()?;
        *out = doc.doc.pending_ops();
        Ok(())
    })
}

/// Reads and writes the document at `heads` until `hm_doc_integrate`: these edits are concurrent to all changes after `heads`.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_isolate(
    doc: Option<&mut hm_doc>,
    heads: Option<&hm_hashes>,
) -> Option<Box<hm_error>> {
    call(|| {
        let heads = given(heads, "heads")?.hashes("heads")?;
        edit(doc, |doc| Ok(doc.isolate(&heads)?))
    })
}

/// Returns to the whole document.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_integrate(doc: Option<&mut hm_doc>) -> Option<Box<hm_error>> {
    call(|| {
        edit(doc, |doc| {
            doc.integrate();
            Ok(())
        })
    })
}

/// The heads: changes without successors, in ascending order.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_heads(
    doc: Option<&mut hm_doc>,
    heads: Option<&mut MaybeUninit<Option<Box<hm_hashes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(heads, None, "heads")?;
        *out = Some(hm_hashes::new(&edit(doc, |doc| Ok(doc.get_heads()))?));
        Ok(())
    })
}

/// The hashes of missing changes: among `heads`, which may be NULL, and among the dependencies of waiting changes.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_get_missing_deps(
    doc: Option<&mut hm_doc>,
    heads: Option<&hm_hashes>,
    missing: Option<&mut MaybeUninit<Option<Box<hm_hashes>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(missing, None, "missing")?;
        let heads = heads.map_or(Ok(Vec::new()), |heads| heads.hashes("heads"))?;
        *out = Some(hm_hashes::new(&edit(doc, |doc| Ok(doc.get_missing_deps(&heads)))?));
        Ok(())
    })
}

/// Applies changes from other replicas, in any order; those with missing dependencies wait for them. If one breaks a rule, none
/// is applied.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_apply_changes(doc: Option<&mut hm_doc>, changes: hm_spans) -> Option<Box<hm_error>> {
    call(|| {
        let changes = changes.bytes("changes")?;
        let doc = given(doc, "doc")?;
        let changes = Change::from_each(&changes, &doc.limits)?;
        doc.edit(|doc| Ok(doc.apply_changes(changes)?))
    })
}

/// Frees hashes, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_hashes_free(hashes: Option<Box<hm_hashes>>) {
    free(hashes);
}

/// Frees a document, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_free(doc: Option<Box<hm_doc>>) {
    free(doc);
}
