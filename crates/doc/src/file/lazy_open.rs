//! Lazily loaded file: it is opened at once and decoded on first access.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::container::{ChunkSpan, ChunkType, UncheckedChunk};
use crate::codec::chunks::document::named_heads;
use crate::codec::limits::Limits;
use crate::document::Document;
use crate::file::damage::Loss;
use crate::file::load_save::{LoadOptions, LoadReport, OpenCheck};
use crate::file::migrate_strings::StringMigration;
use crate::types::ChangeHash;
use crate::types::error::LoadError;

/// An opened file that is decoded on first access to the document: see [`Document::open`].
///
/// ```
/// use hashmill_doc::{Document, ReadDoc, Transactable, ROOT};
///
/// let mut doc = Document::new();
/// doc.transact(|tx| tx.put(ROOT, "title", "Groceries"))?;
/// let mut opened = Document::open(doc.save())?;
/// assert_eq!(*opened.save(), *doc.save()); // Nothing was read for that.
/// assert_eq!(opened.document()?.keys(ROOT).count(), 1);
/// opened.document_mut()?.transact(|tx| tx.put(ROOT, "done", false))?;
/// assert_eq!(Document::load(&opened.save())?.keys(ROOT).count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LazyDocument<B = Vec<u8>> {
    content: FileOrDocument<B>,
    options: LoadOptions,
}

enum FileOrDocument<B> {
    /// The bytes of the file; they represent the document, decoded or not.
    File { bytes: B, read: OnceLock<Result<Loaded, LoadError>> },
    /// A document that may have been edited.
    Document(Loaded),
}

/// A document, and its losses when it was loaded.
type Loaded = (Document, LoadReport);

impl Document {
    /// Opens a file without decoding it: the contents are decoded on first access, by [`LazyDocument::document`] and similar
    /// methods.
    ///
    /// Checks the checksum of each chunk, unless [`LoadOptions::open_check`] selects otherwise. All other work of
    /// [`Self::load`] is done on first access, including the comparison of hashes with the heads of the file, unless
    /// [`LoadOptions::verify`] defers that further; errors are those of `load`. A file with damaged chunks is loaded at
    /// once, so that the error of this call is that of `load`, too. Nothing runs in the background: call
    /// [`LazyDocument::document`] on another thread for that.
    ///
    /// The bytes are kept, and [`LazyDocument::save`] returns them, until [`LazyDocument::document_mut`] is called.
    pub fn open<B: AsRef<[u8]>>(bytes: B) -> Result<LazyDocument<B>, LoadError> {
        Self::open_with(bytes, LoadOptions::default())
    }

    /// As [`Self::open`], with options. With [`LoadOptions::migrate_strings`] the file is decoded at once, because the
    /// migration edits it.
    pub fn open_with<B: AsRef<[u8]>>(bytes: B, options: LoadOptions) -> Result<LazyDocument<B>, LoadError> {
        let untouched = options.strings == StringMigration::NoMigration;
        let content = if untouched && is_sound(bytes.as_ref(), options.open_check, &options.limits) {
            FileOrDocument::File { bytes, read: OnceLock::new() }
        } else {
            FileOrDocument::Document(Self::load_reported(bytes.as_ref(), options.clone())?)
        };
        Ok(LazyDocument { content, options })
    }
}

/// Is a file a sequence of valid chunks, as far as `open_check` requires a check?
fn is_sound(bytes: &[u8], open_check: OpenCheck, limits: &Limits) -> bool {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let sound = match open_check {
            OpenCheck::Checksums => {
                UncheckedChunk::read(&mut reader, limits).is_ok_and(|chunk| chunk.is_sound())
            }
            OpenCheck::Frames => ChunkSpan::read(&mut reader).is_ok_and(|frame| frame.is_known()),
        };
        if !sound {
            return false;
        }
    }
    true
}

