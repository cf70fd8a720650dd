//! Rights of clients, from the settings file and the files that it names.

use super::toml_file::parse_toml;
use crate::flags::UsageError;
use crate::os;
use crate::output::display_path;
use anyhow::{Context as _, Result, bail};
use hashmill_server::Identity;
use hashmill_server::shell::auth::{Authentication, TokenDigest, TokenKeys, identity_from_rules};
use serde::{Deserialize, Deserializer};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A shorter token can be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// An identity in a file, with one static token.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct IdentityTable {
    name: String,
    /// SHA-256 of the token, as hexadecimal digits.
    token_sha256: Option<String>,
    /// The token itself, in a file of tokens alone.
    token: Option<ClearToken>,
    #[serde(default)]
    documents: BTreeMap<String, String>,
}

/// A token in clear.
#[derive(Clone)]
struct ClearToken(Zeroizing<String>);

impl<'de> Deserialize<'de> for ClearToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ClearToken, D::Error> {
        String::deserialize(deserializer).map(|token| ClearToken(Zeroizing::new(token)))
    }
}

/// Without the token.
impl fmt::Debug for ClearToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClearToken(…)")
    }
}

/// A file of tokens.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TokensFile {
    #[serde(default)]
    identity: Vec<IdentityTable>,
}

/// Sources of rights. The files may change while the server runs.
#[derive(Debug)]
pub(super) struct RightsSource {
    pub(super) identities: Vec<IdentityTable>,
    pub(super) tokens: Option<PathBuf>,
    pub(super) jwt_keys: Option<PathBuf>,
    pub(super) jwt_secret: Option<PathBuf>,
    pub(super) jwt_audience: Option<String>,
    /// The right of clients without a token on all documents. `None`: all rights if there are no tokens, else none.
    pub(super) anonymous: Option<String>,
    /// Other servers know tokens, too, or their keys.
    pub(super) has_remote_tokens: bool,
    /// Digest of the files when they were read last.
    digest: Option<[u8; 32]>,
}

impl RightsSource {
    pub(super) fn new(
        identities: Vec<IdentityTable>,
        files: [Option<PathBuf>; 3],
        jwt_audience: Option<String>,
        anonymous: Option<String>,
    ) -> RightsSource {
        // The names in a written settings file are empty.
        let [tokens, jwt_keys, jwt_secret] =
            files.map(|path| path.filter(|path| !path.as_os_str().is_empty()));
        let [jwt_audience, anonymous] =
            [jwt_audience, anonymous].map(|text| text.filter(|text| !text.is_empty()));
        RightsSource {
            identities,
            tokens,
            jwt_keys,
            jwt_secret,
            jwt_audience,
            anonymous,
            has_remote_tokens: false,
            digest: None,
        }
    }

    /// Do clients need a token?
    pub(super) fn has_tokens(&self) -> bool {
        let has_files = self.tokens.is_some() || self.jwt_keys.is_some() || self.jwt_secret.is_some();
        has_files || self.has_remote_tokens || !self.identities.is_empty()
    }

    /// Are there keys of issuers, or a secret?
    pub(super) fn has_keys(&self) -> bool {
        self.jwt_keys.is_some() || self.jwt_secret.is_some()
    }

    /// Reads the files.
    pub(super) fn read(&mut self) -> Result<Authentication> {
        let files = self.read_files();
        self.digest = Some(digest(&files));
        self.parse(&files)
    }

    /// Reads the files again, if they have changed.
    pub(super) fn read_changed(&mut self) -> Option<Result<Authentication>> {
        let files = self.read_files();
        let digest = digest(&files);
        if self.digest.replace(digest) == Some(digest) {
            return None;
        }
        Some(self.parse(&files))
    }

    /// The contents of the files of tokens, keys and the secret.
    fn read_files(&self) -> [Option<Result<Zeroizing<String>>>; 3] {
        [&self.tokens, &self.jwt_keys, &self.jwt_secret].map(|path| path.as_deref().map(read_file))
    }

