//! Addresses of clients behind proxies, from the headers `X-Forwarded-For` and `Forwarded` (RFC 7239).
//!
//! Each proxy appends the address that it was reached from, so the headers are read from their end: the first address that is no
//! trusted proxy is the client's. What stands before it was written by the client, and is not looked at.

use std::net::IpAddr;
use std::str::FromStr as _;

use hyper::HeaderMap;
use hyper::header::{FORWARDED, HeaderName, HeaderValue};
use ipnet::IpNet;

/// Maximum number of trusted proxies between a client and the server.
const MAX_PROXIES: usize = 16;

/// Addresses of proxies whose headers are believed.
#[derive(Clone, Default, Debug)]
pub struct TrustedProxies(Vec<IpNet>);

/// A text that names no proxies.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Neither an address nor a network.
    #[error("“{0}” is neither an address nor a network such as 10.0.0.0/8")]
    Malformed(String),
    /// Every address is in it.
    #[error("“{0}” is every address: name those of the proxies alone")]
    Everyone(String),
}

/// Reason why the headers of a proxy name no client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardedError {
    /// The last address cannot be read.
    #[error("the last address in {0} cannot be read")]
    Malformed(&'static str),
    /// The client could have written one of them.
    #[error(
        "X-Forwarded-For and Forwarded name different clients: let the proxy remove the one that it does not write"
    )]
    Contradiction,
    /// More trusted proxies than there are between a client and a server.
    #[error("{0} names only proxies, and too many of them")]
    TooMany(&'static str),
}

/// An entry of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hop {
    Address(IpAddr),
    /// The proxy does not tell the address.
    Hidden,
}

struct Malformed;

impl TrustedProxies {
    /// Addresses and networks of proxies.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<TrustedProxies, NetworkError> {
        let networks = texts.into_iter().map(|text| {
            let shown = || text.escape_debug().to_string();
            let network = match IpAddr::from_str(text) {
                Ok(address) => IpNet::from(address.to_canonical()),
                Err(_) => IpNet::from_str(text).map_err(|_| NetworkError::Malformed(shown()))?,
            };
            if network.prefix_len() == 0 {
                return Err(NetworkError::Everyone(shown()));
            }
            Ok(network)
        });
        networks.collect::<Result<_, _>>().map(TrustedProxies)
    }

    /// Is this address that of a trusted proxy?
    pub(in crate::shell) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client whose request came from `peer`. Headers of others than trusted proxies count for nothing.
    pub(in crate::shell) fn client_address(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Result<IpAddr, ForwardedError> {
        let peer = peer.to_canonical();
        if !self.contains(peer) {
            return Ok(peer);
        }
        let x_forwarded_for = HeaderName::from_static("x-forwarded-for");
        let values = |name| headers.get_all(name).iter().rev();
        let by_list = self.nearest_client(peer, "X-Forwarded-For", values(x_forwarded_for), read_list);
        let by_pairs = self.nearest_client(peer, "Forwarded", values(FORWARDED), read_pairs);
        match (by_list?, by_pairs?) {
            (None, None) => Ok(peer),
            (Some(address), None) | (None, Some(address)) => Ok(address),
            (Some(first), Some(second)) if first == second => Ok(first),
            (Some(_), Some(_)) => Err(ForwardedError::Contradiction),
        }
    }

    /// The last address in a header that is no proxy's. `None`: there is no such header. Values come last first.
    fn nearest_client<'h>(
        &self,
        peer: IpAddr,
        name: &'static str,
        values: impl Iterator<Item = &'h HeaderValue>,
        read: fn(&str) -> Vec<Result<Hop, Malformed>>,
    ) -> Result<Option<IpAddr>, ForwardedError> {
        let (mut nearest, mut count) = (None, 0);
        for value in values {
            let value = value.to_str().map_err(|_| ForwardedError::Malformed(name))?;
            for hop in read(value).into_iter().rev() {
                match hop.map_err(|Malformed| ForwardedError::Malformed(name))? {
                    Hop::Hidden => return Ok(nearest.or(Some(peer))),
                    Hop::Address(address) if !self.contains(address) => return Ok(Some(address)),
                    Hop::Address(proxy) => nearest = Some(proxy),
                }
                count += 1;
                if count > MAX_PROXIES {
                    return Err(ForwardedError::TooMany(name));
                }
            }
        }
        Ok(nearest)
    }
}

