//! Words: what goes to standard output and standard error, and what happens when nobody listens any more.

pub(crate) mod json;
pub(crate) mod progress;

use progress::Bar;
use std::borrow::Cow;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// The name in front of every line on standard error.
const NAME: &str = "hashmill";

/// One line on standard error.
pub(crate) fn complain(message: &str) {
    // In one piece: standard error has no buffer, and other programs may write there too.
    let line = format!("{NAME}: {message}\n");
    // If even that fails there is nobody left to tell.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// A path for a line on standard error. A name with line ends must not look like two messages.
pub(crate) fn shown(path: &Path) -> Cow<'_, str> {
    let name = path.to_string_lossy();
    if name.contains(char::is_control) { Cow::Owned(name.escape_debug().to_string()) } else { name }
}

/// Standard output and standard error of one command.
pub(crate) struct Out {
    stdout: BufWriter<Stdout>,
    at_once: bool,
    bar: Option<Bar>,
    /// Nothing more can be written to standard output.
    closed: bool,
    /// Something did not go well.
    pub(crate) failed: bool,
}

impl Out {
    pub(crate) fn new(bar: Option<Bar>) -> Out {
        let stdout = io::stdout();
        let at_once = stdout.is_terminal();
        Out {
            stdout: BufWriter::with_capacity(64 * 1024, stdout),
            at_once,
            bar,
            closed: false,
            failed: false,
        }
    }

    /// Runs `write` on standard output. Breaks if nobody reads what comes out, or if it cannot be written.
    pub(crate) fn print(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> ControlFlow<()> {
        let mut result = if self.closed { Ok(()) } else { write(&mut self.stdout) };
        if result.is_ok() && self.at_once {
            result = self.pour();
        }
        self.check(&result)
    }

    /// Sends on what has been printed.
    pub(crate) fn flush(&mut self) -> ControlFlow<()> {
        let result = self.pour();
        self.check(&result)
    }

    fn pour(&mut self) -> io::Result<()> {
        if self.closed || self.stdout.buffer().is_empty() {
            return Ok(());
        }
        let stdout = &mut self.stdout;
        match &self.bar {
            Some(bar) if self.at_once => bar.aside(|| stdout.flush()),
            _ => stdout.flush(),
        }
    }

    fn check(&mut self, result: &io::Result<()>) -> ControlFlow<()> {
        if let Err(error) = result {
            self.closed = true;
            // Whoever stops reading has read enough.
            if error.kind() != ErrorKind::BrokenPipe {
                self.failed = true;
                complain(&format!("standard output: {error}"));
            }
        }
        if self.closed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// A line on standard error about something that failed.
    pub(crate) fn fail(&mut self, message: &str) {
        self.failed = true;
        self.note(message);
    }

    /// A line on standard error, after everything printed so far.
    pub(crate) fn note(&mut self, message: &str) {
        // If that breaks, so does whatever is printed next.
        let _ = self.flush();
        match &self.bar {
            Some(bar) => bar.aside(|| complain(message)),
            None => complain(message),
        }
    }

    /// Sends on everything and tells whether all went well.
    pub(crate) fn finish(mut self) -> bool {
        if let Some(bar) = self.bar.take() {
            bar.finish();
        }
        let _ = self.flush();
        // What could not be written has been complained about; dropping must not try again.
        let _ = self.stdout.into_parts();
        !self.failed
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

fn digits(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 15].map(|nibble| b"0123456789abcdef"[usize::from(nibble)])
}
