//! `--expect`: one file, and the digest that somebody published for it.

use super::check::{Hashers, same};
use crate::flags::Misuse;
use crate::os;
use crate::out::colour::Ink;
use crate::out::json::{self, Name};
use crate::out::{Closed, Out, hex, quoted, shown};
use hashmill_files::checkfile::Algorithm;
use hashmill_files::{Digest, Error};
use std::ops::ControlFlow;
use std::path::Path;

/// A digest as it was typed or pasted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Expected {
    pub(super) digest: Vec<u8>,
    /// The functions that it may be of, in the order in which they are tried.
    pub(super) by: Vec<Algorithm>,
}

/// How the file was hashed, and how to show what came out.
pub(super) struct How {
    pub(super) expected: Expected,
    pub(super) seek: u64,
    pub(super) tree: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

impl Expected {
    /// Reads `HEX` or `NAME:HEX`, in upper or lower case, with whatever stands around it. `length` is that of the output if
    /// the user said so.
    pub(super) fn parse(
        text: &str,
        said: Option<Algorithm>,
        length: Option<u64>,
    ) -> Result<Expected, Misuse> {
        let text = text.trim().to_lowercase();
        let misuse = |reason: String| Misuse(format!("--expect: {reason}"));
        let (name, digits) =
            text.split_once(':').map_or((None, &*text), |(name, digits)| (Some(name), digits));
        let digits = digits.trim();
        let named = match name.map(|name| (name, Algorithm::by_key(&name.replace('-', "")))) {
            Some((name, None)) => {
                return Err(misuse(format!("{name} is no function that is known here")));
            }
            named => named.and_then(|(_, algorithm)| algorithm),
        };
        if let (Some(named), Some(said)) = (named, said)
            && named != said
        {
            return Err(misuse(format!("{} is not {}", named.name(), said.name())));
        }
        if let Some(wrong) = digits.chars().position(|digit| !digit.is_ascii_hexdigit()) {
            return Err(misuse(format!("digit {} is not hexadecimal", wrong + 1)));
        }
        let digest: Vec<u8> = digits
            .as_bytes()
            .chunks(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let len = digits.len();
        let by: Vec<Algorithm> = match (named.or(said), length) {
            (None | Some(Algorithm::Blake3), Some(length)) if len as u64 == length.saturating_mul(2) => {
                vec![Algorithm::Blake3]
            }
            (None | Some(Algorithm::Blake3), Some(_)) => Vec::new(),
            (Some(one), _) => vec![one].into_iter().filter(|one| 2 * one.digest_len() == len).collect(),
            (None, None) if len % 2 == 0 => Algorithm::by_digest_len(len / 2).collect(),
            (None, None) => Vec::new(),
        };
        if by.is_empty() {
            let whose = match (named.or(said), length) {
                (_, Some(length)) => format!("the {} of --length {length}", length.saturating_mul(2)),
                (Some(one), None) => format!("the {} of {}", 2 * one.digest_len(), one.name()),
                (None, None) => "as many as those of a function that is known here".to_owned(),
            };
            return Err(misuse(format!("the digest has {len} hex digits, not {whose}")));
        }
        Ok(Expected { digest, by })
    }
}

pub(super) fn run(hashers: &Hashers, path: &Path, how: &How, out: &mut Out) {
    let job = out.job();
    if let Some(job) = &job {
        job.begin(path);
    }
    compare(hashers, path, how, out);
    if let Some(job) = &job {
        job.end_file();
    }
}

fn compare(hashers: &Hashers, path: &Path, how: &How, out: &mut Out) {
    let Expected { digest: expected, by } = &how.expected;
    let stdin = path.as_os_str() == "-";
    let mut found = Vec::new();
    let mut before = None;
    for &algorithm in by {
        if let Some((job, len)) = out.job().zip(before) {
            job.again(len);
        }
        let digest = match digest(hashers, path, algorithm, how, expected.len()) {
            Ok((digest, len)) => {
                before = Some(len);
                digest
            }
            Err(error) => {
                out.fail(&format!("{}: {error}", shown(path)));
                if how.json {
                    let _: ControlFlow<Closed> =
                        print_json(path, "unreadable", None, Some(error.to_string()), how, out);
                }
                return;
            }
        };
        if same(&digest, expected) {
            if how.json {
                let _ = print_json(path, "ok", Some(algorithm), None, how, out);
            } else if !how.quiet {
                let _ = print(path, "OK", out);
            }
            return;
        }
        found.push(format!("{} ({})", hex(&digest), algorithm.name()));
        if stdin {
            // It is there once.
            break;
        }
    }
    out.failed = true;
    if how.json {
        let _ = print_json(path, "failed", None, Some(format!("found {}", found.join(", "))), how, out);
        return;
    }
    let _ = print(path, "FAILED", out);
    out.note(&format!("{}: expected {}, found {}", shown(path), hex(expected), found.join(", ")));
    if stdin && by.len() > 1 {
        let by = by[0].name();
        out.note(&format!("standard input was taken as {by}; see --algorithm"));
    }
}

/// So many bytes of a digest, and how long the file is, or 0 for a tree, which has one function.
fn digest(
    hashers: &Hashers,
    path: &Path,
    algorithm: Algorithm,
    how: &How,
    len: usize,
) -> Result<(Vec<u8>, u64), Error> {
    if how.tree {
        let hash = hashers.tree.hash_tree(path).map_err(|failures| {
            let first = failures.into_iter().next();
            first.map_or(Error::Refused("no digest"), |(file, error)| {
                Error::Io(std::io::Error::other(format!("{}: {error}", shown(&file))))
            })
        })?;
        return Ok((hash.as_bytes().to_vec(), 0));
    }
    let files = hashers.of(algorithm);
    let Digest { output, len: size } = if path.as_os_str() == "-" {
        os::stdin().map_err(Error::from).and_then(|_| files.hash_stdin())?
    } else {
        files.hash_file(path)?
    };
    let mut bytes = vec![0; len];
    if output.fill(how.seek, &mut bytes) {
        Ok((bytes, size))
    } else {
        Err(Error::Refused("the output ends before --seek"))
    }
}

fn print(path: &Path, word: &str, out: &mut Out) -> ControlFlow<Closed> {
    let (begin, end) = out.ink(if word == "OK" { Ink::Good } else { Ink::Bad });
    out.print(|out| writeln!(out, "{}: {begin}{word}{end}", quoted(path)))
}

fn print_json(
    path: &Path,
    status: &str,
    algorithm: Option<Algorithm>,
    error: Option<String>,
    how: &How,
    out: &mut Out,
) -> ControlFlow<Closed> {
    let expected = hex(&how.expected.digest);
    let (name, algorithm) = (Name::of(path), algorithm.map(Algorithm::key));
    let line = json::Compared { name, status, algorithm, expected: &expected, error };
    out.print(|out| json::line(out, &line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Algorithm::{Blake3, Md5, Sha256, Sha512};

    #[test]
    fn what_pages_have() {
        let hex = "Ab".repeat(32);
        let by = |text: &str, said, length| Expected::parse(text, said, length).map(|expected| expected.by);
        assert_eq!(by(&hex, None, None).expect("64 digits"), [Blake3, Sha256]);
        assert_eq!(by(&format!(" {hex}\n"), Some(Sha256), None).expect("64 digits"), [Sha256]);
        for name in ["sha256", "SHA-256"] {
            assert_eq!(by(&format!("{name}:{hex}"), None, None).expect("named"), [Sha256]);
        }
        assert_eq!(by(&hex[..32], None, None).expect("32 digits"), [Md5]);
        assert_eq!(by(&hex.repeat(2), None, None).expect("128 digits"), [Sha512]);
        assert_eq!(by(&hex[..40], None, Some(20)).expect("as was said"), [Blake3]);
        for (text, said, length, reason) in [
            (&*hex, None, Some(20), "the digest has 64 hex digits, not the 40 of --length 20"),
            (&hex[1..], None, None, "the digest has 63 hex digits, not as many as"),
            (&hex, Some(Md5), None, "the digest has 64 hex digits, not the 32 of MD5"),
            ("crc:00", None, None, "crc is no function"),
            ("0x00", None, None, "digit 2 is not hexadecimal"),
            ("", None, None, "the digest has 0 hex digits"),
            ("md5:00", Some(Sha256), None, "MD5 is not SHA-256"),
        ] {
            let error = by(text, said, length).expect_err("no digest").to_string();
            assert!(error.starts_with(&format!("--expect: {reason}")), "{error}");
        }
    }
}
