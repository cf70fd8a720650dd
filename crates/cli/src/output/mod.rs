//! Output of commands: standard output or a file, messages on standard error, and closed readers.

pub(crate) mod audit_output;
pub(crate) mod colour;
mod hex;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod quote;

pub(crate) use hex::{hex, write_hex};

use crate::os::{self, Output, TempFileGuard};
use crate::personality::Personality;
use anyhow::Context;
use colour::{EscapeCodes, TextStyle};
use hashmill_atomic_file::{Expected, Finished, Replacement};
use hashmill_files::FileId;
use hashmill_files::checksum_list::{LineTemplate, escape};
use progress::{Bar, ProgressState};
use quote::is_terminal_control;
use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Prints a line about a failure on standard error.
pub(crate) fn print_error(message: &str) {
    print_message(TextStyle::Failure, message);
}

/// Prints a line with a note or warning on standard error.
pub(crate) fn print_note(message: &str) {
    print_message(TextStyle::Warning, message);
}

fn print_message(style: TextStyle, message: &str) {
    let (begin, end) = style.on_stderr();
    write_stderr(&format!("{begin}{}:{end} {message}\n", Personality::current().name()));
}

/// Prints the error that ends b3sum, which leaves out the program name.
pub(crate) fn print_b3sum_error(message: &str) {
    write_stderr(&format!("Error: {message}\n"));
}

/// Prints a line for programs on standard error.
#[cfg(feature = "serve")]
pub(crate) fn print_stderr_line(line: &str) {
    write_stderr(&format!("{line}\n"));
}

/// Writes to standard error in one call: it is unbuffered, and other programs may write there too.
fn write_stderr(text: &str) {
    // A failure here cannot be reported anywhere.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// An error and its causes on one line. Leaves out a cause that the line already ends with.
pub(crate) fn error_chain(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if line.ends_with(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line
}

/// A path for a line on standard error, with escapes: a name with line ends must not look like two messages. Other
/// personalities write names as their programs do.
pub(crate) fn display_path(path: &Path) -> Cow<'_, str> {
    let name = path.to_string_lossy();
    match Personality::current() {
        // On a pipe or file, byte for byte as the real b3sum; on a terminal, escaped.
        Personality::B3sum if !io::stderr().is_terminal() => return name,
        Personality::Hashmill | Personality::B3sum => {}
        Personality::Gnu(_) => {
            let bytes = path.as_os_str().as_encoded_bytes();
            return Cow::Owned(quote::for_a_shell(bytes, has_utf8_locale()));
        }
    }
    if name.contains(is_terminal_control) { Cow::Owned(name.escape_debug().to_string()) } else { name }
}

/// A name in a line that is not a line of a list: escaped as in lists, and terminal control characters are escaped, too. A
/// leading backslash marks a name with escapes.
pub(crate) fn quoted_path(path: &Path) -> String {
    let (escaped, name) = escape(path.to_string_lossy());
    let escaped_name = quote::escape_controls(name.as_bytes());
    let mark = if escaped || escaped_name.is_some() { "\\" } else { "" };
    format!("{mark}{}", escaped_name.unwrap_or_else(|| name.into_owned()))
}

/// Whether the locale variables name UTF-8.
fn has_utf8_locale() -> bool {
    let mut values = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os);
    let locale = values.find(|value| !value.is_empty()).unwrap_or_default();
    let locale = locale.to_string_lossy().to_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Standard output accepts no more data. The command stops early, with its work incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StdoutClosed;

/// The reader of standard output closed it before the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output: its reader closed it before the end")
    }
}

impl std::error::Error for ReaderGone {}

/// An error that was already printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReportedError;

impl fmt::Display for ReportedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already reported")
    }
}

impl std::error::Error for ReportedError {}

/// End of a command.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CommandOutcome {
    Success,
    /// Something failed and was reported.
    Failure,
    /// Nothing failed, but the reader closed standard output.
    ReaderGone,
}

/// Prints a note if a replaced file had other names (hard links), which keep the old content.
pub(crate) fn note_other_names(name: &str, finished: Finished) {
    if let Some(message) = other_names_note(name, finished) {
        print_note(&message);
    }
}

/// The text of that note.
pub(crate) fn other_names_note(name: &str, finished: Finished) -> Option<String> {
    match finished.other_names {
        0 => None,
        1 => Some(format!("{name}: the file had another name (hard link), which keeps the old content")),
        more => {
            Some(format!("{name}: the file had {more} other names (hard links), which keep the old content"))
        }
    }
}

/// A file that is written instead of standard output.
pub(crate) struct OutputFile {
    name: String,
    file: OutputFileKind,
    /// The existing file that the new one replaces.
    existing: Option<FileId>,
    _temp_file: Option<TempFileGuard>,
}

