//! Hashing: one line for each file, in the order of the arguments.

use super::operands::Operands;
use super::output_form::{OutputForm, UnreadableNames};
use crate::output::json::{self, Name};
use crate::output::progress::hash_many;
use crate::output::{Out, StdoutClosed, display_path, hex, write_hex};
use crate::personality::Personality;
use hashmill_files::checksum_list::{LineTemplate, ListFormat, Mode};
use hashmill_files::{Digest, Error, Files, Gap, Output, ResultSink, Unreadable};
use hashmill_hash::blake3::OutputReader;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Maximum number of unreadable ranges printed per file; further ones are counted.
const MAX_PRINTED_GAPS: usize = 20;

/// Options of hashing.
pub(super) struct HashOptions {
    pub(super) form: OutputForm,
    pub(super) seek: u64,
    pub(super) length: u64,
    pub(super) personality: Personality,
}

pub(super) fn run(
    files: &Files,
    items: Operands,
    options: &HashOptions,
    mode: Mode,
    style: ListFormat,
    out: &mut Out,
) {
    let mut unreadable_names = UnreadableNames::default();
    // If it stopped early, `out` keeps the reason.
    let (ControlFlow::Continue(()) | ControlFlow::Break(StdoutClosed)) = hash_many(
        files,
        out.progress(),
        items,
        Printer { options, mode, style, out, unreadable_names: &mut unreadable_names },
    );
    unreadable_names.warn(out);
}

struct Printer<'a> {
    options: &'a HashOptions,
    mode: Mode,
    style: ListFormat,
    out: &'a mut Out,
    unreadable_names: &'a mut UnreadableNames,
}

impl ResultSink<()> for Printer<'_> {
    type Break = StdoutClosed;

    fn answer(&mut self, path: PathBuf, (): (), result: Result<Digest, Error>) -> ControlFlow<StdoutClosed> {
        let digest = match result {
            Ok(digest) => digest,
            Err(error) => return self.failed(&path, &error),
        };
        let HashOptions { form, seek, length, personality, .. } = *self.options;
        if personality == Personality::Hashmill {
            self.unreadable_names.check(form, &path, self.style);
        }
        let frame = match form {
            OutputForm::Plain => LineTemplate::plain(&path, self.style),
            OutputForm::Tagged => LineTemplate::tagged(&path, self.style),
            OutputForm::Bare => LineTemplate::bare(self.style),
            OutputForm::Raw => {
                return self
                    .out
                    .print(|out| write_output(out, &digest.output, seek, length, DigestEncoding::Raw));
            }
            OutputForm::Json => self.json(&path, &digest),
        };
        // JSON is escaped already and has no leading backslash.
        let frame = if form == OutputForm::Json { frame } else { self.out.escape_frame(frame) };
        self.out.print(|out| {
            out.write_all(&frame.before)?;
            write_output(out, &digest.output, seek, length, DigestEncoding::Hex)?;
            out.write_all(&frame.after)
        })
    }

    fn pause(&mut self) -> ControlFlow<StdoutClosed> {
        self.out.flush()
    }
}

