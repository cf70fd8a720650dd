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
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// The file in the directory of the storage by which commands reach the server that uses it. Its owner alone may read it.
const ACCESS_FILE: &str = "admin.json";
/// Maximum size of that file, and of an answer.
const MAX_BYTES: u64 = 16 << 10;
/// Maximum size of a list, and of the details of a document.
const MAX_LIST_BYTES: u64 = 16 << 20;
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
    match execute(&document, &flags.storage, |at| Command::Delete { at })? {
        CommandOutcome::Done => output::print(&format!("deleted {document}\n")),
        _ => bail!("{document}: there is no such document"),
    }
}

pub(super) fn undelete(flags: &UndeleteDocumentArgs) -> Result<()> {
    let document = parse_document(&flags.document)?;
    match execute(&document, &flags.storage, |_| Command::Undelete)? {
        CommandOutcome::Done => output::print(&format!("brought {document} back\n")),
        CommandOutcome::Purged => {
            bail!("{document}: it was deleted so long ago that its contents were removed")
        }
        _ => bail!("{document}: there is no such document"),
    }
}

pub(super) fn parse_document(text: &str) -> Result<DocumentId> {
    let id = text.parse().ok();
    let id = id.or_else(|| text.parse::<DocumentUrl>().ok().map(|url| url.document));
    id.ok_or_else(|| UsageError(format!("{}: not the id or URL of a document", text.escape_debug())).into())
}

/// Carries out a command in the storage, or asks the server that uses it.
fn execute(
    document: &DocumentId,
    storage: &StorageFlag,
    command: fn(u64) -> Command,
) -> Result<CommandOutcome> {
    let folder = storage_folder(storage);
    match shell::execute(&folder, document, date::now_seconds(), command) {
        // The server has the time of its storage.
        Err(error) if is_served(&error) => ask_server(&folder, document, command(0)),
        outcome => Ok(outcome?),
    }
}

/// Does the failure to open a storage say that a server uses it?
pub(super) fn is_served(error: &TransferError) -> bool {
    // A server whose storage is shared has its address in the directory, and nothing else.
    matches!(error, TransferError::Open(OpenError::InUse(_) | OpenError::Shared(_)))
}

fn ask_server(folder: &Path, document: &DocumentId, command: Command) -> Result<CommandOutcome> {
    let server = RunningServer::of_storage(folder)?;
    let (status, answer) = server.post(&format!("/admin/documents/{document}/{}", command.name()))?;
    match answer.outcome.as_deref() {
        Some("done") => Ok(CommandOutcome::Done),
        Some("absent") => Ok(CommandOutcome::Absent),
        Some("purged") => Ok(CommandOutcome::Purged),
        _ => Err(server.refusal(status, answer.error)),
    }
}

/// A running server that uses a storage.
pub(super) struct RunningServer {
    access: AdminAccess,
}

impl RunningServer {
    /// The server that uses the storage in a directory.
    pub(super) fn of_storage(folder: &Path) -> Result<RunningServer> {
        let path = folder.join(ACCESS_FILE);
        let read = || -> Result<AdminAccess> {
            let mut text = Zeroizing::new(String::new());
            open_regular(&path)?.take(MAX_BYTES).read_to_string(&mut text)?;
            Ok(serde_json::from_str(&text)?)
        };
        let access = read().with_context(|| display_path(&path).into_owned())?;
        Ok(RunningServer { access })
    }

    /// The answer to a request for data. `None`: there is no such thing.
    pub(super) fn get(&self, path: &str) -> Result<Option<String>> {
        let ask = || {
            let (status, body) = self.request("GET", path)?;
            let mut text = String::new();
            body.take(MAX_LIST_BYTES).read_to_string(&mut text)?;
            Ok::<_, anyhow::Error>((status, text))
        };
        let (status, text) = ask().with_context(|| self.name())?;
        match status {
            200 => Ok(Some(text)),
            404 => Ok(None),
            _ => {
                let error = serde_json::from_str::<Answer>(&text).ok().and_then(|answer| answer.error);
                Err(self.refusal(status, error))
            }
        }
    }

    /// Passes a backup of its storage to `read`, as it comes.
    pub(super) fn read_backup<T>(&self, read: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<T> {
        let (status, mut body) = self.request("GET", "/admin/backup").with_context(|| self.name())?;
        if status != 200 {
            let answer = read_answer(body).with_context(|| self.name())?;
            return Err(self.refusal(status, answer.error));
        }
        read(&mut body)
    }

    /// The number of documents in quarantine. `None`: the server has no metrics.
    pub(super) fn count_quarantined(&self) -> Result<Option<u64>> {
        let (status, body) = self.request("GET", "/metrics").with_context(|| self.name())?;
        let mut text = String::new();
        body.take(MAX_BYTES * 16).read_to_string(&mut text).with_context(|| self.name())?;
        let value = text.lines().find_map(|line| line.strip_prefix("hashmill_documents_quarantined "));
        Ok(value.filter(|_| status == 200).and_then(|value| value.parse().ok()))
    }

    /// Corrects wrong counts of stored bytes.
    pub(super) fn correct_counts(&self) -> Result<()> {
        let (status, answer) = self.post("/admin/counts/correct")?;
        match answer.outcome.as_deref() {
            Some("done") => Ok(()),
            _ => Err(self.refusal(status, answer.error)),
        }
    }

    /// Its name in messages.
    pub(super) fn name(&self) -> String {
        format!("the server at {}", self.access.address)
    }

    fn refusal(&self, status: u16, error: Option<String>) -> anyhow::Error {
        match error {
            Some(error) => anyhow!("{}: {error} (status {status})", self.name()),
            None => anyhow!("{}: status {status}", self.name()),
        }
    }

    fn post(&self, path: &str) -> Result<(u16, Answer)> {
        let ask = || {
            let (status, body) = self.request("POST", path)?;
            Ok::<_, anyhow::Error>((status, read_answer(body)?))
        };
        ask().with_context(|| self.name())
    }

    /// Sends a request without a body. Returns status and body of the answer, which ends with the connection.
    fn request(&self, method: &str, path: &str) -> Result<(u16, impl Read + use<>)> {
        let AdminAccess { address, token } = &self.access;
        let mut stream = TcpStream::connect_timeout(address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        // Of this version, since those of the next one come in parts with lengths.
        let request = Zeroizing::new(format!(
            "{method} {path} HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-length: 0\r\n\r\n"
        ));
        stream.write_all(request.as_bytes())?;
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let left = MAX_BYTES.saturating_sub(head.len() as u64);
            if (&mut stream).take(left).read_line(&mut head)? == 0 {
                bail!("the answer is not HTTP");
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| anyhow!("the answer is not HTTP"))?;
        Ok((status, stream))
    }
}

fn read_answer(body: impl Read) -> Result<Answer> {
    let mut text = String::new();
    body.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
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
