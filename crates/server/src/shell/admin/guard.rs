//! Guard of the operator's requests: where they come from, and their token.
//!
//! No page of another site can send one. It would need the token in a header, which browsers allow to pages of the same origin alone; a
//! request of another page has the header `Origin` or `Sec-Fetch-Site`; and if the name of a page was made to lead here, that name is in
//! the header `Host`.

use std::net::IpAddr;

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, FORWARDED, HOST, HeaderMap, ORIGIN, VIA};

use super::answer::Refusal;
use crate::shell::auth::{Authentication, TokenDigest};

/// A header that browsers add to requests.
const FETCH_SITE: &str = "sec-fetch-site";
/// Headers of requests that a proxy passes on.
const PROXY_HEADERS: [&str; 3] = ["x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/// Addresses of both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(in crate::shell) struct Ends {
    pub(in crate::shell) peer: IpAddr,
    pub(in crate::shell) local: IpAddr,
}

/// Rules for requests of the operator.
pub(super) struct Guard {
    pub(super) tokens: Vec<TokenDigest>,
    /// Further names of the server in the header `Host`.
    pub(super) hosts: Vec<String>,
    /// The requests have a listener of their own, which the operator has placed where others do not reach it.
    pub(super) has_own_listener: bool,
}

impl Guard {
    /// Checks that a request is for this server, and from a place that may send some.
    pub(super) fn check_host(&self, headers: &HeaderMap, ends: Ends) -> Result<(), Refusal> {
        let (peer, local) = (ends.peer.to_canonical(), ends.local.to_canonical());
        if !self.has_own_listener {
            // Also by another address of this machine, if the server listens on that one alone.
            if !peer.is_loopback() && peer != local {
                return Err(forbidden(
                    "not-local",
                    "requests of the operator come from the server's machine",
                ));
            }
            let is_forwarded = headers.contains_key(FORWARDED)
                || headers.contains_key(VIA)
                || PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
            if is_forwarded {
                return Err(forbidden(
                    "forwarded",
                    "a proxy passed the request on: set admin-listen for that",
                ));
            }
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).map(host_name);
        let is_known = host.is_some_and(|host| match host.parse::<IpAddr>() {
            // A name can be made to lead anywhere, an address cannot.
            Ok(address) => {
                let address = address.to_canonical();
                address.is_loopback() || address == local || self.has_own_listener
            }
            // Browsers look up no other name less.
            Err(_) => {
                let is_named = self.hosts.iter().any(|name| name.eq_ignore_ascii_case(host));
                is_named || host.eq_ignore_ascii_case("localhost") && peer.is_loopback()
            }
        });
        if is_known {
            return Ok(());
        }
        Err(forbidden("wrong-host", "the header Host is not an address of the server: see admin-hosts"))
    }

    /// Checks that a program sends a request, or the dashboard of this server.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = text(HOST.as_str()).unwrap_or_default();
        let is_own = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        let is_same = text(ORIGIN.as_str()).is_none_or(is_own)
            && text(FETCH_SITE).is_none_or(|site| matches!(site, "same-origin" | "none"));
        if is_same {
            Ok(())
        } else {
            Err(forbidden("other-origin", "a page of another site sent the request"))
        }
    }

    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = value.and_then(|value| value.strip_prefix("Bearer "));
        let digest = token.map(Authentication::digest);
        let is_known = |digest: TokenDigest| {
            // All are compared, each in full.
            self.tokens.iter().fold(false, |found, token| found | is_equal(token, &digest))
        };
        if digest.is_some_and(is_known) {
            return Ok(());
        }
        let reason =
            "the token is missing or wrong: that of this start is in admin.json of the storage's directory";
        Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong-token", reason))
    }
}

fn forbidden(code: &'static str, reason: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, code, reason)
}

/// Compares digests in a time that does not depend on them.
fn is_equal(a: &TokenDigest, b: &TokenDigest) -> bool {
    std::hint::black_box(a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b))) == 0
}

