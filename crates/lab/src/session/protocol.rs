//! The words between the lab and its session processes: one JSON object per line, a reply for each request.
//!
//! Both sides may be different builds of the same program, so the first exchange compares [`VERSION`].

use serde::{Deserialize, Serialize};

/// Version of these messages.
pub(crate) const VERSION: u32 = 1;

/// What the lab asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Who are you?
    Hello,
    /// Stay on one processor: the one that `choice` falls on among those allowed.
    Pin {
        /// Any number; equal numbers give equal processors.
        choice: u64,
    },
    /// Make the input of `case` and an engine for it, under the number `slot`.
    Open {
        /// Number for later requests.
        slot: usize,
        /// Key of the case.
        case: String,
        /// Seed of the input.
        seed: u64,
        /// Whether all slots of this session read one and the same input.
        share: bool,
    },
    /// Which kernel runs in `slot`, and what does it compute?
    Check {
        /// Which case.
        slot: usize,
    },
    /// Find how many iterations fill `sample_ns`.
    Calibrate {
        /// Which case.
        slot: usize,
        /// How long a sample should take.
        sample_ns: u64,
    },
    /// Take one sample.
    Sample {
        /// Which case.
        slot: usize,
        /// How many iterations.
        iterations: u64,
    },
    /// Work without looking at the system: for counters that see everything the process does.
    Work {
        /// Which case.
        slot: usize,
        /// How many iterations.
        iterations: u64,
    },
    /// How much memory do you have, and how much of it lies in huge pages?
    Memory,
}

/// What a session answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "re", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Reply {
    /// To [`Request::Hello`].
    Hello {
        /// Version of the messages.
        protocol: u32,
    },
    /// To [`Request::Pin`].
    Pinned {
        /// The processor; none where the system cannot pin.
        cpu: Option<usize>,
    },
    /// To [`Request::Open`].
    Opened {
        /// What is counted: bytes, hashes or operations.
        unit: String,
        /// How many of them per iteration.
        units: u64,
        /// Bytes that an iteration passes over; builds from before this was asked say nothing.
        #[serde(default)]
        working_set: u64,
        /// What the right answer is.
        reference: String,
    },
    /// To [`Request::Check`].
    Checked {
        /// Kernel that runs.
        kernel: String,
        /// What the engine computed.
        digest: String,
    },
    /// To [`Request::Calibrate`].
    Calibrated {
        /// How many iterations fill the sample.
        iterations: u64,
        /// How long they take, by the same measurement.
        ns: u64,
    },
    /// To [`Request::Sample`] and [`Request::Work`].
    Sampled(Sampled),
    /// To [`Request::Memory`].
    Memory {
        /// Bytes in huge pages.
        huge_bytes: Option<u64>,
        /// All bytes in memory.
        #[serde(default)]
        resident_bytes: Option<u64>,
        /// Bytes in pages that were reserved as huge ones.
        #[serde(default)]
        reserved_bytes: Option<u64>,
        /// Bytes in those of 1 GiB and more.
        #[serde(default)]
        gigantic_bytes: Option<u64>,
    },
    /// This machine lacks what the case needs.
    Unavailable {
        /// What it lacks.
        reason: String,
    },
    /// The case, or the request, failed.
    Failed {
        /// Why.
        reason: String,
    },
}

/// One sample with what the process used for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
