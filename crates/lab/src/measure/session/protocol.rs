//! Protocol between the lab and its session processes: one JSON object per line, one reply per request.
//!
//! Both ends may be different builds of one program, older or newer. So a reader ignores unknown fields, and an added
//! field has a default. [`VERSION`], which the first exchange compares, counts only incompatible changes.

use crate::model::engine::Amount;
use serde::{Deserialize, Serialize};

/// Version of the meaning of these messages, not of added fields. Since 2 no class times the digest.
pub(crate) const VERSION: u32 = 2;

/// Request of the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Request {
    Hello,
    /// Pin to one of the allowed processors, selected by `choice`.
    Pin {
        /// Any number; equal numbers select equal processors.
        choice: u64,
    },
    /// Make the input of `case` and an engine for it, as number `slot`.
    Open {
        slot: usize,
        case: String,
        seed: u64,
        /// Whether all slots of this session share one input.
        #[serde(default)]
        share: bool,
    },
    /// Report the kernel of `slot` and the digest of one call.
    Check {
        slot: usize,
        /// Whether to count amounts too.
        #[serde(default)]
        amounts: bool,
    },
    /// Find the number of iterations that fill `sample_ns`.
    Calibrate {
        slot: usize,
        sample_ns: u64,
    },
    /// Take one sample.
    Sample {
        slot: usize,
        iterations: u64,
    },
    /// Work without reading system counters, for tools that count everything the process does.
    Work {
        slot: usize,
        iterations: u64,
    },
    /// Work, and report the timed intervals, for tools that see the whole process and must exclude what is not timed.
    Watch {
        slot: usize,
        iterations: u64,
        /// Whether to count page faults and switches, which takes longer than many calls.
        usage: bool,
    },
    /// Report memory usage, including huge pages.
    Memory,
}

/// Reply of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "re", rename_all = "snake_case")]
pub(crate) enum Reply {
    Hello {
        protocol: u32,
    },
    Pinned {
        /// The processor; `None` if the system cannot pin.
        cpu: Option<usize>,
    },
    Opened {
        /// Kind of unit: bytes, hashes or operations.
        unit: String,
        units: u64,
        /// Bytes that an iteration passes over; 0 from older builds.
        #[serde(default)]
        working_set: u64,
        /// Number of inputs that calls take in turn; 0 from older builds.
        #[serde(default)]
        inputs: u64,
        /// Time to make the input and the right answer.
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
        /// Their time in the same measurement.
        ns: u64,
    },
    /// Reply to [`Request::Sample`] and [`Request::Work`].
    Sampled(Sampled),
    Watched(Watched),
    Memory(Memory),
    Unavailable {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

/// Memory of a process, or of all processes of a session, in bytes; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// In huge pages of all kinds.
    pub(crate) huge_bytes: Option<u64>,
    /// In pages of all sizes.
    pub(crate) resident_bytes: Option<u64>,
    /// In reserved huge pages; the other huge pages are transparent.
    pub(crate) reserved_bytes: Option<u64>,
    /// In reserved pages of 1 GiB or more; the other reserved pages are about 2 MiB.
    pub(crate) gigantic_bytes: Option<u64>,
}

/// Timed intervals, and what the process used in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Watched {
    /// First reading of the system's monotonic clock; `None` if other programs cannot use that clock.
    pub(crate) begin_ns: Option<u64>,
    /// Times between consecutive readings: of a timed interval, of the pause after it, and so on.
    pub(crate) lengths_ns: Vec<u64>,
    /// Page faults within the timed intervals.
    pub(crate) faults: Option<u64>,
    /// Involuntary context switches of the main thread within the timed intervals.
    pub(crate) switches: Option<u64>,
}

impl Watched {
    /// Number of timed intervals.
    pub(crate) fn stretches(&self) -> usize {
        self.lengths_ns.len().div_ceil(2)
    }
}

/// One sample with the process's resource usage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sampled {
    /// Time of all iterations.
    pub(crate) ns: u64,
    /// Digest of the last iteration.
    pub(crate) digest: String,
    /// Processor time of all threads.
    pub(crate) cpu_ns: Option<u64>,
    /// Page faults, minor and major.
    pub(crate) faults: Option<u64>,
    /// Involuntary context switches of the main thread.
    pub(crate) switches: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignores_unknown_fields_of_newer_builds() {
        let news = |line: &str| line.replacen('{', r#"{"news":{"deep":[1,2]},"#, 1);
        let sample = r#"{"ask":"sample","slot":1,"iterations":7}"#;
        let request: Request = serde_json::from_str(&news(sample)).expect("a request");
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
    fn missing_fields_of_older_builds_are_unknown() {
        let opened: Reply =
            serde_json::from_str(r#"{"re":"opened","unit":"bytes","units":64,"reference":"07"}"#)
                .expect("a reply");
        let Reply::Opened { working_set: 0, setup_ns: 0, .. } = opened else { panic!("{opened:?}") };
        let sampled: Reply =
            serde_json::from_str(r#"{"re":"sampled","ns":5,"digest":"07"}"#).expect("a reply");
        let Reply::Sampled(Sampled { cpu_ns: None, faults: None, switches: None, .. }) = sampled else {
            panic!("{sampled:?}")
        };
        // Fields that a verdict depends on are required.
        assert!(serde_json::from_str::<Reply>(r#"{"re":"sampled","ns":5}"#).is_err());
    }
}
