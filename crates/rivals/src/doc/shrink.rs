//! Makes a story short while it still shows what is wrong.

use super::story::{Scene, Spot, Step, Story, Tree};

/// The shortest story that `fails` as `story` does: no part of it can be left out, no value made simpler.
pub fn shrink(story: Story, mut fails: impl FnMut(&Story) -> bool) -> Story {
    let mut story = story;
    loop {
        let before = story.clone();
        leave_out(&mut story, &mut fails);
        simplify(&mut story, &mut fails);
        if story == before {
            return story;
        }
    }
}

/// Leaves out scenes, large parts first.
fn leave_out(story: &mut Story, fails: &mut impl FnMut(&Story) -> bool) {
    let mut part = story.scenes.len().div_ceil(2);
    while part > 0 {
        // From the end, so that what is left keeps its index.
        let mut start = story.scenes.len();
        while start > 0 {
            start = start.saturating_sub(part);
            let mut shorter = story.clone();
            shorter.scenes.drain(start..(start + part).min(story.scenes.len()));
            if fails(&shorter) {
                *story = shorter;
            }
        }
        part /= 2;
    }
}

fn simplify(story: &mut Story, fails: &mut impl FnMut(&Story) -> bool) {
    while story.people > 1 {
        let fewer = Story { people: story.people - 1, ..story.clone() };
        if !fails(&fewer) {
            break;
        }
        *story = fewer;
    }
    for index in 0..story.scenes.len() {
        for simpler in simpler(&story.scenes[index]) {
            let mut candidate = story.clone();
            candidate.scenes[index] = simpler;
            if candidate != *story && fails(&candidate) {
                *story = candidate;
                break;
            }
        }
    }
}

/// Scenes that are simpler than this one, the simplest first. Following them always ends.
fn simpler(scene: &Scene) -> Vec<Scene> {
    let mut steps = Vec::new();
    if let Some(spot) = spot(&scene.step) {
        for object in [0, 1, spot.object / 2, spot.object.saturating_sub(1)] {
            for place in [0, spot.place / 2, spot.place.saturating_sub(1), spot.place] {
                if (object, place) < (spot.object, spot.place) && object <= spot.object && place <= spot.place
                {
                    steps.push(moved(&scene.step, Spot { object, place }));
                }
            }
        }
    }
    match &scene.step {
        Step::SpliceText(spot, delete, text) => {
            steps.extend(shorter(text).into_iter().map(|text| Step::SpliceText(*spot, *delete, text)));
            steps.extend((*delete != 0).then(|| Step::SpliceText(*spot, delete / 2, text.clone())));
        }
        Step::UpdateText(spot, text) => {
            steps.extend(shorter(text).into_iter().map(|text| Step::UpdateText(*spot, text)));
        }
        Step::Splice(spot, delete, values) => {
            steps.extend((0..values.len()).map(|gone| Step::Splice(*spot, *delete, without(values, gone))));
            steps.extend((*delete != 0).then(|| Step::Splice(*spot, delete / 2, values.clone())));
        }
        Step::Create(spot, tree, insert) => {
            steps.extend(pruned(tree).into_iter().map(|tree| Step::Create(*spot, tree, *insert)));
        }
        Step::UpdateObject(spot, tree) => {
            steps.extend(pruned(tree).into_iter().map(|tree| Step::UpdateObject(*spot, tree)));
        }
        Step::Commit(Some(_), time) => steps.push(Step::Commit(None, *time)),
        Step::Commit(None, time) if *time != 0 => steps.push(Step::Commit(None, time / 2)),
        _ => {}
    }
    steps.into_iter().map(|step| Scene { who: scene.who, step }).collect()
}

fn spot(step: &Step) -> Option<Spot> {
    let mut step = step.clone();
    spot_mut(&mut step).map(|spot| *spot)
}

fn moved(step: &Step, to: Spot) -> Step {
    let mut step = step.clone();
    spot_mut(&mut step).into_iter().for_each(|spot| *spot = to);
    step
}

fn spot_mut(step: &mut Step) -> Option<&mut Spot> {
    match step {
        Step::Put(spot, _)
        | Step::PutObject(spot, _)
        | Step::Insert(spot, _)
        | Step::InsertObject(spot, _)
        | Step::Delete(spot)
        | Step::Point(spot)
        | Step::Increment(spot, _)
        | Step::Splice(spot, ..)
        | Step::SpliceText(spot, ..)
        | Step::UpdateText(spot, _)
        | Step::UpdateObject(spot, _)
        | Step::Create(spot, ..) => Some(spot),
        _ => None,
    }
}

fn without<T: Clone>(values: &[T], gone: usize) -> Vec<T> {
    let mut values = values.to_vec();
    values.remove(gone);
    values
}

fn shorter(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    (0..chars.len()).map(|gone| without(&chars, gone).into_iter().collect()).collect()
}

fn pruned(tree: &Tree) -> Vec<Tree> {
    match tree {
        Tree::Leaf(_) => Vec::new(),
        Tree::Text(text) => shorter(text).into_iter().map(Tree::Text).collect(),
        Tree::List(values) => {
            let mut trees: Vec<Tree> =
                (0..values.len()).map(|gone| Tree::List(without(values, gone))).collect();
            for (index, value) in values.iter().enumerate() {
                for simpler in pruned(value) {
                    let mut values = values.clone();
                    values[index] = simpler;
                    trees.push(Tree::List(values));
                }
            }
            trees
        }
        Tree::Map(pairs) => {
            let mut trees: Vec<Tree> = (0..pairs.len()).map(|gone| Tree::Map(without(pairs, gone))).collect();
            for (index, (_, value)) in pairs.iter().enumerate() {
                for simpler in pruned(value) {
                    let mut pairs = pairs.clone();
                    pairs[index].1 = simpler;
                    trees.push(Tree::Map(pairs));
                }
            }
            trees
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splices(story: &Story) -> Vec<&str> {
        let texts = story.scenes.iter().filter_map(|scene| match &scene.step {
            Step::SpliceText(_, _, text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn only_what_is_needed_is_left() {
        // Wrong is a story that has two flags in two different splices.
        let fails = |story: &Story| splices(story).iter().filter(|text| text.contains('🇬')).count() >= 2;
        let story =
            (0..).map(|seed| Story::invent(seed, 200)).find(|story| fails(story)).expect("some story");
        let short = shrink(story, fails);
        assert_eq!(short.people, 1);
        assert_eq!(splices(&short), ["🇬", "🇬"]);
        assert_eq!(short.scenes.len(), 2);
        assert!(short.scenes.iter().all(|scene| spot(&scene.step) == Some(Spot { object: 0, place: 0 })));
    }

    #[test]
    fn following_simpler_scenes_always_ends() {
        for scene in Story::invent(3, 300).scenes {
            let mut scene = scene;
            let mut steps = 0;
            while let Some(next) = simpler(&scene).pop() {
                scene = next;
                steps += 1;
                assert!(steps < 10_000, "{scene:?}");
            }
        }
    }
}
