//! Words: what goes to standard output and standard error, and what happens when nobody listens any more.

pub(crate) mod colour;
pub(crate) mod json;
pub(crate) mod progress;

use crate::os::{self, Leftover, Output};
use crate::program::Program;
use crate::quote::{self, steers_terminal};
use anyhow::Context;
use colour::{Ink, Strokes};
use hashmill_atomic_file::{Expected, Finished, Replacement};
use hashmill_files::FileId;
use hashmill_files::checkfile::{Frame, escape};
use progress::{Bar, Job};
use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// One line on standard error about something that failed.
pub(crate) fn complain(message: &str) {
    say(Ink::Bad, message);
}

/// One line on standard error about something that somebody should know.
pub(crate) fn remark(message: &str) {
    say(Ink::Odd, message);
}

fn say(ink: Ink, message: &str) {
    let (begin, end) = ink.on_stderr();
    write(&format!("{begin}{}:{end} {message}\n", Program::this().name()));
}

/// Says what ends b3sum, which does so without its name.
pub(crate) fn give_up(message: &str) {
    write(&format!("Error: {message}\n"));
}

/// Writes to standard error, in one piece: there is no buffer, and other programs may write there too.
fn write(text: &str) {
    // If even that fails there is nobody left to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// An error with its causes, on one line. A cause that is told already is not told again.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if line.ends_with(&words) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&words);
    }
    line
}

/// A path for a line on standard error. A name with line ends must not look like two messages, unless the program that was
/// called writes it so.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    let name = path.to_string_lossy();
    match Program::this() {
        // Its bytes are those of the real program only where a program may compare them.
        Program::B3sum if !io::stderr().is_terminal() => return name,
        Program::Hashmill | Program::B3sum => {}
        Program::Gnu(_) => {
            let bytes = path.as_os_str().as_encoded_bytes();
            return Cow::Owned(quote::for_a_shell(bytes, knows_utf8()));
        }
    }
    if name.contains(steers_terminal) { Cow::Owned(name.escape_debug().to_string()) } else { name }
}

/// A name in a line of text that is not a line of a list: as lists have it, and what steers a terminal is escaped, too. A
/// backslash in front says that there are escapes.
pub(crate) fn quoted(path: &Path) -> String {
    let (escaped, name) = escape(path.to_string_lossy());
    let tame = quote::tame(name.as_bytes());
    let mark = if escaped || tame.is_some() { "\\" } else { "" };
    format!("{mark}{}", tame.unwrap_or_else(|| name.into_owned()))
}

/// Whether the terminal is one for UTF-8, by the variables that say so.
fn knows_utf8() -> bool {
    let mut said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os);
    let locale = said.find(|value| !value.is_empty()).unwrap_or_default();
    let locale = locale.to_string_lossy().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Standard output takes no more, so whatever is printed from here on arrives nowhere. Whoever is told so stops, and has
/// not done all of its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Closed;

/// Whoever read standard output left before the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unread;

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output: its reader left before the end")
    }
}

impl std::error::Error for Unread {}

/// Something went wrong, and that was said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Said;

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("that was said before")
    }
}

impl std::error::Error for Said {}

/// How a command ended.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    Well,
    /// Something went wrong, and that was said.
    Badly,
    /// Nothing went wrong, but nobody read all of it.
    Unread,
}

/// Says that the old content is still there under other names of a file that was replaced.
pub(crate) fn remark_other_names(name: &str, finished: Finished) {
    if let Some(message) = other_names(name, finished) {
        remark(&message);
    }
}

/// That message, if there are other names.
pub(crate) fn other_names(name: &str, finished: Finished) -> Option<String> {
    match finished.other_names {
        0 => None,
        1 => Some(format!("{name}: the file had another name (hard link), which keeps the old content")),
        more => {
            Some(format!("{name}: the file had {more} other names (hard links), which keep the old content"))
        }
    }
}

/// Output that is written instead of standard output.
pub(crate) struct Target {
    name: String,
    file: TargetFile,
    /// The file that exists already, which the new one replaces.
    there: Option<FileId>,
    _leftover: Option<Leftover>,
}

/// Kinds of such output.
#[allow(clippy::large_enum_variant, reason = "a command has one, which is moved a few times")]
enum TargetFile {
    /// A file that is put in its place at the end, or a pipe or device.
    Replacement(Replacement),
    /// A descriptor that the program was started with.
    Descriptor(File),
}

