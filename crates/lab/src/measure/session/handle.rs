//! Handle of a session, and the traits that start one.

use super::protocol::{Reply, Request};

/// The parent's end of a session.
pub(crate) trait SessionHandle {
    fn ask(&mut self, request: &Request) -> Result<Reply, SessionError>;
}

/// Starts sessions. `build` is the index of a compared build; `padding` is the number of bytes to add to the
/// environment.
pub(crate) trait Launcher {
    fn launch(&self, build: usize, padding: usize) -> Result<Box<dyn SessionHandle + '_>, SessionError>;

    /// As `launch`, with its own link if the launcher can make one. Equal links have equal layouts.
    fn launch_link(
        &self,
        build: usize,
        _link: Link,
        padding: usize,
    ) -> Result<Box<dyn SessionHandle + '_>, SessionError> {
        self.launch(build, padding)
    }
}

/// Link of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) session: usize,
    /// Whether it is for the control of the same build. With the same layout it would be the same program, and would
    /// show no layout effect.
    pub(crate) control: bool,
}

/// Reason why a session gave no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("cannot start the session {program}: {reason}")]
    Start { program: String, reason: String },
    #[error("the session ended: {status}{last_words}")]
    Died { status: String, last_words: String },
    #[error("the session did not answer within {0} s and was killed")]
    Hung(u64),
    #[error("the session gave an unexpected reply: {0}")]
    Confused(String),
    #[error(
        "the session has protocol {session}, this lab has {lab}; build both sides from revisions with the same protocol"
    )]
    Protocol { session: u32, lab: u32 },
}

/// Session in the same process, for tests with a scripted clock.
#[cfg(test)]
pub(crate) struct Local<'a>(pub(crate) crate::measure::session::worker::Worker<'a>);

#[cfg(test)]
impl SessionHandle for Local<'_> {
    fn ask(&mut self, request: &Request) -> Result<Reply, SessionError> {
        // Via the serialized text, so that the messages themselves are tested.
        let line = serde_json::to_string(request).expect("requests are plain data");
        let mut output = Vec::new();
        self.0.serve(line.as_bytes(), &mut output).expect("memory does not fail");
        Ok(serde_json::from_slice(&output).expect("replies are plain data"))
    }
}
