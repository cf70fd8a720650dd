//! Memory of an engine, counted by the allocator of a separate process: a session in a build with the feature `counting` starts
//! itself again for it.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use hashmill_lab::model::engine::{Amount, CaseError};
use hashmill_workloads::doc::{Hashmill, Texts};

use crate::engines::official::Official;
use crate::recording::{Commits, Recording};

/// Counters of the allocator.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Bytes that are allocated now.
    pub now: fn() -> usize,
    /// The largest number of allocated bytes so far.
    pub max: fn() -> usize,
}

/// Set by a program whose allocator counts.
pub static COUNTER: OnceLock<Counter> = OnceLock::new();

/// The argument that makes such a program a counting child process.
const CHILD_COMMAND: &str = "memory";

/// How a document is created.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LoadMethod {
    Typed,
    Loaded,
    Opened,
}

impl LoadMethod {
    const ALL: [Self; 3] = [Self::Typed, Self::Loaded, Self::Opened];
}

/// Work that must be complete before a document counts as created: all that its case needs, or only what cannot be deferred.
const THOROUGH: [(&str, bool); 2] = [("all", true), ("later", false)];

impl fmt::Display for LoadMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Typed => "typed",
            Self::Loaded => "loaded",
            Self::Opened => "opened",
        })
    }
}

/// Bytes of a document of `E`, and the peak while it was loaded; `None` in a build without a counting allocator.
pub(super) fn amounts<E: Texts>(
    method: LoadMethod,
    recording: &Recording,
    thorough: bool,
) -> Result<Vec<Amount>, CaseError> {
    if COUNTER.get().is_none() {
        return Ok(Vec::new());
    }
    let Recording { name, trace, commits } = recording;
    let saved = if method == LoadMethod::Typed { Vec::new() } else { recording.saved::<E>()? };
    let program = std::env::current_exe().map_err(CaseError::failed)?;
    let thoroughness = THOROUGH[usize::from(!thorough)].0;
    let mut child = Command::new(program)
        .args([
            CHILD_COMMAND,
            E::NAME,
            &method.to_string(),
            thoroughness,
            name,
            &trace.txns.len().to_string(),
            &commits.to_string(),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(CaseError::failed)?;
    // A child that ends early closes the pipe. Its exit status is then the better error.
    let sent = child.stdin.take().map(|mut pipe| pipe.write_all(&saved));
    let output = child.wait_with_output().map_err(CaseError::failed)?;
    if !output.status.success() || !matches!(sent, Some(Ok(()))) {
        return Err(CaseError::failed(format!(
            "counting the memory of {} failed: {}",
            E::NAME,
            output.status
        )));
    }
    serde_json::from_slice(&output.stdout).map_err(CaseError::failed)
}

/// Counts and prints the amounts if the arguments make this process a child; otherwise `None`.
pub fn count_in_child(counter: Counter, arguments: &[String]) -> Option<anyhow::Result<()>> {
    let [command, engine, method, thoroughness, name, size, commits] = arguments else { return None };
    let count = || {
        let commits = if *commits == Commits::One.to_string() { Commits::One } else { Commits::Each };
        let thorough = thoroughness == THOROUGH[0].0;
        let Some(method) = LoadMethod::ALL.into_iter().find(|known| *method == known.to_string()) else {
            anyhow::bail!("no such method: {method}");
        };
        // A child that loads must not read the recording: that would raise the peak, which is never reset.
        let recording = (method == LoadMethod::Typed)
            .then(|| Recording::read(name, size.parse()?, commits).map_err(anyhow::Error::new));
        let count = match engine.as_str() {
            Hashmill::NAME => counted_amounts::<Hashmill>,
            Official::NAME => counted_amounts::<Official>,
            #[cfg(feature = "doc-engines")]
            crate::engines::loro::Loro::NAME => counted_amounts::<crate::engines::loro::Loro>,
            #[cfg(feature = "doc-engines")]
            crate::engines::yrs::Yrs::NAME => counted_amounts::<crate::engines::yrs::Yrs>,
            #[cfg(feature = "doc-engines")]
            crate::engines::diamond::Diamond::NAME => counted_amounts::<crate::engines::diamond::Diamond>,
            _ => anyhow::bail!("there is no engine {engine}"),
        };
        let amounts = count(counter, method, recording.transpose()?, thorough)?;
        Ok(serde_json::to_writer(std::io::stdout(), &amounts)?)
    };
    (command == CHILD_COMMAND).then(count)
}

/// Creates a document and counts its memory. Without a recording, the saved document is read from standard input.
fn counted_amounts<E: Texts>(
    counter: Counter,
    method: LoadMethod,
    recording: Option<Recording>,
    thorough: bool,
) -> anyhow::Result<Vec<Amount>> {
    let amount = |name: &str, bytes: usize| Amount { name: name.to_owned(), bytes: bytes as u64 };
    let Some(recording) = recording else {
        let mut saved = Vec::new();
        std::io::stdin().read_to_end(&mut saved)?;
        saved.shrink_to_fit();
        let before = (counter.now)();
        let amounts = |now: usize| {
            vec![amount("held", now - before), amount("peak", (counter.max)().max(now) - before)]
        };
        if method == LoadMethod::Opened {
            let opened = E::open(&saved);
            let amounts = amounts((counter.now)());
            drop(opened);
            return Ok(amounts);
        }
        let doc = if thorough { E::load(&saved) } else { E::load_deferred(&saved) };
        let amounts = amounts((counter.now)());
        drop(doc);
        return Ok(amounts);
    };
    let transactions = recording.transactions();
    let before = (counter.now)();
    let mut doc: E = crate::recording::replay_transactions(&transactions);
    if thorough {
        doc.complete_commits();
    }
    let now = (counter.now)();
    drop(doc);
    Ok(vec![amount("held", now - before)])
}
