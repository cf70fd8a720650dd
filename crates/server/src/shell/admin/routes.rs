//! Routes of the operator's requests, and their parameters.

use hashmill_repo::DocumentId;
use hyper::{Method, StatusCode};

use super::answer::Refusal;
use crate::ids::SocketId;

/// Maximum number of rows of an answer.
pub(super) const MAX_ROWS: usize = 500;
const DEFAULT_ROWS: usize = 100;
/// Maximum number of changes of a document's history in an answer.
const MAX_CHANGES: usize = 500;
const DEFAULT_CHANGES: usize = 20;

/// Operation that a request asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Server,
    Stop,
    Documents(DocumentQuery),
    Document {
        document: DocumentId,
        changes: usize,
    },
    Change(DocumentId, Change),
    Connections {
        after: Option<SocketId>,
        limit: usize,
    },
    CloseConnection(SocketId),
    Rates,
    Events {
        document: Option<DocumentId>,
    },
    Backup,
    /// Corrects wrong counts of the stored bytes of owners.
    CorrectCounts,
    OpenApi,
}

/// A change of a document's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Delete,
    Undelete,
    Compact,
    Evict,
    EndQuarantine,
}

/// A page of a list of documents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DocumentQuery {
    pub(super) state: DocumentFilter,
    pub(super) order: Order,
    /// The mark that an earlier page ended with.
    pub(super) after: Option<String>,
    pub(super) limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DocumentFilter {
    /// In memory.
    Open,
    /// In the storage, and not deleted.
    Stored,
    Deleted,
    Quarantined,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Id,
    /// The largest first.
    Size,
    /// The latest first.
    Activity,
}

/// Methods and paths, as in the OpenAPI document.
pub(super) const ROUTES: [(&str, &str); 16] = [
    ("get", "/admin/server"),
    ("post", "/admin/server/stop"),
    ("get", "/admin/documents"),
    ("get", "/admin/documents/{document}"),
    ("post", "/admin/documents/{document}/delete"),
    ("post", "/admin/documents/{document}/undelete"),
    ("post", "/admin/documents/{document}/compact"),
    ("post", "/admin/documents/{document}/evict"),
    ("post", "/admin/documents/{document}/end-quarantine"),
    ("get", "/admin/connections"),
    ("post", "/admin/connections/{connection}/close"),
    ("get", "/admin/rates"),
    ("get", "/admin/events"),
    ("get", "/admin/backup"),
    ("post", "/admin/counts/correct"),
    ("get", "/admin/openapi.json"),
];

/// Reads a request.
pub(super) fn parse(method: &Method, path: &str, query: Option<&str>) -> Result<Operation, Refusal> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let matches = |template: &str| {
        let parts: Vec<&str> = template.split('/').skip(1).collect();
        let is_equal =
            |(part, segment): (&&str, &&str)| part == segment || part.starts_with('{') && !segment.is_empty();
        parts.len() == segments.len() && parts.iter().zip(&segments).all(is_equal)
    };
    let mut found = ROUTES.iter().filter(|(_, template)| matches(template)).peekable();
    if found.peek().is_none() {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "unknown-path", "there is no such request"));
    }
    // All paths have one method.
    let is_right = |(name, _): &&(&str, &str)| method.as_str().eq_ignore_ascii_case(name);
    let Some((_, template)) = found.clone().find(is_right) else {
        let name = found.next().map_or("", |(name, _)| *name).to_uppercase();
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "wrong-method", format!("use {name}")));
    };
    let mut parameters = Parameters::parse(query)?;
    let id = segments.get(2).copied().unwrap_or_default();
    let operation = match *template {
        "/admin/server" => Operation::Server,
        "/admin/server/stop" => Operation::Stop,
        "/admin/documents" => Operation::Documents(parameters.document_query()?),
        "/admin/documents/{document}" => Operation::Document {
            document: parse_document(id)?,
            changes: parameters.number("changes", DEFAULT_CHANGES, MAX_CHANGES)?,
        },
        "/admin/connections" => Operation::Connections {
            after: parameters.take("after").map(|text| parse_socket(&text)).transpose()?,
            limit: parameters.number("limit", DEFAULT_ROWS, MAX_ROWS)?.max(1),
        },
        "/admin/connections/{connection}/close" => Operation::CloseConnection(parse_socket(id)?),
        "/admin/rates" => Operation::Rates,
        "/admin/events" => Operation::Events {
            document: parameters.take("document").map(|text| parse_document(&text)).transpose()?,
        },
        "/admin/backup" => Operation::Backup,
        "/admin/counts/correct" => Operation::CorrectCounts,
        "/admin/openapi.json" => Operation::OpenApi,
        _ => Operation::Change(parse_document(id)?, Change::from_path(path)?),
    };
    parameters.finish()?;
    Ok(operation)
}

impl Change {
    fn from_path(path: &str) -> Result<Change, Refusal> {
        match path.rsplit('/').next() {
            Some("delete") => Ok(Change::Delete),
            Some("undelete") => Ok(Change::Undelete),
            Some("compact") => Ok(Change::Compact),
            Some("evict") => Ok(Change::Evict),
            Some("end-quarantine") => Ok(Change::EndQuarantine),
            _ => Err(Refusal::new(StatusCode::NOT_FOUND, "unknown-path", "there is no such request")),
        }
    }
}

fn parse_document(text: &str) -> Result<DocumentId, Refusal> {
    text.parse().map_err(|_| Refusal::bad_request("wrong-document", "this is no id of a document"))
}

