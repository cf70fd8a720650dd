//! Workloads on recordings of real typing, in every engine for documents.

use std::cell::RefCell;
use std::hint::black_box;
use std::marker::PhantomData;
use std::rc::Rc;

use hashmill_lab::model::engine::{Amount, CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::registry::{AddEngines, EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_workloads::doc::{Answer, Case, Hashmill, Patch, Shared, digest, prepared, repeat};

use super::memory::{self, LoadMethod};
use crate::engines::official::Official;
use crate::recording::{Commits, Recording, TYPIST, replay_transactions};

/// Workload on a recording. The size is the number of transactions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum RecordedWork {
    /// Typed into a new document, until the hashes of all changes are known.
    Replay,
    /// From saved bytes to the text.
    Load,
    /// From saved bytes to a readable document, without work that an engine defers until the first read.
    Open,
    /// As `Open`, then to bytes again.
    OpenSave,
    /// The first edit after a load.
    FirstEdit,
    /// To bytes.
    Save,
    /// Another replica receives the changes of several users.
    Hear,
    /// One change of another replica.
    HearOne,
}

impl RecordedWork {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Replay, "doc-recorded-replay"),
        (Self::Load, "doc-recorded-load"),
        (Self::Open, "doc-recorded-open"),
        (Self::OpenSave, "doc-recorded-open_save"),
        (Self::FirstEdit, "doc-recorded-first_edit"),
        (Self::Save, "doc-recorded-save"),
        (Self::Hear, "doc-recorded-hear"),
        (Self::HearOne, "doc-recorded-hear_one"),
    ];

    fn offer(self) -> EngineOffer {
        let recordings = [
            TYPIST,
            "automerge-paper",
            "rustcode",
            "sveltecomponent",
            "friendsforever_flat",
            "friendsforever",
        ];
        let offer = EngineOffer::classes(&["kernel"]).knob("recording", recordings);
        let committed = |offer: EngineOffer| offer.knob("commits", ["each", "one"]);
        match self {
            Self::Replay => committed(offer).knob("hashes", ["all", "later"]),
            Self::Load => committed(offer).knob("checks", ["all", "later"]),
            // Updates are always those of single transactions.
            Self::Hear => offer.knob("heard", ["at-once", "one-by-one"]),
            Self::Open | Self::OpenSave | Self::FirstEdit | Self::Save | Self::HearOne => committed(offer),
        }
    }
}

/// Registers the workloads with all engines, including those that this build lacks.
pub(super) fn register(registry: &mut Registry) {
    for (work, name) in RecordedWork::ALL {
        let engines = registry
            .workload(RecordedWorkload { work, name }, &[1_000])
            .engine("hashmill", RecordedEngine::<Hashmill>::new(work), work.offer())
            .engine("automerge", RecordedEngine::<Official>::new(work), work.offer());
        register_others(engines, work);
    }
}

#[cfg(feature = "doc-engines")]
fn register_others(engines: AddEngines<'_, Input>, work: RecordedWork) {
    use crate::engines::{diamond::Diamond, loro::Loro, yrs::Yrs};
    engines
        .engine("loro", RecordedEngine::<Loro>::new(work), work.offer())
        .engine("yrs", RecordedEngine::<Yrs>::new(work), work.offer())
        .engine("diamond-types", RecordedEngine::<Diamond>::new(work), work.offer());
}

#[cfg(not(feature = "doc-engines"))]
fn register_others(engines: AddEngines<'_, Input>, work: RecordedWork) {
    engines
        .engine("loro", super::missing_engine(), work.offer())
        .engine("yrs", super::missing_engine(), work.offer())
        .engine("diamond-types", super::missing_engine(), work.offer());
}

/// A recording, and the options of the case.
struct Input {
    recording: Recording,
    /// Whether nothing is deferred: hashes are computed, files checked, and updates applied together.
    thorough: bool,
}

/// A workload of the lab.
struct RecordedWorkload {
    work: RecordedWork,
    name: &'static str,
}

impl Workload for RecordedWorkload {
    type Input = Input;

    fn name(&self) -> &str {
        self.name
    }

