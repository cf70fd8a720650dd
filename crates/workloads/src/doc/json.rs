//! JSON export of a document, compared with serde_json writing the same value from its `Value`.

use super::case::{Answer, Case, repeat};
use super::spec::{digest, offer, size};
use hashmill_doc::json::{self, Layout, ScalarEncoding};
use hashmill_doc::{Document, EditError, ObjId, ObjType, ROOT, ReadDoc as _, Transactable as _, Value};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::registry::Registry;
use hashmill_lab::model::units::Units;
use std::fmt::Write as _;

/// Numbers of records; 2,000 are 380 kB.
const SIZES: [u64; 1] = [2_000];

/// The writer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JsonWriter {
    /// Hashmill, from a document.
    Hashmill,
    /// serde_json, from the value parsed from the same text.
    Serde,
}

/// A list of records, each a map with strings, three kinds of numbers, a boolean, null and a list. Hashmill's document is loaded
/// from a file.
#[must_use]
pub fn json_write(who: JsonWriter, records: usize) -> Case {
    match who {
        JsonWriter::Hashmill => {
            let doc = document(records);
            repeat(move || {
                let (view, whole) = (doc.view(), (Value::Object(ObjType::Map), ObjId::Root));
                let mut out = vec![];
                json::write(&view, whole, ScalarEncoding::Plain, Layout::Compact, &mut out)
                    .expect("room in memory");
                utf8(out)
            })
        }
        JsonWriter::Serde => {
            let value: serde_json::Value = serde_json::from_str(&text(records)).expect("JSON");
            repeat(move || {
                let mut out = vec![];
                serde_json::to_writer(&mut out, &value).expect("room in memory");
                utf8(out)
            })
        }
    }
}

fn utf8(out: Vec<u8>) -> String {
    String::from_utf8(out).expect("JSON is text")
}

fn title(record: usize) -> String {
    format!("What happened on day {record}, and \"why\"")
}

fn document(records: usize) -> Document {
    let mut doc = Document::new();
    doc.transact(|tx| {
        let list = tx.put_object(ROOT, "records", ObjType::List)?;
        for record in 0..records {
            let map = tx.insert_object(&list, record, ObjType::Map)?;
            tx.put(&map, "id", record as i64)?;
            tx.put(&map, "weight", record as f64 + 0.25)?;
            tx.put(&map, "updated", 1_700_000_000_000 + record as i64)?;
            tx.put(&map, "done", record % 3 == 0)?;
            tx.put(&map, "parent", ())?;
            tx.put(&map, "author", if record % 2 == 0 { "Ada Lovelace" } else { "Zoë" })?;
            tx.put(&map, "title", title(record))?;
            let tags = tx.put_object(&map, "tags", ObjType::List)?;
            for (at, tag) in ["home", "to do", "later"].into_iter().enumerate() {
                tx.insert(&tags, at, tag)?;
            }
        }
        Ok::<_, EditError>(())
    })
    .expect("a sound edit");
    Document::load(&doc.save()).expect("a saved document")
}

/// Expected text, computed without an engine: keys in byte order.
fn text(records: usize) -> String {
    let mut out = "{\"records\":[".to_owned();
    for record in 0..records {
        let (comma, author) = (if record > 0 { "," } else { "" }, ["Ada Lovelace", "Zoë"][record % 2]);
        let (done, title) = (record % 3 == 0, title(record).replace('"', "\\\""));
        let updated = 1_700_000_000_000 + record;
        write!(
            out,
            "{comma}{{\"author\":\"{author}\",\"done\":{done},\"id\":{record},\"parent\":null,\
             \"tags\":[\"home\",\"to do\",\"later\"],\"title\":\"{title}\",\"updated\":{updated},\
             \"weight\":{record}.25}}"
        )
        .expect("a text grows");
    }
    out + "]}"
}

pub(super) fn register(registry: &mut Registry) {
    registry.workload(Export, &SIZES).engine("hashmill", JsonWriter::Hashmill, offer()).engine(
        "serde_json",
        JsonWriter::Serde,
        offer(),
    );
}

struct Export;

impl Workload for Export {
    type Input = usize;

    fn name(&self) -> &'static str {
        "doc-json_write"
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Operations(1)
    }

    fn prepare(&self, spec: &Spec, _: u64) -> Result<usize, CaseError> {
        size(spec)
    }

    fn reference(&self, _: &Spec, records: &usize) -> Result<Digest, CaseError> {
        Ok(digest(&Answer::Text(text(*records))))
    }
}

impl Engine for JsonWriter {
    type Input = usize;
    type Context = ();
    type Buffer = Case;
    type Output = Answer;

    fn init(&self, _: &Spec) -> Result<(), CaseError> {
        Ok(())
    }

    fn kernel(&self, (): &()) -> String {
        match self {
            JsonWriter::Hashmill => "hashmill",
            JsonWriter::Serde => "serde_json",
        }
        .to_owned()
    }

    fn reserve(&self, (): &mut (), records: &usize) -> Result<Case, CaseError> {
        Ok(json_write(*self, *records))
    }

    fn run(&self, (): &mut (), case: &mut Case, _: &usize) -> Result<Answer, CaseError> {
        Ok((case.call)(0))
    }

    fn digest(&self, answer: &Answer) -> Digest {
        digest(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_write_the_expected_text() {
        for who in [JsonWriter::Hashmill, JsonWriter::Serde] {
            assert_eq!(json_write(who, 12).once(0), Answer::Text(text(12)), "{who:?}");
        }
    }
}
