//! Models that receive only patches, as a displaying application does: they equal the document at all times.

use std::collections::BTreeMap;

use hashmill_doc::{
    ActorId, Document, EditError, Literal, ObjId, ObjType, Observer, Prop, ROOT, ReadDoc as _, ScalarValue,
    TextEncoding, Transactable as _, Value,
};
use hashmill_testkit::Rng;

use crate::oracle::compare::{entry, id, marks};
use crate::oracle::steps::{Screen, Screens, Unit, Winner, reached, take};
use crate::support::worlds::{ENCODINGS, World, for_all};

/// The expected model of a document, read value by value. Text indexes count characters.
fn shown(doc: &Document) -> Screens {
    let (mut screens, mut open) = (Screens::new(), vec![(ROOT, ObjType::Map)]);
    while let Some((obj, kind)) = open.pop() {
        let mut winner = |values: Vec<(Value<'_>, ObjId)>| -> Winner {
            let winner = values.last().expect("a visible key has a value");
            open.extend(winner.0.as_object().map(|kind| (winner.1.clone(), kind)));
            (entry(winner), values.len() > 1)
        };
        let screen = match kind {
            ObjType::Map | ObjType::Table => {
                let key = |key: &str| (key.to_owned(), winner(doc.get_all(&obj, key).expect("a map")));
                Screen::Map(doc.keys(&obj).map(key).collect::<BTreeMap<_, _>>())
            }
            ObjType::List => {
                let element = |at| winner(doc.get_all(&obj, at).expect("a list"));
                Screen::List((0..doc.length(&obj)).map(element).collect())
            }
            ObjType::Text => {
                let mut units = vec![];
                for (value, block) in doc.values(&obj) {
                    let text = match &value {
                        Value::Object(ObjType::Map) => {
                            units.push(Unit::Block(id(&block).expect("the root is in no text")));
                            open.push((block, ObjType::Map));
                            continue;
                        }
                        other => other.as_str().unwrap_or("\u{fffc}"),
                    };
                    for c in text.chars() {
                        let set = doc.get_marks(&obj, units.len()).expect("a text");
                        units.push(Unit::Char(c, marks(&set)));
                    }
                }
                Screen::Text(units)
            }
        };
        screens.insert(id(&obj), screen);
    }
    screens
}

/// A model that is fed by an observer.
struct Listener {
    observer: Observer,
    model: Screens,
}

impl Listener {
    fn new() -> Self {
        Self { observer: Observer::new(), model: Screens::from([(None, Screen::Map(BTreeMap::new()))]) }
    }

    /// Applies the new patches, and panics unless the model equals the document.
    fn hear(&mut self, doc: &Document) {
        self.observer.patches_since_last(doc).iter().for_each(|patch| take(&mut self.model, patch));
        self.model = reached(std::mem::take(&mut self.model));
        let wanted = shown(doc);
        for (name, screen) in &wanted {
            assert_eq!(self.model.get(name), Some(screen), "{name:?}");
        }
        assert_eq!(self.model.len(), wanted.len());
    }
}

#[test]
fn model_fed_by_an_observer_equals_the_document() {
    for_all("a model of an observer", 0..150, |seed| {
        let mut world = World::counting_in(seed, TextEncoding::UnicodeCodePoint);
        let [mut prompt, mut late] = [Listener::new(), Listener::new()];
        for n in 0..60 {
            if world.step() == 0 {
                prompt.hear(&world.writers[0]);
            }
            // Many steps at once.
            if n % 20 == 19 {
                late.hear(&world.writers[0]);
            }
        }
        world.merged().stats().operations as usize
    });
}

/// Counters at few places, with increments while concurrent values appear and disappear.
#[test]
fn model_fed_by_an_observer_has_counter_conflicts() {
    for_all("a model of counters", 0..300, |seed| {
        let mut rng = Rng::new(seed);
        let mut first = Document::new().with_actor(ActorId::from([5]));
        let list = first.transact(|tx| {
            let list = tx.put_object(ROOT, "list", ObjType::List)?;
            tx.insert(&list, 0, ScalarValue::counter(1))?;
            tx.put(ROOT, "n", ScalarValue::counter(1)).map(|()| list)
        });
        let list = list.expect("a new document takes everything");
        let forks = [3, 7].map(|actor| first.fork().with_actor(ActorId::from([actor])));
        let mut writers = [first].into_iter().chain(forks).collect::<Vec<_>>();
        let [mut prompt, mut late] = [Listener::new(), Listener::new()];
        for _ in 0..40 {
            let (who, from) = (rng.below(3), rng.below(3));
            if rng.below(4) == 0 {
                let from = writers[from].clone();
                writers[who].merge(&from).expect("changes of this test");
            } else {
                let edited = writers[who].transact(|tx| {
                    // An increment supersedes values that are not counters, and a concurrent put supersedes the
                    // counter.
                    if tx.length(&list) == 0 {
                        return tx.insert(&list, 0, ScalarValue::counter(1));
                    }
                    let (obj, prop) =
                        [(&ROOT, Prop::from("n")), (&list, Prop::from(0))][rng.below(2)].clone();
                    match rng.below(5) {
                        0 => tx.put(obj, prop, ScalarValue::counter(rng.below(3) as i64)),
                        1 => tx.put(obj, prop, rng.below(3) as i64),
                        _ => match tx.increment(obj, prop, rng.below(5) as i64 - 2) {
                            Err(EditError::NotCounter(_)) => Ok(()),
                            done => done,
                        },
                    }
                });
                edited.expect("both places are there");
            }
            prompt.hear(&writers[0]);
            if rng.below(8) == 0 {
                late.hear(&writers[0]);
            }
        }
        writers.iter().map(|doc| doc.stats().operations as usize).sum()
    });
}

/// A plain value has no conflicts and no marks. With the cluster encoding, adjacent characters may form one unit of a
/// string and several of a document, so this encoding is omitted.
#[test]
fn plain_value_fed_by_an_observer_equals_the_document() {
    for_all("a plain value of an observer", 0..90, |seed| {
        let encoding = ENCODINGS[seed as usize % 3];
        assert_ne!(encoding, TextEncoding::GraphemeCluster);
        let mut world = World::counting_in(seed, encoding);
        let (mut observer, mut model) = (Observer::new(), Literal::Map(hashmill_doc::Entries::default()));
        for _ in 0..60 {
            if world.step() == 0 {
                let doc = &world.writers[0];
                model
                    .apply_patches(observer.patches_since_last(doc), encoding)
                    .expect("patches of this document");
                // As text, which distinguishes zeros with two signs.
                assert_eq!(format!("{model:?}"), format!("{:?}", doc.hydrate(ROOT).expect("the root")));
            }
        }
        world.merged().stats().operations as usize
    });
}
