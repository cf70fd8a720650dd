//! Errors of tokens, keys and rules.

use crate::identity::ParseRuleError;

/// Reason why a token gives no rights.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The client has no token.
    #[error(
        "a token is needed: send the header “Authorization: Bearer TOKEN”, the subprotocol “bearer.TOKEN” or the \
         query “?token=TOKEN”"
    )]
    Missing,
    /// The token is none of the static ones, and the server knows no issuer.
    #[error("the token is unknown: it was withdrawn, or is for another server")]
    Unknown,
    /// The token is none of the static ones, and no JSON Web Token.
    #[error("the token is unknown, and no JSON Web Token: {0}")]
    Malformed(&'static str),
    /// Another algorithm.
    #[error("the token is signed with {0}: sign it with EdDSA, ES256 or HS256")]
    Algorithm(String),
    /// The signature is by none of the keys.
    #[error("the token is not signed by a key of this server: compare its issuer with the server's jwt-keys")]
    Foreign,
    /// None of the keys has the name of its key.
    #[error(
        "the token is not signed by a key of this server: its key is “{0}”, which is none of the server's jwt-keys"
    )]
    UnknownKey(String),
    /// The keys of its issuer were not fetched yet.
    #[error("the server does not have the keys of the token's issuer yet: try again soon")]
    KeysMissing,
    /// The service that knows the token fails.
    #[error("the server cannot check the token now: try again soon")]
    ServiceFails,
    /// It has expired.
    #[error("the token expired {0} s ago: get a new one, or correct the clock of the server")]
    Expired(u64),
    /// It is not valid yet.
    #[error("the token is valid in {0} s only: compare the clocks of the server and of the token's issuer")]
    NotYetValid(u64),
    /// It is for another server.
    #[error(
        "the token is for {found}, and this server takes those for {expected}: compare aud and jwt-audience"
    )]
    Audience {
        /// Audience in the token.
        found: String,
        /// Audience of this server.
        expected: String,
    },
    /// A claim is missing or wrong.
    #[error("the token's claim {0} {1}")]
    Claim(&'static str, String),
}

/// Reason why keys cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(pub(super) String);

/// Reason why rules of documents cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Not an id.
    #[error("“{0}” is neither the id of a document nor *")]
    Document(String),
    /// Not a right.
    #[error(transparent)]
    Right(#[from] ParseRuleError),
    /// All documents cannot be announced.
    #[error("“announce” needs the id of a document: use write for all")]
    AnnouncesAll,
}
