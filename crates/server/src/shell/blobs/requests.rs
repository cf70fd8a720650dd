//! Paths of requests for blobs, and their headers.

use hashmill_repo::DocumentId;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use super::answers::{Refusal, UPLOAD_COMPLETE, UPLOAD_OFFSET};
use crate::storage::BlobHash;

const BLOBS: &str = "/blobs";
const DOCUMENTS: &str = "/documents/";

/// What a request is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Route {
    /// `/blobs`
    All,
    /// `/blobs/HASH`
    Blob(BlobHash),
    /// `/documents/ID/blobs`
    References(DocumentId),
    /// `/documents/ID/blobs/HASH`
    Reference(DocumentId, BlobHash),
}

/// Is a path one of blobs?
pub(in crate::shell) fn has_path(path: &str) -> bool {
    let is_below =
        |path: &str| path.strip_prefix(BLOBS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let in_document = path.strip_prefix(DOCUMENTS).and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    is_below(path) || in_document.is_some_and(is_below)
}

pub(super) fn parse_route(path: &str) -> Result<Route, Refusal> {
    let not_found = || Refusal::new(StatusCode::NOT_FOUND, "not found");
    let (document, path) = match path.strip_prefix(DOCUMENTS) {
        Some(rest) => {
            let (document, _) = rest.split_once('/').ok_or_else(not_found)?;
            (Some(document), &rest[document.len()..])
        }
        None => (None, path),
    };
    let blob = match path.strip_prefix(BLOBS).ok_or_else(not_found)? {
        "" => None,
        rest => Some(rest.strip_prefix('/').ok_or_else(not_found)?),
    };
    let bad = |reason: String| Refusal::new(StatusCode::BAD_REQUEST, reason);
    let blob = blob
        .map(|text| {
            text.parse::<BlobHash>().map_err(|error| bad(format!("“{}” is {error}", text.escape_debug())))
        })
        .transpose()?;
    let document = document
        .map(|text| {
            let wrong = |_| bad(format!("“{}” is not the id of a document", text.escape_debug()));
            text.parse::<DocumentId>().map_err(wrong)
        })
        .transpose()?;
    Ok(match (document, blob) {
        (None, None) => Route::All,
        (None, Some(blob)) => Route::Blob(blob),
        (Some(document), None) => Route::References(document),
        (Some(document), Some(blob)) => Route::Reference(document, blob),
    })
}

/// What a request adds to an upload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Portion {
    /// Bytes that the server has already. `None`: the upload starts.
    pub(super) offset: Option<u64>,
    /// Are these the last bytes?
    pub(super) is_last: bool,
}

/// Reads the headers of a request that has bytes of a blob.
pub(super) fn parse_portion(parts: &Parts) -> Result<Portion, Refusal> {
    let bad = |reason: &str| Refusal::new(StatusCode::BAD_REQUEST, reason.to_owned());
    let header =
        |name: &str| parts.headers.get(name).map(|value| value.to_str().map(str::trim).unwrap_or(""));
    let is_last = match header(UPLOAD_COMPLETE) {
        Some("?1") => Some(true),
        Some("?0") => Some(false),
        None => None,
        Some(_) => return Err(bad("the header Upload-Complete is ?1 for the last bytes, else ?0")),
    };
    if parts.method != Method::PATCH {
        let is_last = is_last.unwrap_or(true);
        if parts.method == Method::POST && !is_last {
            return Err(bad(
                "an upload without a hash cannot be continued: send all bytes, or PUT to /blobs/HASH",
            ));
        }
        return Ok(Portion { offset: None, is_last });
    }
    let offset = header(UPLOAD_OFFSET).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let offset = offset.and_then(|text| text.parse().ok());
    match (offset, is_last) {
        (Some(offset), Some(is_last)) => Ok(Portion { offset: Some(offset), is_last }),
        (None, _) => Err(bad("PATCH needs the header Upload-Offset: the number that HEAD answers with")),
        (_, None) => Err(bad("PATCH needs the header Upload-Complete: ?1 for the last bytes, else ?0")),
    }
}

