//! Choice of kernels for the CPU, and the plans made from it.

use super::host::Host;
use hashmill_hash::argon2;
use hashmill_hash::blake3::{Kernel, Plan, Role, Tuning};
use hashmill_machine as machine;
use serde::{Deserialize, Serialize};

/// The basis that tuned plans report.
pub(super) const BASIS: &str = "measured here by hashmill tune";

/// The choice for the CPU, and when it was measured.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Time of the measurement.
    pub measured: String,
    /// Kernels of BLAKE3.
    pub blake3: Blake3Choice,
    /// Kernel and streams of Argon2.
    pub argon2: Argon2Choice,
}

/// A kernel for each role, and the input size from which a second thread pays.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Blake3Choice {
    /// Kernel for one block.
    pub block: String,
    /// Kernel for one chunk.
    pub chunk: String,
    /// Kernel for several chunks.
    pub many: String,
    /// Kernel for long inputs. Missing in earlier formats, which had one kernel for all inputs above a chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<String>,
    /// Kernel for extended output.
    pub xof: String,
    /// Bytes from which a second thread pays.
    pub parallel_from: u64,
}

/// A kernel, and how many computations a thread interleaves.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Argon2Choice {
    /// The kernel.
    pub kernel: String,
    /// Lanes of one hash that a thread interleaves.
    pub lanes: Vec<Streams>,
    /// Hashes that a thread interleaves.
    pub hashes: Vec<Streams>,
}

/// A table entry. The first entry with `up_to_kib` at least the memory of a hash applies.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// The largest memory of a hash that this entry applies to.
    pub up_to_kib: u32,
    /// Computations that a thread interleaves.
    pub streams: usize,
}

impl Choice {
    /// The day of the measurement; the whole text, if it is none.
    pub fn date(&self) -> &str {
        self.measured.get(..10).unwrap_or(&self.measured)
    }

    /// The plan for BLAKE3. It lives as long as the program, so call this once.
    pub fn blake3(&self) -> Plan {
        let Blake3Choice { block, chunk, many, long, xof, parallel_from } = &self.blake3;
        let kernels: Vec<Kernel> = Kernel::all().collect();
        let names = Role::ALL.into_iter().zip([block, chunk, many, long.as_ref().unwrap_or(many), xof]);
        // `fault` has checked the names. A role whose kernel is unknown would keep that of the host; no digest depends on it.
        let found = names.filter_map(|(role, name)| {
            kernels.iter().find(|kernel| kernel.name() == *name).map(|kernel| (role, *kernel))
        });
        let tuning =
            found.fold(Tuning::from_plan(Plan::host()), |tuning, (role, kernel)| tuning.kernel(role, kernel));
        // On a machine of 32 bits, no input is as long as that.
        let from = usize::try_from(*parallel_from).unwrap_or(usize::MAX);
        Box::leak(Box::new(tuning.parallel_from(from).measured(BASIS))).plan()
    }

    /// The plan for Argon2. It lives as long as the program, so call this once.
    pub fn argon2(&self) -> argon2::Plan {
        let Argon2Choice { kernel, lanes, hashes } = &self.argon2;
        let table = |entries: &[Streams]| -> argon2::Streams {
            entries.iter().map(|entry| (entry.up_to_kib, entry.streams)).collect::<Vec<_>>().leak()
        };
        // `fault` has checked the name.
        let plan = argon2::Kernel::by_name(kernel).map_or_else(argon2::Plan::host, argon2::Plan::for_kernel);
        plan.measured(BASIS, table(lanes), table(hashes))
    }

    /// A fault that shows that this program did not write the file.
    pub(super) fn fault(&self, host: &Host) -> Option<String> {
        let Blake3Choice { block, chunk, many, long, xof, .. } = &self.blake3;
        let mut names = [block, chunk, many, xof].into_iter().chain(long);
        if let Some(name) = names.find(|name| !host.blake3.contains(name)) {
            return Some(format!("no kernel of BLAKE3 is called {name}"));
        }
        let Argon2Choice { kernel, lanes, hashes } = &self.argon2;
        if !host.argon2.contains(kernel) {
            return Some(format!("no kernel of Argon2 is called {kernel}"));
        }
        let is_table = |table: &[Streams]| {
            table.last().is_some_and(|last| last.up_to_kib == u32::MAX)
                && table.is_sorted_by(|one, next| one.up_to_kib < next.up_to_kib)
                && table.iter().all(|entry| (1..=argon2::MAX_BATCH).contains(&entry.streams))
        };
        if !is_table(lanes) || !is_table(hashes) {
            return Some("its table of streams is invalid".to_owned());
        }
        machine::date::parse_utc(&self.measured).is_none().then(|| "its date is invalid".to_owned())
    }
}
