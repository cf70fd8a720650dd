//! Digests of objects in stores.
//!
//! One response has one state of an object. Several responses have the same state only if each was requested with the tag or
//! version of the first.

use futures_util::future;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use hashmill_hash::blake3::Hasher;
use hashmill_hash::blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;

use crate::location::Object;
use crate::row::ObjectRequest;
use crate::row_result::{Failure, FailureKind, ObjectDigest};
use crate::run_handle::RunHandle;
use crate::sources::web;

/// Bytes of a part of an object: a whole subtree, and long in relation to the cost of a request.
pub(crate) const PART: u64 = 16 << 20;

/// One object and the clients of its store.
pub(crate) struct Fetch<'a> {
    pub(crate) store: &'a dyn ObjectStore,
    /// The same client without retries, if tags may be weak.
    pub(crate) once: Option<&'a dyn ObjectStore>,
    pub(crate) object: &'a Object,
    pub(crate) request: &'a ObjectRequest,
    /// One permit for each concurrent request.
    pub(crate) permits: &'a Semaphore,
    /// Number of permits.
    pub(crate) connections: usize,
    /// Counter of the bytes.
    pub(crate) handle: &'a RunHandle,
}

impl Fetch<'_> {
    /// Digest of the listed object. Fetches parts if its size is listed and at least `split`.
    pub(crate) async fn digest(&self, split: u64) -> Result<ObjectDigest, Failure> {
        match self.request.size {
            Some(size) if size >= split.max(PART + 1) => match self.parts(size).await? {
                Some(found) => Ok(found),
                None => self.whole().await,
            },
            _ => self.whole().await,
        }
    }

    async fn whole(&self) -> Result<ObjectDigest, Failure> {
        let _permit = self.permit().await;
        let mut response = self.get(self.conditions()).await?;
        // After a broken connection the client would resume with a weak tag, which other bytes may have too.
        if let Some(once) = self.once
            && response.meta.e_tag.as_deref().is_some_and(|tag| !is_strong(tag))
        {
            response = self.checked(once.get_opts(&self.object.path, self.conditions()).await)?;
        }
        let meta = response.meta.clone();
        let size = meta.size;
        let hasher = read(response, Hasher::new(), size, self.handle).await?;
        Ok(object_digest(*hasher.finalize().as_bytes(), meta))
    }

    /// Fetches parts, each a subtree. `None` if neither a tag nor a version identifies the state of the object.
    async fn parts(&self, size: u64) -> Result<Option<ObjectDigest>, Failure> {
        let permit = self.permit().await;
        let options = GetOptions { range: Some((0..PART).into()), ..self.conditions() };
        let first = match self.get(options).await {
            Ok(first) => first,
            // Some servers fail on range requests.
            Err(failure) if failure.kind == FailureKind::Failed => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let meta = first.meta.clone();
        let same = GetOptions {
            if_match: meta.e_tag.clone().filter(|tag| is_strong(tag)),
            version: self.request.version.clone(),
            extensions: self.object.extensions(),
            ..GetOptions::default()
        };
        if same.if_match.is_none() && same.version.is_none() {
            return Ok(None);
        }
        let first = async move {
            let _permit = permit;
            subtree(first, 0, PART, self.handle).await
        };
        let (same, first_meta) = (&same, &meta);
        let others = stream::iter((PART..size).step_by(PART as usize)).map(|offset| async move {
            let _permit = self.permit().await;
            let end = size.min(offset.saturating_add(PART));
            let response = self.get(GetOptions { range: Some((offset..end).into()), ..same.clone() }).await?;
            // Not every server honours the conditions.
            let ObjectMeta { e_tag, version, last_modified, .. } = &response.meta;
            if *e_tag != first_meta.e_tag
                || *version != first_meta.version
                || *last_modified != first_meta.last_modified
            {
                return Err(Failure::new(FailureKind::Changed, "the object changed while it was read"));
            }
            subtree(response, offset, end, self.handle).await
        });
        let others = others.buffered(self.connections).try_collect::<Vec<_>>();
        let (first, others) = future::try_join(first, others).await?;
        let values = [first].into_iter().chain(others).collect();
        Ok(Some(object_digest(root(values), meta)))
    }

    /// Request conditions from the listed tag and version.
    fn conditions(&self) -> GetOptions {
        let tag = self.request.etag.as_deref().filter(|tag| is_strong(tag));
        let if_match = tag.map(|tag| format!("\"{}\"", bare(tag)));
        let (version, extensions) = (self.request.version.clone(), self.object.extensions());
        GetOptions { if_match, version, extensions, ..GetOptions::default() }
    }

    /// A response whose headers match the listed object.
    async fn get(&self, options: GetOptions) -> Result<GetResult, Failure> {
        self.checked(self.store.get_opts(&self.object.path, options).await)
    }

    fn checked(&self, response: object_store::Result<GetResult>) -> Result<GetResult, Failure> {
        let response = response.map_err(|error| failure(&error))?;
        let changed = |words| Err(Failure::new(FailureKind::Changed, words));
        match (self.request.size, self.request.etag.as_deref(), response.meta.e_tag.as_deref()) {
            (Some(listed), _, _) if listed != response.meta.size => {
                changed(format!("{listed} bytes are listed, {} found", response.meta.size))
            }
            (_, Some(listed), found) if found.map(bare) != Some(bare(listed)) => {
                changed(format!("the tag {listed} is listed, {} found", found.unwrap_or("none")))
            }
            _ if self.request.version.is_some()
                && response.meta.version.is_some()
                && self.request.version != response.meta.version =>
            {
                changed("another version than the listed one was found".to_owned())
            }
            _ => Ok(response),
        }
    }

    async fn permit(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        // Never fails: the semaphore is not closed.
        self.permits.acquire().await.ok()
    }
}

