//! Document URLs: an id, and optionally a place in the document and heads.

use std::fmt;
use std::str::FromStr;

use hashmill_doc::ChangeHash;

use super::base58check;
use super::document_id::{DocumentId, ParseIdError, SCHEME};

/// `automerge:ID`, then optionally `/SEGMENT…` for a place in the document, then optionally `#HEAD|HEAD…` for a version of
/// it. Servers see the id alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentUrl {
    /// The document.
    pub document: DocumentId,
    /// Segments of the place as written, without their slashes; empty for the document.
    pub path: Vec<String>,
    /// The heads of the version, ascending; empty for the newest.
    pub heads: Vec<ChangeHash>,
}

impl fmt::Display for DocumentUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.document)?;
        self.path.iter().try_for_each(|segment| write!(f, "/{segment}"))?;
        for (index, head) in self.heads.iter().enumerate() {
            let mark = if index == 0 { '#' } else { '|' };
            write!(f, "{mark}{}", head_text(head))?;
        }
        Ok(())
    }
}

/// Text that is not a document URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseUrlError {
    /// The text does not start with `automerge:`.
    #[error("a document URL starts with automerge:")]
    Scheme,
    /// The id is invalid.
    #[error(transparent)]
    Id(#[from] ParseIdError),
    /// A head is invalid.
    #[error("head {0} is not a hash of 32 bytes in base 58 with a checksum")]
    Head(usize),
}

impl FromStr for DocumentUrl {
    type Err = ParseUrlError;

    fn from_str(text: &str) -> Result<Self, ParseUrlError> {
        let text = text.strip_prefix(SCHEME).ok_or(ParseUrlError::Scheme)?;
        let (address, version) =
            text.split_once('#').map_or((text, None), |(address, heads)| (address, Some(heads)));
        let (id, path) = address.split_once('/').map_or((address, None), |(id, path)| (id, Some(path)));
        let mut heads = Vec::new();
        for (index, head) in version.iter().flat_map(|heads| heads.split('|')).enumerate() {
            heads.push(parse_head(head).ok_or(ParseUrlError::Head(index + 1))?);
        }
        heads.sort_unstable();
        heads.dedup();
        let path = path.iter().flat_map(|path| path.split('/')).map(str::to_owned).collect();
        Ok(DocumentUrl { document: id.parse()?, path, heads })
    }
}

/// The hash in the text form of heads, which is not hexadecimal.
pub(crate) fn parse_head(text: &str) -> Option<ChangeHash> {
    Some(ChangeHash(base58check::decode(text).ok()?.try_into().ok()?))
}

/// The text form of a head.
pub(crate) fn head_text(head: &ChangeHash) -> String {
    base58check::encode(&head.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4NMNnkMhL8jXrdJ9jamS58PAVdXu";

    #[test]
    fn urls_round_trip() {
        let heads = [ChangeHash([1; 32]), ChangeHash([2; 32])];
        let [low, high] = heads.map(|head| head_text(&head));
        for (tail, path, count) in [
            (String::new(), &[][..], 0),
            (format!("#{low}"), &[], 1),
            (format!("#{low}|{high}"), &[], 2),
            ("/todos/0".to_owned(), &["todos", "0"], 0),
            (format!("/a//%23#{low}|{high}"), &["a", "", "%23"], 2),
        ] {
            let text = format!("automerge:{ID}{tail}");
            let url: DocumentUrl = text.parse().expect("a URL");
            assert_eq!(url.to_string(), text);
            assert_eq!((url.document.to_string(), &url.heads[..]), (ID.to_owned(), &heads[..count]));
            assert_eq!(url.path, path);
        }
        let unsorted: DocumentUrl = format!("automerge:{ID}#{high}|{low}|{low}").parse().expect("a URL");
        assert_eq!(unsorted.heads, heads);
    }

    #[test]
    fn rejects_other_text() {
        let parse = |text: &str| text.parse::<DocumentUrl>();
        assert_eq!(parse(ID), Err(ParseUrlError::Scheme));
        assert_eq!(parse("automerge:"), Err(ParseUrlError::Id(ParseIdError::Form)));
        assert_eq!(parse(&format!("automerge:{ID}#")), Err(ParseUrlError::Head(1)));
        // An id is no head.
        let head = head_text(&ChangeHash([1; 32]));
        assert_eq!(parse(&format!("automerge:{ID}#{head}|{ID}")), Err(ParseUrlError::Head(2)));
    }
}