/// The entries of a value of `X-Forwarded-For`.
fn read_list(value: &str) -> Vec<Result<Hop, Malformed>> {
    value.split(',').map(str::trim).filter(|node| !node.is_empty()).map(read_node).collect()
}

/// The entries of a value of `Forwarded`. After one that cannot be read, quotation marks have no meaning, so it is the last.
fn read_pairs(value: &str) -> Vec<Result<Hop, Malformed>> {
    let (mut hops, mut rest) = (Vec::new(), value.trim());
    while !rest.is_empty() {
        match read_element(rest) {
            Ok((hop, after)) => {
                hops.extend(hop.map(Ok));
                rest = after;
            }
            Err(malformed) => {
                hops.push(Err(malformed));
                break;
            }
        }
    }
    hops
}

/// Reads pairs up to a comma. Returns the hop, unless there are no pairs, and what comes after the comma.
fn read_element(text: &str) -> Result<(Option<Hop>, &str), Malformed> {
    let (mut rest, mut node, mut has_pairs) = (text, None, false);
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { break };
        match first {
            ',' => {
                rest = &rest[1..];
                break;
            }
            ';' => rest = &rest[1..],
            _ => {
                let (name, after) = rest.split_once('=').ok_or(Malformed)?;
                let (value, after) = read_value(after)?;
                has_pairs = true;
                if !is_token(name) {
                    return Err(Malformed);
                }
                if name.eq_ignore_ascii_case("for") && node.replace(read_node(&value)?).is_some() {
                    return Err(Malformed);
                }
                rest = after.trim_start();
                if !(rest.is_empty() || rest.starts_with([',', ';'])) {
                    return Err(Malformed);
                }
            }
        }
    }
    Ok((has_pairs.then(|| node.unwrap_or(Hop::Hidden)), rest))
}

