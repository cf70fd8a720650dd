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
use crate::recording::{Commits, Recording, TYPIST, play};

/// Workload on a recording. The size is the number of transactions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum What {
    /// Typed into a new document, until the hashes of all changes are known.
    Replay,
    /// From saved bytes to the text.
    Load,
    /// From saved bytes to a document that can be asked; what an engine puts off until then is not part of it.
    Open,
    /// The same, and to bytes again.
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

impl What {
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
            // What is told is told transaction by transaction.
            Self::Hear => offer.knob("heard", ["at-once", "one-by-one"]),
            Self::Open | Self::OpenSave | Self::FirstEdit | Self::Save | Self::HearOne => committed(offer),
        }
    }
}

/// Registers the workloads with all engines, those too that this build lacks.
pub(super) fn register(registry: &mut Registry) {
    for (what, name) in What::ALL {
        let engines = registry
            .workload(Recorded { what, name }, &[1_000])
            .engine("hashmill", Player::<Hashmill>::of(what), what.offer())
            .engine("automerge", Player::<Official>::of(what), what.offer());
        others(engines, what);
    }
}

#[cfg(feature = "doc-engines")]
fn others(engines: AddEngines<'_, Input>, what: What) {
    use crate::engines::{diamond::Diamond, loro::Loro, yrs::Yrs};
    engines
        .engine("loro", Player::<Loro>::of(what), what.offer())
        .engine("yrs", Player::<Yrs>::of(what), what.offer())
        .engine("diamond-types", Player::<Diamond>::of(what), what.offer());
}

#[cfg(not(feature = "doc-engines"))]
fn others(engines: AddEngines<'_, Input>, what: What) {
    engines
        .engine("loro", super::absent(), what.offer())
        .engine("yrs", super::absent(), what.offer())
        .engine("diamond-types", super::absent(), what.offer());
}

/// A recording, and what else the case says.
struct Input {
    recording: Recording,
    /// Whether what can be put off is: hashes, checks, or that changes are told together.
    thorough: bool,
}

/// A workload of the lab.
struct Recorded {
    what: What,
    name: &'static str,
}

impl Workload for Recorded {
    type Input = Input;

    fn name(&self) -> &str {
        self.name
    }

