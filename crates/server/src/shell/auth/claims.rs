//! JSON Web Tokens: signature, times, audience, and the rules of documents.
//!
//! Only the compact form with a signature is read (RFC 7515, 7519). The algorithm follows from the key that verifies the
//! signature: a token cannot choose how it is checked. The general libraries for these tokens bring C or RSA.

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value};

use super::Admission;
use super::error::TokenError;
use super::keys::TokenKeys;
use super::rules::identity_from_rules;

/// Tolerance for clocks that differ.
const LEEWAY_S: u64 = 30;
const ALGORITHMS: [&str; 3] = ["EdDSA", "ES256", "HS256"];

/// Checks a token, and reads the identity and its rights.
pub(super) fn admit(
    token: &str,
    keys: &TokenKeys,
    audience: Option<&str>,
    now: u64,
) -> Result<Admission, TokenError> {
    let claims = verify(token, keys)?;
    let expires_at =
        seconds(&claims, "exp")?.ok_or_else(|| wrong("exp", "is missing: it ends the rights"))?;
    let expires_at = expires_at.saturating_add(LEEWAY_S);
    if expires_at <= now {
        return Err(TokenError::Expired((now - expires_at).saturating_add(LEEWAY_S)));
    }
    if let Some(from) = seconds(&claims, "nbf")?.filter(|from| *from > now.saturating_add(LEEWAY_S)) {
        return Err(TokenError::NotYetValid(from - now));
    }
    check_audience(&claims, audience)?;
    let name = claims.get("sub").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| wrong("sub", "is missing: it names the user"))?;
    let rules: Vec<(&str, &str)> = match claims.get("documents") {
        None => Vec::new(),
        Some(Value::Object(rules)) => {
            let pairs = rules.iter().map(|(document, right)| Some((document.as_str(), right.as_str()?)));
            pairs.collect::<Option<_>>().ok_or_else(|| wrong("documents", "has a right that is no text"))?
        }
        Some(_) => return Err(wrong("documents", "is no object of ids and rights")),
    };
    let identity = identity_from_rules(name, rules);
    let identity = identity.map_err(|error| wrong("documents", &format!("is wrong: {error}")))?;
    Ok(Admission::local(identity, Some(expires_at)))
}

/// Checks the signature, and returns the claims.
fn verify(token: &str, keys: &TokenKeys) -> Result<Map<String, Value>, TokenError> {
    let no_token = || TokenError::Malformed("it does not have three parts");
    let (message, signature) = token.rsplit_once('.').ok_or_else(no_token)?;
    let (header, claims) = message.split_once('.').ok_or_else(no_token)?;
    let decode = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).ok();
    let object = |part: &str| -> Option<Map<String, Value>> { serde_json::from_slice(&decode(part)?).ok() };
    let header = object(header).ok_or(TokenError::Malformed("its header cannot be read"))?;
    let signature = decode(signature).ok_or(TokenError::Malformed("its signature cannot be read"))?;
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    let algorithm = text("alg").ok_or(TokenError::Malformed("it names no algorithm"))?;
    if !ALGORITHMS.contains(&algorithm) {
        return Err(TokenError::Algorithm(short(algorithm)));
    }
    if header.contains_key("crit") {
        return Err(TokenError::Malformed("it demands extensions"));
    }
    if !keys.verify(algorithm, text("kid"), message.as_bytes(), &signature) {
        return Err(match text("kid").filter(|id| !keys.may_have(id)) {
            Some(id) => TokenError::UnknownKey(short(id)),
            None => TokenError::Foreign,
        });
    }
    object(claims).ok_or(TokenError::Malformed("its claims cannot be read"))
}

