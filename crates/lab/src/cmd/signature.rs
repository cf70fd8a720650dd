//! Signatures of SSH keys beside reports, made and verified by `ssh-keygen`, as Git does it for commits.
//!
//! The program knows every kind of key, agents, hardware that wants to be touched, and all that a file of signers can say
//! (certificates, namespaces, dates). A crate knows a part of that, so a signature could be good here and not there.

use super::error::Error;
use crate::report::store;
use std::ffi::OsStr;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the signatures are for: one that was made for a commit or a letter is none of a report.
const NAMESPACE: &str = "hashmill-lab";

/// Who may have signed, and whether it must be one of them in particular.
#[derive(Clone, Copy)]
pub(super) struct Signers<'a> {
    pub(super) file: &'a Path,
    pub(super) identity: Option<&'a str>,
}

/// Where the signature of a file lies, which is where `ssh-keygen` puts it.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sig");
    name.into()
}

/// Writes the signature of a file's bytes beside it, and says with which key.
pub(super) fn sign(path: &Path, bytes: &[u8], key: &Path) -> Result<String, Error> {
    // What a key in hardware asks for must be seen at once, and is said to terminals alone.
    let errors = if std::io::stderr().is_terminal() { Stdio::inherit() } else { Stdio::piped() };
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).stderr(errors);
    let signed = answer(command, bytes)?;
    if !signed.status.success() {
        let why = words(&signed.stderr);
        let why = if why.is_empty() { "ssh-keygen says why".to_owned() } else { why };
        return Err(Error::Usage(format!("{} is not signed: {why}", path.display())));
    }
    let signature = beside(path);
    let text = String::from_utf8_lossy(&signed.stdout);
    let written = store::write_atomically(&signature, &text);
    written.map_err(Error::keep(&signature))?;
    // Without a terminal a key that wants a passphrase takes it from the bytes to be signed.
    of_any_key(&signature, bytes)?.map_err(|why| Error::Refused(format!("{}: {why}", path.display())))
}

/// Who signed these bytes and with which key, or why that cannot be said.
pub(super) fn verify(
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
        Err(why) => return Ok(Err(why)),
    };
    let mut why = String::new();
    let names = match identity {
        Some(identity) => vec![identity.to_owned()],
        None => {
            let found = ask("find-principals", &[], Some(file), &signature, &[])?;
            let says = words(&found.stderr);
            if !found.status.success() && !says.contains("No principal matched") {
                why = says;
            }
            String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect()
        }
    };
    for name in &names {
        let found = ask("verify", &["-n", NAMESPACE, "-I", name], Some(file), &signature, bytes)?;
        if found.status.success() {
            return Ok(Ok(format!("signed by {name} with {key}")));
        }
        why = words(&found.stderr);
    }
    let file = file.display();
    Ok(Err(match (identity, why.is_empty()) {
        (None, true) => format!("nobody in {file} has the {key}"),
        (None, false) => format!("the {key} does not count: {why}"),
        (Some(name), true) => format!("the {key} is not one of {name} in {file}"),
        (Some(name), false) => format!("the {key} is not one of {name} in {file}: {why}"),
    }))
}

/// Which key a signature of these bytes is of, whosever that is.
fn of_any_key(signature: &Path, bytes: &[u8]) -> Result<Result<String, String>, Error> {
    let found = ask("check-novalidate", &["-n", NAMESPACE], None, signature, bytes)?;
    let says = String::from_utf8_lossy(&found.stdout);
    if found.status.success() {
        return Ok(Ok(says.trim_end().rsplit(" with ").next().unwrap_or_default().to_owned()));
    }
    let (file, why) = (signature.display(), words(&found.stderr));
    Ok(Err(if why.contains("incorrect signature") {
        format!("{file} is of other bytes: the report was changed, or it is another one")
    } else if why.contains("namespace") {
        format!("{file} was made for something else: its namespace is not {NAMESPACE}")
    } else {
        format!("{file} is no signature: {why}")
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

/// What the program answers to a question about bytes.
fn answer(mut command: Command, bytes: &[u8]) -> Result<Output, Error> {
    let failed = |error: std::io::Error| {
        Error::Lacking(match error.kind() {
            ErrorKind::NotFound => {
                "signatures need ssh-keygen, which is not here; it comes with OpenSSH".to_owned()
            }
            _ => format!("ssh-keygen: {error}"),
        })
    };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // It may have read enough to refuse; what it says then is more than that it stopped reading.
        input.write_all(bytes).ok();
    }
    child.wait_with_output().map_err(failed)
}

/// What the program said, on one line, without its frames and what it says of every signature that is none.
fn words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines = text.lines().map(str::trim);
    let told =
        lines.filter(|line| !line.is_empty() && !line.starts_with('@') && !line.starts_with("Signing data"));
    let told: Vec<&str> = told.filter(|line| !line.starts_with("Could not verify")).collect();
    told.join("; ")
}
