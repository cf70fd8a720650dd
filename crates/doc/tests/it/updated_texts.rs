//! Texts updated by result: they become what was asked for, whatever elements they consist of.

use hashmill_doc::{ReadDoc as _, Transactable as _};

use crate::worlds::{WORDS, World, for_all};

#[test]
fn an_updated_text_is_what_was_asked_for() {
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
                // Characters go and come at a few places.
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