/// The media type that a request asks to be answered with, in the query: `?type=image/png`. A page runs none of these.
pub(super) fn requested_type(query: Option<&str>) -> Result<Option<&'static str>, Refusal> {
    const TYPES: [&str; 19] = [
        "application/octet-stream",
        "application/pdf",
        "audio/aac",
        "audio/flac",
        "audio/mp4",
        "audio/mpeg",
        "audio/ogg",
        "audio/wav",
        "audio/webm",
        "font/woff2",
        "image/avif",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/webp",
        "text/plain",
        "video/mp4",
        "video/ogg",
        "video/webm",
    ];
    let wanted = query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("type=")));
    let Some(wanted) = wanted else { return Ok(None) };
    let wanted = wanted.replace("%2F", "/").replace("%2f", "/");
    let known = TYPES.iter().find(|name| **name == wanted);
    let unknown = || {
        let reason = format!("type={} is none of {}", wanted.escape_debug(), TYPES.join(", "));
        Refusal::new(StatusCode::BAD_REQUEST, reason)
    };
    known.copied().map(Some).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    const ID: &str = "4VNSEjuC2AHmKGKEK27f1aBErpCV";
    const HASH: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    #[test]
    fn paths_name_blobs_and_references() {
        let (id, blob) =
            (ID.parse::<DocumentId>().expect("an id"), HASH.parse::<BlobHash>().expect("a hash"));
        for (path, expected) in [
            ("/blobs".to_owned(), Route::All),
            (format!("/blobs/{HASH}"), Route::Blob(blob)),
            (format!("/documents/{ID}/blobs"), Route::References(id.clone())),
            (format!("/documents/{ID}/blobs/{HASH}"), Route::Reference(id, blob)),
        ] {
            assert!(has_path(&path), "{path}");
            assert_eq!(parse_route(&path).ok(), Some(expected), "{path}");
        }
        for path in ["/", "/blobsy", "/documents/", "/documents/x", "/documents//blob", "/admin/blobs"] {
            assert!(!has_path(path), "{path}");
        }
        let refused = |path: &str| parse_route(path).map_err(|refusal| refusal.status);
        for path in
            ["/blobs/", "/blobs/x", &format!("/blobs/{HASH}/"), "/documents/x/blobs", "/documents//blobs"]
        {
            assert!(has_path(path), "{path}");
            assert_eq!(refused(path), Err(StatusCode::BAD_REQUEST), "{path}");
        }
    }

    #[test]
    fn headers_say_which_bytes_come() {
        let portion = |method: Method, headers: &[(&str, &str)]| {
            let request = Request::builder().method(method);
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            parse_portion(&request.body(()).expect("a request").into_parts().0)
                .map_err(|refusal| refusal.status)
        };
        let (offset, complete) = (UPLOAD_OFFSET, UPLOAD_COMPLETE);
        let sound = |offset, is_last| Ok(Portion { offset, is_last });
        for (method, headers, expected) in [
            (Method::PUT, &[][..], sound(None, true)),
            (Method::PUT, &[(complete, "?1")], sound(None, true)),
            (Method::PUT, &[(complete, "?0")], sound(None, false)),
            (Method::POST, &[], sound(None, true)),
            (Method::PATCH, &[(offset, "7"), (complete, "?0")], sound(Some(7), false)),
            (Method::PATCH, &[(offset, "0"), (complete, " ?1 ")], sound(Some(0), true)),
        ] {
            assert_eq!(portion(method.clone(), headers), expected, "{method} {headers:?}");
        }
        for (method, headers) in [
            (Method::PUT, &[(complete, "1")][..]),
            (Method::POST, &[(complete, "?0")]),
            (Method::PATCH, &[]),
            (Method::PATCH, &[(offset, "7")]),
            (Method::PATCH, &[(complete, "?1")]),
            (Method::PATCH, &[(offset, "-7"), (complete, "?1")]),
            (Method::PATCH, &[(offset, "99999999999999999999999"), (complete, "?1")]),
        ] {
            assert_eq!(
                portion(method.clone(), headers),
                Err(StatusCode::BAD_REQUEST),
                "{method} {headers:?}"
            );
        }
    }

    #[test]
    fn types_that_run_nothing_are_answered_with() {
        let wanted = |query| requested_type(Some(query)).map_err(|refusal| refusal.status);
        assert_eq!(wanted("token=x&type=image/png"), Ok(Some("image/png")));
        assert_eq!(wanted("type=image%2Fpng"), Ok(Some("image/png")));
        assert_eq!(wanted("token=x"), Ok(None));
        for query in ["type=text/html", "type=image/svg+xml", "type=", "type=image/png%0d%0aa:b"] {
            assert_eq!(wanted(query), Err(StatusCode::BAD_REQUEST), "{query}");
        }
    }
}