impl Target {
    /// Begins to write to a path; `None` if that is standard output.
    pub(crate) fn begin(path: &Path) -> anyhow::Result<Option<Target>> {
        let name = shown(path).into_owned();
        let there = fs::metadata(path).ok();
        let (file, leftover) = match os::output_descriptor(path) {
            Some(1) => return Ok(None),
            Some(descriptor) => {
                let file = os::duplicate(descriptor).with_context(|| name.clone())?;
                (TargetFile::Descriptor(file), None)
            }
            // Opening a pipe waits for its reader: signals end the program meanwhile.
            None if there.as_ref().is_some_and(|there| !there.is_file()) => {
                let file = Replacement::begin_or_stream(path).with_context(|| name.clone())?;
                (TargetFile::Replacement(file), None)
            }
            None => {
                let made = Leftover::of(|| Replacement::begin(path), Replacement::temporary_name);
                let (file, leftover) = made.with_context(|| name.clone())?;
                (TargetFile::Replacement(file), leftover)
            }
        };
        Ok(Some(Target { name, file, there: there.as_ref().and_then(FileId::of), _leftover: leftover }))
    }

    /// The files that this output is written to.
    pub(crate) fn ids(&self) -> impl Iterator<Item = FileId> {
        let metadata = match &self.file {
            TargetFile::Replacement(file) => file.metadata(),
            TargetFile::Descriptor(file) => file.metadata(),
        };
        metadata.ok().as_ref().and_then(FileId::of).into_iter().chain(self.there)
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.file {
            TargetFile::Replacement(file) => file,
            TargetFile::Descriptor(file) => file,
        }
    }

    fn finish(self) -> Result<Finished, hashmill_atomic_file::Error> {
        match self.file {
            TargetFile::Replacement(file) => file.finish(Expected::Anything),
            TargetFile::Descriptor(_) => Ok(Finished::default()),
        }
    }
}

/// Where the output goes.
#[allow(clippy::large_enum_variant, reason = "a command has one, which is moved a few times")]
enum Sink {
    Stdout(Output),
    File(Target),
}

impl Sink {
    fn name(&self) -> &str {
        match self {
            Sink::Stdout(_) => "standard output",
            Sink::File(target) => &target.name,
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::File(target) => target.writer().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::File(target) => target.writer().flush(),
        }
    }
}

/// The output and standard error of one command.
pub(crate) struct Out {
    sink: BufWriter<Sink>,
    at_once: bool,
    bar: Option<Bar>,
    /// Why nothing more can be written to standard output, if so.
    closed: Option<Ended>,
    /// Something did not go well.
    pub(crate) failed: bool,
}

impl Out {
    pub(crate) fn new(bar: Option<Bar>) -> Out {
        let stdout = Output::new();
        let at_once = stdout.is_terminal();
        Out::to(Sink::Stdout(stdout), at_once, bar)
    }

    /// The same with a file in the place of standard output. It is there when the command is done, whatever failed.
    pub(crate) fn into_file(target: Target, bar: Option<Bar>) -> Out {
        Out::to(Sink::File(target), false, bar)
    }

    fn to(sink: Sink, at_once: bool, bar: Option<Bar>) -> Out {
        Out { sink: BufWriter::with_capacity(64 * 1024, sink), at_once, bar, closed: None, failed: false }
    }

