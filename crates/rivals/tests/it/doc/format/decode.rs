//! Decoded changes: equal to those of the official crate, and encodable again.

use hashmill_doc::{Change, ExpandedChange, ScalarValue, legacy};
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::runner::changes;
use hashmill_rivals::doc::script::Script;
use hashmill_testkit::skip;
use serde_json::Value;

/// A change as the official crate writes it: of the values of marks it does not say what numbers they are.
fn without_datatypes(said: &Value) -> Value {
    let mut said = said.clone();
    for op in said["ops"].as_array_mut().into_iter().flatten() {
        if let Some(op) = op.as_object_mut().filter(|op| op["action"] == "markBegin") {
            op.remove("datatype");
        }
    }
    said
}

/// Compares all that is said of a change; gives how many operations it has.
fn compare(bytes: &[u8]) -> usize {
    let ours = Change::from_bytes(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:02x?}"));
    let decoded = ours.decode();
    let theirs = automerge::Change::from_bytes(bytes.to_vec()).expect("their own change").decode();
    let [said, expected] = [serde_json::to_value(&decoded), serde_json::to_value(&theirs)];
    let (said, expected): (Value, Value) = (said.expect("JSON"), expected.expect("JSON"));
    assert!(without_datatypes(&said) == expected, "{said:#}\n{expected:#}");
    let finite = |op: &legacy::Op| match &op.action {
        legacy::OpType::Put(ScalarValue::F64(value)) => value.is_finite(),
        legacy::OpType::MarkBegin(mark) => {
            !matches!(mark.value, ScalarValue::F64(value) if !value.is_finite())
        }
        _ => true,
    };
    let finite = decoded.operations.iter().all(finite);
    assert_eq!(decoded.hash, Some(ours.hash()));
    assert_eq!(ExpandedChange::from(&ours), decoded);
    let again = Change::try_from(&decoded).unwrap_or_else(|error| panic!("{error}: {said:#}"));
    assert_eq!(again.raw_bytes(), bytes);
    let read = serde_json::from_value::<ExpandedChange>(said);
    if finite {
        assert_eq!(read.expect("our own JSON"), decoded);
    } else {
        assert!(read.is_err(), "JSON has null for each number that is none");
    }
    decoded.operations.len()
}

#[test]
fn scripts_decode_alike() {
    let scripts = (0..60).flat_map(|seed| changes::<Official>(&Script::invent(seed, 60)));
    let lens: Vec<usize> = scripts.map(|bytes| compare(&bytes)).collect();
    assert!(lens.len() > 300 && lens.iter().sum::<usize>() > lens.len(), "{} changes", lens.len());
}

/// The real documents; of the changes with many operations only some, because both sides spell each of them out.
#[test]
fn real_documents_decode_alike() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/automerge");
    for name in ["exemplar", "essay.amrg", "godot-modeled.amrg"] {
        let bytes = match std::fs::read(format!("{folder}/{name}")) {
            Ok(bytes) => bytes,
            Err(error) => {
                skip(&format!("taking apart {name}"), &error.to_string());
                continue;
            }
        };
        let doc = hashmill_doc::Document::load(&bytes).expect("a sound document");
        let changes = doc.get_changes(&[]);
        let step = (changes.len() / 500).max(1);
        let compared = changes.iter().step_by(step).filter(|change| change.len() < 20_000);
        let operations: usize = compared.map(|change| compare(&change.raw_bytes())).sum();
        assert!(operations > 0 || changes.len() < 3, "{name}");
    }
}
