//! Rescue of damaged files: what is recovered, what is reported, and resistance to forged input.

use hashmill_doc::{
    ActorId, ApplyError, AutoCommit, Change, Document, Fault, Literal, LoadError, LoadOptions, ObjType,
    OnPartialLoad, ROOT, ReadDoc, RecoveryLevel, Rule, StringMigration, Transactable,
};
use sha2::{Digest, Sha256};

const EXEMPLAR: &[u8] = include_bytes!("../../data/automerge/exemplar");
const BROKEN_MARK: &[u8] = include_bytes!("../../data/automerge/fixtures/broken_zero_width_mark.automerge");
const TWO_CHANGES: &[u8] = include_bytes!("../../data/automerge/fixtures/two_change_chunks.automerge");

/// A document of three changes, and the chunks of these.
fn typed() -> (Document, Vec<Vec<u8>>) {
    let mut doc = AutoCommit::from(Document::new().with_actor(ActorId::from([1])));
    let text = doc.put_object(ROOT, "text", ObjType::Text).unwrap();
    for word in ["one ", "two ", "three "] {
        let end = doc.length(&text);
        doc.splice_text(&text, end, 0, word).unwrap();
        doc.commit();
    }
    let doc = doc.into_document();
    let chunks = doc.get_changes(&[]).iter().map(Change::raw_bytes).collect();
    (doc, chunks)
}

/// The chunk with changed bytes and a valid checksum.
fn forged(chunk: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut chunk = chunk.to_vec();
    change(&mut chunk);
    let hash = Sha256::digest(&chunk[8..]);
    chunk[4..8].copy_from_slice(&hash[..4]);
    chunk
}

fn at_least_loads(doc: &mut Document) {
    doc.check(true);
    let again = Document::load(&doc.save()).unwrap();
    assert_eq!((again.get_heads(), again.hydrate(ROOT)), (doc.get_heads(), doc.hydrate(ROOT)));
}

#[test]
fn valid_file_has_no_losses() {
    for bytes in [EXEMPLAR, TWO_CHANGES, &[]] {
        let mut rescue = Document::rescue(bytes, LoadOptions::new());
        assert!(rescue.losses.is_empty() && rescue.missing.is_empty(), "{rescue:?}");
        assert_eq!(rescue.document.get_heads(), Document::load(bytes).unwrap().get_heads());
        at_least_loads(&mut rescue.document);
    }
}

#[test]
fn damaged_chunk_is_reported_and_skipped() {
    let (doc, chunks) = typed();
    let mut damaged = chunks[1].clone();
    *damaged.last_mut().unwrap() ^= 1;
    let file = [EXEMPLAR, &chunks[0], b"noise", &damaged, &chunks[2]].concat();
    let mut rescue = Document::rescue(&file, LoadOptions::new());
    let start = EXEMPLAR.len() + chunks[0].len();
    let reported: Vec<_> = rescue.losses.iter().map(|loss| (loss.bytes.clone(), loss.recovered)).collect();
    let end = start + 5 + damaged.len();
    assert_eq!(
        reported,
        [(start..start + 5, RecoveryLevel::Nothing), (start + 5..end, RecoveryLevel::Nothing)]
    );
    for (loss, rule) in rescue.losses.iter().zip([Rule::Magic, Rule::Checksum]) {
        let LoadError::Format(reason) = &loss.reason else { panic!("{loss:?}") };
        assert_eq!((&reason.rule, reason.position.offset), (&rule, loss.bytes.start));
    }
    assert_eq!(rescue.missing, [doc.get_changes(&[])[1].hash()]);
    let (_, text) = rescue.document.get(ROOT, "text").unwrap().unwrap();
    assert_eq!(rescue.document.text(&text).unwrap(), "one ");
    at_least_loads(&mut rescue.document);
    // The last change is queued: when the lost one is applied, nothing is missing.
    rescue.document.apply_changes([doc.get_changes(&[])[1].clone()]).unwrap();
    assert_eq!(rescue.document.text(&text).unwrap(), "one two three ");
}

#[test]
fn error_names_the_offset_of_its_chunk() {
    let error = Document::load(&[EXEMPLAR, b"garbage"].concat()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "chunk 1, byte 406: not an Automerge document: no chunk starts here, its first bytes must be 85 6f 4a 83"
    );
}

