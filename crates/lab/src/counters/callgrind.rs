//! Instructions per call, counted by callgrind: precise on machines with a noisy clock.
//!
//! The instructions of two runs of a case with different numbers of calls differ by those of the additional calls;
//! everything else, from start-up to the reference, cancels out. A count proves nothing about speed. It detects
//! accidental changes, and it must count the code that is timed: Valgrind hides instruction sets from programs, which
//! may then silently use another kernel. So the kernel of the counted session is compared with that of the timed one.

use crate::measure::session::handle::{Launcher, SessionError};
use crate::measure::session::process::{Processes, Program};
use crate::measure::session::protocol::{Reply, Request};
use crate::model::key::Key;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Native time of the additional calls: long enough to make the session's communication negligible.
const MEANT_NS: u64 = 2_000_000;

/// Instruction count of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Count {
    pub(crate) kernel: String,
    /// Instructions per call.
    pub(crate) instructions: f64,
    /// Difference between two identical runs, per call.
    pub(crate) resolution: f64,
}

/// Reason why there is no count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "unsupported: `{timed}` is timed, but under Valgrind the program chooses `{counted}`; force a kernel that Valgrind supports"
    )]
    Isa { timed: String, counted: String },
    #[error("unsupported: `{timed}` is timed, but Valgrind hides its instructions ({reason})")]
    Hidden { timed: String, reason: String },
    #[error("unsupported: {0} threads, whose waiting times vary")]
    Threads(u32),
    #[error("under Valgrind it computed {computed}, the reference is {reference}")]
    Incorrect { computed: String, reference: String },
    #[error("not available here: {0}")]
    Unavailable(String),
    #[error("{0}")]
    Failed(String),
}

/// One counted run: its kernel, and all instructions of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountedRun {
    pub(crate) kernel: String,
    pub(crate) total: u64,
}

/// Runs a session and counts its instructions.
pub(crate) trait Counter {
    fn run(&self, key: &Key, iterations: u64) -> Result<CountedRun, Refusal>;
}

/// Counts one case. `native` starts sessions as they are timed.
pub(crate) fn count(key: &Key, native: &dyn Launcher, counter: &dyn Counter) -> Result<Count, Refusal> {
    if key.threads != 1 {
        return Err(Refusal::Threads(key.threads));
    }
    let (timed, few) = timed(key, native)?;
    // It opened natively before, so Valgrind hides what it lacks.
    let once = counter.run(key, few).map_err(|refusal| match refusal {
        Refusal::Unavailable(reason) => Refusal::Hidden { timed: timed.clone(), reason },
        other => other,
    })?;
    if once.kernel != timed {
        return Err(Refusal::Isa { timed, counted: once.kernel });
    }
    let again = counter.run(key, few)?;
    let twice = counter.run(key, 2 * few)?;
    let calls = few as f64;
    Ok(Count {
        kernel: timed,
        instructions: twice.total.saturating_sub(once.total) as f64 / calls,
        resolution: once.total.abs_diff(again.total) as f64 / calls,
    })
}

/// The timed kernel, and the number of calls that take the target time.
fn timed(key: &Key, native: &dyn Launcher) -> Result<(String, u64), Refusal> {
    let mut handle = native.launch(0, 0).map_err(|error| failed(&error))?;
    let kernel = open(key, &mut |request| handle.ask(request))?;
    match handle.ask(&Request::Calibrate { slot: 0, sample_ns: MEANT_NS }).map_err(|error| failed(&error))? {
        Reply::Calibrated { iterations, .. } => Ok((kernel, iterations.max(1))),
        other => Err(refused(other)),
    }
}

