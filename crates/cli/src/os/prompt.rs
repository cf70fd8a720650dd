//! Prompt without echo. The terminal is restored even if a signal ends or stops the program.

use hashmill_machine::SecretBytes;
use std::io::{self, ErrorKind};

#[cfg(unix)]
pub(crate) use unix::read_hidden;

#[cfg(unix)]
mod unix {
    use super::super::signals::{SignalBlock, SignalEffect, deliver_signal};
    use super::edit_line;
    use hashmill_machine::SecretBytes;
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::{Errno, retry_on_intr};
    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetpgrp,
        tcsetattr,
    };
    use std::fs::File;
    use std::io::{self, ErrorKind, Read, Write};
    use zeroize::Zeroizing;

    /// Reads a line from the terminal without echo, at most `max_bytes` bytes, without its line end.
    ///
    /// Restores the terminal before a signal ends the program. After a stop, shows the prompt again and starts a new line.
    pub(crate) fn read_hidden(prompt: &str, max_bytes: usize) -> io::Result<SecretBytes> {
        let terminal = terminal()?;
        let mut before = tcgetattr(&terminal)?;
        loop {
            // Changes nothing. But a background process stops here until it is in the foreground, and as nothing is hidden
            // yet, signals may take effect.
            set(&terminal, &before)?;
            let mut signals = SignalBlock::all()?;
            let no_echo = NoEchoTerminal::on(&terminal, &before)?;
            // After echo is off, so that nothing typed after the prompt is shown.
            (&terminal).write_all(prompt.as_bytes())?;
            let event = read_line(&terminal, &mut signals, max_bytes);
            (&terminal).write_all(b"\n")?;
            if let Event::Signal(..) = event {
                no_echo.discard_input();
            }
            drop(no_echo);
            drop(signals);
            match event {
                Event::Line(line) => return line,
                // A shell may have changed the terminal meanwhile; `before` is still right.
                Event::Signal(_, SignalEffect::Continues) => {}
                Event::Signal(signal, SignalEffect::Ends | SignalEffect::Stops) => {
                    deliver_signal(signal);
                    before = tcgetattr(&terminal)?;
                }
            }
        }
    }

    /// The terminal on standard input, else the controlling terminal.
    fn terminal() -> io::Result<File> {
        use std::os::unix::ffi::OsStrExt;
        let stdin = rustix::stdio::stdin();
        let path = match rustix::termios::ttyname(stdin, Vec::new()) {
            Ok(name) => std::ffi::OsStr::from_bytes(name.as_bytes()).to_owned(),
            Err(_) => "/dev/tty".into(),
        };
        File::options().read(true).write(true).open(path)
    }

    fn set(terminal: &File, modes: &Termios) -> io::Result<()> {
        Ok(retry_on_intr(|| tcsetattr(terminal, OptionalActions::Now, modes))?)
    }

    /// Whether this process may change the terminal without being stopped.
    #[expect(unsafe_code, reason = "the safe call cannot return a process group of 0")]
    fn is_foreground(terminal: &File) -> bool {
        // SAFETY: the call takes nothing and cannot fail.
        let own = unsafe { libc::getpgrp() };
        // A terminal that is not the controlling one has no foreground group. A group from outside this container is
        // reported as 0 and never equal to our own.
        tcgetpgrp(terminal).map_or(true, |foreground| foreground.as_raw_pid() == own)
    }

    /// A terminal without echo and line buffering. Dropping it restores the terminal, also during a panic.
    struct NoEchoTerminal<'a> {
        terminal: &'a File,
        before: &'a Termios,
    }

    impl NoEchoTerminal<'_> {
        fn on<'a>(terminal: &'a File, before: &'a Termios) -> io::Result<NoEchoTerminal<'a>> {
            let no_echo = NoEchoTerminal { terminal, before };
            let mut modes = before.clone();
            modes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON;
            // A signal key discards input typed before it, even after `poll` reported that input. A read must not block then,
            // as it would miss the signal.
            modes.special_codes[SpecialCodeIndex::VMIN] = 0;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            set(terminal, &modes)?;
            Ok(no_echo)
        }

        /// Discards typed input that was not read: the next reader of the terminal must not get part of a password.
        fn discard_input(&self) {
            if is_foreground(self.terminal) {
                // Fails only if the terminal is gone.
                let _ = tcflush(self.terminal, QueueSelector::IFlush);
            }
        }
    }

    impl Drop for NoEchoTerminal<'_> {
        fn drop(&mut self) {
            // In the background the terminal belongs to another process group, which has set it. Otherwise this fails only if
            // the terminal is gone.
            if is_foreground(self.terminal) {
                let _ = set(self.terminal, self.before);
            }
        }
    }

    enum Event {
        Line(io::Result<SecretBytes>),
        Signal(i32, SignalEffect),
    }

    /// Reads until the end of a line or a signal.
    fn read_line(terminal: &File, signals: &mut SignalBlock, max_bytes: usize) -> Event {
        let mut signal = None;
        let mut keys = std::iter::from_fn(|| {
            loop {
                signal = signal.or_else(|| signals.next());
                if signal.is_some() {
                    return None;
                }
                match read_key(terminal, signals) {
                    Ok(Key::Pressed(key)) => return Some(Ok(key)),
                    Ok(Key::None) => {}
                    Ok(Key::Gone) => return None,
                    Err(error) => return Some(Err(error)),
                }
            }
        });
        let line = edit_line(&mut keys, max_bytes);
        signal.map_or(Event::Line(line), |(signal, effect)| Event::Signal(signal, effect))
    }

    enum Key {
        Pressed(u8),
        /// No key yet.
        None,
        /// The terminal is gone.
        Gone,
    }

    /// Waits for a key or a signal. Reads single bytes, as a buffer would keep a copy.
    fn read_key(mut terminal: &File, signals: &SignalBlock) -> io::Result<Key> {
        let mut sources =
            [PollFd::new(terminal, PollFlags::IN), PollFd::new(signals.wake_stream(), PollFlags::IN)];
        match poll(&mut sources, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Key::None),
            Err(error) => return Err(error.into()),
        }
        if sources[0].revents().is_empty() || !sources[1].revents().is_empty() {
            return Ok(Key::None);
        }
        let mut byte = Zeroizing::new([0]);
        match terminal.read(&mut *byte) {
            Ok(0) if sources[0].revents().contains(PollFlags::HUP) => Ok(Key::Gone),
            Ok(0) => Ok(Key::None),
            Ok(_) => Ok(Key::Pressed(byte[0])),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(Key::None),
            Err(error) => Err(error),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        use std::panic::{AssertUnwindSafe, catch_unwind};

        #[test]
        fn panic_restores_the_terminal() {
            let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
            grantpt(&control).and_then(|()| unlockpt(&control)).expect("a terminal");
            let name = ptsname(&control, Vec::new()).expect("a terminal");
            let terminal = File::options().read(true).write(true).open(name.to_str().expect("a name"));
            let terminal = terminal.expect("a terminal");
            let before = tcgetattr(&terminal).expect("modes");
            let echo = || tcgetattr(&terminal).expect("modes").local_modes.contains(LocalModes::ECHO);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let _no_echo = NoEchoTerminal::on(&terminal, &before).expect("a terminal");
                assert!(!echo());
                panic!("on purpose");
            }));
            assert!(panicked.is_err() && echo());
        }
    }
}