fn parse_socket(text: &str) -> Result<SocketId, Refusal> {
    let number = text.parse().map_err(|_| Refusal::bad_request("wrong-connection", "this is no number"));
    number.map(SocketId)
}

/// Parameters of a query. Their values have letters, digits and signs that are not encoded.
struct Parameters(Vec<(String, String)>);

impl Parameters {
    fn parse(query: Option<&str>) -> Result<Parameters, Refusal> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if parameters.iter().any(|(there, _)| there == name) {
                return Err(Refusal::bad_request("doubled-parameter", format!("{name} is there twice")));
            }
            parameters.push((name.to_owned(), value.to_owned()));
        }
        Ok(Parameters(parameters))
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let index = self.0.iter().position(|(there, _)| there == name)?;
        Some(self.0.swap_remove(index).1)
    }

    /// A number. Larger ones than the maximum count as that.
    fn number(&mut self, name: &str, default: usize, max: usize) -> Result<usize, Refusal> {
        let Some(text) = self.take(name) else { return Ok(default) };
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            return Err(Refusal::bad_request("wrong-parameter", format!("{name} is no number")));
        }
        // Digits that are no number are too many.
        Ok(text.parse().map_or(max, |number: usize| number.min(max)))
    }

    fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Refusal> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == text);
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let reason = || format!("{name} is one of {}", known.join(", "));
        found.map(|(_, value)| Some(*value)).ok_or_else(|| Refusal::bad_request("wrong-parameter", reason()))
    }

    fn document_query(&mut self) -> Result<DocumentQuery, Refusal> {
        let states = [
            ("open", DocumentFilter::Open),
            ("stored", DocumentFilter::Stored),
            ("deleted", DocumentFilter::Deleted),
            ("quarantined", DocumentFilter::Quarantined),
        ];
        let orders = [("id", Order::Id), ("size", Order::Size), ("activity", Order::Activity)];
        let state = self.word("state", &states)?.unwrap_or(DocumentFilter::Open);
        let order = self.word("order", &orders)?.unwrap_or(Order::Id);
        let is_known = match state {
            DocumentFilter::Open => true,
            DocumentFilter::Stored => order != Order::Activity,
            DocumentFilter::Deleted | DocumentFilter::Quarantined => order == Order::Id,
        };
        if !is_known {
            let reason =
                "open documents have the orders id, size and activity, stored ones id and size, others id";
            return Err(Refusal::bad_request("unknown-order", reason));
        }
        let limit = self.number("limit", DEFAULT_ROWS, MAX_ROWS)?.max(1);
        Ok(DocumentQuery { state, order, after: self.take("after"), limit })
    }

    /// Refuses unknown parameters.
    fn finish(self) -> Result<(), Refusal> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                let name: String = name.chars().take(50).collect();
                Err(Refusal::bad_request(
                    "unknown-parameter",
                    format!("there is no parameter {}", name.escape_debug()),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4VNSEjuC2AHmKGKEK27f1aBErpCV";

    fn code(method: &Method, path: &str, query: Option<&str>) -> &'static str {
        parse(method, path, query).map_or_else(|refusal| refusal.code, |_| "")
    }

    #[test]
    fn every_route_is_an_operation() {
        for (method, template) in ROUTES {
            let path = template.replace("{document}", ID).replace("{connection}", "7");
            let method: Method = method.to_uppercase().parse().expect("a method");
            assert_eq!(code(&method, &path, None), "", "{template}");
            assert_eq!(code(&Method::PATCH, &path, None), "wrong-method", "{template}");
            assert_eq!(code(&method, &format!("{path}/"), None), "unknown-path", "{template}");
            assert_eq!(code(&method, &path, Some("zzz=1")), "unknown-parameter", "{template}");
        }
        let id: DocumentId = ID.parse().expect("an id");
        let path = format!("/admin/documents/{ID}/undelete");
        assert_eq!(parse(&Method::POST, &path, None), Ok(Operation::Change(id, Change::Undelete)));
    }

    #[test]
    fn wrong_paths_and_parameters_are_named() {
        for path in ["/admin/x", "/admin/documents//delete/x", "/admin/documents/x/purge", "/admin//server"] {
            assert_eq!(code(&Method::POST, path, None), "unknown-path", "{path}");
        }
        for (path, query, expected) in [
            ("/admin/documents/zzz", "", "wrong-document"),
            ("/admin/documents/..", "", "wrong-document"),
            (&format!("/admin/documents/{ID}"), "changes=-1", "wrong-parameter"),
            ("/admin/documents", "limit=", "wrong-parameter"),
            ("/admin/documents", "state=all", "wrong-parameter"),
            ("/admin/documents", "state=stored&order=activity", "unknown-order"),
            ("/admin/documents", "state=deleted&order=size", "unknown-order"),
            ("/admin/documents", "limit=1&limit=2", "doubled-parameter"),
            ("/admin/connections", "after=x", "wrong-connection"),
            ("/admin/events", "document=", "wrong-document"),
        ] {
            assert_eq!(code(&Method::GET, path, Some(query)), expected, "{path} {query}");
        }
    }

    #[test]
    fn sizes_of_pages_are_bounded() {
        for (text, expected) in
            [("0", 1), ("7", 7), ("501", MAX_ROWS), ("99999999999999999999999999", MAX_ROWS)]
        {
            let query = format!("limit={text}");
            let operation = parse(&Method::GET, "/admin/connections", Some(&query)).expect("sound");
            assert_eq!(operation, Operation::Connections { after: None, limit: expected }, "{text}");
        }
    }
}
