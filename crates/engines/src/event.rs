//! Events of engines: failures that another engine makes good, and returns from quarantine.

use crate::failure::EngineFailure;
use std::fmt;
use std::sync::Arc;

/// A change in which engines do the work. Results are not affected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EngineEvent {
    /// The CPU computes in place of an engine: an automatically chosen device failed, or a result was found to be wrong.
    CpuTakesOver {
        /// The failure.
        failure: EngineFailure,
    },
    /// A member of a group has no part in the work, and the others take over.
    MemberLeft {
        /// The name of the member, as it was requested.
        member: String,
        /// The reason.
        reason: String,
    },
    /// A quarantined engine passed its self-test and gets work again.
    Readmitted {
        /// The name of the engine, as it was requested.
        engine: String,
    },
}

impl fmt::Display for EngineEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineEvent::CpuTakesOver { failure } => write!(f, "{failure}; the CPU takes over"),
            EngineEvent::MemberLeft { member, reason } => {
                write!(f, "{member}: {reason}; the other engines take over its part")
            }
            EngineEvent::Readmitted { engine } => {
                write!(f, "{engine}: passed its self-test and computes again")
            }
        }
    }
}

/// Receiver of events. Engines call it from the thread that computes.
pub type EventSink = Arc<dyn Fn(&EngineEvent) + Send + Sync>;
