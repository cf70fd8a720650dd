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
    /// Bytes held now.
    pub now: fn() -> usize,
    /// The most bytes ever held.
    pub most: fn() -> usize,
}

/// Set by a program whose allocator counts.
pub static COUNTER: OnceLock<Counter> = OnceLock::new();

/// The word that makes such a program a child.
const WORD: &str = "memory";

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

/// What is known of a document before it counts as there: all that its case asks for, or what cannot be put off.
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
    way: LoadMethod,
    recording: &Recording,
    thorough: bool,
) -> Result<Vec<Amount>, CaseError> {
    if COUNTER.get().is_none() {
        return Ok(Vec::new());
    }
    let Recording { name, trace, commits } = recording;
    let saved = if way == LoadMethod::Typed { Vec::new() } else { recording.saved::<E>()? };
    let program = std::env::current_exe().map_err(CaseError::failed)?;
    let known = THOROUGH[usize::from(!thorough)].0;
    let mut child = Command::new(program)
        .args([
            WORD,
            E::NAME,
            &way.to_string(),
            known,
            name,
            &trace.txns.len().to_string(),
            &commits.to_string(),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(CaseError::failed)?;
    // A child that dies early closes the pipe; how it ended says more than that.
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

/// What a child answers, if the words make this process one.
pub fn answer(counter: Counter, words: &[String]) -> Option<anyhow::Result<()>> {
    let [word, engine, way, known, name, size, commits] = words else { return None };
    let count = || {
        let commits = if *commits == Commits::One.to_string() { Commits::One } else { Commits::Each };
        let thorough = known == THOROUGH[0].0;
        let Some(way) = LoadMethod::ALL.into_iter().find(|known| *way == known.to_string()) else {
            anyhow::bail!("a document is not {way}");
        };
        // Who loads must not have held a recording before: the most that was ever held is all that is known.
        let recording = (way == LoadMethod::Typed)
            .then(|| Recording::read(name, size.parse()?, commits).map_err(anyhow::Error::new));
        let count = match engine.as_str() {
            Hashmill::NAME => counted::<Hashmill>,
            Official::NAME => counted::<Official>,
            #[cfg(feature = "doc-engines")]
            crate::engines::loro::Loro::NAME => counted::<crate::engines::loro::Loro>,
            #[cfg(feature = "doc-engines")]
            crate::engines::yrs::Yrs::NAME => counted::<crate::engines::yrs::Yrs>,
            #[cfg(feature = "doc-engines")]
            crate::engines::diamond::Diamond::NAME => counted::<crate::engines::diamond::Diamond>,
            _ => anyhow::bail!("there is no engine {engine}"),
        };
        let amounts = count(counter, way, recording.transpose()?, thorough)?;
        Ok(serde_json::to_writer(std::io::stdout(), &amounts)?)
    };
    (word == WORD).then(count)
}

/// Without a recording the document is on the standard input.
fn counted<E: Texts>(
    counter: Counter,
    way: LoadMethod,
    recording: Option<Recording>,
    thorough: bool,
) -> anyhow::Result<Vec<Amount>> {
    let amount = |name: &str, bytes: usize| Amount { name: name.to_owned(), bytes: bytes as u64 };
    let Some(recording) = recording else {
        let mut saved = Vec::new();
        std::io::stdin().read_to_end(&mut saved)?;
        saved.shrink_to_fit();
        let before = (counter.now)();
        let held = |now: usize| {
            vec![amount("held", now - before), amount("peak", (counter.most)().max(now) - before)]
        };
        if way == LoadMethod::Opened {
            let opened = E::open(&saved);
            let held = held((counter.now)());
            drop(opened);
            return Ok(held);
        }
        let doc = if thorough { E::load(&saved) } else { E::load_deferred(&saved) };
        let held = held((counter.now)());
        drop(doc);
        return Ok(held);
    };
    let transactions = recording.transactions();
    let before = (counter.now)();
    let mut doc: E = crate::recording::play(&transactions);
    if thorough {
        doc.complete_commits();
    }
    let now = (counter.now)();
    drop(doc);
    Ok(vec![amount("held", now - before)])
}
