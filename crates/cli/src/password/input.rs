//! Passwords and secrets from every source, in memory that is locked, not dumped, and wiped.

use crate::flags::{InputFlags, Misuse};
use crate::os;
use anyhow::{Context, Result, bail};
use hashmill_machine::SecretBytes;
use std::io::{ErrorKind, IsTerminal, Read};

/// The longest password, secret, or line of a file, in bytes.
pub(super) const MOST: usize = 64 * 1024;

/// A password, or another secret.
pub(super) type Secret = SecretBytes;

/// Reads the password that the flags name. One newline at its end goes. It may be empty, as any attempt may be wrong.
pub(super) fn attempt(flags: &InputFlags) -> Result<Secret> {
    read(flags, false)
}

/// The same for a password that nothing is known about yet: at a prompt it is asked for twice, and it is not empty unless
/// that was asked for.
pub(super) fn new_password(flags: &InputFlags) -> Result<Secret> {
    let password = read(flags, true)?;
    if password.is_empty() && !flags.allow_empty {
        bail!(Misuse("the password is empty; --allow-empty takes it all the same".to_owned()));
    }
    Ok(password)
}

/// What may have gone wrong with a password on its way here.
pub(super) fn mishap(password: &[u8]) -> Option<&'static str> {
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

/// Whether the password comes from standard input, typed or not.
pub(super) fn takes_stdin(flags: &InputFlags) -> bool {
    flags.password_fd.is_none() && !flags.prompt
}

/// Reads the secret, if there is one. It comes before the password, for which somebody may have to be asked.
pub(super) fn secret(flags: &InputFlags, stdin_is_taken: bool) -> Result<Secret> {
    let Some(number) = flags.secret_fd else { return room(0) };
    if flags.password_fd == Some(number) {
        bail!(Misuse("--password-fd and --secret-fd need file descriptors of their own".to_owned()));
    }
    if number == 0 && stdin_is_taken {
        bail!(Misuse("standard input cannot be the secret and something else: see --secret-fd".to_owned()));
    }
    let secret = without_newline(from_fd(number, "secret")?);
    if secret.is_empty() {
        bail!(Misuse(format!("the secret on file descriptor {number} is empty; leave --secret-fd out")));
    }
    Ok(secret)
}

/// All of standard input, or a line that is typed.
pub(super) fn everything() -> Result<Secret> {
    if stdin_is_terminal() { prompt(false) } else { from_stdin() }
}

fn stdin_is_terminal() -> bool {
    os::stdin().is_ok_and(|stdin| stdin.is_terminal())
}

fn from_stdin() -> Result<Secret> {
    let stdin = os::stdin().map_err(anyhow::Error::from);
    stdin.and_then(|stdin| from(stdin.lock())).context("the password on standard input")
}

fn prompt(twice: bool) -> Result<Secret> {
    let ask = |words: &str| {
        os::read_hidden(words, MOST).map_err(|error| match error.kind() {
            ErrorKind::Interrupted | ErrorKind::UnexpectedEof | ErrorKind::InvalidInput => {
                anyhow::Error::new(error).context("no password")
            }
            _ => anyhow::Error::new(error).context(
                "no terminal to ask for the password; give it on standard input or with --password-fd",
            ),
        })
    };
    let first = ask("Password: ")?;
    if twice && *first != *ask("The same again: ")? {
        bail!(Misuse("the two passwords differ".to_owned()));
    }
    Ok(first)
}

fn from_fd(number: u32, what: &str) -> Result<Secret> {
    let place = || format!("the {what} on file descriptor {number}");
    let file = os::open_fd(number).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            anyhow::Error::new(Misuse(format!("{} is not there: open it with {number}<FILE", place())))
        }
        _ => anyhow::Error::new(error).context(place()),
    })?;
    from(file).with_context(place)
}

/// Everything that is there, up to the limit, without leaving copies behind.
fn from(mut source: impl Read) -> Result<Secret> {
    // One byte of room more than the limit, and no growth. Standard input's own buffer is left out as long as there is
    // more room here than there.
    let mut bytes = room(MOST + 1)?;
    let mut len = 0;
    while len < bytes.len() {
        match source.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    if len > MOST {
        bail!(Misuse(format!("longer than {MOST} bytes, which is the limit of this program")));
    }
    // Locked memory is scarce, so the rest of the pages goes back.
    copied(&bytes[..len])
}

/// Memory for a secret.
pub(super) fn room(len: usize) -> Result<Secret> {
    SecretBytes::zeroed(len).context("memory for a secret")
}

pub(super) fn copied(bytes: &[u8]) -> Result<Secret> {
    SecretBytes::copied(bytes).context("memory for a secret")
}

fn without_newline(mut bytes: Secret) -> Secret {
    if bytes.last() == Some(&b'\n') {
        bytes.truncate(bytes.len() - 1);
    }
    bytes
}
