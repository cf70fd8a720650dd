//! A line typed on the terminal and not shown. Whatever ends or stops the program meanwhile, the terminal is given back.

use hashmill_machine::SecretBytes;
use std::io::{self, ErrorKind};

#[cfg(unix)]
pub(crate) use unix::read_hidden;

#[cfg(unix)]
mod unix {
    use super::super::signals::{Hold, Kind, give_in};
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

    /// A line typed on the terminal, not shown and without its end: at most `most` bytes.
    ///
    /// A signal that ends the program finds the terminal as it was before. After one that stops it, the prompt is shown
    /// again and the line begins anew.
    pub(crate) fn read_hidden(prompt: &str, most: usize) -> io::Result<SecretBytes> {
        let terminal = terminal()?;
        let mut before = tcgetattr(&terminal)?;
        loop {
            // Changes nothing. But a program in the background stops here until it is brought to the front, and as
            // nothing is hidden yet, signals may have their way with it.
            set(&terminal, &before)?;
            let mut hold = Hold::all()?;
            let hidden = Hidden::on(&terminal, &before)?;
            // Only now, so that nothing typed after the prompt can be seen.
            (&terminal).write_all(prompt.as_bytes())?;
            let event = line(&terminal, &mut hold, most);
            (&terminal).write_all(b"\n")?;
            if let Event::Signal(..) = event {
                hidden.forget_keys();
            }
            drop(hidden);
            drop(hold);
            match event {
                Event::Line(line) => return line,
                // A shell may have changed the terminal meanwhile. What it was like before is known.
                Event::Signal(_, Kind::GoesOn) => {}
                Event::Signal(signal, Kind::Ends | Kind::Stops) => {
                    give_in(signal);
                    before = tcgetattr(&terminal)?;
                }
            }
        }
    }

    /// The terminal on standard input, else the one that the program belongs to.
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

    /// Whether this program may change the terminal without being stopped for it.
    #[expect(unsafe_code, reason = "a group without a number is none that a safe call returns")]
    fn in_front(terminal: &File) -> bool {
        // SAFETY: the call takes nothing and cannot fail.
        let own = unsafe { libc::getpgrp() };
        // A terminal that is not the session's own knows no front. A group that began outside of the container that
        // this runs in is 0, and in front of nobody who has a number.
        tcgetpgrp(terminal).map_or(true, |front| front.as_raw_pid() == own)
    }

