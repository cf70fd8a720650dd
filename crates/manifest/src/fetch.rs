//! From an object to its digest.
//!
//! One answer of a store is one state of an object. Several answers are one only if each was asked for by the tag or the version
//! of the first.

use futures_util::future;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use hashmill_hash::blake3::Hasher;
use hashmill_hash::blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;

use crate::answer::{Failure, Found, Kind};
use crate::inventory::Ask;
use crate::place::Object;
use crate::web;
use crate::work::Work;

/// What is fetched at a time of an object that is fetched in parts: a whole subtree, and long beside what a request costs.
pub(crate) const PART: u64 = 16 << 20;

/// One object, and whom to ask.
pub(crate) struct Fetch<'a> {
    pub(crate) store: &'a dyn ObjectStore,
    /// The same without a second try, where tags may be weak.
    pub(crate) once: Option<&'a dyn ObjectStore>,
    pub(crate) object: &'a Object,
    pub(crate) ask: &'a Ask,
    /// One for each request that may be under way.
    pub(crate) permits: &'a Semaphore,
    /// As many.
    pub(crate) connections: usize,
    /// Who hears of the bytes.
    pub(crate) work: &'a Work,
}

impl Fetch<'_> {
    /// The digest of the object as it is listed: by parts if its size is listed and at least `split`.
    pub(crate) async fn found(&self, split: u64) -> Result<Found, Failure> {
        match self.ask.size {
            Some(size) if size >= split.max(PART + 1) => match self.parts(size).await? {
                Some(found) => Ok(found),
                None => self.whole().await,
            },
            _ => self.whole().await,
        }
    }

    async fn whole(&self) -> Result<Found, Failure> {
        let _permit = self.permit().await;
        let mut answer = self.get(self.asked()).await?;
        // Where this one breaks off, it would go on by a tag that other bytes may have, too.
        if let Some(once) = self.once
            && answer.meta.e_tag.as_deref().is_some_and(|tag| !is_strong(tag))
        {
            answer = self.checked(once.get_opts(&self.object.path, self.asked()).await)?;
        }
        let meta = answer.meta.clone();
        let size = meta.size;
        let hasher = read(answer, Hasher::new(), size, self.work).await?;
        Ok(found(*hasher.finalize().as_bytes(), meta))
    }

    /// By parts, each a subtree. `None` if nothing tells one state of the object from another.
    async fn parts(&self, size: u64) -> Result<Option<Found>, Failure> {
        let permit = self.permit().await;
        let options = GetOptions { range: Some((0..PART).into()), ..self.asked() };
        let first = match self.get(options).await {
            Ok(first) => first,
            // Also a server that knows no parts.
            Err(failure) if failure.kind == Kind::Failed => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let meta = first.meta.clone();
        let same = GetOptions {
            if_match: meta.e_tag.clone().filter(|tag| is_strong(tag)),
            version: self.ask.version.clone(),
            extensions: self.object.extensions(),
            ..GetOptions::default()
        };
        if same.if_match.is_none() && same.version.is_none() {
            return Ok(None);
        }
        let first = async move {
            let _permit = permit;
            subtree(first, 0, PART, self.work).await
        };
        let (same, first_meta) = (&same, &meta);
        let others = stream::iter((PART..size).step_by(PART as usize)).map(|offset| async move {
            let _permit = self.permit().await;
            let end = size.min(offset.saturating_add(PART));
            let answer = self.get(GetOptions { range: Some((offset..end).into()), ..same.clone() }).await?;
            // Not every server looks at what it is asked by.
            let ObjectMeta { e_tag, version, last_modified, .. } = &answer.meta;
            if *e_tag != first_meta.e_tag
                || *version != first_meta.version
                || *last_modified != first_meta.last_modified
            {
                return Err(Failure::new(Kind::Changed, "the object changed while it was read"));
            }
            subtree(answer, offset, end, self.work).await
        });
        let others = others.buffered(self.connections).try_collect::<Vec<_>>();
        let (first, others) = future::try_join(first, others).await?;
        let values = [first].into_iter().chain(others).collect();
        Ok(Some(found(root(values), meta)))
    }

    /// What the row says of the state of the object.
    fn asked(&self) -> GetOptions {
        let tag = self.ask.etag.as_deref().filter(|tag| is_strong(tag));
        let if_match = tag.map(|tag| format!("\"{}\"", bare(tag)));
        let (version, extensions) = (self.ask.version.clone(), self.object.extensions());
        GetOptions { if_match, version, extensions, ..GetOptions::default() }
    }

    /// An answer that is of the object that is listed, as far as its head says.
    async fn get(&self, options: GetOptions) -> Result<GetResult, Failure> {
        self.checked(self.store.get_opts(&self.object.path, options).await)
    }

    fn checked(&self, answer: object_store::Result<GetResult>) -> Result<GetResult, Failure> {
        let answer = answer.map_err(|error| failure(&error))?;
        let changed = |words| Err(Failure::new(Kind::Changed, words));
        match (self.ask.size, self.ask.etag.as_deref(), answer.meta.e_tag.as_deref()) {
            (Some(listed), _, _) if listed != answer.meta.size => {
                changed(format!("{listed} bytes are listed, {} found", answer.meta.size))
            }
            (_, Some(listed), found) if found.map(bare) != Some(bare(listed)) => {
                changed(format!("the tag {listed} is listed, {} found", found.unwrap_or("none")))
            }
            _ if self.ask.version.is_some()
                && answer.meta.version.is_some()
                && self.ask.version != answer.meta.version =>
            {
                changed("another version than the listed one was found".to_owned())
            }
            _ => Ok(answer),
        }
    }

    async fn permit(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.permits.acquire().await.ok()
    }
}