fn check_audience(claims: &Map<String, Value>, expected: Option<&str>) -> Result<(), TokenError> {
    let found: Vec<&str> = match claims.get("aud") {
        None => Vec::new(),
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(_) => return Err(wrong("aud", "is neither a text nor a list")),
    };
    let is_expected = match expected {
        Some(expected) => found.contains(&expected),
        None => !claims.contains_key("aud"),
    };
    if is_expected {
        return Ok(());
    }
    let or_none = |text: &str| {
        if text.is_empty() { "no audience".to_owned() } else { format!("“{}”", short(text)) }
    };
    Err(TokenError::Audience {
        found: or_none(&found.join(", ")),
        expected: or_none(expected.unwrap_or_default()),
    })
}

/// A claim of a time, in seconds since 1970.
fn seconds(claims: &Map<String, Value>, name: &'static str) -> Result<Option<u64>, TokenError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    // Fractions are allowed, and cut off.
    let float = || value.as_f64().filter(|seconds| *seconds >= 0.0).map(|seconds| seconds as u64);
    match value.as_u64().or_else(float) {
        Some(seconds) => Ok(Some(seconds)),
        None => Err(wrong(name, "is no time in seconds since 1970")),
    }
}

fn wrong(claim: &'static str, reason: &str) -> TokenError {
    TokenError::Claim(claim, reason.to_owned())
}

