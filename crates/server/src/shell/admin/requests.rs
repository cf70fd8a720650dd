//! Requests of the operator over HTTP: `POST /admin/documents/ID/delete` and `…/undelete`, with answers in JSON.
//!
//! A request needs the token of this start of the server, and comes from this machine. No page in a browser can send one: it would need
//! the token in a header, which browsers allow to pages of the same origin alone, and requests of pages are refused in any case: they
//! have the header `Origin` or `Sec-Fetch-Site`, and those of a page whose name was made to lead here have its name as `Host`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use hyper::{Method, StatusCode, http};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::sweeper::Sweeper;
use crate::shell::Settings;
use crate::shell::auth::{Authentication, TokenDigest};
use crate::shell::driver::Handle;
use crate::storage::{Command, CommandOutcome};

/// Start of the paths.
const PREFIX: &str = "/admin/";
const DOCUMENTS: &str = "/admin/documents/";
/// Maximum time for a command, after which the operator is told to ask again.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// A header that browsers add to all requests of pages.
const FETCH_SITE: &str = "sec-fetch-site";

/// Addresses of both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(in crate::shell) struct Ends {
    pub(in crate::shell) peer: IpAddr,
    pub(in crate::shell) local: IpAddr,
}

/// Commands over HTTP.
pub(in crate::shell) struct Admin {
    token: TokenDigest,
    core: Handle,
    unix_time: fn() -> u64,
    sweeper: Arc<Notify>,
}

/// A request to change a document.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Change {
    Delete(DocumentId),
    Undelete(DocumentId),
}

