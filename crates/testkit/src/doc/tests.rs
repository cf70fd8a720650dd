//! The oracle against the golden vectors of the reference (2.10), which the official engine wrote.

use std::collections::{BTreeMap, BTreeSet};

use super::forge::Forge;
use super::*;
use crate::Rng;
use crate::hex::decode;

/// A change and the document of it alone, or after the change before: put an integer, write a text, put marks on it.
const GOLDEN: [(&str, &str); 4] = [
    (
        "856f4a83a26dbfd1012f001000112233445566778899aabbccddeeff0101000000061503340142025602570170027f016b017f017f14017f00",
        "856f4a8388b69d64006e011000112233445566778899aabbccddeeff01a26dbfd182c54a7fe9452ff4c6a053a6e600a222392e76ac5928694654f6927a060102030213022302400256020815032102230234014202560257018001027f007f017f017f007f007f077f016b7f007f01017f017f14017f0000",
    ),
    (
        "856f4a83c1c13ae30160001000112233445566778899aabbccddeeff010180e2cfaa06016d000a010402041104130715083402420456065706700200010500000105010002040000017e000203017f0474657874000501057f0405017d001626031668c3a96c6c6f0600",
        "856f4a835c720f5f00a301011000112233445566778899aabbccddeeff01c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd0701020302130223063503400256020c010402041104130715082102230234024204560657068001027f007f017f067f80e2cfaa067f016d7f007f0700010500000105010002040000017e000203017f047465787400050600060101057f0405017d001626031668c3a96c6c6f060000",
    ),
    (
        "856f4a839a609d5c016901c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd1000112233445566778899aabbccddeeff02070000000a01020202110213023402420256037002940102a501080200020102000202000202077e0200020000027f04626f6c640001",
        "856f4a83898a49d100d901011000112233445566778899aabbccddeeff019a609d5cb1bd938c4d4501721563085c4d0e99dc641961ebf6bcdc7a417468a3\
         08010203021303230b35054003430256020e010402041104130b1508210223093402420a56095706800102940105a5010a020002017e06027e80e2cfaa06809eb0d5797f016d00017e00017f00020700010700000107010002060000017d00020002017e00017f04746578740007080002017a057c01047d0101077d04010702017f0702017a001602261600021668c3a96c6c6f0800020102010200027f04626f6c64000501",
    ),
    (
        "856f4a830459d7e50118001000112233445566778899aabbccddeeff010100000000",
        "856f4a833e1e3984004e011000112233445566778899aabbccddeeff010459d7e564ca74ea9cc95185c61de29bc76817887218645601e301ead086b55d06010203021302230240025602007f007f017f007f007f007f0700",
    ),
];

fn document(chunk: &Chunk) -> Document {
    Document::read(&chunk.body, MOST).unwrap()
}

#[test]
fn golden_changes_and_documents_have_equal_states() {
    for (n, (change, doc)) in GOLDEN.iter().enumerate() {
        let (change, doc) = (decode(change), decode(doc));
        let before = if n == 2 { decode(GOLDEN[1].0) } else { vec![] };
        let state =
            judge(&[before, change.clone()].concat()).unwrap_or_else(|reason| panic!("{n}: {reason}"));
        assert_eq!(judge(&doc).unwrap_or_else(|reason| panic!("{n}: {reason}")), state, "{n}");
        // The checksum of a change is the beginning of its hash.
        assert_eq!(state.heads[0][..4], change[4..8], "{n}");
        // Both are written again as they were.
        let read = document(&chunks(&doc).unwrap()[0]);
        assert_eq!(read.bytes(), doc, "{n}");
        assert_eq!(read.changes().unwrap().last().unwrap().bytes(), change, "{n}");
        assert_eq!(Document::from_changes(&read.changes().unwrap()), read, "{n}");
    }
}

#[test]
fn golden_bundle_has_the_same_state() {
    let bundle = "856f4a83d47e4355035500011000112233445566778899aabbccddeeff08010203021302230233024502500260027f007f017f017f017f0000017f007f00081503210234014202560257017002b301027f016b7f00017f017f14017f007f00";
    assert_eq!(judge(&decode(bundle)), judge(&decode(GOLDEN[0].0)));
}