/// A token or a text in quotation marks, and what comes after it.
fn read_value(text: &str) -> Result<(String, &str), Malformed> {
    let Some(quoted) = text.strip_prefix('"') else {
        let len = text.find([',', ';', ' ', '\t']).unwrap_or(text.len());
        let (token, after) = text.split_at(len);
        // Unquoted ports and addresses of version 6 are no tokens, and occur.
        return if token.is_empty() || token.contains('"') {
            Err(Malformed)
        } else {
            Ok((token.to_owned(), after))
        };
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (index, letter) in quoted.char_indices() {
        match letter {
            _ if std::mem::take(&mut is_escaped) => value.push(letter),
            '\\' => is_escaped = true,
            '"' => return Ok((value, &quoted[index + 1..])),
            _ => value.push(letter),
        }
    }
    Err(Malformed)
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// An address with or without a port, or a word in place of it.
fn read_node(text: &str) -> Result<Hop, Malformed> {
    if text.eq_ignore_ascii_case("unknown") || text.starts_with('_') {
        return Ok(Hop::Hidden);
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Hop::Address(address.to_canonical()));
    }
    let (address, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or(Malformed)?,
        None => text.split_at(text.find(':').ok_or(Malformed)?),
    };
    let is_port = |port: &str| {
        let digits = port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
        !port.is_empty() && (digits || port.starts_with('_'))
    };
    if !(port.is_empty() || port.strip_prefix(':').is_some_and(is_port)) {
        return Err(Malformed);
    }
    let address = address.parse::<IpAddr>().map_err(|_| Malformed)?;
    Ok(Hop::Address(address.to_canonical()))
}

#[cfg(test)]
mod tests {
    use hashmill_testkit::{Rng, size};

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn proxies() -> TrustedProxies {
        TrustedProxies::parse(["10.0.0.0/8", "2001:db8::1", "::ffff:192.0.2.9"]).expect("networks")
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    fn client(peer: &str, pairs: &[(&'static str, &str)]) -> Result<String, ForwardedError> {
        let address = proxies().client_address(peer.parse().expect("an address"), &headers(pairs));
        address.map(|address| address.to_string())
    }

    fn by_list(value: &str) -> Result<String, ForwardedError> {
        client(PROXY, &[("x-forwarded-for", value)])
    }

    fn by_pairs(value: &str) -> Result<String, ForwardedError> {
        client(PROXY, &[("forwarded", value)])
    }

    #[test]
    fn headers_count_from_trusted_proxies_alone() {
        let spoofed = [("x-forwarded-for", "198.51.100.7"), ("forwarded", "for=\"")];
        for peer in ["203.0.113.5", "11.0.0.1", "2001:db8::2", "192.0.2.8"] {
            assert_eq!(client(peer, &spoofed).as_deref(), Ok(peer));
        }
        for peer in [PROXY, "::ffff:10.200.0.1", "2001:db8::1", "192.0.2.9"] {
            assert_eq!(client(peer, &spoofed[..1]).as_deref(), Ok("198.51.100.7"), "{peer}");
        }
        assert_eq!(client(PROXY, &[]).as_deref(), Ok(PROXY));
        let none = TrustedProxies::default();
        let address = none.client_address(PROXY.parse().expect("an address"), &headers(&spoofed));
        assert_eq!(address.map(|address| address.to_string()).as_deref(), Ok(PROXY));
    }

    #[test]
    fn the_last_address_that_is_no_proxy_is_the_client() {
        for (value, expected) in [
            ("198.51.100.7", "198.51.100.7"),
            ("1.1.1.1, 198.51.100.7", "198.51.100.7"),
            ("1.1.1.1, 198.51.100.7, 10.1.1.1,10.2.2.2", "198.51.100.7"),
            ("nonsense, 198.51.100.7", "198.51.100.7"),
            ("198.51.100.7:4711", "198.51.100.7"),
            ("2001:db8::7", "2001:db8::7"),
            ("[2001:db8::7]:443", "2001:db8::7"),
            ("::ffff:198.51.100.7", "198.51.100.7"),
            ("198.51.100.7, ,", "198.51.100.7"),
            // All are proxies: the farthest one is the client. A hidden one is not looked behind.
            ("10.3.3.3, 10.2.2.2", "10.3.3.3"),
            ("198.51.100.7, unknown, 10.2.2.2", "10.2.2.2"),
            ("unknown", PROXY),
            ("", PROXY),
        ] {
            assert_eq!(by_list(value).as_deref(), Ok(expected), "{value}");
        }
        let two = [("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "198.51.100.7, 10.2.2.2")];
        assert_eq!(client(PROXY, &two).as_deref(), Ok("198.51.100.7"));
    }

    #[test]
    fn pairs_of_forwarded_are_read() {
        for (value, expected) in [
            ("for=198.51.100.7", "198.51.100.7"),
            ("For=\"198.51.100.7:80\";proto=https;by=203.0.113.43", "198.51.100.7"),
            ("for=1.1.1.1, for=\"[2001:db8::7]:4711\"", "2001:db8::7"),
            ("for=\"[2001:db8::7]\";secret=\"a, for=1.1.1.1; \\\" b\"", "2001:db8::7"),
            ("for=198.51.100.7;by=x, for=10.9.9.9", "198.51.100.7"),
            ("for=198.51.100.7:_port", "198.51.100.7"),
            ("for=1.1.1.1, for=_hidden, for=10.9.9.9", "10.9.9.9"),
            ("for=1.1.1.1, proto=https", PROXY),
            (" , for=198.51.100.7 , ", "198.51.100.7"),
        ] {
            assert_eq!(by_pairs(value).as_deref(), Ok(expected), "{value}");
        }
    }

    #[test]
    fn what_cannot_be_read_names_nobody() {
        for value in [
            "nonsense",
            "198.51.100.7:",
            "198.51.100.7:a",
            "[2001:db8::7",
            "[]",
            "1.2.3",
            ":",
            "198.51.100.7, x",
        ] {
            assert_eq!(by_list(value), Err(ForwardedError::Malformed("X-Forwarded-For")), "{value}");
        }
        for value in [
            "for=",
            "for",
            "=1.1.1.1",
            "for=\"1.1.1.1",
            "for=1.1.1.1 for=2.2.2.2",
            "for=1.1.1.1;for=2.2.2.2",
            "for=\"1.1.1.1\"x",
            "for=1.1.1.1\"",
            "f r=1.1.1.1",
            // Of the client; the proxy appended a sound one, which quotation marks could hide.
            "for=\", for=198.51.100.7",
        ] {
            assert_eq!(by_pairs(value), Err(ForwardedError::Malformed("Forwarded")), "{value}");
        }
        let both = |second| [("x-forwarded-for", "198.51.100.7"), ("forwarded", second)];
        assert_eq!(client(PROXY, &both("for=198.51.100.7")).as_deref(), Ok("198.51.100.7"));
        assert_eq!(client(PROXY, &both("for=1.1.1.1")), Err(ForwardedError::Contradiction));
        let many = |count| by_list(&["10.1.1.1"].repeat(count).join(","));
        assert_eq!(many(MAX_PROXIES).as_deref(), Ok("10.1.1.1"));
        assert_eq!(many(MAX_PROXIES + 1), Err(ForwardedError::TooMany("X-Forwarded-For")));
        let mut bytes = HeaderMap::new();
        bytes.insert("x-forwarded-for", HeaderValue::from_bytes(b"\xff").expect("a value"));
        let address = proxies().client_address(PROXY.parse().expect("an address"), &bytes);
        assert_eq!(address, Err(ForwardedError::Malformed("X-Forwarded-For")));
    }

    #[test]
    fn networks_are_named() {
        for (text, expected) in [
            ("10.0.0.0/33", "“10.0.0.0/33” is neither an address nor a network such as 10.0.0.0/8"),
            ("proxy", "“proxy” is neither"),
            ("", "“” is neither"),
            ("0.0.0.0/0", "“0.0.0.0/0” is every address: name those of the proxies alone"),
            ("::/0", "“::/0” is every address"),
        ] {
            let error = TrustedProxies::parse([text]).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert!(TrustedProxies::parse([]).expect("none").0.is_empty());
    }

    /// Parts of headers in any order, with what a proxy appends: that is the client, or the header cannot be read.
    #[test]
    fn no_header_of_a_client_moves_its_address() {
        const PARTS: [&str; 16] = [
            "for",
            "=",
            "\"",
            "\\",
            ",",
            ";",
            " ",
            "[",
            "]",
            ":",
            "_",
            "10.0.0.1",
            "1.1.1.1",
            "2001:db8::7",
            "unknown",
            "é",
        ];
        let mut rng = Rng::new(1);
        let mut read = 0;
        for _ in 0..size::of(20_000, 1_000_000) {
            let count = rng.below(12);
            let text: String = (0..count).map(|_| PARTS[rng.below(PARTS.len())]).collect();
            assert_eq!(
                by_list(&format!("{text}, 198.51.100.7")).as_deref().unwrap_or("198.51.100.7"),
                "198.51.100.7"
            );
            match by_pairs(&format!("{text}, for=198.51.100.7")) {
                Ok(address) => {
                    assert_eq!(address, "198.51.100.7", "{text}");
                    read += 1;
                }
                Err(error) => assert_eq!(error, ForwardedError::Malformed("Forwarded"), "{text}"),
            }
            drop((by_list(&text), by_pairs(&text)));
        }
        assert!(read > 1000, "{read} were read");
    }
}
