//! Authentication of clients: tokens, and the rights that they carry.

mod callback;
mod claims;
mod credentials;
mod error;
mod gate;
mod issuer;
mod keys;
mod rules;
mod signature;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::identity::Identity;

pub use callback::RightsService;
pub use error::{KeyError, RuleError, TokenError};
pub use keys::TokenKeys;
pub use rules::identity_from_rules;

pub(super) use callback::{Callback, RemoteClient};
pub(super) use credentials::{chosen_protocol, token_of};
pub(super) use gate::Gate;
pub(super) use issuer::{Issuer, issuer};

/// Maximum length of a token, which is part of a request's head.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// SHA-256 of a static token.
pub type TokenDigest = [u8; 32];

/// Accepted clients and their rights.
#[derive(Clone, Default)]
pub struct Authentication {
    /// Static tokens by their digests: the server never knows the tokens of others.
    pub tokens: BTreeMap<TokenDigest, Identity>,
    /// Keys of issuers of JSON Web Tokens. `None`: there are no issuers.
    pub keys: Option<TokenKeys>,
    /// The claim `aud` that JSON Web Tokens must have. `None`: they must have none.
    pub audience: Option<String>,
    /// Identity of clients without a token. `None`: they are refused.
    pub anonymous: Option<Identity>,
}

/// Keys of an issuer at a URL.
pub(super) enum FurtherKeys {
    /// There is no such issuer.
    None,
    /// They were not fetched yet.
    Missing,
    Fetched(Arc<TokenKeys>),
}

/// A client that was let in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Admission {
    pub(super) identity: Arc<Identity>,
    /// End of the rights, in seconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// The client, if another service knows its rights.
    pub(super) remote: Option<Arc<RemoteClient>>,
}

impl Admission {
    pub(super) fn local(identity: Identity, expires_at: Option<u64>) -> Admission {
        Admission { identity: Arc::new(identity), expires_at, remote: None }
    }

    pub(super) fn remote(client: Arc<RemoteClient>) -> Admission {
        let identity = Arc::new(Identity::remote(client.name()));
        Admission { identity, expires_at: None, remote: Some(client) }
    }
}

impl Authentication {
    /// Everyone has this identity.
    pub fn open_to(identity: Identity) -> Authentication {
        Authentication { anonymous: Some(identity), ..Authentication::default() }
    }

    /// The digest of a static token.
    pub fn digest(token: &str) -> TokenDigest {
        Sha256::digest(token).into()
    }

    /// The identity and the expiry of a client with this token, at this time in seconds since 1970. Further keys are those of the issuer
    /// at a URL.
    pub(super) fn admit(
        &self,
        token: Option<&str>,
        further: &FurtherKeys,
        now: u64,
    ) -> Result<Admission, TokenError> {
        let Some(token) = token else {
            let identity = self.anonymous.clone().ok_or(TokenError::Missing)?;
            return Ok(Admission::local(identity, None));
        };
        if let Some(identity) = self.tokens.get(&Authentication::digest(token)) {
            return Ok(Admission::local(identity.clone(), None));
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Unknown);
        }
        let verify = |keys: &TokenKeys| claims::admit(token, keys, self.audience.as_deref(), now);
        match (&self.keys, further) {
            (None, FurtherKeys::None) => Err(TokenError::Unknown),
            (Some(keys), FurtherKeys::None) => verify(keys),
            (None, FurtherKeys::Fetched(further)) => verify(further),
            (Some(keys), FurtherKeys::Fetched(further)) => verify(&keys.clone().and((**further).clone())),
            (None, FurtherKeys::Missing) => Err(TokenError::KeysMissing),
            (Some(keys), FurtherKeys::Missing) => match verify(keys) {
                Err(TokenError::Foreign | TokenError::UnknownKey(_)) => Err(TokenError::KeysMissing),
                result => result,
            },
        }
    }
}

/// Without secrets.
impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication")
            .field("tokens", &self.tokens.values().collect::<Vec<_>>())
            .field("keys", &self.keys)
            .field("audience", &self.audience)
            .field("anonymous", &self.anonymous)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;

    #[test]
    fn static_tokens_are_found_by_their_digests() {
        let mut authentication = Authentication::default();
        let ann = Identity::new("ann", Access::Read);
        authentication.tokens.insert(Authentication::digest("a long secret"), ann.clone());
        let admitted =
            authentication.admit(Some("a long secret"), &FurtherKeys::None, 0).expect("a known token");
        assert_eq!((&*admitted.identity, admitted.expires_at), (&ann, None));
        assert_eq!(authentication.admit(Some("another"), &FurtherKeys::None, 0), Err(TokenError::Unknown));
        assert_eq!(authentication.admit(None, &FurtherKeys::None, 0), Err(TokenError::Missing));
        authentication.anonymous = Some(Identity::new("guest", Access::Read));
        assert_eq!(
            authentication.admit(None, &FurtherKeys::None, 0).expect("guests may").identity.name,
            "guest"
        );
        // A wrong token is an error of its owner, who would not notice the rights of a guest.
        assert_eq!(authentication.admit(Some("another"), &FurtherKeys::None, 0), Err(TokenError::Unknown));
        assert!(!format!("{authentication:?}").contains("secret"));
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn tokens_wait_for_keys_that_are_not_fetched_yet() {
        let text = include_str!("../../../tests/tokens/keys.json");
        let token = include_str!("../../../tests/tokens/tokens.txt").lines().next();
        let now = 1_800_000_000;
        let keys = TokenKeys::from_text(text).expect("keys");
        let foreign = TokenKeys::from_secret(&[7; 32]).expect("a secret");
        let audience = Some("sync.example.org".to_owned());
        let with = |keys| Authentication { keys, audience: audience.clone(), ..Authentication::default() };
        let admit =
            |authentication: Authentication, further| authentication.admit(token, &further, now).map(drop);
        assert_eq!(admit(with(None), FurtherKeys::Missing), Err(TokenError::KeysMissing));
        assert_eq!(admit(with(Some(foreign.clone())), FurtherKeys::Missing), Err(TokenError::KeysMissing));
        assert_eq!(admit(with(Some(keys.clone())), FurtherKeys::Missing), Ok(()));
        let fetched = || FurtherKeys::Fetched(Arc::new(keys.clone()));
        assert_eq!(admit(with(None), fetched()), Ok(()));
        assert_eq!(admit(with(Some(foreign)), fetched()), Ok(()));
    }
}