    /// Runs `write` on the output. Breaks if nobody reads what comes out, or if it cannot be written.
    pub(crate) fn print(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> ControlFlow<Closed> {
        let mut result = if self.closed.is_some() { Ok(()) } else { write(&mut self.sink) };
        if result.is_ok() && self.at_once {
            result = self.pour();
        }
        self.check(&result)
    }

    /// A line of a list as it is to be printed: on a terminal, no name in it steers that.
    pub(crate) fn framed(&self, frame: Frame) -> Frame {
        if !self.at_once {
            return frame;
        }
        let Frame { before, after } = frame;
        let (name, end) = after.split_at(after.len() - 1);
        let tamed = (quote::tame(&before), quote::tame(name));
        if let (None, None) = tamed {
            return Frame { before, after };
        }
        let mut before = tamed.0.map_or(before, String::into_bytes);
        if before.first() != Some(&b'\\') {
            before.insert(0, b'\\');
        }
        let after = [tamed.1.as_deref().map_or(name, str::as_bytes), end].concat();
        Frame { before, after }
    }

    /// A name as it is to be printed, likewise.
    pub(crate) fn named<'a>(&self, name: &'a [u8]) -> Cow<'a, [u8]> {
        match quote::tame(name).filter(|_| self.at_once) {
            None => Cow::Borrowed(name),
            Some(tame) if tame.starts_with('\\') => Cow::Owned(tame.into_bytes()),
            Some(tame) => Cow::Owned(format!("\\{tame}").into_bytes()),
        }
    }

    /// Sends on what has been printed.
    pub(crate) fn flush(&mut self) -> ControlFlow<Closed> {
        let result = self.pour();
        self.check(&result)
    }

    fn pour(&mut self) -> io::Result<()> {
        if self.closed.is_some() || self.sink.buffer().is_empty() {
            return Ok(());
        }
        let sink = &mut self.sink;
        match &self.bar {
            Some(bar) if self.at_once => bar.aside(|| sink.flush()),
            _ => sink.flush(),
        }
    }

    fn check(&mut self, result: &io::Result<()>) -> ControlFlow<Closed> {
        match result {
            Ok(()) => {}
            // Who that matters to depends on the command.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.closed = Some(Ended::Unread),
            Err(error) => {
                self.closed = Some(Ended::Badly);
                self.aside(|| complain(&format!("{}: {error}", self.sink.get_ref().name())));
            }
        }
        if self.closed.is_some() { ControlFlow::Break(Closed) } else { ControlFlow::Continue(()) }
    }

    /// A line on standard error about something that failed.
    pub(crate) fn fail(&mut self, message: &str) {
        self.failed = true;
        self.tell(message, complain);
    }

    /// What ends b3sum, after everything printed so far.
    pub(crate) fn end(&mut self, message: &str) {
        self.failed = true;
        self.tell(message, give_up);
    }

    /// A line on standard error, after everything printed so far.
    pub(crate) fn note(&mut self, message: &str) {
        self.tell(message, remark);
    }

    fn tell(&mut self, message: &str, say: fn(&str)) {
        // If that breaks, so does whatever is printed next, and `finish` tells.
        let _ = self.flush();
        self.aside(|| say(message));
    }

    fn aside(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.aside(say),
            None => say(),
        }
    }

    /// What the display is to be told, if there is one.
    pub(crate) fn job(&self) -> Option<Arc<Job>> {
        self.bar.as_ref().map(Bar::job)
    }

    /// What stands before and behind a word in this colour, in the output.
    pub(crate) fn ink(&self, ink: Ink) -> Strokes {
        match self.sink.get_ref() {
            Sink::Stdout(_) => ink.on_stdout(),
            Sink::File(_) => ink.strokes(false),
        }
    }

    /// Sends on everything and tells how that, and everything before, went.
    pub(crate) fn finish(mut self) -> Ended {
        if let Some(bar) = self.bar.take() {
            bar.finish();
        }
        // How it went is in `closed`.
        let _ = self.flush();
        // What could not be written has been complained about; dropping must not try again.
        if let (Sink::File(target), _) = self.sink.into_parts()
            && self.closed.is_none()
        {
            let name = target.name.clone();
            match target.finish() {
                Ok(finished) => remark_other_names(&name, finished),
                Err(error) => {
                    complain(&format!("{name}: {error}"));
                    return Ended::Badly;
                }
            }
        }
        match self.closed {
            _ if self.failed => Ended::Badly,
            Some(ended) => ended,
            None => Ended::Well,
        }
    }
}

impl Ended {
    /// The exit code of a command that only prints: with nobody to read, it ends as other programs do.
    pub(crate) fn code(self, well: u8, badly: u8) -> u8 {
        match self {
            Ended::Well => well,
            Ended::Badly => badly,
            Ended::Unread => os::end_unread(badly),
        }
    }

    /// The same for a command whose exit code is an answer: one that nobody read all of has failed, and says so.
    pub(crate) fn answer(self, well: u8, badly: u8) -> u8 {
        match self {
            Ended::Well => well,
            Ended::Badly => badly,
            Ended::Unread => {
                complain(&Unread.to_string());
                badly
            }
        }
    }
}

/// Prints text at once.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = Output::new();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Unread.into()),
        Err(error) => Err(anyhow::Error::new(error).context("standard output")),
        Ok(()) => Ok(()),
    }
}

/// Lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| digits(*byte).map(char::from)).collect()
}

/// Writes lowercase hexadecimal digits.
pub(crate) fn write_hex(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    // Pieces on the stack: there are many digests, and most have 32 bytes.
    for piece in bytes.chunks(32) {
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(piece) {
            *pair = digits(*byte);
        }
        out.write_all(&text[..2 * piece.len()])?;
    }
    Ok(())
}

/// Inlined, and without a closure that might not be: as calls they take three times the instructions, for each byte of each
/// digest.
#[inline]
fn digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]
}
