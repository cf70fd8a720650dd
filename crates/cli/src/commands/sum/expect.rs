//! `--expect`: compares one file with a published digest.

use super::check::{Hashers, same};
use crate::flags::UsageError;
use crate::os;
use crate::output::colour::TextStyle;
use crate::output::json::{self, Name};
use crate::output::{Out, StdoutClosed, display_path, hex, quoted_path};
use hashmill_files::checksum_list::Algorithm;
use hashmill_files::{Digest, Error};
use std::ops::ControlFlow;
use std::path::Path;

/// An expected digest, as typed or pasted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Expected {
    pub(super) digest: Vec<u8>,
    /// The candidate hash functions, in the order in which they are tried.
    pub(super) candidates: Vec<Algorithm>,
}

/// Options of `--expect`.
pub(super) struct ExpectOptions {
    pub(super) expected: Expected,
    pub(super) seek: u64,
    pub(super) tree: bool,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

impl Expected {
    /// Parses `HEX` or `NAME:HEX` in upper or lower case, ignoring white space around it. `length` is the value of `--length`.
    pub(super) fn parse(
        text: &str,
        requested: Option<Algorithm>,
        length: Option<u64>,
    ) -> Result<Expected, UsageError> {
        let text = text.trim().to_lowercase();
        let usage_error = |reason: String| UsageError(format!("--expect: {reason}"));
        let (name, digits) =
            text.split_once(':').map_or((None, &*text), |(name, digits)| (Some(name), digits));
        let digits = digits.trim();
        let named = match name.map(|name| (name, Algorithm::by_key(&name.replace('-', "")))) {
            Some((name, None)) => {
                return Err(usage_error(format!("{name} is not a known hash function")));
            }
            named => named.and_then(|(_, algorithm)| algorithm),
        };
        if let (Some(named), Some(requested)) = (named, requested)
            && named != requested
        {
            return Err(usage_error(format!("{} is not {}", named.name(), requested.name())));
        }
        if let Some(wrong) = digits.chars().position(|digit| !digit.is_ascii_hexdigit()) {
            return Err(usage_error(format!("digit {} is not hexadecimal", wrong + 1)));
        }
        let digest: Vec<u8> = digits
            .as_bytes()
            .chunks(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect();
        let len = digits.len();
        let candidates: Vec<Algorithm> = match (named.or(requested), length) {
            (None | Some(Algorithm::Blake3), Some(length)) if len as u64 == length.saturating_mul(2) => {
                vec![Algorithm::Blake3]
            }
            (None | Some(Algorithm::Blake3), Some(_)) => Vec::new(),
            (Some(one), _) => vec![one].into_iter().filter(|one| 2 * one.digest_len() == len).collect(),
            (None, None) if len % 2 == 0 => Algorithm::by_digest_len(len / 2).collect(),
            (None, None) => Vec::new(),
        };
        if candidates.is_empty() {
            let wanted = match (named.or(requested), length) {
                (_, Some(length)) => format!("the {} of --length {length}", length.saturating_mul(2)),
                (Some(one), None) => format!("the {} of {}", 2 * one.digest_len(), one.name()),
                (None, None) => "the length of a known hash function".to_owned(),
            };
            return Err(usage_error(format!("the digest has {len} hex digits, not {wanted}")));
        }
        Ok(Expected { digest, candidates })
    }
}

pub(super) fn run(hashers: &Hashers, path: &Path, options: &ExpectOptions, out: &mut Out) {
    let progress = out.progress();
    if let Some(progress) = &progress {
        progress.begin_file(path);
    }
    compare(hashers, path, options, out);
    if let Some(progress) = &progress {
        progress.end_file();
    }
}

fn compare(hashers: &Hashers, path: &Path, options: &ExpectOptions, out: &mut Out) {
    let Expected { digest: expected, candidates } = &options.expected;
    let stdin = path.as_os_str() == "-";
    let mut found = Vec::new();
    let mut first_len = None;
    for &algorithm in candidates {
        if let Some((progress, len)) = out.progress().zip(first_len) {
            progress.add_repeated(len);
        }
        let digest = match digest(hashers, path, algorithm, options, expected.len()) {
            Ok((digest, len)) => {
                first_len = Some(len);
                digest
            }
            Err(error) => {
                out.fail(&format!("{}: {error}", display_path(path)));
                if options.json {
                    let _: ControlFlow<StdoutClosed> =
                        print_json(path, "unreadable", None, Some(error.to_string()), options, out);
                }
                return;
            }
        };
        if same(&digest, expected) {
            if options.json {
                let _ = print_json(path, "ok", Some(algorithm), None, options, out);
            } else if !options.quiet {
                let _ = print(path, "OK", out);
            }
            return;
        }
        found.push(format!("{} ({})", hex(&digest), algorithm.name()));
        if stdin {
            // Standard input can be read only once.
            break;
        }
    }
    out.failed = true;
    if options.json {
        let _ = print_json(path, "failed", None, Some(format!("found {}", found.join(", "))), options, out);
        return;
    }
    let _ = print(path, "FAILED", out);
    out.note(&format!("{}: expected {}, found {}", display_path(path), hex(expected), found.join(", ")));
    if stdin && candidates.len() > 1 {
        let by = candidates[0].name();
        out.note(&format!("standard input was taken as {by}; see --algorithm"));
    }
}

/// The first `len` bytes of the digest, and the length of the file; 0 for a tree, which has only one hash function.
fn digest(
    hashers: &Hashers,
    path: &Path,
    algorithm: Algorithm,
    options: &ExpectOptions,
    len: usize,
) -> Result<(Vec<u8>, u64), Error> {
    if options.tree {
        let hash = hashers.tree.hash_tree(path).map_err(|failures| {
            let first = failures.into_iter().next();
            first.map_or(Error::Refused("no digest"), |(file, error)| {
                Error::Io(std::io::Error::other(format!("{}: {error}", display_path(&file))))
            })
        })?;
        return Ok((hash.as_bytes().to_vec(), 0));
    }
    let files = hashers.by(algorithm);
    let Digest { output, len: size } = if path.as_os_str() == "-" {
        os::stdin().map_err(Error::from).and_then(|_| files.hash_stdin())?
    } else {
        files.hash_file(path)?
    };
    let mut bytes = vec![0; len];
    if output.fill(options.seek, &mut bytes) {
        Ok((bytes, size))
    } else {
        Err(Error::Refused("the output ends before --seek"))
    }
}

fn print(path: &Path, word: &str, out: &mut Out) -> ControlFlow<StdoutClosed> {
    let (begin, end) = out.style(if word == "OK" { TextStyle::Success } else { TextStyle::Failure });
    out.print(|out| writeln!(out, "{}: {begin}{word}{end}", quoted_path(path)))
}

fn print_json(
    path: &Path,
    status: &str,
    algorithm: Option<Algorithm>,
    error: Option<String>,
    options: &ExpectOptions,
    out: &mut Out,
) -> ControlFlow<StdoutClosed> {
    let expected = hex(&options.expected.digest);
    let (name, algorithm) = (Name::from_path(path), algorithm.map(Algorithm::key));
    let line = json::Compared { name, status, algorithm, expected: &expected, error };
    out.print(|out| json::line(out, &line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Algorithm::{Blake3, Md5, Sha256, Sha512};

    #[test]
    fn parses_published_digests() {
        let hex = "Ab".repeat(32);
        let by = |text: &str, requested, length| {
            Expected::parse(text, requested, length).map(|expected| expected.candidates)
        };
        assert_eq!(by(&hex, None, None).expect("64 digits"), [Blake3, Sha256]);
        assert_eq!(by(&format!(" {hex}\n"), Some(Sha256), None).expect("64 digits"), [Sha256]);
        for name in ["sha256", "SHA-256"] {
            assert_eq!(by(&format!("{name}:{hex}"), None, None).expect("named"), [Sha256]);
        }
        assert_eq!(by(&hex[..32], None, None).expect("32 digits"), [Md5]);
        assert_eq!(by(&hex.repeat(2), None, None).expect("128 digits"), [Sha512]);
        assert_eq!(by(&hex[..40], None, Some(20)).expect("as requested"), [Blake3]);
        for (text, requested, length, reason) in [
            (&*hex, None, Some(20), "the digest has 64 hex digits, not the 40 of --length 20"),
            (&hex[1..], None, None, "the digest has 63 hex digits, not the length of"),
            (&hex, Some(Md5), None, "the digest has 64 hex digits, not the 32 of MD5"),
            ("crc:00", None, None, "crc is not a known hash function"),
            ("0x00", None, None, "digit 2 is not hexadecimal"),
            ("", None, None, "the digest has 0 hex digits"),
            ("md5:00", Some(Sha256), None, "MD5 is not SHA-256"),
        ] {
            let error = by(text, requested, length).expect_err("no digest").to_string();
            assert!(error.starts_with(&format!("--expect: {reason}")), "{error}");
        }
    }
}
