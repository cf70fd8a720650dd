//! Keys of token issuers, from PEM, JWK and JWKS.

use std::fmt;
use std::sync::Arc;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use serde_json::Value;

use super::error::KeyError;
use super::signature::Key;

/// Minimum length of a secret: that of the algorithm's output.
const MIN_SECRET_BYTES: usize = 32;
/// Public keys in PEM are of these forms: what comes before the bytes of the key.
const ED25519_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const P256_PREFIX: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Keys of issuers of JSON Web Tokens, for EdDSA (Ed25519), ES256 and HS256.
#[derive(Clone, Default)]
pub struct TokenKeys(Vec<Arc<NamedKey>>);

struct NamedKey {
    /// The name in the header of tokens.
    id: Option<String>,
    key: Key,
}

impl TokenKeys {
    /// Public keys in PEM, a JWK, or a JWKS. Keys of a JWKS that are for something else are left out.
    pub fn from_text(text: &str) -> Result<TokenKeys, KeyError> {
        let keys = if text.trim_start().starts_with('{') { from_json(text) } else { from_pem(text) };
        Ok(TokenKeys(keys?.into_iter().map(Arc::new).collect()))
    }

    /// A JWKS that everyone may read: a secret in it is an error.
    pub(super) fn from_public_text(text: &str) -> Result<TokenKeys, KeyError> {
        let keys = TokenKeys::from_text(text)?;
        match keys.0.iter().find(|named| named.key.algorithm() == "HS256") {
            Some(_) => Err(error("a secret (HS256), which all can read: publish public keys alone")),
            None => Ok(keys),
        }
    }

    /// Has one of the keys this name, or none?
    pub(super) fn may_have(&self, id: &str) -> bool {
        self.0.iter().any(|named| named.id.as_deref().is_none_or(|there| there == id))
    }

    /// A secret for HS256 that the issuer and the server share.
    pub fn from_secret(secret: &[u8]) -> Result<TokenKeys, KeyError> {
        Ok(TokenKeys(vec![Arc::new(NamedKey { id: None, key: secret_key(secret)? })]))
    }

    /// The keys of both.
    pub fn and(mut self, others: TokenKeys) -> TokenKeys {
        self.0.extend(others.0);
        self
    }

    /// Has a key for this algorithm, with this name if both have one, signed the message?
    pub(super) fn verify(&self, algorithm: &str, id: Option<&str>, message: &[u8], signature: &[u8]) -> bool {
        let is_meant = |named: &&Arc<NamedKey>| {
            let has_name = id.is_none() || named.id.is_none() || named.id.as_deref() == id;
            named.key.algorithm() == algorithm && has_name
        };
        self.0.iter().filter(is_meant).any(|named| named.key.verifies(message, signature))
    }
}

/// Without the keys.
impl fmt::Debug for TokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|named| (named.key.algorithm(), &named.id))).finish()
    }
}

fn error(text: impl Into<String>) -> KeyError {
    KeyError(text.into())
}

fn secret_key(secret: &[u8]) -> Result<Key, KeyError> {
    if secret.len() < MIN_SECRET_BYTES {
        return Err(error(format!(
            "a secret of {} bytes: use at least {MIN_SECRET_BYTES} random bytes",
            secret.len()
        )));
    }
    Key::from_secret(secret).ok_or_else(unsupported)
}

fn unsupported() -> KeyError {
    error(
        "this processor cannot check signatures of tokens, or the key is damaged: use static tokens, or export the key again",
    )
}

fn from_pem(text: &str) -> Result<Vec<NamedKey>, KeyError> {
    const BEGIN: &str = "-----BEGIN ";
    if text.contains("PRIVATE KEY-----") {
        return Err(error("a private key, which the server must not have: give it the public one"));
    }
    let mut keys = Vec::new();
    for block in text.split(BEGIN).skip(1) {
        let (label, rest) = block.split_once("-----").unwrap_or((block, ""));
        let body = rest.split_once("-----END ").map(|(body, _)| body);
        let body = body.filter(|_| label == "PUBLIC KEY");
        let body =
            body.ok_or_else(|| error(format!("a PEM block “{label}”: it must be a whole PUBLIC KEY")))?;
        let body: String = body.split_ascii_whitespace().collect();
        let der = BASE64.decode(body.as_bytes()).map_err(|_| error("a PEM block that is damaged"))?;
        let key = if let Some(bytes) = der.strip_prefix(ED25519_PREFIX) {
            Key::from_ed25519(bytes)
        } else if let Some(point) = der.strip_prefix(P256_PREFIX) {
            Key::from_p256(point)
        } else {
            return Err(error("a public key that is neither Ed25519 (EdDSA) nor P-256 (ES256)"));
        };
        keys.push(NamedKey { id: None, key: key.ok_or_else(unsupported)? });
    }
    if keys.is_empty() {
        return Err(error("neither PEM (BEGIN PUBLIC KEY), nor a JWK, nor a JWKS"));
    }
    Ok(keys)
}

