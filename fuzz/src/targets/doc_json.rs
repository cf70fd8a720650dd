//! Fuzz target for JSON: a document round-trips, a patch applies completely or not at all, and a difference is a valid patch.

use hashmill_doc::json::{Layout, Patch, ScalarEncoding, diff, merge, read, write};
use hashmill_doc::{
    ActorId, CommitOptions, Document, LoadOptions, ObjType, ROOT, ReadDoc, Transactable, Value, View,
};

use crate::accepted::accepted;
use crate::targets::doc::LIMITS;
use crate::verdict::Verdict;

/// The first byte selects the encoding of values and the kind of patch. A document up to a zero byte follows, then the
/// patch.
pub fn doc_json(data: &[u8]) -> Verdict {
    let Some((&first, rest)) = data.split_first() else { return Verdict::Refused };
    let form = if first & 1 == 0 { ScalarEncoding::Plain } else { ScalarEncoding::Tagged };
    let at = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (json, patch) = (&rest[..at], rest.get(at + 1..).unwrap_or_default());
    let Ok(value) = read(json, form) else { return Verdict::Refused };
    let options = LoadOptions::new().limits(LIMITS).actor(ActorId::from([7; 4]));
    let mut doc = Document::load_with(&[], options).expect("nothing at all is a document");
    if doc.transact(|tx| tx.init_root(&value)).is_err() {
        assert!(doc.is_empty(), "a refused document leaves something");
        return Verdict::Refused;
    }
    let tagged = text(&doc.view(), ScalarEncoding::Tagged);
    match read(tagged.as_bytes(), ScalarEncoding::Tagged) {
        Ok(again) => assert_eq!(format!("{again:?}"), format!("{value:?}"), "another value comes back"),
        // Tagged types are nested objects, so a value of the maximum depth becomes deeper.
        Err(error) => assert!(error.to_string().contains("recursion limit"), "{error}: {tagged}"),
    }
    let (before, saved) = (doc.get_heads(), doc.save());
    let changed = match first & 2 {
        0 => match Patch::read(patch, form) {
            Ok(patch) => patch.apply(&mut doc, &CommitOptions::default()).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        },
        _ => merge(patch, form, &mut doc, &CommitOptions::default()).map_err(|error| error.to_string()),
    };
    if let Err(reason) = changed {
        assert!(!reason.is_empty());
        assert!(doc.save() == saved, "a refused patch leaves something: {reason}");
        return Verdict::Refused;
    }
    accepted(&doc);
    // The exported JSON gives the same document.
    let after = doc.get_heads();
    let mut words = vec![];
    let [then, now] = [&before, &after].map(|heads| doc.at(heads).expect("its own past"));
    diff(&then, &now, ScalarEncoding::Tagged, &mut words).expect("a vector takes everything");
    let wanted = text(&now, ScalarEncoding::Tagged);
    match Patch::read(&words, ScalarEncoding::Tagged) {
        Ok(patch) => {
            let mut copy = doc.fork_at(&before).expect("its own past");
            if let Err(error) = patch.apply(&mut copy, &CommitOptions::default()) {
                panic!("a difference is refused: {error}: {}", String::from_utf8_lossy(&words));
            }
            assert_eq!(
                text(&copy.view(), ScalarEncoding::Tagged),
                wanted,
                "a difference makes something else"
            );
        }
        Err(error) => assert!(error.to_string().contains("recursion limit"), "{error}"),
    }
    Verdict::Accepted
}

fn text(view: &View<'_>, form: ScalarEncoding) -> String {
    let mut out = vec![];
    write(view, (Value::Object(ObjType::Map), ROOT), form, Layout::Compact, &mut out)
        .expect("a vector takes everything");
    String::from_utf8(out).expect("JSON is text")
}
