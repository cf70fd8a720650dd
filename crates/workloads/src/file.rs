//! Files as a workload: one file in the page cache, fetched by each strategy, past that cache by one of them.

use crate::blake3::number;
use crate::{input, thread_counts, work};
use hashmill_files::{Files, Function, Options, Strategy};
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Routine, Spec, Workload};
use hashmill_lab::model::floor::Work;
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;
use std::num::NonZero;
use tempfile::NamedTempFile;

/// Most bytes of a file that a thread takes at a time.
const TILES: [&str; 5] = ["64KiB", "256KiB", "1MiB", "4MiB", "8MiB"];

pub(crate) fn register(registry: &mut Registry) {
    let classes: Vec<String> = Strategy::ALL.iter().map(|strategy| format!("file:{strategy}")).collect();
    let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
    let sizes = [4 << 10, 1 << 20, 16 << 20, 256 << 20];
    registry.workload(OneFile, &sizes).engine(
        "sum",
        sum(),
        Offer::classes(&classes).threads(thread_counts()).knob("tile", TILES),
    );
}

/// One file of the case's size. It goes with the session.
struct OneFile;

struct Stored {
    file: NamedTempFile,
    content: &'static [u8],
}

impl Workload for OneFile {
    type Input = Stored;

    fn name(&self) -> &str {
        "file"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size)
    }

    fn work(&self, spec: &Spec) -> Option<Work> {
        Some(work::blake3(spec.size))
    }

    fn prepare(&self, spec: &Spec, seed: u64) -> Result<Stored, Fault> {
        let content = input::bytes(spec.size, seed)?;
        let stored = NamedTempFile::new().and_then(|file| {
            std::fs::write(file.path(), content)?;
            // Whoever reads past the cache would wait for what was written to it.
            if spec.class.strategy() == Some("direct") {
                file.as_file().sync_all()?;
            }
            Ok(file)
        });
        // A full disk is a property of the machine, not of the engine.
        let file = stored.map_err(|error| Fault::unavailable(format!("a temporary file: {error}")))?;
        Ok(Stored { file, content })
    }

    fn reference(&self, _: &Spec, stored: &Stored) -> Result<Digest, Fault> {
        Ok(Digest::new(Plan::of(Kernel::portable()).hash(stored.content).as_bytes()))
    }
}

/// What `hashmill sum` does with one file.
fn sum() -> impl Engine<Input = Stored> {
    let init = |spec: &Spec| {
        let name = spec.class.strategy().unwrap_or_default();
        let mut options = Options::default();
        options.strategy = name.parse::<Strategy>().map_err(Fault::failed)?;
        options.threads = NonZero::new(spec.threads as usize);
        if spec.knobs.contains_key("tile") {
            options.tile = NonZero::new(number(spec, "tile", 1)?);
        }
        Ok((Files::new(Function::blake3(), options), spec.size as usize))
    };
    let name = |(_, size): &(Files, usize)| Plan::host().explain(*size).kernel.name().to_owned();
    let run = |(files, _): &mut (Files, usize), stored: &Stored| {
        let output = files.hash_file(stored.file.path()).map_err(Fault::failed)?.output;
        if let Some(error) = files.direct_failure() {
            return Err(Fault::unavailable(format!("files in the temporary folder past the cache: {error}")));
        }
        output.bytes_at(0).ok_or_else(|| Fault::failed("a digest starts at offset 0"))
    };
    Routine::new(init, name, run, |digest: &[u8; 32]| Digest::new(digest))
}