/// Whether two responses with this tag have the same bytes.
pub(crate) fn is_strong(tag: &str) -> bool {
    !tag.starts_with("W/")
}

/// A tag without HTTP's quotes and weakness prefix, which inventories omit.
fn bare(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
}

async fn subtree(
    response: GetResult,
    offset: u64,
    end: u64,
    handle: &RunHandle,
) -> Result<ChainingValue, Failure> {
    if response.range != (offset..end) {
        let words = format!("bytes {offset} to {end} were asked for, {:?} came", response.range);
        return Err(Failure::new(FailureKind::Failed, words));
    }
    let mut hasher = Hasher::new();
    hasher.set_input_offset(offset);
    Ok(read(response, hasher, end - offset, handle).await?.finalize_non_root())
}

/// Hashes a whole response, which must have `size` bytes.
async fn read(
    response: GetResult,
    mut hasher: Hasher,
    size: u64,
    handle: &RunHandle,
) -> Result<Hasher, Failure> {
    let mut body = response.into_stream();
    let mut missing = size;
    while let Some(bytes) = body.try_next().await.map_err(|error| failure(&error))? {
        let Some(rest) = missing.checked_sub(bytes.len() as u64) else {
            return Err(Failure::new(FailureKind::Failed, format!("more than {size} bytes came")));
        };
        missing = rest;
        handle.add_bytes(bytes.len() as u64);
        hasher.update(&bytes);
    }
    if missing > 0 {
        return Err(Failure::new(FailureKind::Failed, format!("{missing} of {size} bytes did not come")));
    }
    Ok(hasher)
}

/// Digest of at least two subtrees of equal size; only the last may be shorter.
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

fn object_digest(blake3: [u8; 32], meta: ObjectMeta) -> ObjectDigest {
    ObjectDigest { blake3, size: meta.size, etag: meta.e_tag, version: meta.version }
}

/// Maximum characters of a store's message that are kept for each row.
const MAX_MESSAGE_CHARS: usize = 500;

pub(crate) fn failure(error: &object_store::Error) -> Failure {
    use object_store::Error;
    if let Some(refused) = web::refused(error) {
        return refused.clone().into();
    }
    let kind = match error {
        Error::NotFound { .. } => FailureKind::Missing,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => FailureKind::Denied,
        Error::Precondition { .. } => FailureKind::Changed,
        _ => FailureKind::Failed,
    };
    Failure::new(kind, error.to_string().chars().take(MAX_MESSAGE_CHARS).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::blake3::hash;

    #[test]
    fn subtrees_merge_to_the_digest() {
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
    fn tags_compare_without_quotes_and_prefix() {
        for tag in ["abc", "\"abc\"", "W/\"abc\""] {
            assert_eq!(bare(tag), "abc");
        }
        assert!(!is_strong("W/\"abc\"") && is_strong("\"abc\"") && is_strong("abc"));
    }
}
