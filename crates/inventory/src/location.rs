//! Parser of object names: URLs of stores and web servers, and paths of files. No request is made here.
//!
//! After `s3://bucket/`, `gs://` and `az://` the rest is the literal key, with every `%`, `?` and `#`, as in S3 Inventory and the
//! tools of these stores. `http://` and `https://` are URLs and are requested as written. `file://` is a URL whose escapes are
//! decoded. Everything else is the path of a file.

use std::fmt;
use std::path::{self, PathBuf};

use http::Extensions;
use http::uri::PathAndQuery;
use object_store::path::Path;
use percent_encoding::percent_decode_str;
use url::{Position, Url};

use crate::row_result::{Failure, FailureKind};

/// Location of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// A file on a disk of this machine.
    File(PathBuf),
    /// An object in a store or on a web server.
    Object(Object),
}

/// An object and the store that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) store: Store,
    pub(crate) path: Path,
    /// Request target for a web server; `path` is then only for messages.
    pub(crate) exact: Option<RawUrlPath>,
}

/// Path and query of a URL as written. The query may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawUrlPath(pub(crate) PathAndQuery);

impl Object {
    /// Extensions of each request for the object.
    pub(crate) fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::new();
        if let Some(exact) = &self.exact {
            extensions.insert(exact.clone());
        }
        extensions
    }

    /// The object `name` in this folder.
    pub(crate) fn child(&self, name: &str) -> Object {
        Object { path: self.path.clone().join(name), ..self.clone() }
    }
}

impl fmt::Display for Object {
    /// Without a query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.store {
            Store::S3(bucket) => write!(f, "s3://{bucket}/{}", self.path),
            Store::Google(bucket) => write!(f, "gs://{bucket}/{}", self.path),
            Store::Azure(root) | Store::Http(root) => write!(f, "{root}/{}", self.path),
        }
    }
}

/// A bucket or server; each has its own client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Store {
    /// The bucket.
    S3(String),
    /// The bucket.
    Google(String),
    /// URL without the path: containers and accounts are written in several ways.
    Azure(String),
    /// Scheme, host and port.
    Http(String),
}

impl Location {
    pub(crate) fn from_url(url: &str) -> Result<Location, Failure> {
        Location::parse(url, object)
    }

    /// As `from_url`, for a file or folder: a trailing slash is dropped, and a bucket is a folder. A path that is not UTF-8 is no URL.
    pub(crate) fn from_path(path: &path::Path) -> Result<Location, Failure> {
        match path.to_str() {
            Some(url) if url.contains("://") => Location::parse(url, |store, key| {
                let key = key.trim_end_matches('/');
                if key.is_empty() {
                    Ok(Location::Object(Object { store, path: Path::default(), exact: None }))
                } else {
                    object(store, key)
                }
            }),
            _ => Ok(Location::File(path.to_owned())),
        }
    }

    fn parse(
        url: &str,
        object: impl Fn(Store, &str) -> Result<Location, Failure>,
    ) -> Result<Location, Failure> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return file(url);
        };
        match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" | "s3n" => {
                bucket(rest).and_then(|(bucket, key)| object(Store::S3(bucket.to_owned()), key))
            }
            "gs" | "gcs" => {
                bucket(rest).and_then(|(bucket, key)| object(Store::Google(bucket.to_owned()), key))
            }
            scheme @ ("az" | "abfs" | "abfss" | "azure" | "adl") => {
                bucket(rest).and_then(|(root, key)| object(Store::Azure(format!("{scheme}://{root}")), key))
            }
            "http" | "https" => http(url),
            "file" => {
                let path = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
                path.map(Location::File).ok_or_else(|| refused("no URL of a file"))
            }
            // A plain scheme is safe to print. Anything else may be part of a secret query.
            other if other.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Err(refused(format!("{other}://: no store that is known")))
            }
            _ => Err(refused("no store that is known")),
        }
    }
}

fn refused(words: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Row, words)
}

fn file(path: &str) -> Result<Location, Failure> {
    if path.is_empty() { Err(refused("an empty name")) } else { Ok(Location::File(PathBuf::from(path))) }
}

fn bucket(rest: &str) -> Result<(&str, &str), Failure> {
    match rest.split_once('/').unwrap_or((rest, "")) {
        (bucket, key) if is_bucket(bucket) => Ok((bucket, key)),
        _ => Err(refused("a bucket and a key are needed")),
    }
}

/// Whether a bucket name cannot be read as another part of a URL. Azure's names are `container@account`.
fn is_bucket(name: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:@".contains(&byte);
    name.bytes().all(of_name) && !matches!(name, "" | "." | "..")
}

