//! Workload of the first save after a load, by the engines of Automerge's format, with at most one change in between.

use std::hint::black_box;
use std::marker::PhantomData;

use hashmill_doc::{ActorId, Document, EditError, ObjType, ROOT, Transactable as _};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use hashmill_testkit::data;
use hashmill_workloads::doc::{Answer, Case, Hashmill, Objects, digest, keys, numbered, prepared};

use crate::engines::official::Official;

/// Loaded documents. The size is their number of entries; for a file of another project, its number of operations.
const DOCUMENTS: [&str; 4] = ["keys", "changes", "records", "godot-modeled"];
/// Whether another actor's first change, which puts one new key, is made before the save.
const BETWEEN: [&str; 2] = ["put", "nothing"];
const FORMS: [&str; 2] = ["plain", "deflated"];

/// The key that is put.
const KEY: &str = "new";

pub(super) fn register(registry: &mut Registry) {
    let offer = || {
        EngineOffer::classes(&["kernel"])
            .knob("document", DOCUMENTS)
            .knob("between", BETWEEN)
            .knob("form", FORMS)
    };
    registry
        .workload(FirstSave, &[10_000])
        .engine("hashmill", FirstSaveEngine::<Hashmill>(PhantomData), offer())
        .engine("automerge", FirstSaveEngine::<Official>(PhantomData), offer());
}

struct FirstSave;

/// The loaded file, and the options of the case.
struct Input {
    file: Vec<u8>,
    put: bool,
    deflated: bool,
}

impl Workload for FirstSave {
    type Input = Input;

    fn name(&self) -> &'static str {
        "doc-first_save"
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Operations(1)
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<Input, CaseError> {
        let one_of =
            |name: &str, values: &[&'static str]| match spec.knobs.get(name) {
                None => Ok(values[0]),
                Some(value) => values.iter().copied().find(|known| known == value).ok_or_else(|| {
                    CaseError::failed(format!("{name}={value}: there is {}", values.join(", ")))
                }),
            };
        let size = usize::try_from(spec.size).map_err(CaseError::failed)?;
        let file = file(one_of("document", &DOCUMENTS)?, size)?;
        let put = one_of("between", &BETWEEN)? == BETWEEN[0];
        Ok(Input { file, put, deflated: one_of("form", &FORMS)? == FORMS[1] })
    }

    fn reference(&self, _: &Spec, _: &Input) -> Result<Digest, CaseError> {
        Ok(digest(&Answer::from(1_usize)))
    }
}

fn file(document: &str, size: usize) -> Result<Vec<u8>, CaseError> {
    let mut doc = Document::new().with_actor(ActorId::from([1; 16]));
    let result = match document {
        "keys" => {
            doc.transact(|tx| numbered(&keys(size)).try_for_each(|(key, value)| tx.put(ROOT, key, value)))
        }
        // Changes of ten puts, on a hundred keys in turn.
        "changes" => {
            let keys = keys(100);
            let puts: Vec<(&String, i64)> = keys.iter().cycle().zip(0..10 * size as i64).collect();
            puts.chunks(10).try_for_each(|puts| {
                doc.transact(|tx| puts.iter().try_for_each(|(key, value)| tx.put(ROOT, *key, *value)))
            })
        }
        "records" => doc.transact(|tx| {
            let list = tx.put_object(ROOT, "records", ObjType::List)?;
            (0..size).try_for_each(|record| {
                let map = tx.insert_object(&list, record, ObjType::Map)?;
                tx.put(&map, "id", record as i64)?;
                tx.put(&map, "weight", record as f64 + 0.25)?;
                tx.put(&map, "done", record % 3 == 0)?;
                tx.put(&map, "title", format!("What happened on day {record}"))
            })
        }),
        name => return sample(name, size),
    };
    result.map_err(|error: EditError| CaseError::failed(error))?;
    Ok(doc.save())
}

/// A document of another project.
fn sample(name: &str, size: usize) -> Result<Vec<u8>, CaseError> {
    let file = data::read(&format!("automerge/{name}.amrg")).map_err(CaseError::unavailable)?;
    let operations = Document::load(&file).map_err(CaseError::failed)?.stats().operations;
    if operations != size as u64 {
        return Err(CaseError::failed(format!("{name} has {operations} operations, not {size}")));
    }
    Ok(file)
}

struct FirstSaveEngine<E>(PhantomData<fn() -> E>);

impl<E: Objects> FirstSaveEngine<E> {
    fn load_and_edit(Input { file, put, .. }: &Input) -> E {
        let mut doc = E::load(file);
        if *put {
            doc.put_all([(KEY, 1)].into_iter());
        }
        doc
    }
}

fn save<E: Objects>(doc: &mut E, deflated: bool) -> Vec<u8> {
    if deflated { doc.save() } else { doc.save_plain() }
}

impl<E: Objects> Engine for FirstSaveEngine<E> {
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

    fn reserve(&self, (): &mut (), input: &Input) -> Result<Case, CaseError> {
        let (put, deflated) = (input.put, input.deflated);
        let reloaded = E::load(&save(&mut Self::load_and_edit(input), deflated));
        if reloaded.get(KEY) != put.then_some(1) {
            return Err(CaseError::failed("the saved document lacks the put key"));
        }
        let input = Input { file: input.file.clone(), put, deflated };
        let prepare = move || Self::load_and_edit(&input);
        Ok(prepared(prepare, move |doc| usize::from(!black_box(save(doc, deflated)).is_empty())))
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

    fn consumes(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_engines_save_the_put_key() {
        for document in &DOCUMENTS[..3] {
            let file = file(document, 30).expect("a generated document");
            for (put, deflated) in [(false, false), (false, true), (true, false), (true, true)] {
                let input = Input { file: file.clone(), put, deflated };
                for case in [
                    FirstSaveEngine::<Hashmill>(PhantomData).reserve(&mut (), &input),
                    FirstSaveEngine::<Official>(PhantomData).reserve(&mut (), &input),
                ] {
                    assert_eq!(case.expect(document).once(0), Answer::from(1_usize));
                }
                let saved = save(&mut FirstSaveEngine::<Hashmill>::load_and_edit(&input), false);
                assert!(
                    saved == save(&mut FirstSaveEngine::<Official>::load_and_edit(&input), false),
                    "{document}, {put}"
                );
            }
        }
        assert!(file("no such document", 1).is_err());
    }
}