fn from_json(text: &str) -> Result<Vec<NamedKey>, KeyError> {
    let json: Value = serde_json::from_str(text).map_err(|cause| error(format!("no JSON: {cause}")))?;
    let Some(set) = json.get("keys") else {
        let key = from_jwk(&json)?;
        return Ok(vec![key.ok_or_else(|| error("the key is not for EdDSA (Ed25519), ES256 or HS256"))?]);
    };
    let set = set.as_array().ok_or_else(|| error("“keys” is no list"))?;
    let mut keys = Vec::new();
    for (index, jwk) in set.iter().enumerate() {
        let named = |KeyError(text)| error(format!("key {}: {text}", index + 1));
        keys.extend(from_jwk(jwk).map_err(named)?);
    }
    if keys.is_empty() {
        return Err(error(format!("none of its {} keys is for EdDSA (Ed25519), ES256 or HS256", set.len())));
    }
    Ok(keys)
}

/// `None` is a sound key for something else.
fn from_jwk(jwk: &Value) -> Result<Option<NamedKey>, KeyError> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let bytes = |name: &str| {
        let encoded = text(name).ok_or_else(|| error(format!("“{name}” is missing")))?;
        BASE64URL_NOPAD.decode(encoded.as_bytes()).map_err(|_| error(format!("“{name}” is no base64url")))
    };
    let algorithm = match (text("kty"), text("crv")) {
        (Some("OKP"), Some("Ed25519")) => "EdDSA",
        (Some("EC"), Some("P-256")) => "ES256",
        (Some("oct"), _) => "HS256",
        (Some(_), _) => return Ok(None),
        (None, _) => return Err(error("“kty” is missing")),
    };
    let is_for_signatures = text("use").is_none_or(|purpose| purpose == "sig");
    if !is_for_signatures || text("alg").is_some_and(|named| named != algorithm) {
        return Ok(None);
    }
    let key = match algorithm {
        "EdDSA" => Key::from_ed25519(&bytes("x")?),
        "ES256" => Key::from_p256(&[&[4], &bytes("x")?[..], &bytes("y")?[..]].concat()),
        _ => Some(secret_key(&bytes("k")?)?),
    };
    Ok(Some(NamedKey { id: text("kid").map(str::to_owned), key: key.ok_or_else(unsupported)? }))
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tests {
    use super::*;

    #[test]
    fn unusable_keys_are_named_in_one_line() {
        for (text, expected) in [
            ("", "neither PEM"),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "a private key"),
            ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "neither Ed25519"),
            ("-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----", "damaged"),
            ("-----BEGIN PUBLIC KEY-----\nAAAA", "whole PUBLIC KEY"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "“CERTIFICATE”"),
            ("{", "no JSON"),
            ("{}", "“kty” is missing"),
            (r#"{"kty": "RSA", "n": "AQ"}"#, "not for EdDSA"),
            (r#"{"keys": []}"#, "none of its 0 keys"),
            (r#"{"keys": 1}"#, "no list"),
            (r#"{"keys": [{"kty": "RSA"}, {"kty": "oct", "k": "AAAA"}]}"#, "key 2: a secret of 3 bytes"),
            (r#"{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}"#, "the key is damaged"),
            (r#"{"kty": "OKP", "crv": "Ed25519"}"#, "“x” is missing"),
            (r#"{"kty": "EC", "crv": "P-256", "x": "AA", "y": "*"}"#, "“y” is no base64url"),
        ] {
            let error = TokenKeys::from_text(text).expect_err(text).to_string();
            assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
        }
        let secret = r#"{"keys": [{"kty": "oct", "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T"}]}"#;
        assert!(TokenKeys::from_text(secret).is_ok());
        let error = TokenKeys::from_public_text(secret).expect_err("a secret").to_string();
        assert!(error.starts_with("a secret (HS256), which all can read"), "{error}");
        assert!(TokenKeys::from_secret(&[7; 31]).is_err());
        let keys = TokenKeys::from_secret(&[7; 32]).expect("a secret");
        assert_eq!(format!("{keys:?}"), "[(\"HS256\", None)]");
    }
}
