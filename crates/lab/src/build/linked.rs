//! Sessions that run links of their own.

use super::error::BuildError;
use super::links::{LinkError, Links};
use super::workshop::{Made, Workshop};
use crate::report::layout::Layout;
use crate::session::peer::{Launcher, Link, Peer, PeerError};
use crate::session::process::{Program, start};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The sides of a command as they can be linked again, and where.
pub(crate) struct Bench {
    links: Vec<Links>,
    folder: Folder,
}

/// A folder of links, which leaves nothing behind.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

impl Bench {
    /// What all of `sides` can be linked of, tried out, and what reports say of each. One that cannot spoils it for all:
    /// many layouts against one would be a comparison with that one.
    pub(crate) fn of(
        workshop: &Workshop,
        sides: Vec<Made>,
        wanted: bool,
    ) -> Result<(Vec<Layout>, Option<Bench>), BuildError> {
        let folder = Folder(workshop.bench()?);
        let tried = sides.into_iter().map(|made| {
            let links = if wanted { made.links? } else { return Err(LinkError::Unwanted) };
            links.probe(&folder.0)?;
            Ok(links)
        });
        let tried: Vec<Result<Links, LinkError>> = tried.collect();
        if tried.iter().all(Result::is_ok) {
            let links: Vec<Links> = tried.into_iter().flatten().collect();
            let layouts = links.iter().map(|links| Layout::Shuffled(links.linker.clone()));
            return Ok((layouts.collect(), Some(Bench { links, folder })));
        }
        let layouts = tried.into_iter().map(|links| {
            Layout::Fixed(
                links.err().map_or_else(|| "another side has one link".to_owned(), |e| e.to_string()),
            )
        });
        Ok((layouts.collect(), None))
    }

    /// Starts sessions of `programs`, one for each side.
    pub(crate) fn launcher(
        self,
        programs: Vec<Program>,
        seed: u64,
        same_code: bool,
        timeout: Duration,
    ) -> Linked {
        Linked { programs, bench: self, seed, same_code, timeout }
    }
}

/// Starts sessions of programs that can be linked again. Links are made when a session asks, and few are kept: the
/// contests of a command take turns, so all of them ask for those of one session before any asks for the next.
pub(crate) struct Linked {
    programs: Vec<Program>,
    bench: Bench,
    seed: u64,
    /// Whether the builds are the same bytes. Different builds share their orders, so that a change that moves little
    /// is seen with little noise; of equal ones that would make a comparison of a program with itself.
    same_code: bool,
    timeout: Duration,
}

/// Orders of one stream: more than sessions.
const STREAM: u64 = 1 << 16;

/// Which order a link has: one for each session of each stream.
fn seed(plan: u64, stream: usize, link: Link) -> u64 {
    let stream = 2 * stream as u64 + u64::from(link.control);
    plan.wrapping_mul(16 * STREAM).wrapping_add(stream * STREAM + link.session as u64)
}

impl Linked {
    fn seed(&self, build: usize, link: Link) -> u64 {
        seed(self.seed, if self.same_code { build } else { 0 }, link)
    }

    /// The link of a session, made if nobody asked for it before.
    pub(crate) fn link(&self, build: usize, link: Link) -> Result<PathBuf, PeerError> {
        // Names of one length, whatever the side: they lie on the stack of the program.
        let name = format!("{build:02}{}", if link.control { "c" } else { "p" });
        let path = self.place(link.session).join(name);
        if !path.is_file() {
            if let Some(long_ago) = link.session.checked_sub(2) {
                fs::remove_dir_all(self.place(long_ago)).ok();
            }
            let failed = |reason: String| PeerError::Start { program: path.display().to_string(), reason };
            fs::create_dir_all(self.place(link.session)).map_err(|error| failed(error.to_string()))?;
            let seed = self.seed(build, link);
            self.bench.links[build].make(seed, &path).map_err(|error| failed(error.to_string()))?;
        }
        Ok(path)
    }

    fn place(&self, session: usize) -> PathBuf {
        self.bench.folder.0.join(format!("{session:06}"))
    }
}

impl Launcher for Linked {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn Peer + '_>, PeerError> {
        start(&self.programs[build], padding, self.timeout)
    }

    fn launch_link(&self, build: usize, link: Link, padding: usize) -> Result<Box<dyn Peer + '_>, PeerError> {
        let path = self.link(build, link)?;
        let arguments = self.programs[build].arguments.clone();
        start(&Program { path, arguments }, padding, self.timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn orders_are_shared_by_nobody_who_should_differ() {
        let mut seen = BTreeSet::new();
        for plan in 1..4 {
            for stream in 0..2 {
                for session in 0..crate::stats::MAX_SESSIONS {
                    for control in [false, true] {
                        assert!(seen.insert(seed(plan, stream, Link { session, control })));
                    }
                }
            }
        }
    }
}
