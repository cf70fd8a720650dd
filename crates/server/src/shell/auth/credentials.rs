//! Token of a request: from its header, a subprotocol or the query.

use hyper::header::{AUTHORIZATION, HeaderMap, SEC_WEBSOCKET_PROTOCOL};
use hyper::{Uri, http};
use zeroize::Zeroizing;

/// Scheme of the header.
const SCHEME: &str = "bearer ";
/// Start of a subprotocol that has the token. Browsers can send no header with a WebSocket.
const PROTOCOL_PREFIX: &str = "bearer.";
/// Parameter of the query.
const PARAMETER: &str = "token=";

/// The token of a request. The header goes before the subprotocol, and that before the query.
pub(crate) fn token_of(request: &http::request::Parts) -> Option<Zeroizing<String>> {
    let header = request.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let header = header
        .filter(|value| value.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME)));
    if let Some(value) = header {
        return Some(Zeroizing::new(value[SCHEME.len()..].trim().to_owned()));
    }
    let protocol = protocols(&request.headers).find_map(|name| name.strip_prefix(PROTOCOL_PREFIX));
    if let Some(token) = protocol {
        return Some(Zeroizing::new(token.to_owned()));
    }
    query_token(&request.uri)
}

/// The subprotocol to answer with, as browsers demand: one without the token, if the client offers one.
pub(crate) fn chosen_protocol(headers: &HeaderMap) -> Option<&str> {
    let has_no_token = |name: &&str| !name.starts_with(PROTOCOL_PREFIX);
    protocols(headers).find(has_no_token).or_else(|| protocols(headers).next())
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|name| !name.is_empty())
}

fn query_token(uri: &Uri) -> Option<Zeroizing<String>> {
    let encoded = uri.query()?.split('&').find_map(|pair| pair.strip_prefix(PARAMETER))?;
    let mut token = Zeroizing::new(Vec::with_capacity(encoded.len()));
    let mut rest = encoded.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| after.get(..2)).flatten();
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                token.push(byte);
                rest = &after[2..];
            }
            None => {
                token.push(*first);
                rest = after;
            }
        }
    }
    std::str::from_utf8(&token).ok().map(|token| Zeroizing::new(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn parts(uri: &str, headers: &[(&str, &str)]) -> http::request::Parts {
        let request = Request::builder().uri(uri);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn tokens_are_in_header_subprotocol_or_query() {
        let (header, protocol) = ("authorization", "sec-websocket-protocol");
        for (uri, headers, expected) in [
            ("/", &[][..], None),
            ("/", &[(header, "Bearer a.b-c")][..], Some("a.b-c")),
            ("/", &[(header, "bearer  a")], Some("a")),
            ("/", &[(header, "Basic a")], None),
            ("/", &[(header, "Bearer")], None),
            ("/", &[(protocol, "automerge-repo, bearer.a")], Some("a")),
            ("/", &[(protocol, "automerge-repo"), (protocol, "bearer.b")], Some("b")),
            ("/?x=1&token=a%2Bb%", &[], Some("a+b%")),
            ("/?token=", &[], Some("")),
            ("/?mytoken=a", &[], None),
            ("/?token=%ff", &[], None),
            ("/?token=c", &[(protocol, "bearer.b")], Some("b")),
            ("/?token=c", &[(protocol, "bearer.b"), (header, "Bearer a")], Some("a")),
        ] {
            let token = token_of(&parts(uri, headers));
            assert_eq!(token.as_ref().map(|token| token.as_str()), expected, "{uri} {headers:?}");
        }
    }

    #[test]
    fn the_answer_repeats_no_token_where_it_can() {
        let chosen = |value| {
            let parts = parts("/", &[("sec-websocket-protocol", value)]);
            chosen_protocol(&parts.headers).map(str::to_owned)
        };
        assert_eq!(chosen("bearer.a, automerge-repo").as_deref(), Some("automerge-repo"));
        assert_eq!(chosen("bearer.a").as_deref(), Some("bearer.a"));
        assert_eq!(chosen(""), None);
    }
}