    fn units(&self, spec: &Spec) -> Units {
        match self.what {
            What::Open | What::OpenSave | What::FirstEdit | What::HearOne => Units::Operations(1),
            What::Replay | What::Load | What::Save | What::Hear => Units::Operations(spec.size),
        }
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<Input, CaseError> {
        let knob = |name: &str| spec.knobs.get(name).map(String::as_str);
        let one_of = |name: &str, words: [&str; 2]| match knob(name) {
            None => Ok(true),
            Some(word) if word == words[0] => Ok(true),
            Some(word) if word == words[1] => Ok(false),
            Some(word) => {
                Err(CaseError::failed(format!("{name}={word}: write {} or {}", words[0], words[1])))
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
        Ok(digest(&match self.what {
            What::Replay | What::Load => end.clone().into(),
            What::Open | What::OpenSave | What::FirstEdit | What::Save => 1_i64.into(),
            // Which of two concurrent insertions comes first differs by engine, their number does not.
            What::Hear => end.chars().count().into(),
            What::HearOne => recording.trace.txns.len().into(),
        }))
    }
}

/// An engine at one of them.
struct Player<E> {
    what: What,
    engine: PhantomData<fn() -> E>,
}

impl<E: Shared> Player<E> {
    fn of(what: What) -> Self {
        Self { what, engine: PhantomData }
    }
}

impl<E: Shared> Engine for Player<E> {
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
        if recording.is_wide() && counts_units::<E>() {
            return Err(CaseError::unavailable(format!(
                "{} counts units of UTF-16, and {} has characters of two: its places are others",
                E::NAME,
                recording.name
            )));
        }
        case::<E>(self.what, recording, *thorough)
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
        match self.what {
            What::Save => {
                Ok(vec![Amount { name: "saved".to_owned(), bytes: recording.saved::<E>()?.len() as u64 }])
            }
            What::Replay => memory::amounts::<E>(LoadMethod::Typed, recording, *thorough),
            What::Load => memory::amounts::<E>(LoadMethod::Loaded, recording, *thorough),
            What::Open => memory::amounts::<E>(LoadMethod::Opened, recording, *thorough),
            What::OpenSave | What::FirstEdit | What::Hear | What::HearOne => Ok(Vec::new()),
        }
    }

    fn consumes(&self) -> bool {
        matches!(self.what, What::FirstEdit | What::HearOne)
    }
}

/// Whether places are not counted in characters, as recordings count them.
fn counts_units<E: Shared>() -> bool {
    let mut doc = E::blank(1);
    doc.edit(&[Patch { at: 0, delete: 0, insert: "😀".to_owned() }]);
    doc.length() != 1
}

fn case<E: Shared>(what: What, recording: &Recording, thorough: bool) -> Result<Case, CaseError> {
    let saved = || recording.saved::<E>();
    Ok(match what {
        What::Replay => {
            let transactions = recording.transactions();
            repeat(move || {
                let mut doc: E = play(&transactions);
                if thorough {
                    doc.complete_commits();
                }
                doc.text()
            })
        }
        What::Load => {
            let (saved, load) = (saved()?, if thorough { E::load } else { E::load_deferred });
            repeat(move || load(&saved).text())
        }
        What::Open => {
            let saved = saved()?;
            repeat(move || {
                drop(black_box(E::open(&saved)));
                1_i64
            })
        }
        What::OpenSave => {
            let saved = saved()?;
            let again = E::load(&E::open_and_save(&saved)).text();
            if again != recording.trace.end {
                return Err(CaseError::failed("what was opened and saved has another text"));
            }
            repeat(move || usize::from(!black_box(E::open_and_save(&saved)).is_empty()))
        }
        What::FirstEdit => {
            let (saved, edit) = (saved()?, [insertion(0)]);
            prepared(
                move || E::load(&saved),
                move |doc| {
                    doc.edit(&edit);
                    1_i64
                },
            )
        }
        What::Save => {
            let mut doc = E::load(&saved()?);
            // How many bytes differs by engine.
            repeat(move || usize::from(!black_box(doc.save()).is_empty()))
        }
        What::Hear => {
            let (base, updates) = recording.session::<E>()?;
            repeat(move || {
                let mut doc = E::load(&base);
                match thorough {
                    true => doc.apply_updates(&updates),
                    false => {
                        updates.iter().for_each(|update| doc.apply_updates(std::slice::from_ref(update)))
                    }
                }
                doc.text().chars().count()
            })
        }
        What::HearOne => hear_one::<E>(saved()?, recording.trace.txns.len()),
    })
}

fn insertion(at: usize) -> Patch {
    Patch { at, delete: 0, insert: "x".to_owned() }
}

/// How many changes a receiver hears before it starts again from where it was.
const HEARD: usize = 64;

fn hear_one<E: Shared>(saved: Vec<u8>, size: usize) -> Case {
    // The sender needs another actor: all loaded copies have the same one.
    let mut sender = E::load(&saved).fork(2);
    let length = sender.length();
    // Scattered, as other people's edits are.
    let updates: Vec<[Vec<u8>; 1]> =
        (0..HEARD).map(|update| [sender.edit_and_export(&[insertion(update * 7919 % length)])]).collect();
    let receiver = Rc::new(RefCell::new((E::load(&saved), 0)));
    let again = Rc::clone(&receiver);
    let before = move || {
        let (doc, heard) = &mut *again.borrow_mut();
        if *heard == HEARD {
            (*doc, *heard) = (E::load(&saved), 0);
        }
    };
    let call = move |_| {
        let (doc, heard) = &mut *receiver.borrow_mut();
        doc.apply_updates(&updates[*heard % HEARD]);
        *heard += 1;
        Answer::from(size)
    };
    Case { call: Box::new(call), prepare: Some(Box::new(before)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_characters_or_the_engine_is_left_out() {
        assert!(!counts_units::<Hashmill>() && !counts_units::<Official>());
        #[cfg(feature = "doc-engines")]
        assert!(counts_units::<crate::engines::yrs::Yrs>());
        let wide = Recording::read(TYPIST, 300, Commits::Each).expect("the typist needs no file");
        assert!(wide.is_wide());
        let narrow = Recording::read(TYPIST, 1, Commits::Each).expect("one stroke");
        assert_eq!(narrow.is_wide(), narrow.trace.end.chars().any(|letter| letter.len_utf16() > 1));
    }
}
