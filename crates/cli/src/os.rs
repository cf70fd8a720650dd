//! What differs by operating system: page sizes, what the kernel says about huge pages, terminals, signals, file
//! descriptors.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::time::Duration;
use zeroize::Zeroizing;

/// The size of a page of memory, where the system tells.
#[cfg(unix)]
pub(crate) fn page_size() -> Option<usize> {
    Some(rustix::param::page_size())
}

/// The size of a page of memory, where the system tells.
#[cfg(not(unix))]
pub(crate) fn page_size() -> Option<usize> {
    None
}

/// The sizes of huge pages that can be reserved, in bytes, and how many of each are.
pub(crate) fn huge_pages() -> Vec<(u64, u64)> {
    let Ok(sizes) = std::fs::read_dir("/sys/kernel/mm/hugepages") else { return Vec::new() };
    let size = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let reserved = std::fs::read_to_string(entry.path().join("nr_hugepages")).ok()?;
        Some((kib * 1024, reserved.trim().parse().ok()?))
    };
    let mut sizes: Vec<_> = sizes.filter_map(size).collect();
    sizes.sort_unstable();
    sizes
}

/// Whether memory gets huge pages without asking: `always`, `madvise` or `never`.
pub(crate) fn transparent_huge_pages() -> Option<String> {
    let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// A line typed on the terminal, not shown and without its end: at most `most` bytes.
#[cfg(unix)]
pub(crate) fn read_hidden(prompt: &str, most: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
    use std::io::Write;

    /// Gives the terminal back as it was.
    struct Restore<'a>(&'a File, Termios);

    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            let _ = tcsetattr(self.0, OptionalActions::Now, &self.1);
        }
    }

    let terminal = terminal()?;
    let before = tcgetattr(&terminal)?;
    let mut hidden = before.clone();
    // Without signals by key: a program that dies of one would leave the terminal mute.
    hidden.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG;
    let restore = Restore(&terminal, before);
    tcsetattr(&terminal, OptionalActions::Now, &hidden)?;
    // Only now, so that nothing typed after the prompt can be seen.
    (&terminal).write_all(prompt.as_bytes())?;
    // Byte by byte, as a buffer would keep a copy.
    #[expect(clippy::unbuffered_bytes)]
    let typed = edit_line(&mut (&terminal).bytes(), most);
    (&terminal).write_all(b"\n")?;
    drop(restore);
    typed
}

/// The terminal on standard input, else the one that the program belongs to.
#[cfg(unix)]
fn terminal() -> io::Result<File> {
    use std::os::unix::ffi::OsStrExt;
    let stdin = rustix::stdio::stdin();
    let path = match rustix::termios::ttyname(stdin, Vec::new()) {
        Ok(name) => std::ffi::OsStr::from_bytes(name.as_bytes()).to_owned(),
        Err(_) => "/dev/tty".into(),
    };
    File::options().read(true).write(true).open(path)
}

/// A line typed on the terminal, not shown and without its end: at most `most` bytes.
#[cfg(not(unix))]
pub(crate) fn read_hidden(prompt: &str, most: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    let typed = Zeroizing::new(rpassword::prompt_password(prompt)?.into_bytes());
    if typed.len() > most { Err(too_long(most)) } else { Ok(typed) }
}

/// The keys of a line: erase, erase all, end, interrupt. Other control characters, and what cursor keys send, are no
/// part of it.
#[cfg(any(unix, test))]
fn edit_line(
    typed: &mut impl Iterator<Item = io::Result<u8>>,
    most: usize,
) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut line = Zeroizing::new(Vec::with_capacity(most));
    while let Some(byte) = typed.next() {
        match byte? {
            b'\n' | b'\r' => return Ok(line),
            0x03 => return Err(io::Error::new(ErrorKind::Interrupted, "interrupted")),
            0x04 if line.is_empty() => break,
            0x08 | 0x7f => {
                // A character of UTF-8 goes as a whole.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            0x15 => line.clear(),
            0x1b => skip_key(typed)?,
            byte if byte < 0x20 && byte != b'\t' => {}
            _ if line.len() == most => return Err(too_long(most)),
            byte => line.push(byte),
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

/// From now on, whoever ends this program by Ctrl-C or asks it to end has `tidy` run first. It then ends of the signal as
/// any other, so that a shell knows.
#[cfg(unix)]
pub(crate) fn before_signals(tidy: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::{iterator::Signals, low_level::emulate_default_handler};

    // Without it, the program ends all the same, and less tidily.
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for signal in signals.forever() {
            tidy();
            let _ = emulate_default_handler(signal);
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}

/// Elsewhere nothing can be done before a program ends.
#[cfg(not(unix))]
pub(crate) fn before_signals(_: impl Fn() + Send + 'static) {}

/// Opens a file descriptor that the program was started with.
#[cfg(unix)]
pub(crate) fn open_fd(number: u32) -> io::Result<File> {
    File::open(format!("/dev/fd/{number}"))
}

/// Opens a file descriptor that the program was started with.
#[cfg(not(unix))]
pub(crate) fn open_fd(_: u32) -> io::Result<File> {
    Err(io::Error::new(ErrorKind::Unsupported, "file descriptors have no names on this system"))
}

/// The processor time that this program has used so far, where the system tells.
#[cfg(unix)]
pub(crate) fn cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

/// The processor time that this program has used so far, where the system tells.
#[cfg(not(unix))]
pub(crate) fn cpu_time() -> Option<Duration> {
    None
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
