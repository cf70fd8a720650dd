//! Tokens of JSON Pointers (RFC 6901).

/// Escapes a key or an index for a JSON Pointer: `~` becomes `~0`, and `/` becomes `~1`.
#[cfg_attr(not(feature = "json"), allow(unreachable_pub, reason = "exported with the feature `json`"))]
pub fn escape_token(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
