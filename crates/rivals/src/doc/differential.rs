//! Stories by the thousand, until two engines differ or enough was told.

use std::fmt;

use super::official::Official;
use super::ours::Ours;
use super::peer::Peer;
use super::shrink::shrink;
use super::stage::{Difference, tell};
use super::story::Story;

/// What was told without a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Stories.
    pub stories: usize,
    /// Changes whose bytes were compared.
    pub changes: usize,
    /// Calls whose answers were compared, edits among them.
    pub calls: usize,
    /// Stories that ended early, because the oracle panicked.
    pub oracle_panics: usize,
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stories, changes, calls, oracle_panics } = self;
        write!(f, "{calls} calls and {changes} changes of {stories} stories")?;
        if *oracle_panics > 0 { write!(f, " ({oracle_panics} times the oracle panicked)") } else { Ok(()) }
    }
}

/// A story that two engines tell differently, made short.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Where it came from.
    pub seed: u64,
    /// The story.
    pub story: Story,
    /// What is different.
    pub difference: Box<Difference>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, text in {:?}, {} people", self.seed, self.story.encoding, self.story.people)?;
        for (index, scene) in self.story.scenes.iter().enumerate() {
            writeln!(f, "  {index}: person {} does {:?}", scene.who, scene.step)?;
        }
        write!(f, "{}", self.difference)
    }
}

/// Tells stories of `length` scenes, the first with `seed`, until `calls` calls were compared or a difference is found.
///
/// `progress` is told the total now and then.
pub fn search<A: Peer, B: Peer>(
    seed: u64,
    length: usize,
    calls: usize,
    mut progress: impl FnMut(&Total),
) -> Result<Total, Box<Finding>> {
    let mut total = Total::default();
    for seed in seed.. {
        let story = Story::invent(seed, length);
        match tell::<A, B>(&story) {
            Ok(told) => {
                total.stories += 1;
                total.changes += told.changes;
                total.calls += told.calls;
                total.oracle_panics += usize::from(told.oracle_panicked);
            }
            Err(_) => return Err(Box::new(shortest::<A, B>(seed, story))),
        }
        if total.stories.is_multiple_of(100) {
            progress(&total);
        }
        if total.calls >= calls {
            break;
        }
    }
    Ok(total)
}

/// [`search`] for the official crate and our engine.
pub fn official_and_ours(
    seed: u64,
    length: usize,
    calls: usize,
    progress: impl FnMut(&Total),
) -> Result<Total, Box<Finding>> {
    search::<Official, Ours>(seed, length, calls, progress)
}

fn shortest<A: Peer, B: Peer>(seed: u64, story: Story) -> Finding {
    let story = shrink(story, |story| tell::<A, B>(story).is_err());
    let difference = tell::<A, B>(&story).expect_err("it was kept because the engines differ");
    Finding { seed, story, difference }
}