/// Opens the case and checks its result; returns the kernel.
fn open(key: &Key, ask: &mut dyn FnMut(&Request) -> Result<Reply, SessionError>) -> Result<String, Refusal> {
    let open = Request::Open { slot: 0, case: key.to_string(), seed: 1, share: false };
    let reference = match ask(&open).map_err(|error| failed(&error))? {
        Reply::Opened { reference, .. } => reference,
        other => return Err(refused(other)),
    };
    match ask(&Request::Check { slot: 0, amounts: false }).map_err(|error| failed(&error))? {
        Reply::Checked { kernel, digest, .. } if digest == reference => Ok(kernel),
        Reply::Checked { digest, .. } => Err(Refusal::Incorrect { computed: digest, reference }),
        other => Err(refused(other)),
    }
}

fn failed(error: &SessionError) -> Refusal {
    Refusal::Failed(error.to_string())
}

fn refused(reply: Reply) -> Refusal {
    match reply {
        Reply::Unavailable { reason } => Refusal::Unavailable(reason),
        Reply::Failed { reason } => Refusal::Failed(reason),
        other => Refusal::Failed(format!("the session gave an unexpected reply: {other:?}")),
    }
}

/// Sessions under callgrind.
pub(crate) struct Callgrind {
    program: Program,
    timeout: Duration,
    /// Output file of callgrind.
    file: PathBuf,
}

impl Callgrind {
    /// Runs `program` under callgrind, with an output file in `folder`.
    pub(crate) fn new(program: &Program, folder: &Path, timeout: Duration) -> Self {
        let file = folder.join("callgrind.out");
        let mut words = Callgrind::words(&file, &program.path).into_iter();
        let path = words.next().unwrap_or_default().into();
        let arguments = words.chain(program.arguments.iter().cloned()).collect();
        Callgrind { program: Program { path, arguments }, timeout, file }
    }

    /// Command line that runs `program` under callgrind, without the program's arguments.
    pub(crate) fn words(file: &Path, program: &Path) -> Vec<OsString> {
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(file);
        vec!["valgrind".into(), "-q".into(), "--tool=callgrind".into(), out, program.into()]
    }

    /// Sums the instructions of all processes with output in `folder`, and removes the files.
    pub(crate) fn collect(folder: &Path) -> Result<u64, Refusal> {
        let failed = |error: std::io::Error| Refusal::Failed(format!("callgrind left no result: {error}"));
        let mut sum = None;
        for file in std::fs::read_dir(folder).map_err(failed)? {
            let path = file.map_err(failed)?.path();
            let text = std::fs::read_to_string(&path).map_err(failed)?;
            std::fs::remove_file(&path).map_err(failed)?;
            let total =
                total(&text).ok_or_else(|| Refusal::Failed("callgrind's result has no total".to_owned()))?;
            sum = Some(sum.unwrap_or(0) + total);
        }
        sum.ok_or_else(|| Refusal::Failed("callgrind left no result".to_owned()))
    }

