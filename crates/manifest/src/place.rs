//! Where an object is: what a row names, taken apart. Nothing is asked for here.
//!
//! After `s3://bucket/`, `gs://` and `az://` the rest is the key as it is, with every `%`, `?` and `#`, as S3 Inventory and the
//! programs of these stores have it. `http://`, `https://` and `file://` are URLs, whose escapes are escapes. Everything else is the
//! path of a file.

use std::path::PathBuf;

use object_store::path::Path;
use percent_encoding::percent_decode_str;
use url::{Position, Url};

use crate::answer::{Failure, Kind};

/// Where to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file on a disk of this machine.
    File(PathBuf),
    /// An object: what is before its name says which client is asked.
    Object(Store, Path),
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
                path.map(Place::File).ok_or_else(|| refused(format!("{url}: no URL of a file")))
            }
            other => Err(refused(format!("{other}://: no store that is known"))),
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
    match rest.split_once('/') {
        Some((bucket, key)) if is_bucket(bucket) && !key.is_empty() => Ok((bucket, key)),
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
    match Path::parse(key) {
        Ok(path) if path.as_ref() == key => Ok(Place::Object(store, path)),
        _ => Err(refused("a key with empty parts, or parts of dots alone, cannot be asked for")),
    }
}

fn http(url: &str) -> Result<Place, Failure> {
    let parsed = Url::parse(url).map_err(|error| refused(error.to_string()))?;
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(refused("a URL with a query or a fragment cannot be asked for"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(refused("a URL with a name or a password is not asked for"));
    }
    let path = parsed.path().strip_prefix('/').unwrap_or_default();
    if path.to_ascii_lowercase().contains("%2f") {
        return Err(refused("a URL with an escaped slash cannot be asked for"));
    }
    let key = percent_decode_str(path).decode_utf8().map_err(|_| refused("escapes that are no UTF-8"))?;
    if key.is_empty() {
        return Err(refused("a URL without a path"));
    }
    object(Store::Http(parsed[..Position::BeforePath].to_owned()), &key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> (Store, String) {
        match Place::of(url) {
            Ok(Place::Object(store, path)) => (store, path.to_string()),
            other => panic!("{url}: {other:?}"),
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
            "http://h/a%2Fb",
            "s3://b/a//b",
            "s3://b//a",
            "s3://b/a/",
            "s3://b/./a",
            "s3://b/../a",
            "ftp://h/x",
            "http://h",
            "http://h/",
            "http://h/a?b",
            "http://h/a#b",
            "http://u:p@h/a",
            "http://h/%ff",
            "http://h/a%2f%2fb",
        ] {
            assert_eq!(Place::of(url).expect_err(url).kind, Kind::Row, "{url}");
        }
    }
}