/// Whether two answers with this tag have the same bytes.
pub(crate) fn is_strong(tag: &str) -> bool {
    !tag.starts_with("W/")
}

/// A tag without what HTTP writes around it: inventories leave that out.
fn bare(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
}

async fn subtree(answer: GetResult, offset: u64, end: u64, work: &Work) -> Result<ChainingValue, Failure> {
    if answer.range != (offset..end) {
        let words = format!("bytes {offset} to {end} were asked for, {:?} came", answer.range);
        return Err(Failure::new(Kind::Failed, words));
    }
    let mut hasher = Hasher::new();
    hasher.set_input_offset(offset);
    Ok(read(answer, hasher, end - offset, work).await?.finalize_non_root())
}

/// Everything of an answer, which must be `size` bytes.
async fn read(answer: GetResult, mut hasher: Hasher, size: u64, work: &Work) -> Result<Hasher, Failure> {
    let mut body = answer.into_stream();
    let mut missing = size;
    while let Some(bytes) = body.try_next().await.map_err(|error| failure(&error))? {
        let Some(rest) = missing.checked_sub(bytes.len() as u64) else {
            return Err(Failure::new(Kind::Failed, format!("more than {size} bytes came")));
        };
        missing = rest;
        work.read(bytes.len() as u64);
        hasher.update(&bytes);
    }
    if missing > 0 {
        return Err(Failure::new(Kind::Failed, format!("{missing} of {size} bytes did not come")));
    }
    Ok(hasher)
}

/// The digest over subtrees of equal size, of which only the last may be shorter: two at least.
fn root(mut values: Vec<ChainingValue>) -> [u8; 32] {
    while values.len() > 2 {
        let merge = |pair: &[ChainingValue]| match pair {
            [left, right] => merge_subtrees_non_root(left, right, Mode::Hash),
            _ => pair[0],
        };
        values = values.chunks(2).map(merge).collect();
    }
    *merge_subtrees_root(&values[0], &values[1], Mode::Hash).as_bytes()
}

fn found(blake3: [u8; 32], meta: ObjectMeta) -> Found {
    Found { blake3, size: meta.size, etag: meta.e_tag, version: meta.version }
}

/// The most of what a store said that is kept for each row.
const WORDS: usize = 500;

pub(crate) fn failure(error: &object_store::Error) -> Failure {
    use object_store::Error;
    if let Some(refused) = web::refused(error) {
        return refused.clone().into();
    }
    let kind = match error {
        Error::NotFound { .. } => Kind::Missing,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Kind::Denied,
        Error::Precondition { .. } => Kind::Changed,
        _ => Kind::Failed,
    };
    Failure::new(kind, error.to_string().chars().take(WORDS).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::blake3::hash;

    #[test]
    fn subtrees_make_the_digest_whatever_their_number() {
        for chunks in 2..40_usize {
            let input: Vec<u8> = (0..chunks * 1024 - 7).map(|i| (i % 251) as u8).collect();
            let value = |(index, chunk): (usize, &[u8])| {
                let mut hasher = Hasher::new();
                hasher.set_input_offset(index as u64 * 1024).update(chunk);
                hasher.finalize_non_root()
            };
            let values = input.chunks(1024).enumerate().map(value).collect();
            assert_eq!(root(values), *hash(&input).as_bytes(), "{chunks}");
        }
    }

    #[test]
    fn tags_are_compared_without_what_is_around_them() {
        for tag in ["abc", "\"abc\"", "W/\"abc\""] {
            assert_eq!(bare(tag), "abc");
        }
        assert!(!is_strong("W/\"abc\"") && is_strong("\"abc\"") && is_strong("abc"));
    }
}
