//! The words between the lab and its session processes: one JSON object per line, a reply for each request.
//!
//! Both sides may be different builds of the same program, older or newer. So a reader passes over fields that it does
//! not know, and a field that is added has a default; then old and new understand each other. [`VERSION`], which the
//! first exchange compares, counts only the changes after which they could misunderstand each other.

use crate::model::engine::Amount;
use serde::{Deserialize, Serialize};

/// Version of these messages: of their meaning, not of the fields that came later. Since 2 no class times the digest.
pub(crate) const VERSION: u32 = 2;

/// What the lab asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Request {
    Hello,
    /// Stay on one processor: the one that `choice` falls on among those allowed.
    Pin {
        /// Any number; equal numbers give equal processors.
        choice: u64,
    },
    /// Make the input of `case` and an engine for it, under the number `slot`.
    Open {
        slot: usize,
        case: String,
        seed: u64,
        /// Whether all slots of this session read one and the same input.
        #[serde(default)]
        share: bool,
    },
    /// Which kernel runs in `slot`, and what does it compute?
    Check {
        slot: usize,
        /// Whether to count what can be counted, too.
        #[serde(default)]
        amounts: bool,
    },
    /// Find how many iterations fill `sample_ns`.
    Calibrate {
        slot: usize,
        sample_ns: u64,
    },
    /// Take one sample.
    Sample {
        slot: usize,
        iterations: u64,
    },
    /// Work without looking at the system: for counters that see everything the process does.
    Work {
        slot: usize,
        iterations: u64,
    },
    /// Work, and say when the clock ran: for tools that see all of a process and have to leave out what is not timed.
    Watch {
        slot: usize,
        iterations: u64,
        /// Whether to count page faults and switches, which takes longer than many a call.
        usage: bool,
    },
    /// How much memory do you have, and how much of it lies in huge pages?
    Memory,
}

/// What a session answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "re", rename_all = "snake_case")]
pub(crate) enum Reply {
    Hello {
        protocol: u32,
    },
    Pinned {
        /// The processor; none where the system cannot pin.
        cpu: Option<usize>,
    },
    Opened {
        /// What is counted: bytes, hashes or operations.
        unit: String,
        units: u64,
        /// Bytes that an iteration passes over; builds from before this was asked say nothing.
        #[serde(default)]
        working_set: u64,
        /// How many inputs its calls take in turn; builds from before this was asked say nothing.
        #[serde(default)]
        inputs: u64,
        /// How long it took to make the input and the right answer.
        #[serde(default)]
        setup_ns: u64,
        reference: String,
    },
    Checked {
        kernel: String,
        digest: String,
        #[serde(default)]
        amounts: Vec<Amount>,
    },
    Calibrated {
        iterations: u64,
        /// How long they take, by the same measurement.
        ns: u64,
    },
    /// To [`Request::Sample`] and [`Request::Work`].
    Sampled(Sampled),
    Watched(Watched),
    Memory(Memory),
    /// This machine lacks what the case needs.
    Unavailable {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

/// The memory of a process, or of all those of a session, in bytes; nothing where one cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// In huge pages of any kind.
    pub(crate) huge_bytes: Option<u64>,
    /// In pages of any size.
    pub(crate) resident_bytes: Option<u64>,
    /// In pages that were reserved as huge ones; the other huge pages are transparent.
    pub(crate) reserved_bytes: Option<u64>,
    /// In reserved pages of 1 GiB and more; the other reserved ones have 2 MiB or so.
    pub(crate) gigantic_bytes: Option<u64>,
}

/// When the clock ran, and what the process used meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watched {
    /// The first reading, by the system's monotonic clock; none where other programs do not tell the time by it.
    pub(crate) begin_ns: Option<u64>,
    /// The times between the readings: of a stretch that is timed, of what lies before the next, and so on.
    pub(crate) lengths_ns: Vec<u64>,
    /// Page faults within the stretches.
    pub(crate) faults: Option<u64>,
    /// Switches away from the main thread within the stretches.
    pub(crate) switches: Option<u64>,
}

impl Watched {
    /// How often the clock ran.
    pub(crate) fn stretches(&self) -> usize {
        self.lengths_ns.len().div_ceil(2)
    }
}

/// One sample with what the process used for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sampled {
    /// Time of all iterations.
    pub(crate) ns: u64,
    /// What the last iteration computed.
    pub(crate) digest: String,
    /// Processor time of all threads.
    pub(crate) cpu_ns: Option<u64>,
    /// Page faults, minor and major.
    pub(crate) faults: Option<u64>,
    /// Times that the scheduler took the processor away from the main thread.
    pub(crate) switches: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_newer_build_adds_is_passed_over() {
        let news = |line: &str| line.replacen('{', r#"{"news":{"deep":[1,2]},"#, 1);
        let asked = r#"{"ask":"sample","slot":1,"iterations":7}"#;
        let request: Request = serde_json::from_str(&news(asked)).expect("a request");
        assert_eq!(request, Request::Sample { slot: 1, iterations: 7 });
        let hello: Request = serde_json::from_str(&news(r#"{"ask":"hello"}"#)).expect("a request");
        assert_eq!(hello, Request::Hello);
        let replies = [
            Reply::Hello { protocol: VERSION },
            Reply::Checked { kernel: "k".to_owned(), digest: "07".to_owned(), amounts: Vec::new() },
            Reply::Sampled(Sampled {
                ns: 5,
                digest: "07".to_owned(),
                cpu_ns: Some(4),
                faults: None,
                switches: Some(0),
            }),
        ];
        for reply in replies {
            let line = serde_json::to_string(&reply).expect("plain data");
            assert_eq!(serde_json::from_str::<Reply>(&news(&line)).expect("a reply"), reply, "{line}");
        }
    }

    #[test]
    fn what_an_older_build_does_not_say_is_unknown() {
        let opened: Reply =
            serde_json::from_str(r#"{"re":"opened","unit":"bytes","units":64,"reference":"07"}"#)
                .expect("a reply");
        let Reply::Opened { working_set: 0, setup_ns: 0, .. } = opened else { panic!("{opened:?}") };
        let sampled: Reply =
            serde_json::from_str(r#"{"re":"sampled","ns":5,"digest":"07"}"#).expect("a reply");
        let Reply::Sampled(Sampled { cpu_ns: None, faults: None, switches: None, .. }) = sampled else {
            panic!("{sampled:?}")
        };
        // What a verdict hangs on cannot be left out.
        assert!(serde_json::from_str::<Reply>(r#"{"re":"sampled","ns":5}"#).is_err());
    }
}