/// Reads a line from the terminal without echo, at most `max_bytes` bytes, without its line end.
#[cfg(not(unix))]
pub(crate) fn read_hidden(prompt: &str, max_bytes: usize) -> io::Result<SecretBytes> {
    let typed = zeroize::Zeroizing::new(rpassword::prompt_password(prompt)?.into_bytes());
    if typed.len() > max_bytes { Err(too_long(max_bytes)) } else { SecretBytes::copied(&typed) }
}

/// Applies editing keys to a line: erase, erase all, end, interrupt. Ignores other control characters and cursor keys.
#[cfg(any(unix, test))]
fn edit_line(typed: &mut impl Iterator<Item = io::Result<u8>>, max_bytes: usize) -> io::Result<SecretBytes> {
    let (mut line, mut len) = (SecretBytes::zeroed(max_bytes)?, 0);
    while let Some(byte) = typed.next() {
        match byte? {
            b'\n' | b'\r' => {
                line.truncate(len);
                return Ok(line);
            }
            0x03 => return Err(io::Error::new(ErrorKind::Interrupted, "interrupted")),
            0x04 if len == 0 => break,
            0x08 | 0x7f => {
                // Erase a whole UTF-8 character.
                while len > 0 {
                    len -= 1;
                    if line[len] & 0xc0 != 0x80 {
                        break;
                    }
                }
            }
            0x15 => len = 0,
            0x1b => skip_escape_sequence(typed)?,
            byte if byte < 0x20 && byte != b'\t' => {}
            _ if len == max_bytes => return Err(too_long(max_bytes)),
            byte => {
                line[len] = byte;
                len += 1;
            }
        }
    }
    Err(io::Error::new(ErrorKind::UnexpectedEof, "nothing was typed"))
}

/// Skips the rest of an escape sequence.
#[cfg(any(unix, test))]
fn skip_escape_sequence(typed: &mut impl Iterator<Item = io::Result<u8>>) -> io::Result<()> {
    if !matches!(typed.next().transpose()?, Some(b'[' | b'O')) {
        return Ok(());
    }
    while let Some(byte) = typed.next().transpose()? {
        if (0x40..=0x7e).contains(&byte) {
            break;
        }
    }
    Ok(())
}

fn too_long(max_bytes: usize) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("longer than {max_bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(typed: &[u8]) -> Result<Vec<u8>, ErrorKind> {
        let mut typed = typed.iter().map(|byte| Ok(*byte));
        edit_line(&mut typed, 8).map(|line| line.to_vec()).map_err(|error| error.kind())
    }

    #[test]
    fn applies_editing_keys() {
        for (typed, line) in [
            (&b"abc\n"[..], &b"abc"[..]),
            (b"abc\rdef", b"abc"),
            (b"\n", b""),
            (b"abx\x7fc\n", b"abc"),
            (b"\x7f\x08a\n", b"a"),
            ("aé\x7fb\n".as_bytes(), b"ab"),
            (b"wrong\x15abc\n", b"abc"),
            (b"a\x1b[Ab\x1bOPc\x1b[1;5D\n", b"abc"),
            (b"a\x01\x1a\tb\n", b"a\tb"),
            (b"a\x04b\n", b"ab"),
            (b"\xff\xfe\n", b"\xff\xfe"),
            (b"12345678\n", b"12345678"),
        ] {
            assert_eq!(edited(typed).as_deref(), Ok(line), "{typed:?}");
        }
        assert_eq!(edited(b"123456789\n"), Err(ErrorKind::InvalidInput));
        assert_eq!(edited(b"abc\x03"), Err(ErrorKind::Interrupted));
        assert_eq!(edited(b"\x04"), Err(ErrorKind::UnexpectedEof));
        assert_eq!(edited(b"abc"), Err(ErrorKind::UnexpectedEof), "the terminal went away");
    }
}
