//! Sources of passwords and secrets: file descriptors, standard input, a prompt.
//!
//! They are kept in memory that is locked, not dumped, and wiped.

use crate::flags::{InputFlags, UsageError};
use crate::os;
use anyhow::{Context, Result, bail};
use hashmill_machine::SecretBytes;
use std::io::{ErrorKind, IsTerminal, Read};

/// The longest password, secret, or line of a file, in bytes.
pub(in super::super) const MAX_BYTES: usize = 64 * 1024;

/// A password, or another secret.
pub(in super::super) type Secret = SecretBytes;

/// Reads the password to verify, without one newline at its end. It may be empty, as any attempt may be wrong.
pub(in super::super) fn attempt(flags: &InputFlags) -> Result<Secret> {
    read(flags, false)
}

/// Reads a new password: a prompt asks for it twice, and it is not empty unless `--allow-empty` is given.
pub(in super::super) fn new_password(flags: &InputFlags) -> Result<Secret> {
    let password = read(flags, true)?;
    if password.is_empty() && !flags.allow_empty {
        bail!(UsageError("the password is empty; --allow-empty accepts it".to_owned()));
    }
    Ok(password)
}

/// A likely mistake in how the password was passed to this program.
pub(in super::super) fn mishap(password: &[u8]) -> Option<&'static str> {
    match password.last() {
        None => Some("the password is empty"),
        Some(b'\r') => Some(
            "the password ends with a carriage return, as lines of Windows do; it is part of the password",
        ),
        Some(_) if password[..password.len() - 1].contains(&b'\n') => {
            Some("the password has a line feed in the middle; all lines are part of the password")
        }
        Some(_) => None,
    }
}

fn read(flags: &InputFlags, twice: bool) -> Result<Secret> {
    Ok(match flags.password_fd {
        Some(number) => without_newline(from_fd(number, "password")?),
        None if flags.prompt || stdin_is_terminal() => prompt(twice)?,
        None => without_newline(from_stdin()?),
    })
}

/// Reads the secret, then the password to verify.
pub(in super::super) fn secret_and_password(flags: &InputFlags) -> Result<(Secret, Secret)> {
    let secret = secret(flags, takes_stdin(flags))?;
    Ok((secret, attempt(flags)?))
}

/// Whether the password comes from standard input: a pipe, a file or a terminal.
pub(in super::super) fn takes_stdin(flags: &InputFlags) -> bool {
    flags.password_fd.is_none() && !flags.prompt
}

/// Reads the secret; empty without `--secret-fd`. Read it before the password, which may need a prompt.
pub(in super::super) fn secret(flags: &InputFlags, stdin_is_taken: bool) -> Result<Secret> {
    let Some(number) = flags.secret_fd else { return buffer(0) };
    if flags.password_fd == Some(number) {
        bail!(UsageError("--password-fd and --secret-fd need file descriptors of their own".to_owned()));
    }
    if number == 0 && stdin_is_taken {
        bail!(UsageError(
            "standard input cannot be the secret and something else: see --secret-fd".to_owned()
        ));
    }
    let secret = without_newline(from_fd(number, "secret")?);
    if secret.is_empty() {
        bail!(UsageError(format!("the secret on file descriptor {number} is empty; leave --secret-fd out")));
    }
    Ok(secret)
}

/// All of standard input, or one typed line if that is a terminal.
pub(in super::super) fn everything() -> Result<Secret> {
    if stdin_is_terminal() { prompt(false) } else { from_stdin() }
}

fn stdin_is_terminal() -> bool {
    os::stdin().is_ok_and(|stdin| stdin.is_terminal())
}

fn from_stdin() -> Result<Secret> {
    let stdin = os::stdin().map_err(anyhow::Error::from);
    stdin.and_then(|stdin| read_all(stdin.lock())).context("the password on standard input")
}

fn prompt(twice: bool) -> Result<Secret> {
    let ask = |text: &str| {
        os::read_hidden(text, MAX_BYTES).map_err(|error| match error.kind() {
            ErrorKind::Interrupted | ErrorKind::UnexpectedEof | ErrorKind::InvalidInput => {
                anyhow::Error::new(error).context("no password")
            }
            _ => anyhow::Error::new(error).context(
                "no terminal to ask for the password; give it on standard input or with --password-fd",
            ),
        })
    };
    let first = ask("Password: ")?;
    if twice && *first != *ask("Repeat password: ")? {
        bail!(UsageError("the two passwords differ".to_owned()));
    }
    Ok(first)
}

fn from_fd(number: u32, what: &str) -> Result<Secret> {
    let source = || format!("the {what} on file descriptor {number}");
    let file = os::open_fd(number).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            anyhow::Error::new(UsageError(format!("{} is not open: open it with {number}<FILE", source())))
        }
        _ => anyhow::Error::new(error).context(source()),
    })?;
    read_all(file).with_context(source)
}

/// Reads everything, up to [`MAX_BYTES`], without leaving copies in memory.
fn read_all(mut source: impl Read) -> Result<Secret> {
    // One byte more than the limit, so the buffer never grows. Reads larger than standard input's own buffer bypass it.
    let mut bytes = buffer(MAX_BYTES + 1)?;
    let mut len = 0;
    while len < bytes.len() {
        match source.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    if len > MAX_BYTES {
        bail!(UsageError(format!("longer than {MAX_BYTES} bytes, the limit of this program")));
    }
    // Locked memory is scarce: free the unused pages.
    copied(&bytes[..len])
}

/// Zeroed memory for a secret.
pub(in super::super) fn buffer(len: usize) -> Result<Secret> {
    SecretBytes::zeroed(len).context("memory for a secret")
}

pub(in super::super) fn copied(bytes: &[u8]) -> Result<Secret> {
    SecretBytes::copied(bytes).context("memory for a secret")
}

fn without_newline(mut bytes: Secret) -> Secret {
    if bytes.last() == Some(&b'\n') {
        bytes.truncate(bytes.len() - 1);
    }
    bytes
}