    /// Version of Valgrind, if installed.
    pub(crate) fn version() -> Option<String> {
        let output = Command::new("valgrind").arg("--version").output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Counter for Callgrind {
    fn run(&self, key: &Key, iterations: u64) -> Result<CountedRun, Refusal> {
        std::fs::remove_file(&self.file).ok();
        let processes = Processes { programs: vec![self.program.clone()], timeout: self.timeout };
        let mut handle = processes.launch(0, 0).map_err(|error| failed(&error))?;
        let kernel = open(key, &mut |request| handle.ask(request))?;
        match handle.ask(&Request::Work { slot: 0, iterations }).map_err(|error| failed(&error))? {
            Reply::Sampled(_) => {}
            other => return Err(refused(other)),
        }
        // The counts are written when the process ends.
        drop(handle);
        let text = std::fs::read_to_string(&self.file);
        let text = text.map_err(|error| Refusal::Failed(format!("callgrind left no result: {error}")))?;
        let total =
            total(&text).ok_or_else(|| Refusal::Failed("callgrind's result has no total".to_owned()))?;
        Ok(CountedRun { kernel, total })
    }
}

/// Total instructions in an output of callgrind.
fn total(text: &str) -> Option<u64> {
    let line =
        text.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::session::handle::{Local, SessionHandle};
    use crate::measure::session::worker::Worker;
    use crate::model::engine::{CaseError, Digest, Spec, Workload, function};
    use crate::model::registry::{EngineOffer, Registry};
    use crate::model::units::Units;
    use hashmill_machine::clock::ScriptedClock;

    /// A workload whose calls take no scripted time, so that calibration chooses the maximum.
    struct Still;

    impl Workload for Still {
        type Input = ();
        fn name(&self) -> &str {
            "still"
        }
        fn units(&self, _: &Spec) -> Units {
            Units::Operations(1)
        }
        fn prepare(&self, _: &Spec, _: u64) -> Result<(), CaseError> {
            Ok(())
        }
        fn reference(&self, _: &Spec, (): &()) -> Result<Digest, CaseError> {
            Ok(Digest::new(&[7]))
        }
    }

    struct Native {
        registry: Registry,
        clock: ScriptedClock,
    }

    impl Native {
        fn new() -> Self {
            let clock = ScriptedClock::default();
            let mut registry = Registry::new();
            let engine = function("avx512", |()| 7_u8, |byte| Digest::new(&[*byte]));
            registry.workload(Still, &[1]).engine("fast", engine, EngineOffer::classes(&["cold", "kernel"]));
            Native { registry, clock }
        }
    }

    impl Launcher for Native {
        fn launch(&self, _: usize, _: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
            Ok(Box::new(Local(Worker::new(&self.registry, &self.clock))))
        }
    }

    /// 1000 fixed instructions, and 25 per call.
    struct Exact(&'static str);

    impl Counter for Exact {
        fn run(&self, _: &Key, iterations: u64) -> Result<CountedRun, Refusal> {
            Ok(CountedRun { kernel: self.0.to_owned(), total: 1000 + 25 * iterations })
        }
    }

    fn key(text: &str) -> Key {
        text.parse().expect("a key")
    }

    #[test]
    fn constant_instructions_cancel_out() {
        let count = count(&key("still/fast/cold/1/t1"), &Native::new(), &Exact("avx512"));
        assert_eq!(count, Ok(Count { kernel: "avx512".to_owned(), instructions: 25.0, resolution: 0.0 }));
    }

    #[test]
    fn another_kernel_than_the_timed_one_is_refused() {
        let refusal =
            count(&key("still/fast/cold/1/t1"), &Native::new(), &Exact("avx2")).expect_err("refused");
        let expected = Refusal::Isa { timed: "avx512".to_owned(), counted: "avx2".to_owned() };
        assert_eq!(refusal, expected);
    }

    #[test]
    fn a_kernel_that_valgrind_hides_is_refused_with_that_reason() {
        struct Blind;
        impl Counter for Blind {
            fn run(&self, _: &Key, _: u64) -> Result<CountedRun, Refusal> {
                Err(Refusal::Unavailable("no such instructions".to_owned()))
            }
        }
        let refusal = count(&key("still/fast/cold/1/t1"), &Native::new(), &Blind).expect_err("refused");
        assert!(refusal.to_string().contains("`avx512` is timed, but Valgrind hides"), "{refusal}");
    }

    #[test]
    fn threads_and_unknown_cases_are_refused() {
        let count = |text: &str| count(&key(text), &Native::new(), &Exact("avx512"));
        assert_eq!(count("still/fast/cold/1/t2"), Err(Refusal::Threads(2)));
        assert!(matches!(count("still/slow/cold/1/t1"), Err(Refusal::Unavailable(_))));
    }

    #[test]
    fn the_total_of_a_real_result() {
        let text =
            "# callgrind format\nversion: 1\nevents: Ir\nsummary: 2290134\n\nfn=(1)\ntotals: 2290134\n";
        assert_eq!(total(text), Some(2_290_134));
        assert_eq!(total("events: Ir\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }
}