    fn units(&self, spec: &Spec) -> Units {
        match self.work {
            RecordedWork::Open | RecordedWork::OpenSave | RecordedWork::FirstEdit | RecordedWork::HearOne => {
                Units::Operations(1)
            }
            RecordedWork::Replay | RecordedWork::Load | RecordedWork::Save | RecordedWork::Hear => {
                Units::Operations(spec.size)
            }
        }
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<Input, CaseError> {
        let knob = |name: &str| spec.knobs.get(name).map(String::as_str);
        let one_of = |name: &str, values: [&str; 2]| match knob(name) {
            None => Ok(true),
            Some(value) if value == values[0] => Ok(true),
            Some(value) if value == values[1] => Ok(false),
            Some(value) => {
                Err(CaseError::failed(format!("{name}={value}: write {} or {}", values[0], values[1])))
            }
        };
        let commits = if one_of("commits", ["each", "one"])? { Commits::Each } else { Commits::One };
        let thorough = one_of("hashes", ["all", "later"])?
            && one_of("checks", ["all", "later"])?
            && one_of("heard", ["at-once", "one-by-one"])?;
        let size = usize::try_from(spec.size).map_err(CaseError::failed)?;
        let recording = Recording::read(knob("recording").unwrap_or(TYPIST), size, commits)?;
        Ok(Input { recording, thorough })
    }

    fn reference(&self, _: &Spec, Input { recording, .. }: &Input) -> Result<Digest, CaseError> {
        let end = &recording.trace.end;
        Ok(digest(&match self.work {
            RecordedWork::Replay | RecordedWork::Load => end.clone().into(),
            RecordedWork::Open | RecordedWork::OpenSave | RecordedWork::FirstEdit | RecordedWork::Save => {
                1_i64.into()
            }
            // The order of concurrent insertions differs by engine, their number does not.
            RecordedWork::Hear => end.chars().count().into(),
            RecordedWork::HearOne => recording.trace.txns.len().into(),
        }))
    }
}

/// An engine for one of these workloads.
struct RecordedEngine<E> {
    work: RecordedWork,
    engine: PhantomData<fn() -> E>,
}

impl<E: Shared> RecordedEngine<E> {
    fn new(work: RecordedWork) -> Self {
        Self { work, engine: PhantomData }
    }
}

impl<E: Shared> Engine for RecordedEngine<E> {
    type Input = Input;
    type Context = ();
    type Buffer = Case;
    type Output = Answer;

    fn init(&self, _: &Spec) -> Result<(), CaseError> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        E::NAME.to_owned()
    }

    fn reserve(&self, (): &mut (), Input { recording, thorough }: &Input) -> Result<Case, CaseError> {
        if recording.is_wide() && counts_utf16_units::<E>() {
            return Err(CaseError::unavailable(format!(
                "{} counts UTF-16 units, and {} has characters of two units: its positions differ",
                E::NAME,
                recording.name
            )));
        }
        case::<E>(self.work, recording, *thorough)
    }

    fn stage(&self, (): &mut (), case: &mut Case, _: &Input) -> Result<(), CaseError> {
        if let Some(prepare) = &mut case.prepare {
            prepare();
        }
        Ok(())
    }

    fn run(&self, (): &mut (), case: &mut Case, _: &Input) -> Result<Answer, CaseError> {
        Ok((case.call)(0))
    }

    fn digest(&self, answer: &Answer) -> Digest {
        digest(answer)
    }

    fn amounts(
        &self,
        (): &mut (),
        _: &mut Case,
        Input { recording, thorough }: &Input,
    ) -> Result<Vec<Amount>, CaseError> {
        match self.work {
            RecordedWork::Save => {
                Ok(vec![Amount { name: "saved".to_owned(), bytes: recording.saved::<E>()?.len() as u64 }])
            }
            RecordedWork::Replay => memory::amounts::<E>(LoadMethod::Typed, recording, *thorough),
            RecordedWork::Load => memory::amounts::<E>(LoadMethod::Loaded, recording, *thorough),
            RecordedWork::Open => memory::amounts::<E>(LoadMethod::Opened, recording, *thorough),
            RecordedWork::OpenSave | RecordedWork::FirstEdit | RecordedWork::Hear | RecordedWork::HearOne => {
                Ok(Vec::new())
            }
        }
    }

    fn consumes(&self) -> bool {
        matches!(self.work, RecordedWork::FirstEdit | RecordedWork::HearOne)
    }
}

