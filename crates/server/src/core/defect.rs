//! Known mistakes of servers, which the simulation must find. Tests alone switch them on.

use super::Core;

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defect {
    /// Frames leave before the changes that they reveal are stored.
    TellBeforeDurable,
    /// An append with an unknown outcome counts as done.
    UnknownIsDone,
    /// After messages were dropped, the exchange goes on as if they had arrived.
    NoReset,
    /// Messages are made for clients that do not read.
    UnboundedQueue,
    /// Rights are those of the time when the client connected.
    RightsAtOpenOnly,
    /// A document is open to a client until the first answer about its rights.
    OpenUntilAnswered,
    /// The first answer about rights counts for ever.
    NoRenewal,
    /// Sockets that send too fast are read as the others.
    NoPause,
    /// A quarantine never ends.
    NoRelease,
    /// A command is answered before the storage has carried it out.
    AnswersEarly,
    /// A deleted document that a client asks for is read as the others.
    IgnoresTombstones,
    /// The rule for unused documents deletes one that clients have open.
    DeletesUsed,
    /// Chunks of a deleted document are removed while others of it are being stored.
    PurgesEarly,
    /// A compaction deletes chunks that its snapshot does not cover.
    DeletesUnread,
    /// Deleted documents are judged by the clock of the machine, which may jump.
    #[cfg(test)]
    TrustsMachineClock,
    /// A backup is restored while a server uses the storage.
    #[cfg(test)]
    RestoresInUse,
}

impl Core {
    #[cfg(test)]
    pub(crate) fn with_defect(mut self, defect: Option<Defect>) -> Core {
        self.defect = defect;
        self
    }

    pub(super) fn has(&self, defect: Defect) -> bool {
        cfg!(test) && self.defect == Some(defect)
    }
}
