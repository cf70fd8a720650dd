//! Updates of texts to given results, with elements of any kind.

use hashmill_doc::{Entries, ReadDoc as _, Span, Transactable as _, UpdateSpansConfig};

use crate::support::worlds::contents::{Depth, spans};
use crate::support::worlds::{ENCODINGS, WORDS, World, for_all};

#[test]
fn update_text_reaches_the_given_text() {
    for_all("updated texts", 0..200, |seed| {
        let mut world = World::new(seed);
        let mut updates = 0;
        for n in 0..60 {
            world.step();
            if n % 10 != 9 {
                continue;
            }
            for text in world.texts() {
                let rng = &mut world.rng;
                let before = world.writers[0].text(&text).expect("a text");
                // Deletes and inserts characters at a few positions.
                let mut wanted: Vec<String> = before.chars().map(String::from).collect();
                for _ in 0..rng.below(4) {
                    let at = rng.below(wanted.len() + 1);
                    let gone = rng.below(3).min(wanted.len() - at);
                    let come = WORDS[rng.below(WORDS.len())].to_owned();
                    wanted.splice(at..at + gone, [come]);
                }
                let wanted = wanted.concat();
                let doc = &mut world.writers[0];
                let heads = doc.get_heads();
                doc.transact(|tx| tx.update_text(&text, &wanted)).expect("any text will do");
                assert_eq!(doc.text(&text).expect("a text"), wanted, "it was {before:?}");
                assert!(wanted != before || doc.get_heads() == heads, "nothing was to be done");
                updates += 1;
            }
        }
        world.writers[0].check(true);
        updates
    });
}

/// Spans as text. Zeros with two signs are equal: a block with one counts as a block with the other.
fn words(read: impl Iterator<Item = Span<'static>>) -> String {
    format!("{:?}", spans(read, Depth::Winners)).replace("F64(-0.0)", "F64(0.0)")
}

/// Clusters are omitted: a partly marked one is typed as one element, which has one set of marks.
#[test]
fn update_spans_reaches_random_spans() {
    for_all("updated spans", 0..150, |seed| {
        let mut world = World::counting_in(seed, ENCODINGS[seed as usize % 3]);
        let mut updates = 0;
        for n in 0..60 {
            world.step();
            if n % 10 != 9 {
                continue;
            }
            for text in world.texts() {
                let (rng, doc) = (&mut world.rng, &mut world.writers[0]);
                let before: Vec<Span<'static>> =
                    doc.spans(&text).expect("a text").map(Span::into_owned).collect();
                let mut wanted = before.clone();
                for _ in 0..rng.below(3) {
                    let at = rng.below(wanted.len() + 1);
                    let word = WORDS[rng.below(WORDS.len())];
                    let come: Option<Span<'static>> = match rng.below(3) {
                        0 if !word.is_empty() => Some(Span::marked(word, [("b", rng.below(2) == 0)])),
                        1 => {
                            Some(Entries::from_iter([("n".to_owned(), (rng.below(9) as i64).into())]).into())
                        }
                        _ => None,
                    };
                    wanted.splice(at..(at + rng.below(2)).min(wanted.len()), come);
                }
                if let Some(Span::Text { text, .. }) = wanted.first_mut() {
                    // A prefix is removed.
                    let cut: String = text.chars().skip(1).collect();
                    *text = (if cut.is_empty() { "é".to_owned() } else { cut }).into();
                }
                let config = UpdateSpansConfig::default();
                doc.transact(|tx| tx.update_spans(&text, &config, wanted.clone()))
                    .expect("any spans will do");
                let is = words(doc.spans(&text).expect("a text").map(Span::into_owned));
                assert_eq!(is, words(wanted.into_iter()), "it was {before:?}");
                updates += 1;
            }
        }
        world.writers[0].check(true);
        updates
    });
}