impl<B: AsRef<[u8]>> LazyDocument<B> {
    /// The document, decoded on first access. If it cannot be decoded, every call returns the same error.
    ///
    /// Threads may race to decode; all see one result. None waits for another.
    pub fn document(&self) -> Result<&Document, LoadError> {
        self.loaded().map(|(doc, _)| doc)
    }

    /// The losses, if [`LoadOptions::on_partial_load`] allows any.
    pub fn losses(&self) -> Result<&[Loss], LoadError> {
        self.loaded().map(|(_, report)| &report.losses[..])
    }

    fn loaded(&self) -> Result<&Loaded, LoadError> {
        match &self.content {
            FileOrDocument::Document(loaded) => Ok(loaded),
            FileOrDocument::File { bytes, read } => {
                let read = match read.get() {
                    Some(read) => read,
                    None => {
                        // Not inside `get_or_init`: while a load waits for another thread, it may run any task of the
                        // pool, and that task may access this document.
                        let loaded = Document::load_reported(bytes.as_ref(), self.options.clone());
                        read.get_or_init(|| loaded)
                    }
                };
                read.as_ref().map_err(Clone::clone)
            }
        }
    }

    /// The document, to be edited. Drops the bytes of the file, unless it cannot be decoded.
    pub fn document_mut(&mut self) -> Result<&mut Document, LoadError> {
        if let FileOrDocument::File { bytes, read } = &mut self.content {
            let loaded = read.take();
            let loaded =
                loaded.unwrap_or_else(|| Document::load_reported(bytes.as_ref(), self.options.clone()));
            match loaded {
                Ok(loaded) => self.content = FileOrDocument::Document(loaded),
                Err(error) => {
                    *read = OnceLock::from(Err(error.clone()));
                    return Err(error);
                }
            }
        }
        match &mut self.content {
            FileOrDocument::Document((doc, _)) => Ok(doc),
            FileOrDocument::File { .. } => unreachable!("it was read"),
        }
    }

    /// Converts into the document.
    pub fn into_document(self) -> Result<Document, LoadError> {
        match self.content {
            FileOrDocument::Document((doc, _)) => Ok(doc),
            FileOrDocument::File { bytes, read } => match read.into_inner() {
                Some(read) => read.map(|(doc, _)| doc),
                None => Document::load_with(bytes.as_ref(), self.options),
            },
        }
    }

    /// Is the document decoded?
    pub fn is_read(&self) -> bool {
        match &self.content {
            FileOrDocument::Document(_) => true,
            FileOrDocument::File { read, .. } => read.get().is_some(),
        }
    }

    /// The bytes of the file, until [`Self::document_mut`] is called.
    pub fn file(&self) -> Option<&[u8]> {
        match &self.content {
            FileOrDocument::Document(_) => None,
            FileOrDocument::File { bytes, .. } => Some(bytes.as_ref()),
        }
    }

    /// The document as a file: the opened bytes, valid or not, or, after [`Self::document_mut`], the result of
    /// [`Document::save`].
    pub fn save(&mut self) -> Cow<'_, [u8]> {
        match &mut self.content {
            FileOrDocument::Document((doc, _)) => Cow::Owned(doc.save()),
            FileOrDocument::File { bytes, .. } => Cow::Borrowed(AsRef::<[u8]>::as_ref(bytes)),
        }
    }

    /// The heads named in the file, without decoding or checking it, until [`Self::document_mut`] is called. `None` for
    /// a file that is not a single document, or whose start [`Self::document`] refuses.
    pub fn named_heads(&self) -> Option<Vec<ChangeHash>> {
        let mut reader = Reader::new(self.file()?);
        let frame = ChunkSpan::read(&mut reader).ok()?;
        let alone = frame.kind == ChunkType::Document as u8 && reader.is_empty();
        if alone { named_heads(frame.body).ok() } else { None }
    }
}

/// Without the contents of the file.
impl<B: AsRef<[u8]>> fmt::Debug for LazyDocument<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.file().map(<[u8]>::len);
        f.debug_struct("Opened").field("bytes", &bytes).field("read", &self.is_read()).finish_non_exhaustive()
    }
}