#[test]
fn document_with_wrong_heads_keeps_its_contents() {
    let (mut doc, _) = typed();
    let text = doc.get(ROOT, "text").unwrap().unwrap().1;
    let file = doc.save_nocompress();
    // The heads follow the actors: magic, checksum, type, length, one actor of one byte, one head.
    let head = file.windows(32).position(|bytes| bytes == doc.get_heads()[0].0).unwrap();
    let wrong = forged(&file, |file| file[head] ^= 1);
    assert!(matches!(Document::load(&wrong), Err(LoadError::Heads { .. })));
    let mut rescue = Document::rescue(&wrong, LoadOptions::new());
    assert!(matches!(&rescue.losses[..], [loss] if loss.recovered == RecoveryLevel::Contents));
    assert_eq!(rescue.document.get_heads(), doc.get_heads());
    at_least_loads(&mut rescue.document);
    // A wrong checksum over contents that their own heads prove.
    let mut wrong = file;
    wrong[4] ^= 1;
    let rescue = Document::rescue(&wrong, LoadOptions::new());
    assert!(matches!(&rescue.losses[..], [loss] if loss.recovered == RecoveryLevel::Contents));
    assert_eq!(rescue.document.text(&text), doc.text(&text));
}

#[test]
fn values_around_an_inverted_mark_are_recovered() {
    let mut rescue = Document::rescue(BROKEN_MARK, LoadOptions::new());
    assert!(matches!(&rescue.losses[..], [loss] if loss.recovered == RecoveryLevel::Values), "{rescue:?}");
    let values = rescue.document.hydrate(ROOT).unwrap();
    let text = |text: &str| Literal::Text(text.to_owned());
    assert_eq!(values, Literal::from([("text", text("")), ("o1", text("tsxs"))]));
    at_least_loads(&mut rescue.document);
}

#[test]
fn rescue_returns_a_document_for_any_damage() {
    let (mut doc, chunks) = typed();
    let file = [doc.save(), chunks.concat(), EXEMPLAR.to_vec(), BROKEN_MARK.to_vec()].concat();
    let mut rng = crate::Rng::new(3);
    for _ in 0..300 {
        let mut file = file.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(file.len());
            match rng.below(3) {
                0 => file[at] ^= 1 << rng.below(8),
                1 => file.truncate(at.max(1)),
                _ => drop(file.drain(at..(at + rng.below(9)).min(file.len()))),
            }
            if file.is_empty() {
                file.push(0);
            }
        }
        let mut rescue = Document::rescue(&file, LoadOptions::new());
        at_least_loads(&mut rescue.document);
        assert_eq!(rescue.losses.is_empty(), Document::load(&file).is_ok());
        let ignored = LoadOptions::new().on_partial_load(OnPartialLoad::Ignore);
        at_least_loads(&mut Document::load_with(&file, ignored).unwrap());
    }
}

#[test]
fn author_is_recorded_in_the_first_change_only() {
    let (doc, chunks) = typed();
    // Tag 1 and one byte of author. The length of the body is below 128, so it takes one byte.
    let author = |chunk: &[u8]| {
        forged(chunk, |chunk| {
            chunk.extend([1, 1, 7]);
            chunk[9] += 3;
        })
    };
    let first = Document::load(&author(&chunks[0])).unwrap();
    assert_eq!(first.get_changes(&[])[0].author(), Some(&[7][..]));
    let error = Document::load(&[chunks[0].clone(), author(&chunks[1])].concat()).unwrap_err();
    let LoadError::Apply(ApplyError::Fault { fault, .. }) = error else { panic!("{error}") };
    assert_eq!(fault, Fault::Author);
    assert_eq!(doc.get_changes(&[]).len(), 3);
}

#[test]
fn migration_converts_visible_strings_to_texts() {
    let mut doc = AutoCommit::from(Document::new().with_actor(ActorId::from([1])));
    doc.put(ROOT, "name", "é").unwrap();
    let list = doc.put_object(ROOT, "list", ObjType::List).unwrap();
    doc.splice(&list, 0, 0, [Literal::from("a"), 1.into(), "b".into()]).unwrap();
    let file = doc.document().save();
    let options = || LoadOptions::new().actor(ActorId::from([2]));
    let plain = Document::load_with(&file, options()).unwrap();
    assert_eq!(plain.get_changes(&[]).len(), 1);
    let options = || options().migrate_strings(StringMigration::ConvertToText);
    let mut texts = Document::load_with(&file, options()).unwrap();
    let text = |text: &str| Literal::Text(text.to_owned());
    let list = Literal::from(vec![text("a"), 1.into(), text("b")]);
    assert_eq!(texts.hydrate(ROOT).unwrap(), Literal::from([("list", list), ("name", text("é"))]));
    assert_eq!(texts.get_changes(&[])[1].actor_id(), &ActorId::from([2]));
    // A second migration finds nothing to convert.
    let heads = texts.get_heads();
    assert_eq!(Document::load_with(&texts.save(), options()).unwrap().get_heads(), heads);
}
