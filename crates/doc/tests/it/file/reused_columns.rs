//! Saves after a load and some edits: untouched parts are copied from the original columns, with the same bytes as a
//! full save.

use hashmill_doc::{
    ActorId, AutoCommit, CommitOptions, Document, Limits, LoadOptions, ObjType, ROOT, ReadDoc, Shortcuts,
    Transactable,
};

use crate::Rng;
use crate::sync::convergence::edit;

fn load(bytes: &[u8], shortcuts: Shortcuts) -> Document {
    let limits = Limits { shortcuts, ..Limits::default() };
    let options = LoadOptions::new().limits(limits).actor(ActorId::from([9; 3]));
    Document::load_with(bytes, options).expect("what was saved loads")
}

/// A random edit of a map of maps, or of any other object. Errors are allowed.
fn edit_somewhere(doc: &mut AutoCommit, rng: &mut Rng) {
    let map = doc.get(ROOT, "maps").expect("the root is a map").map(|(_, id)| id);
    let Some(map) = map.filter(|_| rng.below(3) > 0) else {
        if rng.below(30) == 0 {
            doc.put_object(ROOT, "maps", ObjType::Map).expect("a key");
        }
        return edit(doc, rng);
    };
    let key = ["", "k", "key", "l", "é"][rng.below(5)];
    let inner = doc.get(&map, key).expect("a map").map(|(_, id)| id);
    let _ = match (rng.below(5), inner) {
        (0, _) => doc.put_object(&map, key, ObjType::Map).map(drop),
        (1, _) => doc.delete(&map, key),
        (2, _) => doc.put(&map, key, "a value"),
        (_, Some(inner)) => doc.put(&inner, ["a", "b"][rng.below(2)], 7),
        (_, None) => doc.put(&map, key, 1),
    };
}

/// Saves of loaded documents equal full saves after edits of every kind by known actors and new ones, sorted before and
/// after those in the file, with rollbacks, concurrent merges and empty commits.
#[test]
fn spliced_saves_equal_full_saves() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut edited = AutoCommit::from(load(&[], Shortcuts::Usual).with_actor(ActorId::from([1; 3])));
        for _ in 0..5 + rng.below(60) {
            (0..1 + rng.below(4)).for_each(|_| edit_somewhere(&mut edited, &mut rng));
            edited.commit();
        }
        let mut fork = AutoCommit::from(edited.document().fork().with_actor(ActorId::from([5; 3])));
        (0..rng.below(9)).for_each(|_| edit_somewhere(&mut fork, &mut rng));
        edited.merge(&mut fork).expect("changes of a copy");
        let saved = edited.save();
        let actors = [[1; 3], [5; 3], [0; 3], [3; 3], [9; 3]];
        let steps = rng.below(1 << 20) as u64;
        let ways = [Shortcuts::Usual, Shortcuts::Always, Shortcuts::Never].map(|shortcuts| {
            let mut rng = Rng::new(steps);
            let mut doc = AutoCommit::from(load(&saved, shortcuts));
            let mut files = vec![];
            for _ in 0..6 {
                doc.set_actor(ActorId::from(actors[rng.below(5)]));
                let mut other = AutoCommit::from(doc.document().fork().with_actor(ActorId::from([7; 3])));
                (0..rng.below(4)).for_each(|_| edit_somewhere(&mut doc, &mut rng));
                match rng.below(6) {
                    0 => {
                        doc.rollback();
                    }
                    1 => drop(doc.empty_commit(&CommitOptions::default())),
                    2 => {
                        edit_somewhere(&mut other, &mut rng);
                        doc.merge(&mut other).expect("changes of a copy");
                    }
                    _ => drop(doc.commit()),
                }
                doc.document().check(true);
                files.push((doc.save(), doc.save_nocompress()));
            }
            files
        });
        assert!(ways[0] == ways[1] && ways[0] == ways[2], "seed {seed}");
    }
}
