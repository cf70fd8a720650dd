//! File workload: one file in the page cache, read by each strategy; one of them bypasses the cache.

use crate::digests::blake3::number;
use crate::digests::sha256;
use crate::temp_file::TempFile;
use crate::{input, lower_bounds, thread_counts};
use hashmill_files::{Files, Function, Options, Strategy};
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Routine, Spec, Workload};
use hashmill_lab::model::lower_bound::MinimalWork;
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use std::num::NonZero;

/// Maximum bytes of a file that a thread takes at a time.
const TILES: [&str; 5] = ["64KiB", "256KiB", "1MiB", "4MiB", "8MiB"];

pub(crate) fn register(registry: &mut Registry) {
    let classes: Vec<String> = Strategy::ALL.iter().map(|strategy| format!("file:{strategy}")).collect();
    let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
    let sizes = [4 << 10, 1 << 20, 16 << 20, 256 << 20];
    registry.workload(OneFile(Hashing::Blake3), &sizes).engine(
        "sum",
        sum(Hashing::Blake3),
        EngineOffer::classes(&classes).threads(thread_counts()).knob("tile", TILES),
    );
    let sizes = [1 << 20, 256 << 20];
    registry.workload(OneFile(Hashing::Sha256), &sizes).engine(
        "sum",
        sum(Hashing::Sha256),
        EngineOffer::classes(&["file:auto"]),
    );
}

/// One file of the case's size, deleted with the session.
struct OneFile(Hashing);

/// Hash function of a checksum list.
#[derive(Clone, Copy)]
enum Hashing {
    Blake3,
    /// As in lists of other programs; see [`sha256`] for its checks.
    Sha256,
}

struct Stored {
    file: TempFile,
    content: &'static [u8],
}

impl Workload for OneFile {
    type Input = Stored;

    fn name(&self) -> &str {
        match self.0 {
            Hashing::Blake3 => "file",
            Hashing::Sha256 => "sha256-file",
        }
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        match self.0 {
            Hashing::Blake3 => Some(lower_bounds::blake3(spec.size)),
            Hashing::Sha256 => None,
        }
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Stored, CaseError> {
        let content = input::bytes(spec.size, seed)?;
        let stored = TempFile::with_content(content).and_then(|file| {
            // A read that bypasses the cache would wait for dirty pages.
            if spec.class.strategy() == Some("direct") {
                file.sync()?;
            }
            Ok(file)
        });
        // A full disk is a property of the machine, not of the engine.
        let file = stored.map_err(|error| CaseError::unavailable(format!("a temporary file: {error}")))?;
        Ok(Stored { file, content })
    }

    fn reference(&self, _: &Spec, stored: &Stored) -> Result<Digest, CaseError> {
        Ok(match self.0 {
            Hashing::Blake3 => {
                Digest::new(Plan::for_kernel(Kernel::portable()).hash(stored.content).as_bytes())
            }
            Hashing::Sha256 => Digest::new(&sha256::digest(stored.content)),
        })
    }
}

/// `hashmill sum` of one file.
fn sum(hashing: Hashing) -> impl Engine<Input = Stored> {
    let init = move |spec: &Spec| {
        let name = spec.class.strategy();
        let name = name.ok_or_else(|| CaseError::failed("a class of files names a strategy"))?;
        let mut options = Options::default();
        options.strategy = name.parse::<Strategy>().map_err(CaseError::failed)?;
        options.threads = NonZero::new(spec.threads as usize);
        if spec.knobs.contains_key("tile") {
            options.tile = NonZero::new(number(spec, "tile", 1)?);
        }
        let function = match hashing {
            Hashing::Blake3 => Function::blake3(),
            Hashing::Sha256 => Function::sha256(),
        };
        Ok((Files::new(function, options), spec.size as usize))
    };
    let name = move |(_, size): &(Files, usize)| match hashing {
        Hashing::Blake3 => Plan::host().explain(*size).kernel.name().to_owned(),
        Hashing::Sha256 => "sha2".to_owned(),
    };
    let run = |(files, _): &mut (Files, usize), stored: &Stored| {
        let output = files.hash_file(stored.file.path()).map_err(CaseError::failed)?.output;
        if let Some(error) = files.direct_failure() {
            return Err(CaseError::unavailable(format!(
                "files in the temporary folder past the cache: {error}"
            )));
        }
        output.bytes_at(0).ok_or_else(|| CaseError::failed("a digest starts at offset 0"))
    };
    Routine::new(init, name, run, |digest: &[u8; 32]| Digest::new(digest))
}