/// Text of a client, for a message.
fn short(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tests {
    use data_encoding::BASE64;
    use graviola::hashing::Sha256;
    use graviola::hashing::hmac::Hmac;
    use graviola::signing::ecdsa::{P256, SigningKey};
    use graviola::signing::eddsa::Ed25519SigningKey;
    use hashmill_repo::DocumentId;

    use super::*;
    use crate::access::Access;

    const NOW: u64 = 1_800_000_000;
    const SECRET: &[u8] = &[7; 32];

    fn unsigned(header: &str, claims: &str) -> String {
        let encode = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
        format!("{}.{}", encode(header), encode(claims))
    }

    fn with_signature(message: &str, signature: &[u8]) -> String {
        format!("{message}.{}", BASE64URL_NOPAD.encode(signature))
    }

    /// A token that is signed with the secret.
    fn token(claims: &str) -> String {
        let message = unsigned(r#"{"alg":"HS256"}"#, claims);
        let mut mac = Hmac::<Sha256>::new(SECRET);
        mac.update(message.as_bytes());
        with_signature(&message, mac.finish().as_ref())
    }

    fn keys() -> TokenKeys {
        TokenKeys::from_secret(SECRET).expect("a secret")
    }

    fn claims(more: &str) -> String {
        format!(r#"{{"sub":"ann","exp":{}{more}}}"#, NOW + 60)
    }

    fn admitted(claims: &str, audience: Option<&str>) -> Result<Admission, TokenError> {
        admit(&token(claims), &keys(), audience, NOW)
    }

    /// The example of RFC 7515, appendix A.1, and the key of RFC 8037, appendix A.
    #[test]
    fn published_tokens_verify() {
        let jwk = r#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#;
        let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let keys = TokenKeys::from_text(jwk).expect("a key");
        assert_eq!(verify(token, &keys).expect("sound")["iss"], "joe");
        let jwk = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let keys = TokenKeys::from_text(jwk).expect("a key");
        let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        // Its signature is right; its payload is no claims.
        assert_eq!(verify(signed, &keys), Err(TokenError::Malformed("its claims cannot be read")));
        assert_eq!(verify(&signed.replacen("hgy", "hgz", 1), &keys), Err(TokenError::Foreign));
    }

    #[test]
    fn tokens_of_another_library_verify() {
        let tokens: Vec<&str> = include_str!("../../../tests/tokens/tokens.txt").lines().collect();
        let audience = Some("sync.example.org");
        for text in
            [include_str!("../../../tests/tokens/keys.pem"), include_str!("../../../tests/tokens/keys.json")]
        {
            let keys = TokenKeys::from_text(text).expect("two keys").and(keys());
            for token in &tokens {
                let admission = admit(token, &keys, audience, NOW).expect("a sound token");
                assert_eq!(*admission.identity, crate::identity::Identity::new("ann", Access::Read));
                assert_eq!(admit(token, &keys, audience, 4_102_444_830), Err(TokenError::Expired(30)));
            }
        }
    }

    #[test]
    fn each_algorithm_is_checked_with_its_own_keys_alone() {
        let document = DocumentId::from_random_bytes([1; 16]);
        let text = claims(&format!(r#","documents":{{"*":"read","{document}":"write"}}"#));
        let ed25519 = Ed25519SigningKey::generate().expect("random bytes");
        let p256 = SigningKey::<P256>::generate().expect("random bytes");
        let pem = |der: &[u8]| {
            format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", BASE64.encode(der))
        };
        let (mut buffer, mut other) = ([0; 200], [0; 200]);
        let ed25519_pem = pem(ed25519.public_key().to_spki_der(&mut buffer).expect("room"));
        let p256_pem = pem(p256.to_spki_der(&mut other).expect("room"));
        let both = TokenKeys::from_text(&format!("{ed25519_pem}{p256_pem}")).expect("two keys");
        let all = both.and(keys());
        let message = |algorithm: &str| unsigned(&format!(r#"{{"alg":"{algorithm}"}}"#), &text);
        let ed25519_token = with_signature(&message("EdDSA"), &ed25519.sign(message("EdDSA").as_bytes()));
        let mut signature = [0; 64];
        let signed = p256.sign::<Sha256>(&[message("ES256").as_bytes()], &mut signature).expect("room");
        let p256_token = with_signature(&message("ES256"), signed);
        let hmac_token = token(&text);
        for (token, keys) in [
            (&ed25519_token, TokenKeys::from_text(&ed25519_pem)),
            (&p256_token, TokenKeys::from_text(&p256_pem)),
            (&hmac_token, TokenKeys::from_secret(SECRET)),
        ] {
            for keys in [keys.expect("a key"), all.clone()] {
                let identity = admit(token, &keys, None, NOW).expect("a sound token").identity;
                assert_eq!((identity.name.as_str(), identity.access), ("ann", Access::Read));
                assert_eq!(identity.access_to(&document), Access::Write);
            }
            // Every change of a letter is found. The last letter may have bits that mean nothing, which the decoder refuses.
            for index in (0..token.len()).step_by(7) {
                let mut changed = token.clone().into_bytes();
                changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
                let changed = String::from_utf8(changed).expect("letters");
                assert!(admit(&changed, &all, None, NOW).is_err(), "{index}");
            }
        }
        let foreign = TokenKeys::from_secret(&[8; 32])
            .expect("a secret")
            .and(TokenKeys::from_text(&p256_pem).expect("a key"));
        for token in [&hmac_token, &ed25519_token] {
            assert_eq!(admit(token, &foreign, None, NOW), Err(TokenError::Foreign));
        }
        // A public key is no secret of HMAC, and no signature is none.
        let confused = message("HS256");
        let mut mac = Hmac::<Sha256>::new(ed25519_pem.as_bytes());
        mac.update(confused.as_bytes());
        let confused = with_signature(&confused, mac.finish().as_ref());
        let only_public = TokenKeys::from_text(&ed25519_pem).expect("a key");
        assert_eq!(admit(&confused, &only_public, None, NOW), Err(TokenError::Foreign));
        for none in ["none", "None", "RS256", ""] {
            let token = format!("{}.", message(none));
            assert_eq!(admit(&token, &all, None, NOW), Err(TokenError::Algorithm(none.to_owned())));
        }
    }

    #[test]
    fn keys_are_chosen_by_their_names() {
        let jwk = |id: &str| {
            let secret = BASE64URL_NOPAD.encode(SECRET);
            TokenKeys::from_text(&format!(r#"{{"keys":[{{"kty":"oct","kid":"{id}","k":"{secret}"}}]}}"#))
        };
        let signed = |header: &str| {
            let message = unsigned(header, &claims(""));
            let mut mac = Hmac::<Sha256>::new(SECRET);
            mac.update(message.as_bytes());
            with_signature(&message, mac.finish().as_ref())
        };
        let named = signed(r#"{"alg":"HS256","kid":"a"}"#);
        assert!(admit(&named, &jwk("a").expect("a key"), None, NOW).is_ok());
        let error = TokenError::UnknownKey("a".to_owned());
        assert_eq!(admit(&named, &jwk("b").expect("a key"), None, NOW), Err(error));
        assert!(admit(&signed(r#"{"alg":"HS256"}"#), &jwk("b").expect("a key"), None, NOW).is_ok());
        let critical = signed(r#"{"alg":"HS256","crit":["b64"],"b64":false}"#);
        let error = TokenError::Malformed("it demands extensions");
        assert_eq!(admit(&critical, &keys(), None, NOW), Err(error));
    }

    #[test]
    fn times_are_checked_with_a_tolerance() {
        let at = |exp: u64, nbf: u64| {
            admitted(&format!(r#"{{"sub":"ann","exp":{exp},"nbf":{nbf}.5}}"#), None)
                .map(|admission| admission.expires_at)
        };
        assert_eq!(at(NOW + 1, NOW), Ok(Some(NOW + 1 + LEEWAY_S)));
        assert_eq!(at(NOW - LEEWAY_S + 1, NOW + LEEWAY_S), Ok(Some(NOW + 1)));
        assert_eq!(at(NOW - LEEWAY_S, NOW), Err(TokenError::Expired(LEEWAY_S)));
        assert_eq!(at(0, NOW), Err(TokenError::Expired(NOW)));
        assert_eq!(at(NOW + 60, NOW + 7200), Err(TokenError::NotYetValid(7200)));
        assert!(at(u64::MAX, 0).is_ok());
    }

    #[test]
    fn audiences_must_be_equal() {
        let audience = |claim: &str, expected| admitted(&claims(claim), expected).map(|_| ());
        for (claim, expected, is_accepted) in [
            ("", None, true),
            ("", Some("a"), false),
            (r#","aud":"a""#, Some("a"), true),
            (r#","aud":["b","a"]"#, Some("a"), true),
            (r#","aud":[]"#, None, false),
            (r#","aud":"b""#, Some("a"), false),
            (r#","aud":"b""#, None, false),
        ] {
            assert_eq!(audience(claim, expected).is_ok(), is_accepted, "{claim} {expected:?}");
        }
        let error = audience(r#","aud":"b""#, None).expect_err("foreign").to_string();
        assert_eq!(
            error,
            "the token is for “b”, and this server takes those for no audience: compare aud and jwt-audience"
        );
    }

    #[test]
    fn wrong_claims_are_named() {
        for (text, expected) in [
            (r#"{"sub":"ann"}"#.to_owned(), "claim exp is missing"),
            (r#"{"sub":"ann","exp":"soon"}"#.to_owned(), "claim exp is no time"),
            (format!(r#"{{"exp":{}}}"#, NOW + 1), "claim sub is missing"),
            (claims(r#","documents":["a"]"#), "claim documents is no object"),
            (claims(r#","documents":{"*":1}"#), "claim documents has a right that is no text"),
            (claims(r#","documents":{"*":"all"}"#), "claim documents is wrong: “all” is no right"),
            (claims(r#","documents":{"x y":"read"}"#), "claim documents is wrong: “x y” is neither"),
            (claims(r#","aud":7"#), "claim aud is neither"),
            (claims(r#","nbf":-1"#), "claim nbf is no time"),
        ] {
            let error = admitted(&text, None).expect_err(&text).to_string();
            assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
        }
        for (token, error) in
            [("a", "three parts"), ("a.b", "three parts"), ("*.b.c", "header"), ("", "three parts")]
        {
            let found = admit(token, &keys(), None, NOW).expect_err(token).to_string();
            assert!(found.contains(error), "{token}: {found}");
        }
        let without_rules = admitted(&claims(""), None).expect("sound").identity;
        assert_eq!(without_rules.access, Access::Denied);
    }
}
