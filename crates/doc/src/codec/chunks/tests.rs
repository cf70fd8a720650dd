//! Tests of the format against known bytes: golden vectors, and files that are decoded and encoded again.

use crate::codec::bytes::reader::Reader;
use crate::codec::chunks::bundle;
use crate::codec::chunks::change::{Change, Scratch};
use crate::codec::chunks::container::{Chunk, ChunkType, frame};
use crate::codec::chunks::document::{ChangeWriter, DocumentOut, DocumentView};
use crate::codec::limits::{Budget, Limits};
use crate::codec::ops::op_reader::{OpReader, RowKind};
use crate::codec::ops::op_writer::OpWriter;
use crate::types::error::{DecodeError, Rule};
use crate::types::{ActorId, decode_hex};

/// A change, and the document with it and perhaps earlier changes: (name, change, hash, document).
const GOLDEN: [(&str, &str, &str, &str); 4] = [
    (
        "root.k = 1",
        "856f4a83a26dbfd1012f001000112233445566778899aabbccddeeff0101000000061503340142025602570170027f016b017f017f14017f00",
        "a26dbfd182c54a7fe9452ff4c6a053a6e600a222392e76ac5928694654f6927a",
        "856f4a8388b69d64006e011000112233445566778899aabbccddeeff01a26dbfd182c54a7fe9452ff4c6a053a6e600a222392e76ac5928694654f6927a060102030213022302400256020815032102230234014202560257018001027f007f017f017f007f007f077f016b7f007f01017f017f14017f0000",
    ),
    (
        "root.text = \"héllo\"",
        "856f4a83c1c13ae30160001000112233445566778899aabbccddeeff010180e2cfaa06016d000a010402041104130715083402420456065706700200010500000105010002040000017e000203017f0474657874000501057f0405017d001626031668c3a96c6c6f0600",
        "c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd",
        "856f4a835c720f5f00a301011000112233445566778899aabbccddeeff01c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd0701020302130223063503400256020c010402041104130715082102230234024204560657068001027f007f017f067f80e2cfaa067f016d7f007f0700010500000105010002040000017e000203017f047465787400050600060101057f0405017d001626031668c3a96c6c6f060000",
    ),
    (
        "a mark on it",
        "856f4a839a609d5c016901c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd1000112233445566778899aabbccddeeff02070000000a01020202110213023402420256037002940102a501080200020102000202000202077e0200020000027f04626f6c640001",
        "9a609d5cb1bd938c4d4501721563085c4d0e99dc641961ebf6bcdc7a417468a3",
        "856f4a83898a49d100d901011000112233445566778899aabbccddeeff019a609d5cb1bd938c4d4501721563085c4d0e99dc641961ebf6bcdc7a417468a308010203021303230b35054003430256020e010402041104130b1508210223093402420a56095706800102940105a5010a020002017e06027e80e2cfaa06809eb0d5797f016d00017e00017f00020700010700000107010002060000017d00020002017e00017f04746578740007080002017a057c01047d0101077d04010702017f0702017a001602261600021668c3a96c6c6f0800020102010200027f04626f6c64000501",
    ),
    (
        "no operations",
        "856f4a830459d7e50118001000112233445566778899aabbccddeeff010100000000",
        "0459d7e564ca74ea9cc95185c61de29bc76817887218645601e301ead086b55d",
        "856f4a833e1e3984004e011000112233445566778899aabbccddeeff010459d7e564ca74ea9cc95185c61de29bc76817887218645601e301ead086b55d06010203021302230240025602007f007f017f007f007f007f0700",
    ),
];

/// The first golden change, with an author in its extra bytes.
const AUTHOR: &str = "856f4a837d6458330134001000112233445566778899aabbccddeeff0101000000061503340142025602570170027f016b017f017f14017f000103010203";
/// The first golden change as a bundle.
const BUNDLE: &str = "856f4a83d47e4355035500011000112233445566778899aabbccddeeff08010203021302230233024502500260027f007f017f017f017f0000017f007f00081503210234014202560257017002b301027f016b7f00017f017f14017f007f00";

const EXEMPLAR: &[u8] = include_bytes!("../../../tests/data/automerge/exemplar");

fn hex(text: &str) -> Vec<u8> {
    decode_hex(text).unwrap()
}

/// Decodes every row of a document chunk and encodes it again.
fn rewrite(bytes: &[u8]) -> Vec<u8> {
    let limits = Limits::default();
    let chunk = Chunk::read(&mut Reader::new(bytes), &limits).unwrap();
    assert_eq!(chunk.kind, ChunkType::Document);
    let view = DocumentView::parse(&chunk.body, &limits).unwrap();
    let mut changes = ChangeWriter::default();
    let mut rows = view.change_rows(Budget::UNLIMITED);
    while let Some(row) = rows.next().unwrap() {
        changes.push(&row, &rows.deps);
    }
    let mut ops = OpWriter::default();
    let mut rows: OpReader<'_> = view.op_rows(Budget::UNLIMITED);
    while let Some(row) = rows.next().unwrap() {
        ops.row(&row, &rows.refs, RowKind::Document);
    }
    let heads = view.heads.iter().copied().zip(view.head_rows.clone().unwrap()).collect();
    let actors = view.actors.iter().map(ActorId::as_bytes).collect();
    DocumentOut { actors, heads, changes, ops }.write(true)
}

