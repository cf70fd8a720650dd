//! Lists and details of stored documents: from a running server that uses the storage, or from the storage itself.

use super::admin::{RunningServer, is_served, parse_document};
use super::settings::storage_folder;
use crate::flags::{ListDocumentsArgs, ShowDocumentArgs};
use crate::output;
use anyhow::{Context as _, Result, bail};
use hashmill_machine::date;
use hashmill_server::shell;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Number of rows that a running server is asked for at once.
const PAGE: usize = 500;
/// Number of changes of a document that are shown.
const CHANGES: usize = 20;
/// Number of characters of a hash or an actor that are shown.
const SHORT: usize = 12;

/// A stored document in a list.
#[derive(Serialize, Deserialize)]
struct StoredRow {
    document: String,
    bytes: u64,
    chunks: u64,
    owner: Option<String>,
}

/// A deleted document in a list.
#[derive(Serialize, Deserialize)]
struct DeletedRow {
    document: String,
    deleted: Deletion,
}

#[derive(Serialize, Deserialize)]
struct Deletion {
    at: u64,
    purged_from: Option<u64>,
    is_purged: bool,
}

/// A page of an answer of a server.
#[derive(Deserialize)]
struct Page<T> {
    documents: Vec<T>,
    next: Option<String>,
}

pub(super) fn list(flags: &ListDocumentsArgs) -> Result<()> {
    let folder = storage_folder(&flags.storage);
    if flags.deleted { list_deleted(flags, &folder) } else { list_stored(flags, &folder) }
}

fn list_stored(flags: &ListDocumentsArgs, folder: &Path) -> Result<()> {
    let mut result = Ok(());
    let mut print = |row: &StoredRow| {
        if flags.json {
            return print_json(row);
        }
        let StoredRow { document, bytes, chunks, owner } = row;
        let owner = owner.as_deref().unwrap_or("-").escape_debug().to_string();
        output::print(&format!("{document}  {bytes:>12} bytes  {chunks:>5} parts  {owner}\n"))
    };
    let listed = shell::list_documents(folder, &mut |sizes| {
        let (bytes, chunks) = (sizes.bytes, sizes.chunks as u64);
        result = print(&StoredRow { document: sizes.document, bytes, chunks, owner: sizes.owner });
        result.is_ok()
    });
    match listed {
        Err(error) if is_served(&error) => pages_of_server(folder, "stored", &mut print),
        listed => Ok(listed?).and(result),
    }
}

fn list_deleted(flags: &ListDocumentsArgs, folder: &Path) -> Result<()> {
    let mut result = Ok(());
    let mut print = |row: &DeletedRow| {
        if flags.json {
            return print_json(row);
        }
        output::print(&format!("{}  {}\n", row.document, describe_deletion(&row.deleted)))
    };
    let listed = shell::list_deleted(folder, &mut |row| {
        let (at, is_purged) = (row.tombstone.deleted_at, row.tombstone.is_purged);
        let deleted = Deletion { at, purged_from: None, is_purged };
        result = print(&DeletedRow { document: row.document, deleted });
        result.is_ok()
    });
    match listed {
        Err(error) if is_served(&error) => pages_of_server(folder, "deleted", &mut print),
        listed => Ok(listed?).and(result),
    }
}

fn describe_deletion(deletion: &Deletion) -> String {
    let Deletion { at, purged_from, is_purged } = deletion;
    let at = format!("deleted {}", date::utc(*at));
    match purged_from {
        _ if *is_purged => format!("{at}, its contents are removed"),
        Some(from) => format!("{at}, its contents are removed from {} on", date::utc(*from)),
        None => at,
    }
}

/// Asks a running server for all pages of a list.
fn pages_of_server<T: for<'de> Deserialize<'de>>(
    folder: &Path,
    state: &str,
    print: &mut impl FnMut(&T) -> Result<()>,
) -> Result<()> {
    let server = RunningServer::of_storage(folder)?;
    let mut after = String::new();
    loop {
        let path = format!("/admin/documents?state={state}&limit={PAGE}{after}");
        let text = server.get(&path)?.with_context(|| server.name())?;
        let page: Page<T> = serde_json::from_str(&text).with_context(|| server.name())?;
        page.documents.iter().try_for_each(&mut *print)?;
        match page.next {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(()),
        }
    }
}

fn print_json(row: &impl Serialize) -> Result<()> {
    output::print(&format!("{}\n", serde_json::to_string(row)?))
}

pub(super) fn show(flags: &ShowDocumentArgs) -> Result<()> {
    let document = parse_document(&flags.document)?;
    let folder = storage_folder(&flags.storage);
    let text = match shell::show_document(&folder, &document, CHANGES) {
        Err(error) if is_served(&error) => {
            let server = RunningServer::of_storage(&folder)?;
            server.get(&format!("/admin/documents/{document}?changes={CHANGES}"))?
        }
        shown => shown?,
    };
    let Some(text) = text else { bail!("{document}: there is no such document") };
    if flags.json {
        return output::print(&format!("{}\n", text.trim_end()));
    }
    output::print(&describe(&serde_json::from_str(&text)?))
}

/// The state of a document in lines.
fn describe(value: &Value) -> String {
    let mut lines = Vec::new();
    let mut add = |name: &str, text: String| lines.push(format!("{name:<11}{text}"));
    add("document", text_of(&value["document"]));
    add("state", text_of(&value["state"]));
    add("stored", format!("{} bytes in {} parts", value["bytes"], value["chunks"]));
    add("owner", text_of(&value["owner"]));
    add("clients", value["clients"].to_string());
    if let Ok(deletion) = serde_json::from_value::<Deletion>(value["deleted"].clone()) {
        add("deletion", describe_deletion(&deletion));
    }
    if let Some(reason) = value["quarantine"]["reason"].as_str() {
        add("quarantine", format!("{}, for {} s", reason.escape_debug(), value["quarantine"]["ends_in_s"]));
    }
    if !value["changes"].is_null() {
        let (operations, actors) = (&value["operations"], &value["actors"]);
        add("changes", format!("{} with {operations} operations of {actors} actors", value["changes"]));
    }
    for head in value["heads"].as_array().into_iter().flatten() {
        add("head", text_of(head));
    }
    for participant in value["participants"].as_array().into_iter().flatten() {
        let (peer, identity) = (text_of(&participant["peer"]), text_of(&participant["identity"]));
        add("client", format!("{peer} of {identity}, {}", text_of(&participant["access"])));
    }
    for change in value["history"].as_array().into_iter().flatten() {
        let time = change["time"].as_u64().map(date::utc).unwrap_or_default();
        let short = |name: &str| text_of(&change[name]).chars().take(SHORT).collect::<String>();
        let message = change["message"].as_str().unwrap_or_default().escape_debug();
        let line = format!("{} {time} {} {}", short("hash"), short("actor"), change["operations"]);
        add("change", format!("{line} operations {message}").trim_end().to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A text of a client is shown without signs that act on a terminal.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| "-".to_owned(), |text| text.escape_debug().to_string())
}
