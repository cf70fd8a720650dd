//! Signatures of reports with SSH keys, created and verified by `ssh-keygen`, as Git does for commits.
//!
//! `ssh-keygen` supports every kind of key, agents, hardware keys that need a touch, and all features of allowed
//! signers files (certificates, namespaces, dates). A crate supports only a part, so a signature could be valid here
//! and not there.

use crate::cmd::context::error::Error;
use crate::report::store;
use std::ffi::OsStr;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Namespace of the signatures: a signature for a commit or a mail is not valid for a report.
const NAMESPACE: &str = "hashmill-lab";

/// Allowed signers, and the required one, if any.
#[derive(Clone, Copy)]
pub(crate) struct Signers<'a> {
    pub(crate) file: &'a Path,
    pub(crate) identity: Option<&'a str>,
}

/// Path of a file's signature, as `ssh-keygen` chooses it.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// Writes the signature of a file's bytes beside it, and returns the key used.
pub(crate) fn sign(path: &Path, bytes: &[u8], key: &Path) -> Result<String, Error> {
    // Prompts of hardware keys must be visible at once, and only appear on terminals.
    let errors = if std::io::stderr().is_terminal() { Stdio::inherit() } else { Stdio::piped() };
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).stderr(errors);
    let signed = answer(command, bytes)?;
    if !signed.status.success() {
        let reason = words(&signed.stderr);
        let reason = if reason.is_empty() { "ssh-keygen says why".to_owned() } else { reason };
        return Err(Error::Usage(format!("{} is not signed: {reason}", path.display())));
    }
    let signature = beside(path);
    let text = String::from_utf8_lossy(&signed.stdout);
    let written = store::write_atomically(&signature, &text);
    written.map_err(Error::keep(&signature))?;
    // Without a terminal, `ssh-keygen` would read the passphrase from the data to be signed.
    of_any_key(&signature, bytes)?.map_err(|reason| Error::Refused(format!("{}: {reason}", path.display())))
}

/// Signer and key of these bytes, or the reason why there is no valid signature.
pub(crate) fn verify(
    path: &Path,
    bytes: &[u8],
    signers: Signers<'_>,
) -> Result<Result<String, String>, Error> {
    let Signers { file, identity } = signers;
    if let Err(source) = std::fs::File::open(file) {
        return Err(Error::Usage(format!("cannot read {}: {source}", file.display())));
    }
    let signature = beside(path);
    if !signature.exists() {
        return Ok(Err(format!("there is no {}", signature.display())));
    }
    let key = match of_any_key(&signature, bytes)? {
        Ok(key) => key,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut reason = String::new();
    let names = match identity {
        Some(identity) => vec![identity.to_owned()],
        None => {
            let found = ask("find-principals", &[], Some(file), &signature, &[])?;
            let message = words(&found.stderr);
            if !found.status.success() && !message.contains("No principal matched") {
                reason = message;
            }
            String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect()
        }
    };
    for name in &names {
        let found = ask("verify", &["-n", NAMESPACE, "-I", name], Some(file), &signature, bytes)?;
        if found.status.success() {
            return Ok(Ok(format!("signed by {name} with {key}")));
        }
        reason = words(&found.stderr);
    }
    let file = file.display();
    Ok(Err(match (identity, reason.is_empty()) {
        (None, true) => format!("no signer in {file} has the {key}"),
        (None, false) => format!("the {key} does not count: {reason}"),
        (Some(name), true) => format!("the {key} is not one of {name} in {file}"),
        (Some(name), false) => format!("the {key} is not one of {name} in {file}: {reason}"),
    }))
}

/// Key of a signature of these bytes, independent of its owner.
fn of_any_key(signature: &Path, bytes: &[u8]) -> Result<Result<String, String>, Error> {
    let found = ask("check-novalidate", &["-n", NAMESPACE], None, signature, bytes)?;
    let message = String::from_utf8_lossy(&found.stdout);
    if found.status.success() {
        return Ok(Ok(message.trim_end().rsplit(" with ").next().unwrap_or_default().to_owned()));
    }
    let (file, reason) = (signature.display(), words(&found.stderr));
    Ok(Err(if reason.contains("incorrect signature") {
        format!("{file} is for other data: the report was changed, or it is another one")
    } else if reason.contains("namespace") {
        format!("{file} has another purpose: its namespace is not {NAMESPACE}")
    } else {
        format!("{file} is not a signature: {reason}")
    }))
}

fn ask(
    what: &str,
    options: &[&str],
    signers: Option<&Path>,
    signature: &Path,
    bytes: &[u8],
) -> Result<Output, Error> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", what]).args(options).arg("-s").arg(signature);
    if let Some(file) = signers {
        command.args([OsStr::new("-f"), file.as_os_str()]);
    }
    command.stderr(Stdio::piped());
    answer(command, bytes)
}

/// Runs the program with these bytes as input.
fn answer(mut command: Command, bytes: &[u8]) -> Result<Output, Error> {
    let failed = |error: std::io::Error| {
        Error::Lacking(match error.kind() {
            ErrorKind::NotFound => {
                "signatures need ssh-keygen, which is not installed; it is part of OpenSSH".to_owned()
            }
            _ => format!("ssh-keygen: {error}"),
        })
    };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // It may stop reading when it refuses; its own message is more useful than that error.
        input.write_all(bytes).ok();
    }
    child.wait_with_output().map_err(failed)
}

/// Message of the program on one line, without the prefix and suffix of every error.
fn words(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().map(str::trim);
    let message_lines =
        lines.filter(|line| !line.is_empty() && !line.starts_with('@') && !line.starts_with("Signing data"));
    let message_lines: Vec<&str> =
        message_lines.filter(|line| !line.starts_with("Could not verify")).collect();
    message_lines.join("; ")
}