type Refusal = (StatusCode, &'static str);

/// Is a path one of the operator's?
pub(in crate::shell) fn has_path(path: &str) -> bool {
    path.starts_with(PREFIX)
}

impl Admin {
    pub(in crate::shell) fn new(
        token: TokenDigest,
        core: Handle,
        settings: &Settings,
        sweeper: &Sweeper,
    ) -> Admin {
        Admin { token, core, unix_time: settings.unix_time, sweeper: sweeper.waker() }
    }

    /// Carries out a request. Returns its answer.
    pub(in crate::shell) async fn respond(
        &self,
        request: &http::request::Parts,
        ends: Ends,
    ) -> (StatusCode, Value) {
        let change = check_origin(&request.headers, ends)
            .and_then(|()| check_token(&request.headers, &self.token))
            .and_then(|()| parse_change(&request.method, request.uri.path()));
        let (document, command) = match change {
            Ok(Change::Delete(document)) => (document, Command::Delete { at: (self.unix_time)() }),
            Ok(Change::Undelete(document)) => (document, Command::Undelete),
            Err((status, reason)) => return (status, json!({ "error": reason })),
        };
        let outcome = timeout(COMMAND_TIMEOUT, self.core.execute(document.clone(), command)).await;
        if command != Command::Undelete {
            self.sweeper.notify_one();
        }
        let outcome = match outcome {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return unavailable("the server ends: the document may be changed or not"),
            Err(_) => {
                return unavailable(
                    "the storage is busy or fails: the command is tried again; ask again later",
                );
            }
        };
        let (status, name) = match outcome {
            CommandOutcome::Done => (StatusCode::OK, "done"),
            CommandOutcome::Absent => (StatusCode::NOT_FOUND, "absent"),
            CommandOutcome::Purged => (StatusCode::GONE, "purged"),
            CommandOutcome::NotDue => (StatusCode::CONFLICT, "not-due"),
        };
        (status, json!({ "document": document.to_string(), "outcome": name }))
    }
}

fn unavailable(reason: &str) -> (StatusCode, Value) {
    (StatusCode::SERVICE_UNAVAILABLE, json!({ "error": reason }))
}

/// Checks that a program of this machine sends the request, and no page in a browser.
fn check_origin(headers: &HeaderMap, ends: Ends) -> Result<(), Refusal> {
    let (peer, local) = (ends.peer.to_canonical(), ends.local.to_canonical());
    // Also by another address of this machine, if the server listens on that one alone.
    if !peer.is_loopback() && peer != local {
        return Err((StatusCode::FORBIDDEN, "requests of the operator come from the server's machine"));
    }
    if headers.contains_key(ORIGIN) || headers.contains_key(FETCH_SITE) {
        return Err((StatusCode::FORBIDDEN, "requests of the operator come from no web page"));
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).and_then(host_address);
    if !host.is_some_and(|host| host.is_loopback() || host == local) {
        return Err((StatusCode::FORBIDDEN, "the header Host is not an address of the server's machine"));
    }
    Ok(())
}

/// The address in a header `Host`, with or without a port.
fn host_address(host: &str) -> Option<IpAddr> {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

/// Digests are compared: the time tells nothing about the token.
fn check_token(headers: &HeaderMap, expected: &TokenDigest) -> Result<(), Refusal> {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = value.and_then(|value| value.strip_prefix("Bearer "));
    match token {
        Some(token) if Authentication::digest(token) == *expected => Ok(()),
        _ => Err((StatusCode::UNAUTHORIZED, "the token is not that of this start of the server")),
    }
}

fn parse_change(method: &Method, path: &str) -> Result<Change, Refusal> {
    let unknown = (StatusCode::NOT_FOUND, "there is no such request");
    let (document, verb) =
        path.strip_prefix(DOCUMENTS).and_then(|rest| rest.split_once('/')).ok_or(unknown)?;
    let change = match verb {
        "delete" => Change::Delete,
        "undelete" => Change::Undelete,
        _ => return Err(unknown),
    };
    if method != Method::POST {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "use POST"));
    }
    let document = document.parse().map_err(|_| (StatusCode::BAD_REQUEST, "this is no id of a document"))?;
    Ok(change(document))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    const ID: &str = "4VNSEjuC2AHmKGKEK27f1aBErpCV";

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            let name: HeaderName = name.parse().expect("a name");
            (name, HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    fn ends(peer: &str, local: &str) -> Ends {
        let parse = |text: &str| text.parse().expect("an address");
        Ends { peer: parse(peer), local: parse(local) }
    }

    #[test]
    fn requests_come_from_this_machine_and_no_page() {
        let here = ends("127.0.0.1", "127.0.0.1");
        for (ends, host) in [
            (here, "127.0.0.1:3030"),
            (here, "127.0.0.1"),
            (ends("::1", "::1"), "[::1]:3030"),
            (ends("::1", "::1"), "[::1]"),
            (ends("::ffff:127.0.0.1", "::ffff:127.0.0.1"), "127.0.0.1:80"),
            (ends("192.0.2.1", "192.0.2.1"), "192.0.2.1:3030"),
        ] {
            assert_eq!(check_origin(&headers(&[("host", host)]), ends), Ok(()), "{ends:?} {host}");
        }
        let far = ends("192.0.2.7", "192.0.2.1");
        for (ends, pairs) in [
            (far, &[("host", "192.0.2.1:3030")][..]),
            (here, &[][..]),
            (here, &[("host", "example.org:3030")]),
            (here, &[("host", "localhost:3030")]),
            (here, &[("host", "192.0.2.1:3030")]),
            (here, &[("host", "127.0.0.1.example.org")]),
            (here, &[("host", "127.0.0.1:3030"), ("origin", "http://127.0.0.1:3030")]),
            (here, &[("host", "127.0.0.1:3030"), ("origin", "null")]),
            (here, &[("host", "127.0.0.1:3030"), ("sec-fetch-site", "none")]),
        ] {
            let refused = check_origin(&headers(pairs), ends);
            assert_eq!(
                refused.map_err(|(status, _)| status),
                Err(StatusCode::FORBIDDEN),
                "{ends:?} {pairs:?}"
            );
        }
    }

    #[test]
    fn requests_need_the_token() {
        let digest = Authentication::digest("secret");
        let check = |pairs| check_token(&headers(pairs), &digest).map_err(|(status, _)| status);
        assert_eq!(check(&[("authorization", "Bearer secret")]), Ok(()));
        for pairs in [
            &[][..],
            &[("authorization", "Bearer Secret")],
            &[("authorization", "secret")],
            &[("authorization", "Bearer ")],
        ] {
            assert_eq!(check(pairs), Err(StatusCode::UNAUTHORIZED), "{pairs:?}");
        }
    }

    #[test]
    fn paths_name_a_document_and_a_change() {
        let parse = |method, path: &str| parse_change(&method, path).map_err(|(status, _)| status);
        let id: DocumentId = ID.parse().expect("an id");
        let path = |verb: &str| format!("/admin/documents/{ID}/{verb}");
        assert_eq!(parse(Method::POST, &path("delete")), Ok(Change::Delete(id.clone())));
        assert_eq!(parse(Method::POST, &path("undelete")), Ok(Change::Undelete(id)));
        assert_eq!(parse(Method::GET, &path("delete")), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(parse(Method::POST, "/admin/documents/zzz/delete"), Err(StatusCode::BAD_REQUEST));
        for path in
            ["/admin/", "/admin/documents/", "/admin/documents/delete", &path("purge"), &path("delete/")]
        {
            assert_eq!(parse(Method::POST, path), Err(StatusCode::NOT_FOUND), "{path}");
        }
    }
}