/// Kinds of output files.
#[allow(clippy::large_enum_variant, reason = "a command has one, which is moved a few times")]
enum OutputFileKind {
    /// A file that is moved into place at the end, or a pipe or device.
    Replacement(Replacement),
    /// A descriptor that the program was started with.
    Descriptor(File),
}

impl OutputFile {
    /// Starts writing to a path; `None` if that is standard output.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Option<OutputFile>> {
        let name = display_path(path).into_owned();
        let existing = fs::metadata(path).ok();
        let (file, temp_file) = match os::output_descriptor(path) {
            Some(1) => return Ok(None),
            Some(descriptor) => {
                let file = os::duplicate(descriptor).with_context(|| name.clone())?;
                (OutputFileKind::Descriptor(file), None)
            }
            // Opening a pipe waits for its reader; signals end the program meanwhile.
            None if existing.as_ref().is_some_and(|existing| !existing.is_file()) => {
                let file = Replacement::begin_or_stream(path).with_context(|| name.clone())?;
                (OutputFileKind::Replacement(file), None)
            }
            None => {
                let created = TempFileGuard::create(|| Replacement::begin(path), Replacement::temporary_name);
                let (file, temp_file) = created.with_context(|| name.clone())?;
                (OutputFileKind::Replacement(file), temp_file)
            }
        };
        Ok(Some(OutputFile {
            name,
            file,
            existing: existing.as_ref().and_then(FileId::from_metadata),
            _temp_file: temp_file,
        }))
    }

    /// The files that this output is written to.
    pub(crate) fn ids(&self) -> impl Iterator<Item = FileId> {
        let metadata = match &self.file {
            OutputFileKind::Replacement(file) => file.metadata(),
            OutputFileKind::Descriptor(file) => file.metadata(),
        };
        metadata.ok().as_ref().and_then(FileId::from_metadata).into_iter().chain(self.existing)
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.file {
            OutputFileKind::Replacement(file) => file,
            OutputFileKind::Descriptor(file) => file,
        }
    }

    fn finish(self) -> Result<Finished, hashmill_atomic_file::Error> {
        match self.file {
            OutputFileKind::Replacement(file) => file.finish(Expected::Anything),
            OutputFileKind::Descriptor(_) => Ok(Finished::default()),
        }
    }
}

/// Destination of the output.
#[allow(clippy::large_enum_variant, reason = "a command has one, which is moved a few times")]
enum Sink {
    Stdout(Output),
    File(OutputFile),
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
    /// Flush after each print: standard output is a terminal.
    line_buffered: bool,
    bar: Option<Bar>,
    /// Why standard output accepts no more data, if so.
    closed: Option<CommandOutcome>,
    /// Something failed.
    pub(crate) failed: bool,
}

impl Out {
    pub(crate) fn new(bar: Option<Bar>) -> Out {
        let stdout = Output::new();
        let line_buffered = stdout.is_terminal();
        Out::to(Sink::Stdout(stdout), line_buffered, bar)
    }

    /// Output to a file. The file is created at the end, even if something failed.
    pub(crate) fn into_file(target: OutputFile, bar: Option<Bar>) -> Out {
        Out::to(Sink::File(target), false, bar)
    }

    fn to(sink: Sink, line_buffered: bool, bar: Option<Bar>) -> Out {
        Out {
            sink: BufWriter::with_capacity(64 * 1024, sink),
            line_buffered,
            bar,
            closed: None,
            failed: false,
        }
    }

