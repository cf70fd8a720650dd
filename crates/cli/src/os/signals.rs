//! Signals that end or stop the program while the terminal or a file has to be put in order first.
//!
//! A [`SignalBlock`] records signals instead of letting them take effect. When the terminal is restored, the recorded signal is
//! delivered with its default action, so that a shell sees how the program ended or stopped. Without a block, signals take effect
//! at once. Signals that the parent process set to ignored are never blocked and stay ignored.

#[cfg(unix)]
pub(crate) use unix::{
    SignalBlock, SignalEffect, deliver_signal, exit_by_sigpipe, keep_on_signal, remove_on_signal,
};
#[cfg(not(unix))]
pub(crate) use without::{SignalBlock, deliver_signal, exit_by_sigpipe};

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

    /// Signals that end an interactive program.
    const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

    /// The effect of a signal on the program.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum SignalEffect {
        Ends,
        Stops,
        /// Continues after a stop from outside.
        Continues,
    }

    /// The signals that are not ignored. `nohup` ignores some, and a shell without job control does so for background processes.
    fn not_ignored(signals: &[i32]) -> io::Result<Vec<i32>> {
        let mut selected = Vec::with_capacity(signals.len());
        for signal in signals {
            if !is_ignored(*signal)? {
                selected.push(*signal);
            }
        }
        Ok(selected)
    }

    #[expect(unsafe_code, reason = "the only way to ask what a signal does")]
    fn is_ignored(signal: i32) -> io::Result<bool> {
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: a null action changes nothing, and the result is written to valid memory.
        if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has succeeded, so it has written the action.
        Ok(unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN)
    }

    /// Flag that an installed handler reads: whether its signals take effect at once. Handlers stay installed.
    struct ImmediateFlag(Arc<AtomicBool>);

    impl ImmediateFlag {
        fn install(signals: &[i32]) -> io::Result<ImmediateFlag> {
            let flag = Arc::new(AtomicBool::new(true));
            for signal in not_ignored(signals)? {
                register_conditional_default(signal, Arc::clone(&flag))?;
            }
            Ok(ImmediateFlag(flag))
        }

        /// Sets the flag and returns its previous value.
        fn set(&self, immediate: bool) -> bool {
            self.0.swap(immediate, Ordering::SeqCst)
        }
    }

    static ENDS: Mutex<Option<&'static ImmediateFlag>> = Mutex::new(None);
    static STOPS: Mutex<Option<&'static ImmediateFlag>> = Mutex::new(None);

    /// Installs the handlers for some signals the first time. They live as long as the program.
    fn installed(
        slot: &Mutex<Option<&'static ImmediateFlag>>,
        signals: &[i32],
    ) -> io::Result<&'static ImmediateFlag> {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match *slot {
            Some(flag) => Ok(flag),
            None => Ok(*slot.insert(Box::leak(Box::new(ImmediateFlag::install(signals)?)))),
        }
    }

    /// Blocks signals. Dropping it unblocks them and delivers those that came meanwhile, unless an earlier block still exists.
    pub(crate) struct SignalBlock {
        delivery: SignalDelivery<UnixStream, SignalOnly>,
        /// Each flag with its previous value.
        flags: Vec<(&'static ImmediateFlag, bool)>,
    }

    impl SignalBlock {
        /// Blocks signals that end the program.
        pub(crate) fn ending() -> io::Result<SignalBlock> {
            SignalBlock::with(&ENDING, vec![installed(&ENDS, &ENDING)?])
        }

        /// Blocks signals that end or stop the program, and records when it continues.
        pub(crate) fn all() -> io::Result<SignalBlock> {
            let flags = vec![installed(&ENDS, &ENDING)?, installed(&STOPS, &[SIGTSTP])?];
            SignalBlock::with(&[&ENDING[..], &[SIGTSTP, SIGCONT]].concat(), flags)
        }

        fn with(signals: &[i32], flags: Vec<&'static ImmediateFlag>) -> io::Result<SignalBlock> {
            let (read, write) = UnixStream::pair()?;
            let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, not_ignored(signals)?)?;
            let flags = flags.into_iter().map(|flag| (flag, flag.set(false))).collect();
            Ok(SignalBlock { delivery, flags })
        }

        /// The stream that becomes readable when a signal comes.
        pub(crate) fn wake_stream(&self) -> &UnixStream {
            self.delivery.get_read()
        }

        /// The next recorded signal and its effect.
        pub(crate) fn next(&mut self) -> Option<(i32, SignalEffect)> {
            let signal = self.delivery.pending().next()?;
            let effect = match signal {
                SIGTSTP => SignalEffect::Stops,
                SIGCONT => SignalEffect::Continues,
                _ => SignalEffect::Ends,
            };
            Some((signal, effect))
        }

        /// The next recorded signal if it ends the program, unless an earlier block handles it.
        pub(crate) fn next_ending(&mut self) -> Option<i32> {
            let (signal, effect) = self.next()?;
            (self.is_first() && effect == SignalEffect::Ends).then_some(signal)
        }

        fn is_first(&self) -> bool {
            self.flags.iter().all(|(_, was_immediate)| *was_immediate)
        }
    }

    impl Drop for SignalBlock {
        fn drop(&mut self) {
            for (flag, was_immediate) in &self.flags {
                flag.set(*was_immediate);
            }
            if !self.is_first() {
                return;
            }
            while let Some((signal, effect)) = self.next() {
                if effect != SignalEffect::Continues {
                    deliver_signal(signal);
                }
            }
        }
    }

    /// Files to remove before a signal ends the program.
    static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

    /// Registers a file to be removed when a blocked signal ends the program.
    pub(crate) fn remove_on_signal(path: &Path) {
        FILES.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }

    /// Unregisters the file.
    pub(crate) fn keep_on_signal(path: &Path) {
        FILES.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != path);
    }

    /// Delivers a blocked signal with its default action. Returns only after a stop.
    pub(crate) fn deliver_signal(signal: i32) {
        if ENDING.contains(&signal) {
            for path in FILES.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                let _ = fs::remove_file(path);
            }
        }
        emulate_default_handler(signal).expect("every blocked signal has a default action");
    }

    /// Ends the program by SIGPIPE, as programs end whose reader is gone. Returns the exit code if that fails.
    pub(crate) fn exit_by_sigpipe(code: u8) -> u8 {
        // Rust's runtime ignores SIGPIPE, so it did not end the program by itself.
        emulate_default_handler(SIGPIPE).map_or(code, |()| code)
    }
}

#[cfg(not(unix))]
mod without {
    use std::io;

    /// On other systems a program cannot act before it ends.
    pub(crate) struct SignalBlock;

    impl SignalBlock {
        pub(crate) fn ending() -> io::Result<SignalBlock> {
            Ok(SignalBlock)
        }

        pub(crate) fn next(&mut self) -> Option<(i32, ())> {
            None
        }

        pub(crate) fn next_ending(&mut self) -> Option<i32> {
            None
        }
    }

    pub(crate) fn deliver_signal(_: i32) {}

    /// There is no such signal; the exit code tells.
    pub(crate) fn exit_by_sigpipe(code: u8) -> u8 {
        code
    }
}