    /// A terminal that shows nothing and hands over each key. Dropping this gives it back as it was, also when a panic
    /// passes.
    struct Hidden<'a> {
        terminal: &'a File,
        before: &'a Termios,
    }

    impl Hidden<'_> {
        fn on<'a>(terminal: &'a File, before: &'a Termios) -> io::Result<Hidden<'a>> {
            let hidden = Hidden { terminal, before };
            let mut modes = before.clone();
            modes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON;
            // A key that is a signal throws away what was typed before it, after `poll` has told of that, too: then there is
            // nothing to read, and a read that waited would not hear of the signal.
            modes.special_codes[SpecialCodeIndex::VMIN] = 0;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            set(terminal, &modes)?;
            Ok(hidden)
        }

        /// Drops what was typed and not yet read: a part of a password is nothing for whoever reads the terminal next.
        fn forget_keys(&self) {
            if in_front(self.terminal) {
                // It fails only if the terminal is gone.
                let _ = tcflush(self.terminal, QueueSelector::IFlush);
            }
        }
    }

    impl Drop for Hidden<'_> {
        fn drop(&mut self) {
            // In the background it belongs to somebody else, who has put it in order. Otherwise this fails only if the
            // terminal is gone.
            if in_front(self.terminal) {
                let _ = set(self.terminal, self.before);
            }
        }
    }

    enum Event {
        Line(io::Result<SecretBytes>),
        Signal(i32, Kind),
    }

    /// What comes first: the end of a line, or a signal.
    fn line(terminal: &File, hold: &mut Hold, most: usize) -> Event {
        let mut signal = None;
        let mut keys = std::iter::from_fn(|| {
            loop {
                signal = signal.or_else(|| hold.next());
                if signal.is_some() {
                    return None;
                }
                match key(terminal, hold) {
                    Ok(Key::Pressed(key)) => return Some(Ok(key)),
                    Ok(Key::None) => {}
                    Ok(Key::Gone) => return None,
                    Err(error) => return Some(Err(error)),
                }
            }
        });
        let line = edit_line(&mut keys, most);
        signal.map_or(Event::Line(line), |(signal, kind)| Event::Signal(signal, kind))
    }

    enum Key {
        Pressed(u8),
        /// Something else has happened.
        None,
        /// There will be no more.
        Gone,
    }

    /// Waits for a key or a signal. Byte by byte, as a buffer would keep a copy.
    fn key(mut terminal: &File, hold: &Hold) -> io::Result<Key> {
        let mut sources = [PollFd::new(terminal, PollFlags::IN), PollFd::new(hold.wakes(), PollFlags::IN)];
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
        fn a_panic_gives_the_terminal_back() {
            let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
            grantpt(&control).and_then(|()| unlockpt(&control)).expect("a terminal");
            let name = ptsname(&control, Vec::new()).expect("a terminal");
            let terminal = File::options().read(true).write(true).open(name.to_str().expect("a name"));
            let terminal = terminal.expect("a terminal");
            let before = tcgetattr(&terminal).expect("modes");
            let echo = || tcgetattr(&terminal).expect("modes").local_modes.contains(LocalModes::ECHO);
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let _hidden = Hidden::on(&terminal, &before).expect("a terminal");
                assert!(!echo());
                panic!("on purpose");
            }));
            assert!(panicked.is_err() && echo());
        }
    }
}

/// A line typed on the terminal, not shown and without its end: at most `most` bytes.
#[cfg(not(unix))]
pub(crate) fn read_hidden(prompt: &str, most: usize) -> io::Result<SecretBytes> {
    let typed = zeroize::Zeroizing::new(rpassword::prompt_password(prompt)?.into_bytes());
    if typed.len() > most { Err(too_long(most)) } else { SecretBytes::copied(&typed) }
}

/// The keys of a line: erase, erase all, end, interrupt. Other control characters, and what cursor keys send, are no
/// part of it.
#[cfg(any(unix, test))]
fn edit_line(typed: &mut impl Iterator<Item = io::Result<u8>>, most: usize) -> io::Result<SecretBytes> {
    let (mut line, mut len) = (SecretBytes::zeroed(most)?, 0);
    while let Some(byte) = typed.next() {
        match byte? {
            b'\n' | b'\r' => {
                line.truncate(len);
                return Ok(line);
            }
            0x03 => return Err(io::Error::new(ErrorKind::Interrupted, "interrupted")),
            0x04 if len == 0 => break,
            0x08 | 0x7f => {
                // A character of UTF-8 goes as a whole.
                while len > 0 {
                    len -= 1;
                    if line[len] & 0xc0 != 0x80 {
                        break;
                    }
                }
            }
            0x15 => len = 0,
            0x1b => skip_key(typed)?,
            byte if byte < 0x20 && byte != b'\t' => {}
            _ if len == most => return Err(too_long(most)),
            byte => {
                line[len] = byte;
                len += 1;
            }
        }
    }
    Err(io::Error::new(ErrorKind::UnexpectedEof, "nothing was typed"))
}

/// The rest of what a cursor key sends.
#[cfg(any(unix, test))]
fn skip_key(typed: &mut impl Iterator<Item = io::Result<u8>>) -> io::Result<()> {
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

fn too_long(most: usize) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("longer than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(typed: &[u8]) -> Result<Vec<u8>, ErrorKind> {
        let mut typed = typed.iter().map(|byte| Ok(*byte));
        edit_line(&mut typed, 8).map(|line| line.to_vec()).map_err(|error| error.kind())
    }

    #[test]
    fn keys_edit_the_line() {
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
