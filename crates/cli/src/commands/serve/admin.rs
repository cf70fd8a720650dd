//! Commands of the operator about a document: by a running server that uses the storage, or by this process.

use super::settings::storage_folder;
use crate::flags::{DeleteDocumentArgs, StorageFlag, UndeleteDocumentArgs, UsageError};
use crate::output::{self, display_path};
use anyhow::{Context as _, Result, anyhow, bail};
use hashmill_atomic_file::{open_own, open_regular};
use hashmill_machine::date;
use hashmill_repo::{DocumentId, DocumentUrl};
use hashmill_server::shell::{self, OpenError, TransferError};
use hashmill_server::{Command, CommandOutcome};
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// The file in the directory of the storage by which commands reach the server that uses it. Its owner alone may read it.
const ACCESS_FILE: &str = "admin.json";
/// Maximum size of that file, and of an answer.
const MAX_BYTES: u64 = 16 << 10;
/// Time for an answer. The server itself waits less long for its storage.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Address and token of a running server. The token is that of one start.
#[derive(Serialize, Deserialize)]
struct AdminAccess {
    address: SocketAddr,
    token: String,
}

/// An answer of the server.
#[derive(Deserialize)]
struct Answer {
    outcome: Option<String>,
    error: Option<String>,
}

/// A random token.
pub(super) fn new_token() -> Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut bytes[..])?;
    Ok(Zeroizing::new(format!("hm_{}", data_encoding::BASE64URL_NOPAD.encode(&bytes[..]))))
}

/// Writes how commands reach the server on this machine.
pub(super) fn write_access(folder: &Path, listening: SocketAddr, token: &str) -> Result<()> {
    let access = AdminAccess { address: local_address(listening), token: token.to_owned() };
    let text = Zeroizing::new(serde_json::to_string(&access)?);
    let path = folder.join(ACCESS_FILE);
    let write = || -> Result<()> {
        let mut file = open_own(&path)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        Ok(())
    };
    write().with_context(|| display_path(&path).into_owned())
}

/// The address by which this machine reaches a server that may listen on all addresses.
fn local_address(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}

pub(super) fn delete(flags: &DeleteDocumentArgs) -> Result<()> {
    let document = parse_document(&flags.document)?;
    let at = date::now_seconds();
    match execute(&document, &flags.storage, Command::Delete { at })? {
        CommandOutcome::Done => output::print(&format!("deleted {document}\n")),
        _ => bail!("{document}: there is no such document"),
    }
}

pub(super) fn undelete(flags: &UndeleteDocumentArgs) -> Result<()> {
    let document = parse_document(&flags.document)?;
    match execute(&document, &flags.storage, Command::Undelete)? {
        CommandOutcome::Done => output::print(&format!("brought {document} back\n")),
        CommandOutcome::Purged => {
            bail!("{document}: it was deleted so long ago that its contents were removed")
        }
        _ => bail!("{document}: there is no such document"),
    }
}

fn parse_document(text: &str) -> Result<DocumentId> {
    let id = text.parse().ok();
    let id = id.or_else(|| text.parse::<DocumentUrl>().ok().map(|url| url.document));
    id.ok_or_else(|| UsageError(format!("{}: not the id or URL of a document", text.escape_debug())).into())
}

/// Carries out a command in the storage, or asks the server that uses it.
fn execute(document: &DocumentId, storage: &StorageFlag, command: Command) -> Result<CommandOutcome> {
    let folder = storage_folder(storage);
    match shell::execute(&folder, document, command) {
        Err(TransferError::Open(OpenError::InUse(_))) => ask_server(&folder, document, command),
        outcome => Ok(outcome?),
    }
}

fn ask_server(folder: &Path, document: &DocumentId, command: Command) -> Result<CommandOutcome> {
    let path = folder.join(ACCESS_FILE);
    let read = || -> Result<AdminAccess> {
        let mut text = Zeroizing::new(String::new());
        open_regular(&path)?.take(MAX_BYTES).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    };
    let access = read().with_context(|| display_path(&path).into_owned())?;
    let request = format!("/admin/documents/{document}/{}", command.name());
    let (status, body) =
        post(&access, &request).with_context(|| format!("the server at {}", access.address))?;
    let answer: Answer =
        serde_json::from_str(&body).with_context(|| format!("the server at {}", access.address))?;
    match (answer.outcome.as_deref(), answer.error) {
        (Some("done"), _) => Ok(CommandOutcome::Done),
        (Some("absent"), _) => Ok(CommandOutcome::Absent),
        (Some("purged"), _) => Ok(CommandOutcome::Purged),
        (_, Some(error)) => bail!("the server at {}: {error} (status {status})", access.address),
        _ => bail!("the server at {}: status {status}", access.address),
    }
}

/// Sends a request without a body. Returns status and body of the answer.
fn post(access: &AdminAccess, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&access.address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let AdminAccess { address, token } = access;
    let request = Zeroizing::new(format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-length: 0\r\n\
         connection: close\r\n\r\n"
    ));
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(MAX_BYTES).read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    status.zip(body).ok_or_else(|| anyhow!("the answer is not HTTP"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_reached_on_this_machine() {
        for (listening, expected) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:2", "[::1]:2"),
            ("127.0.0.1:3", "127.0.0.1:3"),
            ("192.0.2.1:4", "192.0.2.1:4"),
        ] {
            let address = local_address(listening.parse().expect("an address"));
            assert_eq!(address, expected.parse().expect("an address"), "{listening}");
        }
    }

    #[test]
    fn documents_are_named_by_id_or_url() {
        let id = "4VNSEjuC2AHmKGKEK27f1aBErpCV";
        for text in [id.to_owned(), format!("automerge:{id}")] {
            assert_eq!(parse_document(&text).expect("a document").to_string(), id);
        }
        let error = parse_document("zzz").expect_err("no document");
        assert_eq!(error.to_string(), "zzz: not the id or URL of a document");
        assert!(error.is::<UsageError>());
    }
}
