//! Memory that an engine needs, counted by the allocator of a process that does nothing else.

use std::io::{Read as _, Write as _};

use anyhow::Context as _;

use super::engines::{self, HELD, OURS};
use super::fixtures::Fixtures;
use super::row::Row;

/// What the allocator of the process counts.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Bytes held now.
    pub now: fn() -> usize,
    /// The most bytes ever held.
    pub most: fn() -> usize,
}

/// `doc-memory save ENGINE ROW` prints a saved document; `doc-memory measure ENGINE ROW` reads one, if the row starts
/// from one, and prints the bytes that were needed. For the engine `held` these are what ours still holds after its load.
pub fn main(counter: Counter) -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, engine, row] = args.as_slice() else { anyhow::bail!("doc-memory save|measure ENGINE ROW") };
    let row: Row = row.parse()?;
    let most = matches!(row, Row::Peak { .. }) && engine != HELD;
    let engine = if engine == HELD { OURS } else { engine };
    let mut fixtures = Fixtures::default();
    let mut stdout = std::io::stdout();
    match (what.as_str(), &row) {
        ("save", Row::Held { trace, commits, .. } | Row::Peak { trace, commits }) => {
            let saved = engines::saved(engine, trace, *commits, &mut fixtures).map_err(anyhow::Error::msg)?;
            stdout.write_all(&saved).context("printing the document")
        }
        ("measure", Row::Held { trace, commits, loaded: false }) => {
            let trace = fixtures.trace(trace).map_err(anyhow::Error::msg)?;
            let before = (counter.now)();
            let doc = engines::replayed(engine, &trace, *commits).context("an engine without texts")?;
            let held = (counter.now)() - before;
            drop(doc);
            writeln!(stdout, "{held}").context("printing the bytes")
        }
        ("measure", Row::Held { .. } | Row::Peak { .. }) => {
            let mut saved = Vec::new();
            std::io::stdin().read_to_end(&mut saved).context("reading the document")?;
            saved.shrink_to_fit();
            // What was needed to read it must not count as the most that was ever held.
            let (before, earlier) = ((counter.now)(), (counter.most)());
            let doc = engines::loaded(engine, &saved).context("an engine without texts")?;
            let (now, peak) = ((counter.now)(), (counter.most)());
            drop(doc);
            let bytes = if most { peak.max(now).max(earlier) } else { now } - before;
            writeln!(stdout, "{bytes}").context("printing the bytes")
        }
        _ => anyhow::bail!("{row} is not about memory"),
    }
}