impl Printer<'_> {
    fn failed(&mut self, path: &Path, error: &Error) -> ControlFlow<StdoutClosed> {
        let name = display_path(path);
        let personality = self.options.personality;
        match error {
            _ if personality != Personality::Hashmill => {
                self.out.fail(&format!("{name}: {}", personality.error_text(error)));
            }
            Error::Special => self.out.note(&format!("{name}: skipped: {error}")),
            Error::Pseudo(_) => {
                self.out.note(&format!("{name}: skipped: {error}; name it to hash it"));
            }
            Error::Io(cause) if cause.kind() == ErrorKind::IsADirectory => {
                self.out.fail(&format!("{name}: {error}; see --recursive and --tree"));
            }
            Error::EndsEarly { .. } => {
                self.out.fail(&format!("{name}: {error}; see --strategy read"));
            }
            Error::Unreadable(unreadable) => self.unreadable(&name, unreadable),
            _ => self.out.fail(&format!("{name}: {error}")),
        }
        if self.options.form != OutputForm::Json {
            return ControlFlow::Continue(());
        }
        let unreadable = match error {
            Error::Unreadable(unreadable) => Some(json::Unreadable {
                unreadable: unreadable.gaps.iter().map(byte_range).collect(),
                unreadable_bytes: unreadable.digest.as_ref().map(|_| unreadable.bytes),
                size: unreadable.digest.as_ref().map(|digest| digest.len),
                digest_with_zeros: unreadable.digest.as_ref().map(|digest| self.digest_text(digest)),
            }),
            _ => None,
        };
        let line = json::Failed { name: Name::from_path(path), error: error.to_string(), unreadable };
        self.out.print(|out| json::line(out, &line))
    }

    /// Reports where a file cannot be read, and the digest of the rest. That digest never goes into a list, where it would pass
    /// for the digest of the file.
    fn unreadable(&mut self, name: &str, unreadable: &Unreadable) {
        let Some(digest) = &unreadable.digest else {
            // Endless input ends at its first unreadable range.
            let hint = if unreadable.bytes > 0 { "; see --keep-going" } else { "" };
            return self.out.fail(&format!("{name}: {unreadable}{hint}"));
        };
        self.out.fail(&format!("{name}: {unreadable}"));
        if unreadable.places > 1 {
            for Gap { offset, len } in unreadable.gaps.iter().take(MAX_PRINTED_GAPS) {
                self.out.note(&format!("{name}: {len} bytes at offset {offset} cannot be read"));
            }
            let more = unreadable.places.saturating_sub(MAX_PRINTED_GAPS as u64);
            if more > 0 {
                self.out.note(&format!("{name}: and {more} more ranges; see --json"));
            }
        }
        let digest = self.digest_text(digest);
        self.out
            .note(&format!("{name}: {digest} is the digest with zeros in their place, not that of the file"));
    }

    /// The digest in hex, cut after 64 bytes.
    fn digest_text(&self, digest: &Digest) -> String {
        let mut bytes = vec![0; self.options.length.min(64) as usize];
        digest.output.fill(self.options.seek, &mut bytes);
        let more = if self.options.length > 64 { "…" } else { "" };
        format!("{}{more}", hex(&bytes))
    }

    /// The JSON before and after the digest, which may be too long to hold in memory.
    fn json(&self, path: &Path, digest: &Digest) -> LineTemplate {
        let object = json::Hashed {
            name: Name::from_path(path),
            algorithm: self.style.algorithm.key(),
            mode: self.mode.key(),
            size: Some(digest.len),
            seek: self.options.seek,
            length: self.options.length,
            digest: "",
        };
        // The digest is the last field, so the text ends with its empty value.
        let mut before = Vec::new();
        json::line(&mut before, &object).expect("text and numbers have a JSON form");
        before.truncate(before.len() - 3);
        LineTemplate { before, after: b"\"}\n".to_vec() }
    }
}

fn byte_range(gap: &Gap) -> json::ByteRange {
    json::ByteRange { offset: gap.offset, length: gap.len }
}

#[derive(Clone, Copy)]
enum DigestEncoding {
    Hex,
    Raw,
}

/// Writes `length` bytes of output from `seek` on, in pieces.
fn write_output(
    out: &mut dyn Write,
    output: &Output,
    seek: u64,
    length: u64,
    encoding: DigestEncoding,
) -> io::Result<()> {
    match output {
        Output::Short(bytes) => write_piece(out, &bytes[..length.min(32) as usize], encoding),
        Output::Whole(bytes) => write_piece(out, bytes, encoding),
        Output::Extended(reader) => {
            let mut reader: OutputReader = (**reader).clone();
            reader.set_position(seek);
            let mut left = length;
            let mut piece = vec![0; left.min(16 * 1024) as usize];
            while left > 0 {
                let now = left.min(piece.len() as u64) as usize;
                reader.fill(&mut piece[..now]);
                write_piece(out, &piece[..now], encoding)?;
                left -= now as u64;
            }
            Ok(())
        }
        _ => Err(io::Error::other("an output of a kind this program does not know")),
    }
}

fn write_piece(out: &mut dyn Write, piece: &[u8], encoding: DigestEncoding) -> io::Result<()> {
    match encoding {
        DigestEncoding::Hex => write_hex(out, piece),
        DigestEncoding::Raw => out.write_all(piece),
    }
}