/// An object by its exact key. Refuses a key that the client would normalise, as it would request another object.
fn object(store: Store, key: &str) -> Result<Location, Failure> {
    if key.is_empty() {
        return Err(refused("a bucket and a key are needed"));
    }
    match Path::parse(key) {
        Ok(path) if path.as_ref() == key => Ok(Location::Object(Object { store, path, exact: None })),
        _ => Err(refused("a key with empty parts, or parts of dots alone, cannot be asked for")),
    }
}

fn http(url: &str) -> Result<Location, Failure> {
    let parsed = Url::parse(url).map_err(|error| refused(error.to_string()))?;
    if parsed.fragment().is_some() {
        return Err(refused("a URL with a fragment cannot be asked for"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(refused("a URL with a name or a password is not asked for"));
    }
    let exact = PathAndQuery::try_from(&parsed[Position::BeforePath..Position::AfterQuery]);
    let exact = exact.map_err(|_| refused("a path or a query that cannot be asked for"))?;
    let path = Path::from(&*percent_decode_str(parsed.path()).decode_utf8_lossy());
    let store = Store::Http(parsed[..Position::BeforePath].to_owned());
    Ok(Location::Object(Object { store, path, exact: Some(RawUrlPath(exact)) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> (Store, String) {
        match Location::from_url(url) {
            Ok(Location::Object(Object { store, path, .. })) => (store, path.to_string()),
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn web_urls_are_requested_as_written() {
        for end in ["/a%20b/c?x=%2F&y=+", "/a%2Fb", "/a//b/", "/", "/%ff?", "/a?b=c/d"] {
            let Ok(Location::Object(object)) = Location::from_url(&format!("https://h{end}")) else {
                panic!("{end}")
            };
            assert_eq!(object.exact.as_ref().expect("a URL").0, end);
            assert!(!object.to_string().contains('?'), "{object}");
        }
    }

    #[test]
    fn a_folder_may_end_with_a_slash_and_be_a_bucket() {
        let folder = |url: &str| {
            Location::from_path(path::Path::new(url)).map(|location| match location {
                Location::Object(object) => object.to_string(),
                Location::File(path) => path.display().to_string(),
            })
        };
        for (url, name) in [
            ("s3://b", "s3://b/"),
            ("s3://b/", "s3://b/"),
            ("gs://b/a/", "gs://b/a"),
            ("az://c/a/b", "az://c/a/b"),
            ("out", "out"),
            ("http://h/a?secret", "http://h/a"),
        ] {
            assert_eq!(folder(url).expect("a location"), name);
        }
        for url in ["s3://", "s3://b/a//b", "ftp://h/x", "file://nowhere/x"] {
            assert!(folder(url).is_err(), "{url}");
        }
    }

    #[test]
    fn store_keys_are_literal_and_urls_are_decoded() {
        assert_eq!(at("s3://b/a b%20c?d#e"), (Store::S3("b".into()), "a b%20c?d#e".into()));
        assert_eq!(at("S3A://b/ä/x"), (Store::S3("b".into()), "ä/x".into()));
        assert_eq!(at("gs://b/x"), (Store::Google("b".into()), "x".into()));
        assert_eq!(
            at("abfss://c@a.dfs.core.windows.net/x/y"),
            (Store::Azure("abfss://c@a.dfs.core.windows.net".into()), "x/y".into())
        );
        assert_eq!(at("https://h:8443/a%20b/c"), (Store::Http("https://h:8443".into()), "a b/c".into()));
    }

    #[test]
    fn text_without_a_scheme_is_a_path() {
        for (text, path) in [("a/b%20c", "a/b%20c"), ("/x:y", "/x:y"), ("C:x", "C:x")] {
            assert_eq!(Location::from_url(text).expect("a file"), Location::File(path.into()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_urls_are_decoded() {
        assert_eq!(Location::from_url("file:///a%20b").expect("a file"), Location::File("/a b".into()));
    }

    #[test]
    fn refuses_names_that_a_client_would_change() {
        for url in [
            "",
            "s3://",
            "s3://b",
            "s3://b/",
            "s3:///k",
            "s3://b?list-type=2&x=/k",
            "s3://b#/k",
            "gs://../k",
            "s3://b%2f/k",
            "s3://b/a//b",
            "s3://b//a",
            "s3://b/a/",
            "s3://b/./a",
            "s3://b/../a",
            "ftp://h/x",
            "http://",
            "http://h/a#b",
            "http://u:p@h/a",
        ] {
            assert_eq!(Location::from_url(url).expect_err(url).kind, FailureKind::Row, "{url}");
        }
    }
}
