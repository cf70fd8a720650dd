//! Signals that end or stop the program while something on the terminal has to be put in order first.
//!
//! Whoever draws or hides something holds signals: they are only remembered, and take effect when the terminal is as it
//! was. The program then ends, or stops, by that very signal, so that a shell knows. At all other times signals take effect
//! at once, as in any program. What whoever started the program told it to ignore is never held, and stays ignored.

#[cfg(unix)]
pub(crate) use unix::{Hold, Kind, end_unread, give_in, spare, take_away};
#[cfg(not(unix))]
pub(crate) use without::{Hold, end_unread, give_in};

#[cfg(unix)]
mod unix {
    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP};
    use signal_hook::flag::register_conditional_default;
    use signal_hook::iterator::backend::SignalDelivery;
    use signal_hook::iterator::exfiltrator::SignalOnly;
    use signal_hook::low_level::emulate_default_handler;
    use std::fs;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::ptr;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    /// What ends a program that somebody sits before.
    const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

    /// What a signal does to the program.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Kind {
        Ends,
        Stops,
        /// It was stopped from outside, and goes on.
        GoesOn,
    }

    /// Those of some signals that are not ignored, as by `nohup`, or by a shell without jobs for what runs in the background.
    fn heeded(signals: &[i32]) -> io::Result<Vec<i32>> {
        let mut heeded = Vec::with_capacity(signals.len());
        for signal in signals {
            if !is_ignored(*signal)? {
                heeded.push(*signal);
            }
        }
        Ok(heeded)
    }

    #[expect(unsafe_code, reason = "the only way to ask what a signal does")]
    fn is_ignored(signal: i32) -> io::Result<bool> {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: changes nothing, and writes to a place that is there for it.
        if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has succeeded, so it has written the action.
        Ok(unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN)
    }

    /// Whether a kind of signal takes effect at once. A handler, once installed, stays: from then on it asks here.
    struct AtOnce(Arc<AtomicBool>);

    impl AtOnce {
        fn over(signals: &[i32]) -> io::Result<AtOnce> {
            let flag = Arc::new(AtomicBool::new(true));
            for signal in heeded(signals)? {
                register_conditional_default(signal, Arc::clone(&flag))?;
            }
            Ok(AtOnce(flag))
        }

        /// Says so, and how it was before.
        fn set(&self, at_once: bool) -> bool {
            self.0.swap(at_once, Ordering::SeqCst)
        }
    }

    static ENDS: Mutex<Option<&'static AtOnce>> = Mutex::new(None);
    static STOPS: Mutex<Option<&'static AtOnce>> = Mutex::new(None);

    /// Installs the handlers for some signals the first time. They live as long as the program.
    fn installed(place: &Mutex<Option<&'static AtOnce>>, signals: &[i32]) -> io::Result<&'static AtOnce> {
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        match *place {
            Some(there) => Ok(there),
            None => Ok(*place.insert(Box::leak(Box::new(AtOnce::over(signals)?)))),
        }
    }

    /// Signals that are held back. Dropping this lets them through again, with those that came meanwhile; where somebody else
    /// holds them too, that is left to whoever was first.
    pub(crate) struct Hold {
        delivery: SignalDelivery<UnixStream, SignalOnly>,
        /// And how each was before.
        kinds: Vec<(&'static AtOnce, bool)>,
    }

    impl Hold {
        /// Holds back what would end the program.
        pub(crate) fn ending() -> io::Result<Hold> {
            Hold::of(&ENDING, vec![installed(&ENDS, &ENDING)?])
        }

        /// Holds back what would end or stop the program, and hears when it goes on.
        pub(crate) fn all() -> io::Result<Hold> {
            let at_once = vec![installed(&ENDS, &ENDING)?, installed(&STOPS, &[SIGTSTP])?];
            Hold::of(&[&ENDING[..], &[SIGTSTP, SIGCONT]].concat(), at_once)
        }

        fn of(signals: &[i32], kinds: Vec<&'static AtOnce>) -> io::Result<Hold> {
            let (read, write) = UnixStream::pair()?;
            let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, heeded(signals)?)?;
            let kinds = kinds.into_iter().map(|kind| (kind, kind.set(false))).collect();
            Ok(Hold { delivery, kinds })
        }

        /// What becomes readable when a signal has come.
        pub(crate) fn wakes(&self) -> &UnixStream {
            self.delivery.get_read()
        }

        /// The next signal that came, and what it does.
        pub(crate) fn next(&mut self) -> Option<(i32, Kind)> {
            let signal = self.delivery.pending().next()?;
            let kind = match signal {
                SIGTSTP => Kind::Stops,
                SIGCONT => Kind::GoesOn,
                _ => Kind::Ends,
            };
            Some((signal, kind))
        }

        /// A signal that came and ends the program, unless that is somebody else's to see to.
        pub(crate) fn ends(&mut self) -> Option<i32> {
            let (signal, kind) = self.next()?;
            (self.is_first() && kind == Kind::Ends).then_some(signal)
        }

        fn is_first(&self) -> bool {
            self.kinds.iter().all(|(_, at_once)| *at_once)
        }
    }

    impl Drop for Hold {
        fn drop(&mut self) {
            for (kind, at_once) in &self.kinds {
                kind.set(*at_once);
            }
            if !self.is_first() {
                return;
            }
            while let Some((signal, kind)) = self.next() {
                if kind != Kind::GoesOn {
                    give_in(signal);
                }
            }
        }
    }

    /// Files that go before the program does.
    static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

    /// Has a file taken away when a signal that was held ends the program.
    pub(crate) fn take_away(path: &Path) {
        FILES.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }

    /// Leaves it where it is.
    pub(crate) fn spare(path: &Path) {
        FILES.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != path);
    }

    /// Lets a signal that was held have its effect. Comes back only from a stop.
    pub(crate) fn give_in(signal: i32) {
        if ENDING.contains(&signal) {
            for path in FILES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                let _ = fs::remove_file(path);
            }
        }
        emulate_default_handler(signal).expect("every signal that is held has a known effect");
    }

    /// Ends as every program ends whose output nobody reads any more: by the signal for it. Where it cannot, gives the exit
    /// code back.
    pub(crate) fn end_unread(code: u8) -> u8 {
        // The runtime of Rust ignores this signal, so it has not come by itself.
        emulate_default_handler(SIGPIPE).map_or(code, |()| code)
    }
}

#[cfg(not(unix))]
mod without {
    use std::io;

    /// Elsewhere nothing can be done before a program ends.
    pub(crate) struct Hold;

    impl Hold {
        pub(crate) fn ending() -> io::Result<Hold> {
            Ok(Hold)
        }

        pub(crate) fn next(&mut self) -> Option<(i32, ())> {
            None
        }

        pub(crate) fn ends(&mut self) -> Option<i32> {
            None
        }
    }

    pub(crate) fn give_in(_: i32) {}

    /// There is no signal for it: the exit code says it.
    pub(crate) fn end_unread(code: u8) -> u8 {
        code
    }
}
