//! Removal of secrets in store options from errors.

use std::collections::BTreeMap;
use std::fmt;

use percent_encoding::percent_decode_str;

use crate::row_result::Failure;

/// Replacement of a secret.
const HIDDEN: &str = "***";

/// Minimum bytes of a secret: shorter values are part of too many words.
const SHORTEST: usize = 4;

/// Texts that are replaced in errors, the longest first.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The values of options with a secret by name, and user names and passwords in values that are URLs.
    pub(crate) fn new(options: &BTreeMap<String, String>) -> Secrets {
        let mut secrets = Vec::new();
        for (name, value) in options {
            let name = name.to_ascii_lowercase();
            if ["secret", "password", "token", "key", "credential"].iter().any(|word| name.contains(word)) {
                secrets.push(value.clone());
            }
            let authority = value.split_once("://").map_or(value.as_str(), |(_, rest)| rest);
            let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
            if let Some((user, _)) = authority.rsplit_once('@') {
                secrets.extend([user].into_iter().chain(user.split(':')).map(str::to_owned));
            }
        }
        let decoded: Vec<String> = secrets
            .iter()
            .map(|secret| percent_decode_str(secret).decode_utf8_lossy().into_owned())
            .collect();
        secrets.extend(decoded);
        secrets.retain(|secret| secret.len() >= SHORTEST);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Secrets(secrets)
    }

    /// The failure without secrets in its message.
    pub(crate) fn hide(&self, mut failure: Failure) -> Failure {
        for secret in &self.0 {
            if failure.words.contains(secret.as_str()) {
                failure.words = failure.words.replace(secret.as_str(), HIDDEN);
            }
        }
        failure.words = without_credentials(&failure.words);
        failure
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// The text, with every `http://` and `https://` URL stripped of user name, password and query.
fn without_credentials(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        result += before;
        result += "://";
        rest = after;
        let scheme = before.rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            continue;
        }
        let end = rest
            .find(|letter: char| letter.is_whitespace() || "\"'<>)`".contains(letter))
            .unwrap_or(rest.len());
        let (url, behind) = rest.split_at(end);
        let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
        let (authority, path) = url.split_at(authority);
        result += authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match path.split_once('?') {
            Some((path, _)) => result += &format!("{path}?{HIDDEN}"),
            None => result += path,
        }
        rest = behind;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_result::FailureKind;

    #[test]
    fn urls_in_errors_have_no_credentials() {
        for (text, hidden) in [
            ("for url (http://u:secret@h:1/b/k)", "for url (http://h:1/b/k)"),
            ("https://h/x?X-Sig=secret&y: refused", "https://h/x?*** refused"),
            ("HTTP://a@b@h and https://u:p@h", "HTTP://h and https://h"),
            ("abfss://c@account/x", "abfss://c@account/x"),
            ("no URL: ://", "no URL: ://"),
        ] {
            assert_eq!(without_credentials(text), hidden);
        }
    }

    #[test]
    fn option_values_are_hidden() {
        let options = BTreeMap::from([
            ("AWS_ENDPOINT".to_owned(), "http://user:TOP%2fSECRET@host:9000".to_owned()),
            ("azure_storage_sas_key".to_owned(), "sig=abcd".to_owned()),
            ("proxy_url".to_owned(), "me:quiet@proxy".to_owned()),
            ("aws_region".to_owned(), "nowhere".to_owned()),
        ]);
        let secrets = Secrets::new(&options);
        let words = "TOP%2fSECRET TOP/SECRET user:TOP%2fSECRET sig=abcd quiet nowhere host:9000";
        let hidden = secrets.hide(Failure::new(FailureKind::Failed, words)).words;
        assert!(hidden.ends_with("nowhere host:9000"), "{hidden}");
        for secret in ["TOP", "SECRET", "abcd", "quiet"] {
            assert!(!hidden.contains(secret), "{hidden}");
        }
    }
}
