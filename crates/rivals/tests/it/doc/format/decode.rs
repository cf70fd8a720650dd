//! Decoded changes: equal to those of the official crate, and encodable again.

use hashmill_doc::{Change, ExpandedChange, ScalarValue, legacy};
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::runner::changes;
use hashmill_rivals::doc::script::Script;
use hashmill_testkit::skip;
use serde_json::Value;

/// The JSON of a change as the official crate writes it: without the type of a mark's value.
fn without_datatypes(json: &Value) -> Value {
    let mut json = json.clone();
    for op in json["ops"].as_array_mut().into_iter().flatten() {
        if let Some(op) = op.as_object_mut().filter(|op| op["action"] == "markBegin") {
            op.remove("datatype");
        }
    }
    json
}

/// Compares all fields of a decoded change. Returns its number of operations.
fn compare(bytes: &[u8]) -> usize {
    let change = Change::from_bytes(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:02x?}"));
    let decoded = change.decode();
    let official =
        automerge::Change::from_bytes(bytes.to_vec()).expect("a change of the official crate").decode();
    let [json, expected] = [serde_json::to_value(&decoded), serde_json::to_value(&official)];
    let (json, expected): (Value, Value) = (json.expect("JSON"), expected.expect("JSON"));
    assert!(without_datatypes(&json) == expected, "{json:#}\n{expected:#}");
    let is_finite = |op: &legacy::Op| match &op.action {
        legacy::OpType::Put(ScalarValue::F64(value)) => value.is_finite(),
        legacy::OpType::MarkBegin(mark) => {
            !matches!(mark.value, ScalarValue::F64(value) if !value.is_finite())
        }
        _ => true,
    };
    let all_finite = decoded.operations.iter().all(is_finite);
    assert_eq!(decoded.hash, Some(change.hash()));
    assert_eq!(ExpandedChange::from(&change), decoded);
    let encoded = Change::try_from(&decoded).unwrap_or_else(|error| panic!("{error}: {json:#}"));
    assert_eq!(encoded.raw_bytes(), bytes);
    let read = serde_json::from_value::<ExpandedChange>(json);
    if all_finite {
        assert_eq!(read.expect("the same JSON"), decoded);
    } else {
        assert!(read.is_err(), "JSON has null for each infinite number and NaN");
    }
    decoded.operations.len()
}

#[test]
fn changes_of_scripts_decode_equally() {
    let scripts = (0..60).flat_map(|seed| changes::<Official>(&Script::random(seed, 60)));
    let lens: Vec<usize> = scripts.map(|bytes| compare(&bytes)).collect();
    assert!(lens.len() > 300 && lens.iter().sum::<usize>() > lens.len(), "{} changes", lens.len());
}

/// Real documents, without their largest changes, because both sides expand each operation.
#[test]
fn changes_of_real_documents_decode_equally() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/automerge");
    for name in ["exemplar", "essay.amrg", "godot-modeled.amrg"] {
        let bytes = match std::fs::read(format!("{folder}/{name}")) {
            Ok(bytes) => bytes,
            Err(error) => {
                skip(&format!("decoding {name}"), &error.to_string());
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