#[test]
fn a_golden_text_has_its_marks() {
    let state = judge(&decode(GOLDEN[2].1)).unwrap();
    let (_, text) = state.objects.last_key_value().unwrap();
    assert_eq!(text.text(), "héllo");
    let bold: Vec<bool> = text.elements.iter().map(|element| element.marks.contains_key("bold")).collect();
    assert_eq!(bold, [false, true, true, false, false]);
}

#[test]
fn valid_changes_are_accepted_in_every_order_and_round_trip() {
    for seed in 0..60 {
        let mut forge = Forge::new(seed, History::new());
        let mut changes: Vec<Change> = (0..20).map(|_| forge.change(3, 0)).collect();
        assert!(forge.history.refused().is_empty(), "{seed}: {:?}", forge.history.refused());
        let state = forge.history.state();
        let doc = Document::from_changes(forge.history.changes());
        assert_eq!(judge(&doc.bytes()).unwrap_or_else(|reason| panic!("{seed}: {reason}")), state, "{seed}");
        Rng::new(seed).shuffle(&mut changes);
        let mut again = History::new();
        for change in changes {
            let body = &chunks(&change.bytes()).unwrap()[0].body;
            assert_eq!(
                Change::read(body, MOST).unwrap_or_else(|reason| panic!("{seed}: {reason}")),
                change,
                "{seed}"
            );
            again.deliver(change);
        }
        assert_eq!(again.state().difference(&state), None, "{seed}");
    }
}

#[test]
fn acceptance_does_not_depend_on_the_order() {
    let mut rules = BTreeMap::new();
    for seed in 0..400 {
        let mut forge = Forge::new(seed, History::new());
        let mut changes: Vec<Change> = (0..12).map(|_| forge.change(3, 3)).collect();
        let names: BTreeSet<_> = changes.iter().map(|change| (change.actor.clone(), change.seq)).collect();
        if names.len() < changes.len() {
            // The first of two with one name is taken: which one that is depends on the order.
            continue;
        }
        for reason in forge.history.refused().values() {
            *rules.entry(reason.rule).or_insert(0) += 1;
        }
        Rng::new(seed).shuffle(&mut changes);
        let mut again = History::new();
        changes.into_iter().for_each(|change| again.deliver(change));
        assert_eq!(again.refused(), forge.history.refused(), "{seed}");
        assert_eq!(again.state().difference(&forge.history.state()), None, "{seed}");
    }
    // Of each rule that a change breaks beside others, and of those that an operation breaks alone, there was something.
    let broken = [
        "an insertion over something",
        "author",
        "element",
        "key of the wrong kind",
        "no predecessor",
        "object",
        "order of predecessors",
        "predecessor",
        "reference to what is not earlier",
        "sequence number",
        "start",
        "what is no mark expands",
    ];
    assert!(broken.iter().all(|rule| rules.contains_key(rule)), "{rules:?}");
}

#[test]
fn marks_end_behind_their_begin_and_in_texts() {
    let id = |counter| Id { counter, actor: Forge::actor(0) };
    let op = |counter, key, action, mark: Option<&str>| Op {
        id: id(counter),
        obj: (counter > 1).then(|| id(1)),
        key,
        insert: counter > 1,
        action,
        value: if action == Action::Set { Value::Str("a".to_owned()) } else { Value::Null },
        expand: false,
        mark: mark.map(str::to_owned),
        preds: vec![],
    };
    let cases = [
        (Action::MakeText, Action::Mark, Key::Element(id(3)), None),
        (Action::MakeText, Action::Mark, Key::Element(id(2)), Some("end of a mark before its begin")),
        (Action::MakeText, Action::Mark, Key::Head, Some("end of a mark before its begin")),
        (Action::MakeText, Action::Set, Key::Element(id(3)), Some("end of no mark")),
        (Action::MakeList, Action::Mark, Key::Element(id(3)), Some("mark outside a text")),
    ];
    for (make, third, end, expected) in cases {
        let name = (third == Action::Mark).then_some("bold");
        let ops = vec![
            op(1, Key::Map("k".to_owned()), make, None),
            op(2, Key::Head, Action::Set, None),
            op(3, Key::Element(id(2)), third, name),
            op(4, end.clone(), Action::Mark, None),
        ];
        let change = Forge::new(0, History::new()).change_by(&Forge::actor(0), vec![]);
        let change = Change { start: 1, ops, ..change }.seal();
        let found = judge(&change.bytes()).err().map(|reason| reason.rule);
        assert_eq!(found, expected, "{make:?}, {third:?}, {end:?}");
    }
}