    /// Runs `write` on the output. Breaks if the reader closed it or a write fails.
    pub(crate) fn print(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> ControlFlow<StdoutClosed> {
        let mut result = if self.closed.is_some() { Ok(()) } else { write(&mut self.sink) };
        if result.is_ok() && self.line_buffered {
            result = self.flush_sink();
        }
        self.check(&result)
    }

    /// A line of a list for printing: on a terminal, control characters in its name are escaped.
    pub(crate) fn escape_frame(&self, frame: LineTemplate) -> LineTemplate {
        if !self.line_buffered {
            return frame;
        }
        let LineTemplate { before, after } = frame;
        let (name, end) = after.split_at(after.len() - 1);
        let escaped = (quote::escape_controls(&before), quote::escape_controls(name));
        if let (None, None) = escaped {
            return LineTemplate { before, after };
        }
        let mut before = escaped.0.map_or(before, String::into_bytes);
        if before.first() != Some(&b'\\') {
            before.insert(0, b'\\');
        }
        let after = [escaped.1.as_deref().map_or(name, str::as_bytes), end].concat();
        LineTemplate { before, after }
    }

    /// A name for printing, escaped likewise.
    pub(crate) fn escape_name<'a>(&self, name: &'a [u8]) -> Cow<'a, [u8]> {
        match quote::escape_controls(name).filter(|_| self.line_buffered) {
            None => Cow::Borrowed(name),
            Some(escaped) if escaped.starts_with('\\') => Cow::Owned(escaped.into_bytes()),
            Some(escaped) => Cow::Owned(format!("\\{escaped}").into_bytes()),
        }
    }

    /// Writes out what has been printed.
    pub(crate) fn flush(&mut self) -> ControlFlow<StdoutClosed> {
        let result = self.flush_sink();
        self.check(&result)
    }

    fn flush_sink(&mut self) -> io::Result<()> {
        if self.closed.is_some() || self.sink.buffer().is_empty() {
            return Ok(());
        }
        let sink = &mut self.sink;
        match &self.bar {
            Some(bar) if self.line_buffered => bar.suspend(|| sink.flush()),
            _ => sink.flush(),
        }
    }

    fn check(&mut self, result: &io::Result<()>) -> ControlFlow<StdoutClosed> {
        match result {
            Ok(()) => {}
            // Whether this is a failure depends on the command.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = Some(CommandOutcome::ReaderGone);
            }
            Err(error) => {
                self.closed = Some(CommandOutcome::Failure);
                self.without_bar(|| print_error(&format!("{}: {error}", self.sink.get_ref().name())));
            }
        }
        if self.closed.is_some() { ControlFlow::Break(StdoutClosed) } else { ControlFlow::Continue(()) }
    }

    /// Prints a line about a failure on standard error, after everything printed so far.
    pub(crate) fn fail(&mut self, message: &str) {
        self.failed = true;
        self.print_message(message, print_error);
    }

    /// Prints the error that ends b3sum, after everything printed so far.
    pub(crate) fn fail_as_b3sum(&mut self, message: &str) {
        self.failed = true;
        self.print_message(message, print_b3sum_error);
    }

    /// Prints a note on standard error, after everything printed so far.
    pub(crate) fn note(&mut self, message: &str) {
        self.print_message(message, print_note);
    }

    fn print_message(&mut self, message: &str, print: fn(&str)) {
        // A failure here is kept in `closed`, and `finish` returns it.
        let _ = self.flush();
        self.without_bar(|| print(message));
    }

    fn without_bar(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// The state that the progress display shows, if there is a display.
    pub(crate) fn progress(&self) -> Option<Arc<ProgressState>> {
        self.bar.as_ref().map(Bar::state)
    }

    /// The escape codes before and after a word in this style.
    pub(crate) fn style(&self, style: TextStyle) -> EscapeCodes {
        match self.sink.get_ref() {
            Sink::Stdout(_) => style.on_stdout(),
            Sink::File(_) => style.escape_codes(false),
        }
    }

    /// Writes out everything and returns the outcome of the command.
    pub(crate) fn finish(mut self) -> CommandOutcome {
        if let Some(bar) = self.bar.take() {
            bar.finish();
        }
        // The result is kept in `closed`.
        let _ = self.flush();
        // A failed write was reported already; dropping the writer must not try again.
        if let (Sink::File(target), _) = self.sink.into_parts()
            && self.closed.is_none()
        {
            let name = target.name.clone();
            match target.finish() {
                Ok(finished) => note_other_names(&name, finished),
                Err(error) => {
                    print_error(&format!("{name}: {error}"));
                    return CommandOutcome::Failure;
                }
            }
        }
        match self.closed {
            _ if self.failed => CommandOutcome::Failure,
            Some(ended) => ended,
            None => CommandOutcome::Success,
        }
    }
}

impl CommandOutcome {
    /// The exit code of a command that only prints. With a closed reader it ends by SIGPIPE, as other programs do.
    pub(crate) fn exit_code(self, success: u8, failure: u8) -> u8 {
        match self {
            CommandOutcome::Success => success,
            CommandOutcome::Failure => failure,
            CommandOutcome::ReaderGone => os::exit_by_sigpipe(failure),
        }
    }

    /// The exit code of a command whose exit code is an answer. With a closed reader it has failed, with a message.
    pub(crate) fn answer_code(self, success: u8, failure: u8) -> u8 {
        match self {
            CommandOutcome::Success => success,
            CommandOutcome::Failure => failure,
            CommandOutcome::ReaderGone => {
                print_error(&ReaderGone.to_string());
                failure
            }
        }
    }
}

/// Prints text to standard output and flushes it.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = Output::new();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        Err(error) => Err(anyhow::Error::new(error).context("standard output")),
        Ok(()) => Ok(()),
    }
}
