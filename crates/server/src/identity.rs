//! Identity of a client: its name, and its rights on documents.

use std::collections::BTreeMap;
use std::str::FromStr;

use hashmill_repo::DocumentId;

use crate::access::Access;

/// A client as the server knows it after its authentication: a name, and rights. Several sockets may have one identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// Access to all documents without a rule.
    pub access: Access,
    /// Rules of single documents.
    pub rules: BTreeMap<DocumentId, Rule>,
    /// Another service knows the access to documents without a rule: see [`Action::AskRights`](crate::Action::AskRights).
    pub is_remote: bool,
}

/// The rights on one document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The access.
    pub access: Access,
    /// The client gets the document without asking for it.
    pub is_announced: bool,
}

/// A word that names no rights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseRuleError(String);

impl Identity {
    /// An identity with the same access to all documents.
    pub fn new(name: &str, access: Access) -> Identity {
        Identity { name: name.to_owned(), access, rules: BTreeMap::new(), is_remote: false }
    }

    /// An identity whose access another service knows.
    pub fn remote(name: &str) -> Identity {
        Identity { is_remote: true, ..Identity::new(name, Access::Denied) }
    }

    /// The access to a document, unless another service knows it.
    pub fn access_to(&self, document: &DocumentId) -> Access {
        self.rules.get(document).map_or(self.access, |rule| rule.access)
    }

    /// The same identity with at most this access.
    pub fn limited_to(mut self, most: Access) -> Identity {
        self.access = self.access.min(most);
        self.rules.values_mut().for_each(|rule| rule.access = rule.access.min(most));
        self
    }

    /// The documents that the client gets without asking.
    pub(crate) fn announced(&self) -> impl Iterator<Item = &DocumentId> {
        let is_announced = |rule: &Rule| rule.is_announced && rule.access > Access::Denied;
        self.rules.iter().filter(move |(_, rule)| is_announced(rule)).map(|(document, _)| document)
    }
}

impl FromStr for Rule {
    type Err = ParseRuleError;

    /// Reads `none`, `read`, `write`, or `announce`: write, and the client gets the document without asking.
    fn from_str(text: &str) -> Result<Rule, ParseRuleError> {
        let (access, is_announced) = match text {
            "none" => (Access::Denied, false),
            "read" => (Access::Read, false),
            "write" => (Access::Write, false),
            "announce" => (Access::Write, true),
            _ => return Err(ParseRuleError(text.to_owned())),
        };
        Ok(Rule { access, is_announced })
    }
}

impl std::fmt::Display for ParseRuleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "“{}” is no right: use none, read, write or announce", self.0.escape_debug())
    }
}

impl std::error::Error for ParseRuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_goes_before_the_access_to_all() {
        let [listed, other] = [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]));
        for text in ["none", "read", "write", "announce"] {
            let rule: Rule = text.parse().expect("a right");
            let mut identity = Identity::new("ann", Access::Read);
            identity.rules.insert(listed.clone(), rule);
            assert_eq!(identity.access_to(&listed), rule.access);
            assert_eq!(identity.access_to(&other), Access::Read);
            assert_eq!(identity.announced().count(), usize::from(text == "announce"));
            let limited = identity.limited_to(Access::Read);
            assert_eq!(limited.access_to(&listed), rule.access.min(Access::Read), "{text}");
            assert_eq!(limited.announced().count(), usize::from(text == "announce"));
            assert_eq!(limited.limited_to(Access::Denied).announced().count(), 0);
        }
        let error = "Write".parse::<Rule>().expect_err("another word").to_string();
        assert_eq!(error, "“Write” is no right: use none, read, write or announce");
    }
}
