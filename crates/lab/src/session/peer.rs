//! What the parent knows of a session: something that answers, or fails to.

use super::protocol::{Reply, Request};

/// One end of a session.
pub(crate) trait Peer {
    fn ask(&mut self, request: &Request) -> Result<Reply, PeerError>;
}

/// Starts sessions. `build` counts the builds that a command compares; `padding` is how many bytes to add to the
/// environment.
pub(crate) trait Launcher {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn Peer + '_>, PeerError>;

    /// The same with a link of its own, where the launcher has such: equal links have equal layouts.
    fn launch_link(
        &self,
        build: usize,
        _link: Link,
        padding: usize,
    ) -> Result<Box<dyn Peer + '_>, PeerError> {
        self.launch(build, padding)
    }
}

/// Which link of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) session: usize,
    /// Whether it is for a side that is set against the same build: with the layouts of that, it would be the same
    /// program, and show nothing of what layouts do.
    pub(crate) control: bool,
}

/// Why a session gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PeerError {
    #[error("cannot start the session {program}: {reason}")]
    Start { program: String, reason: String },
    #[error("the session ended: {status}{last_words}")]
    Died { status: String, last_words: String },
    #[error("the session did not answer within {0} s and was killed")]
    Hung(u64),
    #[error("the session answered what was not asked: {0}")]
    Confused(String),
    #[error(
        "the session speaks protocol {theirs}, this lab speaks {ours}; build both sides from revisions with the same protocol"
    )]
    Protocol { theirs: u32, ours: u32 },
}

/// A session in the same process, for tests with a scripted clock.
#[cfg(test)]
pub(crate) struct Local<'a>(pub(crate) super::worker::Worker<'a>);

#[cfg(test)]
impl Peer for Local<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, PeerError> {
        // Through the text, so that the words themselves are tested.
        let line = serde_json::to_string(request).expect("requests are plain data");
        let mut output = Vec::new();
        self.0.serve(line.as_bytes(), &mut output).expect("memory does not fail");
        Ok(serde_json::from_slice(&output).expect("replies are plain data"))
    }
}