    fn parse(
        &self,
        [tokens, keys, secret]: &[Option<Result<Zeroizing<String>>>; 3],
    ) -> Result<Authentication> {
        let mut authentication =
            Authentication { audience: self.jwt_audience.clone(), ..Authentication::default() };
        for table in &self.identities {
            if table.token.is_some() {
                bail!(UsageError(format!(
                    "identity “{}”: the settings hold no tokens: write token-sha256, or name a file of tokens",
                    table.name
                )));
            }
            add_token(&mut authentication.tokens, table)?;
        }
        if let (Some(text), Some(path)) = (tokens, &self.tokens) {
            let text = contents(text)?;
            let name = display_path(path);
            let file: TokensFile = parse_toml(text).context(name.clone().into_owned())?;
            if file.identity.iter().any(|table| table.token.is_some()) {
                check_private(path)?;
            }
            for table in &file.identity {
                add_token(&mut authentication.tokens, table).context(name.clone().into_owned())?;
            }
        }
        let mut all = None;
        if let (Some(text), Some(path)) = (keys, &self.jwt_keys) {
            let text = contents(text)?;
            if text.contains("\"oct\"") {
                check_private(path)?;
            }
            all = Some(TokenKeys::from_text(text).with_context(|| display_path(path).into_owned())?);
        }
        if let (Some(text), Some(path)) = (secret, &self.jwt_secret) {
            let text = contents(text)?;
            check_private(path)?;
            let secret = TokenKeys::from_secret(text.trim_end_matches(['\r', '\n']).as_bytes());
            let secret = secret.with_context(|| display_path(path).into_owned())?;
            all = Some(all.unwrap_or_default().and(secret));
        }
        authentication.keys = all;
        let right = self.anonymous.as_deref().unwrap_or(if self.has_tokens() { "none" } else { "write" });
        if right != "none" {
            let identity = identity_from_rules("anonymous", [("*", right)]);
            let identity = identity.map_err(|error| UsageError(format!("anonymous: {error}")))?;
            authentication.anonymous = Some(identity);
        }
        Ok(authentication)
    }
}

fn add_token(tokens: &mut BTreeMap<TokenDigest, Identity>, table: &IdentityTable) -> Result<()> {
    let IdentityTable { name, token_sha256, token, documents } = table;
    let wrong = |reason: &str| UsageError(format!("identity “{name}”: {reason}"));
    let digest = match (token_sha256, token) {
        (Some(digits), None) => {
            let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
            let digest = bytes.and_then(|bytes| TokenDigest::try_from(bytes).ok());
            digest.ok_or_else(|| {
                wrong("token-sha256 is not 64 hexadecimal digits: see `hashmill serve token`")
            })?
        }
        (None, Some(ClearToken(token))) if token.chars().count() < MIN_TOKEN_CHARS => {
            bail!(wrong(&format!(
                "its token can be guessed: use at least {MIN_TOKEN_CHARS} characters, as `hashmill serve token` does"
            )))
        }
        (None, Some(ClearToken(token))) => Authentication::digest(token),
        _ => bail!(wrong("it needs one token: see `hashmill serve token`")),
    };
    let rules = documents.iter().map(|(document, right)| (document.as_str(), right.as_str()));
    let identity = identity_from_rules(name, rules).map_err(|error| wrong(&error.to_string()))?;
    match tokens.entry(digest) {
        Entry::Vacant(entry) => drop(entry.insert(identity)),
        Entry::Occupied(entry) => {
            bail!(wrong(&format!("“{}” has the same token", entry.get().name)))
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> Result<Zeroizing<String>> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    text.with_context(|| display_path(path).into_owned())
}

/// The text, or the error of an earlier attempt to read it.
fn contents(text: &Result<Zeroizing<String>>) -> Result<&str> {
    text.as_ref().map(|text| text.as_str()).map_err(|error| anyhow::anyhow!("{error:#}"))
}

fn digest(files: &[Option<Result<Zeroizing<String>>>]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for file in files {
        let text = match file {
            None => None,
            Some(Ok(text)) => Some(text.as_str()),
            Some(Err(_)) => Some("unreadable"),
        };
        hash.update(text.map_or(0, str::len).to_be_bytes());
        hash.update(text.unwrap_or_default());
    }
    hash.finalize().into()
}

/// Refuses a file with secrets that every user of the machine may read.
pub(super) fn check_private(path: &Path) -> Result<()> {
    let metadata = fs::metadata(path).with_context(|| display_path(path).into_owned())?;
    if os::is_open_to_others(&metadata) {
        bail!(UsageError(format!(
            "{}: every user of this machine may read its secrets: chmod 600 it",
            display_path(path)
        )));
    }
    Ok(())
}
