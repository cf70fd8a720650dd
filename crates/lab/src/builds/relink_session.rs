//! Sessions that run relinked programs.

use super::build_cache::{BuildCache, BuiltProgram};
use super::error::BuildError;
use super::relink::{LinkError, LinkInputs};
use crate::measure::session::handle::{Launcher, Link, SessionError, SessionHandle};
use crate::measure::session::process::{Program, start};
use crate::report::schema::Layout;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Link inputs of the sides of a command, and a folder for the relinked programs.
pub(crate) struct RelinkInputs {
    links: Vec<LinkInputs>,
    folder: Folder,
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

impl RelinkInputs {
    /// Collects and tests the link inputs of all `sides`, with the layout that reports state for each. If one side
    /// cannot be linked again, none is: a comparison of many layouts with one layout would depend on that one.
    pub(crate) fn from_builds(
        build_cache: &BuildCache,
        sides: Vec<BuiltProgram>,
        wanted: bool,
    ) -> Result<(Vec<Layout>, Option<RelinkInputs>), BuildError> {
        let folder = Folder(build_cache.bench()?);
        let tried = sides.into_iter().map(|side| {
            let links = if wanted { side.links? } else { return Err(LinkError::Unwanted) };
            links.probe(&folder.0)?;
            Ok(links)
        });
        let tried: Vec<Result<LinkInputs, LinkError>> = tried.collect();
        if tried.iter().all(Result::is_ok) {
            let links: Vec<LinkInputs> = tried.into_iter().flatten().collect();
            let layouts = links.iter().map(|links| Layout::Shuffled(links.linker.clone()));
            return Ok((layouts.collect(), Some(RelinkInputs { links, folder })));
        }
        let layouts = tried.into_iter().map(|links| {
            Layout::Fixed(
                links.err().map_or_else(|| "another side has one link".to_owned(), |e| e.to_string()),
            )
        });
        Ok((layouts.collect(), None))
    }

    /// Starts sessions of `programs`, one per side.
    pub(crate) fn launcher(
        self,
        programs: Vec<Program>,
        seed: u64,
        same_code: bool,
        timeout: Duration,
    ) -> RelinkLauncher {
        RelinkLauncher { programs, bench: self, seed, same_code, timeout }
    }
}

/// Starts sessions of relinked programs. A program is linked when a session asks for it, and few are kept: the groups
/// of a command take turns, so all of them use the programs of one session before the next.
pub(crate) struct RelinkLauncher {
    programs: Vec<Program>,
    bench: RelinkInputs,
    seed: u64,
    /// Whether the builds have equal bytes. Different builds share their seeds, so that a small change is measured
    /// with little noise; for equal builds this would compare a program with itself.
    same_code: bool,
    timeout: Duration,
}

/// Number of seeds per stream, more than sessions.
const STREAM: u64 = 1 << 16;

/// Seed of a link, one for each session of each stream.
fn seed(plan: u64, stream: usize, link: Link) -> u64 {
    let stream = 2 * stream as u64 + u64::from(link.control);
    plan.wrapping_mul(16 * STREAM).wrapping_add(stream * STREAM + link.session as u64)
}

impl RelinkLauncher {
    fn seed(&self, build: usize, link: Link) -> u64 {
        seed(self.seed, if self.same_code { build } else { 0 }, link)
    }

    /// Returns the program of a session, and links it on first use.
    pub(crate) fn link(&self, build: usize, link: Link) -> Result<PathBuf, SessionError> {
        // Names of equal length for all sides, because they are on the stack of the program.
        let name = format!("{build:02}{}", if link.control { "c" } else { "p" });
        let path = self.session_folder(link.session).join(name);
        if !path.is_file() {
            if let Some(long_ago) = link.session.checked_sub(2) {
                fs::remove_dir_all(self.session_folder(long_ago)).ok();
            }
            let failed = |reason: String| SessionError::Start { program: path.display().to_string(), reason };
            fs::create_dir_all(self.session_folder(link.session))
                .map_err(|error| failed(error.to_string()))?;
            let seed = self.seed(build, link);
            self.bench.links[build].link_again(seed, &path).map_err(|error| failed(error.to_string()))?;
        }
        Ok(path)
    }

    fn session_folder(&self, session: usize) -> PathBuf {
        self.bench.folder.0.join(format!("{session:06}"))
    }
}

impl Launcher for RelinkLauncher {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        start(&self.programs[build], padding, self.timeout)
    }

    fn launch_link(
        &self,
        build: usize,
        link: Link,
        padding: usize,
    ) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
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
    fn link_orders_are_unique_unless_shared_on_purpose() {
        let mut orders = BTreeSet::new();
        for plan in 1..4 {
            for stream in 0..2 {
                for session in 0..crate::stats::MAX_SESSIONS {
                    for control in [false, true] {
                        assert!(orders.insert(seed(plan, stream, Link { session, control })));
                    }
                }
            }
        }
    }
}