/// Whether an engine does not count positions in characters, as recordings do.
fn counts_utf16_units<E: Shared>() -> bool {
    let mut doc = E::blank(1);
    doc.edit(&[Patch { at: 0, delete: 0, insert: "😀".to_owned() }]);
    doc.length() != 1
}

fn case<E: Shared>(work: RecordedWork, recording: &Recording, thorough: bool) -> Result<Case, CaseError> {
    let saved = || recording.saved::<E>();
    Ok(match work {
        RecordedWork::Replay => {
            let transactions = recording.transactions();
            repeat(move || {
                let mut doc: E = replay_transactions(&transactions);
                if thorough {
                    doc.complete_commits();
                }
                doc.text()
            })
        }
        RecordedWork::Load => {
            let (saved, load) = (saved()?, if thorough { E::load } else { E::load_deferred });
            repeat(move || load(&saved).text())
        }
        RecordedWork::Open => {
            let saved = saved()?;
            repeat(move || {
                drop(black_box(E::open(&saved)));
                1_i64
            })
        }
        RecordedWork::OpenSave => {
            let saved = saved()?;
            let reloaded = E::load(&E::open_and_save(&saved)).text();
            if reloaded != recording.trace.end {
                return Err(CaseError::failed("a document has another text after it was opened and saved"));
            }
            repeat(move || usize::from(!black_box(E::open_and_save(&saved)).is_empty()))
        }
        RecordedWork::FirstEdit => {
            let (saved, edit) = (saved()?, [insertion(0)]);
            prepared(
                move || E::load(&saved),
                move |doc| {
                    doc.edit(&edit);
                    1_i64
                },
            )
        }
        RecordedWork::Save => {
            let mut doc = E::load(&saved()?);
            // The number of bytes differs by engine.
            repeat(move || usize::from(!black_box(doc.save()).is_empty()))
        }
        RecordedWork::Hear => {
            let (base, updates) = recording.session::<E>()?;
            repeat(move || {
                let mut doc = E::load(&base);
                match thorough {
                    true => doc.apply_updates(&updates),
                    false => {
                        updates.iter().for_each(|update| doc.apply_updates(std::slice::from_ref(update)));
                    }
                }
                doc.text().chars().count()
            })
        }
        RecordedWork::HearOne => apply_one_update::<E>(saved()?, recording.trace.txns.len()),
    })
}

fn insertion(at: usize) -> Patch {
    Patch { at, delete: 0, insert: "x".to_owned() }
}

/// Number of changes that a receiver applies before it is reset.
const CHANGES_PER_RECEIVER: usize = 64;

fn apply_one_update<E: Shared>(saved: Vec<u8>, size: usize) -> Case {
    // The sender needs another actor: all loaded copies have the same one.
    let mut sender = E::load(&saved).fork(2);
    let length = sender.length();
    // Scattered, like edits of other users.
    let updates: Vec<[Vec<u8>; 1]> = (0..CHANGES_PER_RECEIVER)
        .map(|update| [sender.edit_and_export(&[insertion(update * 7919 % length)])])
        .collect();
    let receiver = Rc::new(RefCell::new((E::load(&saved), 0)));
    let next_receiver = Rc::clone(&receiver);
    let prepare = move || {
        let (doc, applied) = &mut *next_receiver.borrow_mut();
        if *applied == CHANGES_PER_RECEIVER {
            (*doc, *applied) = (E::load(&saved), 0);
        }
    };
    let call = move |_| {
        let (doc, applied) = &mut *receiver.borrow_mut();
        doc.apply_updates(&updates[*applied % CHANGES_PER_RECEIVER]);
        *applied += 1;
        Answer::from(size)
    };
    Case { call: Box::new(call), prepare: Some(Box::new(prepare)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_that_count_utf16_units_are_excluded_from_wide_recordings() {
        assert!(!counts_utf16_units::<Hashmill>() && !counts_utf16_units::<Official>());
        #[cfg(feature = "doc-engines")]
        assert!(counts_utf16_units::<crate::engines::yrs::Yrs>());
        let wide = Recording::read(TYPIST, 300, Commits::Each).expect("the typist needs no file");
        assert!(wide.is_wide());
        let narrow = Recording::read(TYPIST, 1, Commits::Each).expect("one stroke");
        assert_eq!(narrow.is_wide(), narrow.trace.end.chars().any(|letter| letter.len_utf16() > 1));
    }
}