#[test]
fn golden_changes_have_their_hashes_and_bytes() {
    for (name, change, hash, _) in GOLDEN {
        let bytes = hex(change);
        let change = Change::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(change.hash(), hash.parse().unwrap(), "{name}");
        assert_eq!(change.raw_bytes(), bytes, "{name}");
        assert_eq!(change.actor_id().to_hex(), "00112233445566778899aabbccddeeff", "{name}");
    }
    let text = Change::from_bytes(&hex(GOLDEN[1].1)).unwrap();
    assert_eq!(
        (text.message(), text.timestamp(), text.len(), text.max_op()),
        (Some("m"), 1_700_000_000, 6, 6)
    );
    let author = Change::from_bytes(&hex(AUTHOR)).unwrap();
    assert_eq!(author.author(), Some(&[1, 2, 3][..]));
}

#[test]
fn golden_documents_round_trip() {
    for (name, _, _, document) in GOLDEN {
        assert_eq!(rewrite(&hex(document)), hex(document), "{name}");
    }
    assert_eq!(rewrite(EXEMPLAR), EXEMPLAR);
}

#[test]
fn the_empty_document() {
    let empty = DocumentOut {
        actors: vec![],
        heads: vec![],
        changes: ChangeWriter::default(),
        ops: OpWriter::default(),
    };
    assert_eq!(empty.write(true), hex("856f4a83b81a9544000400000000"));
}

#[test]
fn bundle_contains_its_changes() {
    let bytes = hex(BUNDLE);
    let chunk = Chunk::read(&mut Reader::new(&bytes), &Limits::default()).unwrap();
    let mut budget = Budget::UNLIMITED;
    let changes =
        bundle::read(&chunk.body, &Limits::default(), &mut budget, &mut Scratch::default()).unwrap();
    assert_eq!(changes, [Change::from_bytes(&hex(GOLDEN[0].1)).unwrap()]);
}

#[test]
fn long_changes_are_deflated_and_inflated() {
    let bytes =
        include_bytes!("../../../tests/data/automerge/fixtures/two_change_chunks_compressed.automerge");
    let mut reader = Reader::new(bytes);
    let (first, from) = {
        let chunk = Chunk::read(&mut reader, &Limits::default()).unwrap();
        (chunk.kind, reader.offset())
    };
    assert_eq!(first, ChunkType::Change, "reading inflates");
    let second = Change::from_bytes(&bytes[from..]);
    assert!(second.is_ok(), "{second:?}");
}

/// The body of a golden change with one part replaced, in a chunk with a valid checksum.
fn forge(from: &str, to: &str) -> Result<Change, Rule> {
    let golden = GOLDEN[0].1;
    let body = golden[20..].replacen(from, to, 1);
    assert_ne!(body, golden[20..], "{from} occurs");
    match Change::from_bytes(&frame(ChunkType::Change, &[&hex(&body)])) {
        Ok(change) => Ok(change),
        Err(DecodeError::Format(error)) => Err(error.rule),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn forged_changes_report_the_broken_rule() {
    // Action 1 becomes 48.
    assert_eq!(forge("7f017f1401", "7f307f1401"), Err(Rule::Action(48)));
    // The value has two bytes fewer than its metadata says.
    assert_eq!(forge("7f14017f00", "7f34017f00"), Err(Rule::Truncated));
    // The key is repeated; every other column has one row.
    assert_eq!(forge("7f016b017f017f14017f00", "02016b017f017f14017f00"), Err(Rule::Uneven));
    // An overlong count of dependencies.
    assert_eq!(forge("0010001122", "800010001122"), Err(Rule::LebOverlong));
    // Another actor that nothing refers to.
    assert_eq!(
        forge("01010000000615", "0101000001010506 15".replace(' ', "").as_str()),
        Err(Rule::NotCanonical)
    );
    // A column bit that says deflated.
    assert_eq!(forge("061503", "061d03"), Err(Rule::CompressedInChange));
    // Sequence number 0.
    assert_eq!(forge("ff01010000", "ff00010000"), Err(Rule::Zero));
    // A run that should have been a literal.
    assert_eq!(forge("7f016b", "01016b"), Err(Rule::ShortRepeat));
}

#[test]
fn no_prefix_and_no_flipped_bit_panics() {
    for (_, change, _, document) in GOLDEN {
        for text in [change, document] {
            let bytes = hex(text);
            for cut in 0..bytes.len() {
                assert!(Change::from_bytes(&bytes[..cut]).is_err());
            }
            let body = Chunk::read(&mut Reader::new(&bytes), &Limits::default()).unwrap().body.into_owned();
            for bit in 0..8 * body.len() {
                let mut body = body.clone();
                body[bit / 8] ^= 1 << (bit % 8);
                let _ = Change::from_bytes(&frame(ChunkType::Change, &[&body]));
                let few = Limits { steps: 1 << 8, ..Limits::default() };
                if let Ok(view) = DocumentView::parse(&body, &few) {
                    let mut rows = view.change_rows(Budget::of_call(&few));
                    while let Ok(Some(_)) = rows.next() {}
                    let mut rows = view.op_rows(Budget::of_call(&few));
                    while let Ok(Some(_)) = rows.next() {}
                }
            }
        }
    }
}
