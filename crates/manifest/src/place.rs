//! Where an object is: what a row names, taken apart. Nothing is asked for here.
//!
//! After `s3://bucket/`, `gs://` and `az://` the rest is the key as it is, with every `%`, `?` and `#`, as S3 Inventory and the
//! programs of these stores have it. `http://` and `https://` are URLs, which are asked for as they are; so is `file://`, whose
//! escapes are escapes. Everything else is the path of a file.

use std::fmt;
use std::path::{self, PathBuf};

use http::Extensions;
use http::uri::PathAndQuery;
use object_store::path::Path;
use percent_encoding::percent_decode_str;
use url::{Position, Url};

use crate::answer::{Failure, Kind};

/// Where to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file on a disk of this machine.
    File(PathBuf),
    /// What a client asks for.
    Object(Object),
}

/// An object: what is before its name says which client is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) store: Store,
    pub(crate) path: Path,
    /// What a web server is asked for, where `path` is no more than what it is called in messages.
    pub(crate) exact: Option<Exact>,
}

/// The end of a URL as it was written. Its query may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exact(pub(crate) PathAndQuery);

impl Object {
    /// What goes with each request for it.
    pub(crate) fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::new();
        if let Some(exact) = &self.exact {
            extensions.insert(exact.clone());
        }
        extensions
    }

    /// An object in this one, which is a folder.
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

/// What one client serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Store {
    /// The bucket.
    S3(String),
    /// The bucket.
    Google(String),
    /// A URL up to the path: containers and accounts are written in several ways.
    Azure(String),
    /// Scheme, host and port.
    Http(String),
}

impl Place {
    pub(crate) fn of(url: &str) -> Result<Place, Failure> {
        Place::named(url, object)
    }

    /// The same of what may be a folder: a slash at its end says no more, and a bucket is one, too. Texts alone are URLs.
    pub(crate) fn of_folder(path: &path::Path) -> Result<Place, Failure> {
        match path.to_str() {
            Some(url) if url.contains("://") => Place::named(url, |store, key| {
                let key = key.trim_end_matches('/');
                if key.is_empty() {
                    Ok(Place::Object(Object { store, path: Path::default(), exact: None }))
                } else {
                    object(store, key)
                }
            }),
            _ => Ok(Place::File(path.to_owned())),
        }
    }

    fn named(url: &str, object: impl Fn(Store, &str) -> Result<Place, Failure>) -> Result<Place, Failure> {
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
                path.map(Place::File).ok_or_else(|| refused("no URL of a file"))
            }
            // A word says which. Anything else may be the query of something that was cut off.
            other if other.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Err(refused(format!("{other}://: no store that is known")))
            }
            _ => Err(refused("no store that is known")),
        }
    }
}

fn refused(words: impl Into<String>) -> Failure {
    Failure::new(Kind::Row, words)
}

fn file(path: &str) -> Result<Place, Failure> {
    if path.is_empty() { Err(refused("an empty name")) } else { Ok(Place::File(PathBuf::from(path))) }
}

fn bucket(rest: &str) -> Result<(&str, &str), Failure> {
    match rest.split_once('/').unwrap_or((rest, "")) {
        (bucket, key) if is_bucket(bucket) => Ok((bucket, key)),
        _ => Err(refused("a bucket and a key are needed")),
    }
}

/// Whether it is a name, and nothing that would be read as another part of a URL. Azure has containers `at` accounts.
fn is_bucket(name: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:@".contains(&byte);
    name.bytes().all(of_name) && !matches!(name, "" | "." | "..")
}

/// An object by its very key. A client that would ask for another one, because it takes slashes or dots away, is not asked.
fn object(store: Store, key: &str) -> Result<Place, Failure> {
    if key.is_empty() {
        return Err(refused("a bucket and a key are needed"));
    }
    match Path::parse(key) {
        Ok(path) if path.as_ref() == key => Ok(Place::Object(Object { store, path, exact: None })),
        _ => Err(refused("a key with empty parts, or parts of dots alone, cannot be asked for")),
    }
}

fn http(url: &str) -> Result<Place, Failure> {
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
    Ok(Place::Object(Object { store, path, exact: Some(Exact(exact)) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> (Store, String) {
        match Place::of(url) {
            Ok(Place::Object(Object { store, path, .. })) => (store, path.to_string()),
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn what_a_web_server_is_asked_for_is_what_is_written() {
        for end in ["/a%20b/c?x=%2F&y=+", "/a%2Fb", "/a//b/", "/", "/%ff?", "/a?b=c/d"] {
            let Ok(Place::Object(object)) = Place::of(&format!("https://h{end}")) else { panic!("{end}") };
            assert_eq!(object.exact.as_ref().expect("a URL").0, end);
            assert!(!object.to_string().contains('?'), "{object}");
        }
    }

    #[test]
    fn a_folder_may_end_with_a_slash_and_be_a_bucket() {
        let folder = |url: &str| {
            Place::of_folder(path::Path::new(url)).map(|place| match place {
                Place::Object(object) => object.to_string(),
                Place::File(path) => path.display().to_string(),
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
            assert_eq!(folder(url).expect("a place"), name);
        }
        for url in ["s3://", "s3://b/a//b", "ftp://h/x", "file://nowhere/x"] {
            assert!(folder(url).is_err(), "{url}");
        }
    }

    #[test]
    fn keys_are_what_they_are_and_urls_are_urls() {
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
    fn what_is_no_url_is_a_file() {
        for (text, path) in [("a/b%20c", "a/b%20c"), ("/x:y", "/x:y"), ("C:x", "C:x")] {
            assert_eq!(Place::of(text).expect("a file"), Place::File(path.into()));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_url_of_a_file_has_escapes() {
        assert_eq!(Place::of("file:///a%20b").expect("a file"), Place::File("/a b".into()));
    }

    #[test]
    fn what_would_be_another_object_is_not_asked_for() {
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
            assert_eq!(Place::of(url).expect_err(url).kind, Kind::Row, "{url}");
        }
    }
}
