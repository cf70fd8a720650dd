//! What a workload asks of an engine. Each engine implements what it has; a workload is written once, for all of them.

use std::hint::black_box;

/// One edit of a text. Positions and lengths count Unicode scalar values.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// Where.
    pub at: usize,
    /// How many characters go.
    pub delete: usize,
    /// What comes.
    pub insert: String,
}

/// A document with one text in it.
pub trait Texts: Sized + 'static {
    /// Name and version.
    const NAME: &'static str;

    /// A new document, with an empty text in it.
    fn blank(who: u8) -> Self;
    /// One transaction. Positions count Unicode scalar values.
    fn edit(&mut self, patches: &[Patch]);
    /// Makes what commits may have put off: the hashes of all changes, where an engine has them.
    fn settle(&mut self);
    /// The whole text.
    fn text(&mut self) -> String;
    /// How many characters it has.
    fn length(&mut self) -> usize;
    /// The smallest form, with the whole history.
    fn save(&mut self) -> Vec<u8>;
    /// The form that is written fastest, with the whole history: nothing is deflated, where an engine deflates.
    fn save_plain(&mut self) -> Vec<u8> {
        self.save()
    }
    /// From what [`save`](Self::save) gave, and checked as the engine checks what it reads by default.
    fn load(bytes: &[u8]) -> Self;
    /// As [`load`](Self::load), with every check that can be put off put off.
    fn load_deferred(bytes: &[u8]) -> Self {
        Self::load(bytes)
    }
    /// Something that holds what [`save`](Self::save) gave, checked as the engine checks what it opens by default, and can be
    /// asked. The bytes may go.
    fn open(bytes: &[u8]) -> impl Sized {
        Self::load_deferred(bytes)
    }
    /// Opened, and saved before anything was asked.
    fn open_and_save(bytes: &[u8]) -> Vec<u8> {
        Self::load_deferred(bytes).save()
    }
}

/// A document that others edit too.
pub trait Shared: Texts {
    /// A second replica.
    fn fork(&mut self, who: u8) -> Self;
    /// One transaction, and what has to be told to the others.
    fn edit_and_tell(&mut self, patches: &[Patch]) -> Vec<u8>;
    /// What others told, in an order in which nothing is missing.
    fn hear(&mut self, updates: &[Vec<u8>]);
}

/// A document with a map and a list in it.
pub trait Objects: Texts {
    /// A place in the list that stays where it is while the list changes.
    type Cursor: 'static;
    /// One transaction of puts into the map.
    fn put_all<'a>(&mut self, pairs: impl Iterator<Item = (&'a str, i64)>);
    /// What stands at a key.
    fn get(&self, key: &str) -> Option<i64>;
    /// Hands out every key, in whatever order the engine has them, and counts them with [`handed_out`].
    fn keys(&self) -> usize;
    /// One transaction of insertions into the list.
    fn insert_all(&mut self, values: impl Iterator<Item = (usize, i64)>);
    /// What stands at an index.
    fn get_index(&self, index: usize) -> Option<i64>;
    /// A cursor at an index of the list.
    fn cursor(&self, index: usize) -> Self::Cursor;
    /// The index at which a cursor is.
    fn resolve(&self, cursor: &Self::Cursor) -> usize;
    /// Takes over what another replica has.
    fn merge(&mut self, other: &mut Self);
}

/// Counts what is there to be used: an engine that need not make the things to count them makes them all the same.
pub fn handed_out<T>(things: impl Iterator<Item = T>) -> usize {
    things.map(black_box).count()
}

/// A document with a rich text in it.
pub trait Rich: Past {
    /// One transaction that marks ranges of the text, each with a value of its own.
    fn mark_all(&mut self, ranges: impl Iterator<Item = (usize, usize)>);
    /// Hands out every mark, and counts them.
    fn marks(&self) -> usize;
    /// Hands out every span, and counts them.
    fn spans(&self) -> usize;
    /// One transaction; hands out what is new for who shows the document, and counts it.
    fn edit_and_show(&mut self, patches: &[Patch]) -> usize;
    /// The same for somebody who was there before the first such call and remembers what was handed out.
    fn edit_and_hear(&mut self, patches: &[Patch]) -> usize {
        self.edit_and_show(patches)
    }
    /// Hands out the steps from one point to another, and counts them.
    fn diff(&mut self, before: &Self::Version, after: &Self::Version) -> usize;
}

/// A document that finds out with another replica what each of them lacks.
pub trait Synced: Rich {
    /// What is known of the other replica.
    type Peer: Clone + Default + 'static;
    /// The next message, not yet as bytes; gives whether there is one.
    fn generate(&mut self, peer: &mut Self::Peer) -> bool;
    /// The next message.
    fn say(&mut self, peer: &mut Self::Peer) -> Option<Vec<u8>>;
    /// Takes a message.
    fn take(&mut self, peer: &mut Self::Peer, message: &[u8]);
    /// Takes a message, and hands out what is new in the text for who shows it: where, how many characters went, how many
    /// came. Gives whether anything is new.
    fn take_and_show(
        &mut self,
        peer: &mut Self::Peer,
        message: &[u8],
        show: impl FnMut(usize, usize, usize),
    ) -> bool;
    /// Whether both have the same changes.
    fn is_with(&mut self, other: &mut Self) -> bool;
}

/// A document whose past can be read.
pub trait Past: Objects {
    /// A point in the past.
    type Version;
    /// Now.
    fn version(&mut self) -> Self::Version;
    /// What stood at a key.
    fn get_at(&mut self, key: &str, version: &Self::Version) -> Option<i64>;
    /// The text as it was.
    fn text_at(&mut self, version: &Self::Version) -> String;
}
