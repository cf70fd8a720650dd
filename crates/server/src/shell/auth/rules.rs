//! Rules of documents, as settings and tokens write them.

use hashmill_repo::{DocumentId, DocumentUrl};

use super::error::RuleError;
use crate::access::Access;
use crate::identity::{Identity, Rule};

/// An identity from pairs of a document and a right: an id or a URL, or `*` for all others, with `none`, `read`, `write` or
/// `announce`. What no pair names is denied.
pub fn identity_from_rules<'t>(
    name: &str,
    rules: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<Identity, RuleError> {
    let mut identity = Identity::new(name, Access::Denied);
    for (document, right) in rules {
        let rule: Rule = right.parse()?;
        if document == "*" {
            if rule.is_announced {
                return Err(RuleError::AnnouncesAll);
            }
            identity.access = rule.access;
        } else {
            identity.rules.insert(parse_document(document)?, rule);
        }
    }
    Ok(identity)
}

fn parse_document(text: &str) -> Result<DocumentId, RuleError> {
    let id = text.parse().ok();
    let id = id.or_else(|| text.parse::<DocumentUrl>().ok().map(|url| url.document));
    id.ok_or_else(|| RuleError::Document(text.escape_debug().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_named_by_id_url_or_star() {
        let id = DocumentId::from_random_bytes([1; 16]);
        for text in [id.to_string(), id.url()] {
            let rules = [("*", "read"), (text.as_str(), "announce")];
            let identity = identity_from_rules("ann", rules).expect("sound rules");
            assert_eq!(identity.access, Access::Read);
            assert_eq!(identity.rules[&id], Rule { access: Access::Write, is_announced: true });
        }
        let nothing = identity_from_rules("ann", []).expect("sound rules");
        assert_eq!(nothing, Identity::new("ann", Access::Denied));
        let error =
            |document, right| identity_from_rules("ann", [(document, right)]).expect_err("a wrong rule");
        assert_eq!(error("**", "read").to_string(), "“**” is neither the id of a document nor *");
        assert_eq!(error("*", "all").to_string(), "“all” is no right: use none, read, write or announce");
        assert_eq!(error("*", "announce"), RuleError::AnnouncesAll);
    }
}
