//! Documents: their life, files and changes.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::{HM_ARGUMENT, HM_INTERNAL, hm_error};
use super::pointers::{
    call, free, given, hm_bytes, hm_change_hash, hm_hashes, hm_span, hm_spans, slot, two, unused,
};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use hashmill_doc::{
    ActorId, AutoCommit, Change, CommitOptions, Limits, LoadOptions, OnPartialLoad, ReadDoc, TextEncoding,
    Transactable, View,
};

/// How indexes into texts are counted.
pub type hm_text_encoding = u32;

/// In Unicode scalar values.
pub const HM_TEXT_CODE_POINTS: hm_text_encoding = 0;
/// In bytes of UTF-8.
pub const HM_TEXT_UTF8: hm_text_encoding = 1;
/// In units of UTF-16, as in JavaScript.
pub const HM_TEXT_UTF16: hm_text_encoding = 2;
/// In what people take for characters.
pub const HM_TEXT_GRAPHEMES: hm_text_encoding = 3;

/// What bytes from elsewhere may ask for, and what a document may become. 0 stands for a default that is above any document known; who
/// reads from strangers sets them lower.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_doc_limits {
    /// Bytes that one chunk may inflate to.
    inflated_bytes: u64,
    /// Operations in one change.
    operations: u64,
    /// Operations of a document.
    total: u64,
    /// Changes of a document, and changes that wait for others.
    changes: u64,
    /// Steps of work that one call may cost beyond what bytes pay for.
    steps: u64,
    /// Bytes of a chunk from which several threads read it, which the library starts then and keeps; 0: no other than the one that
    /// calls.
    parallel_from: u64,
    /// For later versions: 0.
    reserved: [u64; 4],
}

/// How a document is made or read. Zeros are a good choice.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_doc_options {
    /// Who writes here: any bytes that nobody else uses. No bytes stand for random ones.
    actor: hm_span,
    /// How indexes into texts are counted.
    text_encoding: hm_text_encoding,
    /// Not 0: of a file whose end cannot be read the rest is kept.
    keep_partial: u32,
    /// Limits.
    limits: hm_doc_limits,
    /// For later versions: 0.
    reserved: [u64; 4],
}

/// A document with its whole history, and the edits since the last commit. Functions that take it as a pointer to const see those edits,
/// too; most others commit them first, without a message.
#[derive(Debug)]
pub struct hm_doc {
    doc: AutoCommit,
    /// A call ended within. Nobody knows what is in it.
    broken: bool,
    limits: Limits,
}

impl hm_doc {
    fn new(doc: AutoCommit, limits: Limits) -> Box<hm_doc> {
        Box::new(hm_doc { doc, broken: false, limits })
    }

    fn check(&self) -> Result<(), hm_error> {
        let broken = || hm_error::new(HM_INTERNAL, "a call on this document ended within: load it again");
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

/// Changes a document, or commits first.
pub(super) fn edit<T>(
    doc: Option<&mut hm_doc>,
    work: impl FnOnce(&mut AutoCommit) -> Result<T, hm_error>,
) -> Result<T, hm_error> {
    given(doc, "doc")?.edit(work)
}

/// A document as it is, or as it was at some heads.
pub(super) fn view<'d>(doc: Option<&'d hm_doc>, heads: Option<&hm_hashes>) -> Result<View<'d>, hm_error> {
    let doc = given(doc, "doc")?;
    doc.check()?;
    match heads {
        Some(heads) => Ok(doc.doc.at(&heads.hashes("heads")?)?),
        None => Ok(doc.doc.view()),
    }
}

impl hm_doc_limits {
    /// The limits, with the defaults where there are none; `what` names them in errors.
    pub(super) fn limits(given: Option<&hm_doc_limits>, what: &str) -> Result<Limits, hm_error> {
        // Threads of the library's are started only where somebody asks for them.
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
        other => return Err(hm_error::new(HM_ARGUMENT, format!("options.text_encoding: {other} is none"))),
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

/// Takes over the good beginning of a stream of chunks, such as what `hm_doc_save_incremental` gave; what follows the first bad one is
/// left out, because streams are cut off anywhere. `operations`, unless it is NULL, is how many there were.
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

/// Gives what a document becomes as bytes.
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

/// What came since the last time something was saved, to be put behind that.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_save_incremental(
    doc: Option<&mut hm_doc>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    save(doc, bytes, |doc| Ok(doc.save_incremental()))
}

/// What came after `heads`, as changes one behind the other; hashes that are unknown here are passed over.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_save_after(
    doc: Option<&mut hm_doc>,
    heads: Option<&hm_hashes>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    save(doc, bytes, |doc| Ok(doc.save_after(&given(heads, "heads")?.hashes("heads")?)))
}

/// The file of a document without compression: larger, and quicker to write.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_save_nocompress(
    doc: Option<&mut hm_doc>,
    bytes: Option<&mut MaybeUninit<Option<Box<hm_bytes>>>>,
) -> Option<Box<hm_error>> {
    save(doc, bytes, |doc| Ok(doc.save_nocompress()))
}

/// The same document with another actor, as it is or as it was at `heads`; both share everything until one of them changes it.
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

/// Takes over everything that another document has and this one lacks; of the other one, edits are committed. It may be the same one.
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

/// Who writes here.
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

/// Who stands behind an actor, as `hm_doc_commit_by` was told: NULL where nobody said.
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

/// Writes as another actor from now on.
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

/// Makes a change of the edits since the last one, with a message, unless that has no bytes, and a time in seconds since 1970, or 0.
/// `made`, unless it is NULL, says whether there was any edit; `hash`, unless it is NULL, is the change's then, and zeros otherwise.
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

/// As `hm_doc_commit`; says who stands behind the actor, too, by any bytes: one person may write as many actors. Only an actor's first
/// change records it.
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
        let (made, hash) =
            (made.map(|out| out.write(false)), hash.map(|out| out.write(hm_change_hash::NONE)));
        let (options, author) = (commit_options(message, time)?, author.bytes("author")?);
        let options = if author.is_empty() { options } else { options.with_author(author) };
        edit(doc, |doc| {
            let Some(commit) = doc.commit_with(&options) else { return Ok(()) };
            if let Some(made) = made {
                *made = true;
            }
            if let (Some(out), Some(hash)) = (hash, doc.hash(commit)) {
                *out = hm_change_hash::of(&hash);
            }
            Ok(())
        })
    })
}

/// Makes a change without edits, that says that everything before it was seen.
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

/// Takes back the edits since the last commit. `operations`, unless it is NULL, is how many there were.
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

/// How many operations there were since the last commit.
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

/// Reads and writes the document as it was at `heads` until `hm_doc_integrate`: what is written then is concurrent to everything since.
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

/// Goes back to the whole document.
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

/// The changes that no other change was made after, in ascending order.
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

/// The hashes of changes that are missing: among `heads`, which may be NULL, and among what waiting changes depend on.
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

/// Takes changes from elsewhere, in any order; those whose dependencies are missing wait for them. If one breaks a rule, none is taken.
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

/// Frees hashes, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_hashes_free(hashes: Option<Box<hm_hashes>>) {
    free(hashes);
}

/// Frees a document, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_doc_free(doc: Option<Box<hm_doc>>) {
    free(doc);
}
