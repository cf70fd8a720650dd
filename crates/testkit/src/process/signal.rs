//! Signals of this process and its child processes, and the descriptors that these inherit.
#![expect(unsafe_code, reason = "a handler for a signal, and flags of descriptors by number")]

use std::sync::atomic::{AtomicUsize, Ordering};

static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Counts bus errors from now on, instead of ending the process.
///
/// # Panics
/// If the system refuses.
pub fn count_bus_errors() {
    // SAFETY: the structure is plain data for which zeros are valid; the handler has the signature of one without
    // SA_SIGINFO and touches an atomic only.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as usize;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    };
    assert_eq!(result, 0, "a handler for SIGBUS");
}

/// Number of signals handled.
pub fn bus_errors() -> usize {
    HANDLED.load(Ordering::SeqCst)
}

/// Sends one that belongs to no memory.
pub fn raise_bus_error() {
    // SAFETY: a plain call; it returns when the handler has run on this thread.
    unsafe { libc::raise(libc::SIGBUS) };
}

/// Restores the default action of terminating signals for this process and its children: the parent may have ignored them, as
/// `nohup` does.
///
/// # Panics
/// If the system refuses.
pub fn heed() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: a plain system call; the default is no handler of ours.
        let before = unsafe { libc::signal(signal, libc::SIG_DFL) };
        assert_ne!(before, libc::SIG_ERR, "the default of signal {signal}");
    }
}

/// Kills the child processes of this process, and theirs, as far as Linux lists them.
pub fn kill_children() {
    children(std::process::id()).into_iter().for_each(kill_tree);
}

fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Kills a process and its child processes. It is stopped before they are listed: a process that runs may start one in between,
/// which then outlives it.
fn kill_tree(process: u32) {
    let Ok(id) = libc::pid_t::try_from(process) else { return };
    // SAFETY: a plain system call about a process that this one has started.
    let send = |signal| unsafe { libc::kill(id, signal) };
    send(libc::SIGSTOP);
    // Threads that start a child at the moment come to the end of that first. A process that does not stop is killed all the same.
    for _ in 0..1000 {
        if !runs(process) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    children(process).into_iter().for_each(kill_tree);
    send(libc::SIGKILL);
}

/// Whether a process is neither stopped nor at its end.
fn runs(process: u32) -> bool {
    // The name before the state may have any characters.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !['T', 't', 'Z', 'X'].contains(&state))
}

/// From now on child processes get no descriptor beyond the three standard ones that this process got from its parent: a test
/// that says what a closed descriptor means must not depend on what the caller of the tests has open. The standard library gives
/// none of its own to child processes.
pub fn keep_descriptors() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let entries = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
        let numbers: Vec<libc::c_int> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        for number in numbers.into_iter().filter(|number| *number > 2) {
            // SAFETY: a flag of a descriptor by its number; that of the folder, which is closed by now, is an error.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    });
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A shell is killed at a random moment while it starts children. Each holds a pipe open, which ends with the last of them.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_child_outlives_a_tree_that_is_killed() {
        let mut rng = crate::inputs::rng::Rng::new(40);
        // A tree that was not stopped first left a child in one of 200 rounds.
        for _ in 0..crate::size::of(20, 400) {
            let mut shell = Command::new("sh");
            shell.args(["-c", "i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i + 1)); done; wait"]);
            let mut running =
                crate::process::wait::start(shell.stdout(std::process::Stdio::piped())).expect("a shell");
            std::thread::sleep(std::time::Duration::from_micros(rng.below(20_000) as u64));
            kill_tree(running.id());
            let mut out = running.stdout.take().expect("a pipe");
            let _limit = crate::process::wait::limit("the end of all children");
            assert_eq!(std::io::copy(&mut out, &mut std::io::sink()).expect("a pipe"), 0);
        }
    }

    /// Whether a child process has the descriptor 9.
    fn is_inherited() -> bool {
        let mut shell = Command::new("sh");
        crate::process::wait::output(shell.args(["-c", "test -e /dev/fd/9"]))
            .expect("a shell")
            .status
            .success()
    }

    #[test]
    fn child_processes_get_no_descriptor_of_the_parent() {
        const NAME: &str = "process::signal::tests::child_processes_get_no_descriptor_of_the_parent";
        const CHILD: &str = "HASHMILL_TEST_DESCRIPTORS";
        if std::env::var_os(CHILD).is_some() {
            assert!(is_inherited(), "the shell has opened it");
            keep_descriptors();
            assert!(!is_inherited());
            return;
        }
        let own = std::env::current_exe().expect("where this program is");
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 9</dev/null \"$0\" --exact \"$1\""]).arg(own).arg(NAME).env(CHILD, "1");
        let output = crate::process::wait::output(&mut shell).expect("a shell");
        let words = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && words.contains("1 passed"), "{words}");
    }
}