/// The name or address in a header `Host`, without the port.
fn host_name(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (name.parse().expect("a name"), HeaderValue::from_str(value).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    fn ends(peer: &str, local: &str) -> Ends {
        let parse = |text: &str| text.parse().expect("an address");
        Ends { peer: parse(peer), local: parse(local) }
    }

    fn guard(has_own_listener: bool) -> Guard {
        let tokens = vec![Authentication::digest("first"), Authentication::digest("second")];
        Guard { tokens, hosts: vec!["admin.example.org".to_owned()], has_own_listener }
    }

    #[test]
    fn requests_come_from_this_machine_and_to_its_address() {
        let here = ends("127.0.0.1", "127.0.0.1");
        for (ends, host) in [
            (here, "127.0.0.1:3030"),
            (here, "127.0.0.1"),
            (here, "localhost:3030"),
            (here, "admin.example.org"),
            (ends("::1", "::1"), "[::1]:3030"),
            (ends("::1", "::1"), "[::1]"),
            (ends("::ffff:127.0.0.1", "::ffff:127.0.0.1"), "127.0.0.1:80"),
            (ends("192.0.2.1", "192.0.2.1"), "192.0.2.1:3030"),
        ] {
            assert_eq!(guard(false).check_host(&headers(&[("host", host)]), ends), Ok(()), "{ends:?} {host}");
        }
        let far = ends("192.0.2.7", "192.0.2.1");
        for (ends, pairs, code) in [
            (far, &[("host", "192.0.2.1:3030")][..], "not-local"),
            (here, &[][..], "wrong-host"),
            (here, &[("host", "example.org:3030")], "wrong-host"),
            (here, &[("host", "192.0.2.1:3030")], "wrong-host"),
            (here, &[("host", "127.0.0.1.example.org")], "wrong-host"),
            (here, &[("host", "localhost.example.org")], "wrong-host"),
            (here, &[("host", "127.0.0.1"), ("x-forwarded-for", "192.0.2.7")], "forwarded"),
            (here, &[("host", "127.0.0.1"), ("via", "1.1 proxy")], "forwarded"),
        ] {
            let refused = guard(false).check_host(&headers(pairs), ends).expect_err("a refusal");
            assert_eq!((refused.status, refused.code), (StatusCode::FORBIDDEN, code), "{ends:?} {pairs:?}");
        }
        let own = guard(true);
        for (host, is_known) in [
            ("192.0.2.1:3030", true),
            ("10.0.0.1", true),
            ("admin.example.org", true),
            ("localhost", false),
            ("example.org", false),
        ] {
            let pairs = [("host", host), ("x-forwarded-for", "192.0.2.9")];
            assert_eq!(own.check_host(&headers(&pairs), far).is_ok(), is_known, "{host}");
        }
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let check = |pairs: &[(&str, &str)]| guard(false).check_origin(&headers(pairs)).is_ok();
        let host = ("host", "127.0.0.1:3030");
        assert!(check(&[host]));
        assert!(check(&[host, ("origin", "http://127.0.0.1:3030"), ("sec-fetch-site", "same-origin")]));
        assert!(check(&[host, ("origin", "https://127.0.0.1:3030")]));
        assert!(check(&[host, ("sec-fetch-site", "none")]));
        for pairs in [
            [host, ("origin", "null")],
            [host, ("origin", "http://127.0.0.1:3031")],
            [host, ("origin", "http://127.0.0.1")],
            [host, ("origin", "http://example.org")],
            [host, ("origin", "http://127.0.0.1:3030.example.org")],
            [host, ("sec-fetch-site", "cross-site")],
            [host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!check(&pairs), "{pairs:?}");
        }
    }

    #[test]
    fn requests_need_one_of_the_tokens() {
        let check = |pairs: &[(&str, &str)]| guard(false).check_token(&headers(pairs)).is_ok();
        assert!(check(&[("authorization", "Bearer first")]) && check(&[("authorization", "Bearer second")]));
        for value in ["Bearer Second", "second", "Bearer ", "bearer second", "Bearer first "] {
            assert!(!check(&[("authorization", value)]), "{value}");
        }
        assert!(!check(&[]));
        let none = Guard { tokens: Vec::new(), ..guard(false) };
        assert!(none.check_token(&headers(&[("authorization", "Bearer ")])).is_err());
    }
}
