//! Hashing: one answer for each file, in the order of the arguments.

use super::operands::Operands;
use super::{Form, Lossy};
use crate::out::json::{self, Name};
use crate::out::progress::hash_many;
use crate::out::{Closed, Out, hex, shown, write_hex};
use crate::program::Program;
use hashmill_files::checkfile::{Frame, Mode, Style};
use hashmill_files::{Digest, Error, Files, Gap, Output, Sink, Unreadable};
use hashmill_hash::blake3::OutputReader;
use std::io::{self, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// So many bad places of a file are named; further ones are counted.
const NAMED: usize = 20;

/// What to hash and how to show it.
pub(super) struct How {
    pub(super) form: Form,
    pub(super) seek: u64,
    pub(super) length: u64,
    pub(super) program: Program,
}

pub(super) fn run(files: &Files, items: Operands, how: &How, mode: Mode, style: Style, out: &mut Out) {
    let mut lossy = Lossy::default();
    // Why it stopped before the last file, if so, is known to `out`.
    let (ControlFlow::Continue(()) | ControlFlow::Break(Closed)) =
        hash_many(files, out.job(), items, Printer { how, mode, style, out, lossy: &mut lossy });
    lossy.warn(out);
}

struct Printer<'a> {
    how: &'a How,
    mode: Mode,
    style: Style,
    out: &'a mut Out,
    lossy: &'a mut Lossy,
}

impl Sink<()> for Printer<'_> {
    type Break = Closed;

    fn answer(&mut self, path: PathBuf, (): (), result: Result<Digest, Error>) -> ControlFlow<Closed> {
        let digest = match result {
            Ok(digest) => digest,
            Err(error) => return self.failed(&path, &error),
        };
        let How { form, seek, length, program, .. } = *self.how;
        if program == Program::Hashmill {
            self.lossy.note(form, &path, self.style);
        }
        let frame = match form {
            Form::Plain => Frame::plain(&path, self.style),
            Form::Tagged => Frame::tagged(&path, self.style),
            Form::Bare => Frame::bare(self.style),
            Form::Raw => {
                return self.out.print(|out| write_output(out, &digest.output, seek, length, Writer::Raw));
            }
            Form::Json => self.json(&path, &digest),
        };
        // JSON is tame already; it has no backslash in front.
        let frame = if form == Form::Json { frame } else { self.out.framed(frame) };
        self.out.print(|out| {
            out.write_all(&frame.before)?;
            write_output(out, &digest.output, seek, length, Writer::Hex)?;
            out.write_all(&frame.after)
        })
    }

    fn pause(&mut self) -> ControlFlow<Closed> {
        self.out.flush()
    }
}

impl Printer<'_> {
    fn failed(&mut self, path: &Path, error: &Error) -> ControlFlow<Closed> {
        let name = shown(path);
        let program = self.how.program;
        match error {
            _ if program != Program::Hashmill => {
                self.out.fail(&format!("{name}: {}", program.words(error)));
            }
            Error::Special => self.out.note(&format!("{name}: skipped: {error}")),
            Error::Pseudo(_) => {
                self.out.note(&format!("{name}: skipped: {error}; name it to hash what is in it"));
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
        if self.how.form != Form::Json {
            return ControlFlow::Continue(());
        }
        let unreadable = match error {
            Error::Unreadable(unreadable) => Some(json::Unreadable {
                unreadable: unreadable.gaps.iter().map(place).collect(),
                unreadable_bytes: unreadable.digest.as_ref().map(|_| unreadable.bytes),
                size: unreadable.digest.as_ref().map(|digest| digest.len),
                digest_with_zeros: unreadable.digest.as_ref().map(|digest| self.beginning(digest)),
            }),
            _ => None,
        };
        let line = json::Failed { name: Name::of(path), error: error.to_string(), unreadable };
        self.out.print(|out| json::line(out, &line))
    }

    /// Says where a file cannot be read, and what is known of the rest. Nothing of it goes into a list: whoever checks that
    /// shall find no digest there that was not the file's.
    fn unreadable(&mut self, name: &str, unreadable: &Unreadable) {
        let Some(digest) = &unreadable.digest else {
            // Of what has no end nothing comes after a bad place.
            let hint = if unreadable.bytes > 0 { "; see --keep-going" } else { "" };
            return self.out.fail(&format!("{name}: {unreadable}{hint}"));
        };
        self.out.fail(&format!("{name}: {unreadable}"));
        if unreadable.places > 1 {
            for Gap { offset, len } in unreadable.gaps.iter().take(NAMED) {
                self.out.note(&format!("{name}: {len} bytes at offset {offset} cannot be read"));
            }
            let more = unreadable.places.saturating_sub(NAMED as u64);
            if more > 0 {
                self.out.note(&format!("{name}: and {more} more places; see --json"));
            }
        }
        let digest = self.beginning(digest);
        self.out
            .note(&format!("{name}: {digest} is the digest with zeros in their place, not that of the file"));
    }

    /// The digest in hex; of one that is longer than those of lists, the first digits.
    fn beginning(&self, digest: &Digest) -> String {
        let mut bytes = vec![0; self.how.length.min(64) as usize];
        digest.output.fill(self.how.seek, &mut bytes);
        let more = if self.how.length > 64 { "…" } else { "" };
        format!("{}{more}", hex(&bytes))
    }

    /// A JSON object around a digest that may be too long to hold: everything before it, everything after it.
    fn json(&self, path: &Path, digest: &Digest) -> Frame {
        let object = json::Hashed {
            name: Name::of(path),
            algorithm: self.style.algorithm.key(),
            mode: self.mode.key(),
            size: Some(digest.len),
            seek: self.how.seek,
            length: self.how.length,
            digest: "",
        };
        // The digest is the last field, so the text ends with its empty value.
        let mut before = Vec::new();
        json::line(&mut before, &object).expect("text and numbers have a JSON form");
        before.truncate(before.len() - 3);
        Frame { before, after: b"\"}\n".to_vec() }
    }
}

fn place(gap: &Gap) -> json::Place {
    json::Place { offset: gap.offset, length: gap.len }
}

#[derive(Clone, Copy)]
enum Writer {
    Hex,
    Raw,
}

/// Writes `length` bytes of output from `seek` on, however many that are.
fn write_output(
    out: &mut dyn Write,
    output: &Output,
    seek: u64,
    length: u64,
    writer: Writer,
) -> io::Result<()> {
    match output {
        Output::Short(bytes) => write_piece(out, &bytes[..length.min(32) as usize], writer),
        Output::Whole(bytes) => write_piece(out, bytes, writer),
        Output::Extended(reader) => {
            let mut reader: OutputReader = (**reader).clone();
            reader.set_position(seek);
            let mut left = length;
            let mut piece = vec![0; left.min(16 * 1024) as usize];
            while left > 0 {
                let now = left.min(piece.len() as u64) as usize;
                reader.fill(&mut piece[..now]);
                write_piece(out, &piece[..now], writer)?;
                left -= now as u64;
            }
            Ok(())
        }
        _ => Err(io::Error::other("an output of a kind this program does not know")),
    }
}

fn write_piece(out: &mut dyn Write, piece: &[u8], writer: Writer) -> io::Result<()> {
    match writer {
        Writer::Hex => write_hex(out, piece),
        Writer::Raw => out.write_all(piece),
    }
}
