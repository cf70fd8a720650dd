//! A file that is opened now and read when somebody asks.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use crate::codec::chunk::{ChunkType, Frame, Sealed};
use crate::codec::document::named_heads;
use crate::codec::limits::Limits;
use crate::codec::reader::Reader;
use crate::damage::Loss;
use crate::document::Document;
use crate::error::LoadError;
use crate::migrate::StringMigration;
use crate::storage::{LoadOptions, LoadReport};
use crate::types::ChangeHash;

/// What of a file is looked at when it is opened. Nothing of this is about [`Document::load`], which looks at everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Opening {
    /// The checksum of every chunk: what a disk or a wire did to the file is seen now.
    #[default]
    Checksums,
    /// Where each chunk ends: damage inside of one is seen when the document is asked for.
    Frames,
}

/// A file that was opened and is read when somebody asks for the document: see [`Document::open`].
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
pub struct Opened<B = Vec<u8>> {
    held: Held<B>,
    options: LoadOptions,
}

enum Held<B> {
    /// The document says what these bytes say, whether it was read or not.
    File { bytes: B, read: OnceLock<Result<Loaded, LoadError>> },
    /// It may have been written in.
    Document(Loaded),
}

/// A document, and what was lost when it was read.
type Loaded = (Document, LoadReport);

impl Document {
    /// Opens a file without reading it: what is in it is read when it is first asked for, by [`Opened::document`] and the calls
    /// like it.
    ///
    /// Looks at the checksum of each chunk, unless [`LoadOptions::opening`] says otherwise. Everything else that
    /// [`Self::load`] does is done at that first use, the comparison of hashes with the heads of the file included, unless
    /// [`LoadOptions::verify`] puts that off further; an error is what `load` would have given. A file whose chunks are not
    /// sound is read at once, so that an error of this call is that of `load`, too. Nothing is done in the background: who wants that
    /// calls [`Opened::document`] on another thread.
    ///
    /// The bytes are kept, and are what [`Opened::save`] gives, until [`Opened::document_mut`] is called.
    pub fn open<B: AsRef<[u8]>>(bytes: B) -> Result<Opened<B>, LoadError> {
        Self::open_with(bytes, LoadOptions::default())
    }

    /// As [`Self::open`], with options. Converting strings is writing: with [`LoadOptions::migrate_strings`] the file is read
    /// at once.
    pub fn open_with<B: AsRef<[u8]>>(bytes: B, options: LoadOptions) -> Result<Opened<B>, LoadError> {
        let untouched = options.strings == StringMigration::NoMigration;
        let held = if untouched && is_sound(bytes.as_ref(), options.opening, &options.limits) {
            Held::File { bytes, read: OnceLock::new() }
        } else {
            Held::Document(Self::load_reported(bytes.as_ref(), options.clone())?)
        };
        Ok(Opened { held, options })
    }
}

/// Whether a file is chunk after chunk, as far as one should look.
fn is_sound(bytes: &[u8], opening: Opening, limits: &Limits) -> bool {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let sound = match opening {
            Opening::Checksums => Sealed::read(&mut reader, limits).is_ok_and(|chunk| chunk.is_sound()),
            Opening::Frames => Frame::read(&mut reader).is_ok_and(|frame| frame.is_known()),
        };
        if !sound {
            return false;
        }
    }
    true
}

impl<B: AsRef<[u8]>> Opened<B> {
    /// The document, read now if it was not before. What cannot be read is the same error each time.
    ///
    /// Of several threads that ask first, each may read it; all get what one of them read. None waits for another.
    pub fn document(&self) -> Result<&Document, LoadError> {
        self.loaded().map(|(doc, _)| doc)
    }

    /// What is not in the document as the file has it, where [`LoadOptions::on_partial_load`] allows that.
    pub fn losses(&self) -> Result<&[Loss], LoadError> {
        self.loaded().map(|(_, report)| &report.losses[..])
    }

    fn loaded(&self) -> Result<&Loaded, LoadError> {
        match &self.held {
            Held::Document(loaded) => Ok(loaded),
            Held::File { bytes, read } => {
                let read = match read.get() {
                    Some(read) => read,
                    None => {
                        // Not inside of `get_or_init`: while a load waits for another thread it may be given anything that the
                        // pool has to do, and that may be to ask for this document.
                        let loaded = Document::load_reported(bytes.as_ref(), self.options.clone());
                        read.get_or_init(|| loaded)
                    }
                };
                read.as_ref().map_err(Clone::clone)
            }
        }
    }

    /// The document, to be written in. From here on the file is no longer kept; if it cannot be read, it is.
    pub fn document_mut(&mut self) -> Result<&mut Document, LoadError> {
        if let Held::File { bytes, read } = &mut self.held {
            let loaded = read.take();
            let loaded =
                loaded.unwrap_or_else(|| Document::load_reported(bytes.as_ref(), self.options.clone()));
            match loaded {
                Ok(loaded) => self.held = Held::Document(loaded),
                Err(error) => {
                    *read = OnceLock::from(Err(error.clone()));
                    return Err(error);
                }
            }
        }
        match &mut self.held {
            Held::Document((doc, _)) => Ok(doc),
            Held::File { .. } => unreachable!("it was read"),
        }
    }

    /// The document alone.
    pub fn into_document(self) -> Result<Document, LoadError> {
        match self.held {
            Held::Document((doc, _)) => Ok(doc),
            Held::File { bytes, read } => match read.into_inner() {
                Some(read) => read.map(|(doc, _)| doc),
                None => Document::load_with(bytes.as_ref(), self.options),
            },
        }
    }

    /// Whether the document was read.
    pub fn is_read(&self) -> bool {
        match &self.held {
            Held::Document(_) => true,
            Held::File { read, .. } => read.get().is_some(),
        }
    }

    /// The file, as long as nobody could write in the document.
    pub fn file(&self) -> Option<&[u8]> {
        match &self.held {
            Held::Document(_) => None,
            Held::File { bytes, .. } => Some(bytes.as_ref()),
        }
    }

    /// The document as a file: what was opened, whatever is in it, or, once somebody could write in the document, what
    /// [`Document::save`] gives.
    pub fn save(&mut self) -> Cow<'_, [u8]> {
        match &mut self.held {
            Held::Document((doc, _)) => Cow::Owned(doc.save()),
            Held::File { bytes, .. } => Cow::Borrowed(AsRef::<[u8]>::as_ref(bytes)),
        }
    }

    /// The heads that the file names, as long as nobody could write in the document: nothing was read and nothing compared for
    /// that. A file that is not one document alone names none, nor does one whose beginning [`Self::document`] refuses.
    pub fn named_heads(&self) -> Option<Vec<ChangeHash>> {
        let mut reader = Reader::new(self.file()?);
        let frame = Frame::read(&mut reader).ok()?;
        let alone = frame.kind == ChunkType::Document as u8 && reader.is_empty();
        if alone { named_heads(frame.body).ok() } else { None }
    }
}

/// Without what is in the file.
impl<B: AsRef<[u8]>> fmt::Debug for Opened<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.file().map(<[u8]>::len);
        f.debug_struct("Opened").field("bytes", &bytes).field("read", &self.is_read()).finish_non_exhaustive()
    }
}
