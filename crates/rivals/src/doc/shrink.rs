//! Minimisation of failing scripts.

use super::script::{Action, Position, Script, Step, Tree};

/// The shortest script that `fails` as `script` does: no part of it can be left out, no value made simpler.
pub fn shrink(script: Script, mut fails: impl FnMut(&Script) -> bool) -> Script {
    let mut script = script;
    loop {
        let before = script.clone();
        leave_out(&mut script, &mut fails);
        simplify(&mut script, &mut fails);
        if script == before {
            return script;
        }
    }
}

/// Leaves out steps, large parts first.
fn leave_out(script: &mut Script, fails: &mut impl FnMut(&Script) -> bool) {
    let mut part = script.steps.len().div_ceil(2);
    while part > 0 {
        // From the end, so that what is left keeps its index.
        let mut start = script.steps.len();
        while start > 0 {
            start = start.saturating_sub(part);
            let mut shorter = script.clone();
            shorter.steps.drain(start..(start + part).min(script.steps.len()));
            if fails(&shorter) {
                *script = shorter;
            }
        }
        part /= 2;
    }
}

fn simplify(script: &mut Script, fails: &mut impl FnMut(&Script) -> bool) {
    while script.people > 1 {
        let fewer = Script { people: script.people - 1, ..script.clone() };
        if !fails(&fewer) {
            break;
        }
        *script = fewer;
    }
    for index in 0..script.steps.len() {
        for simpler in simpler(&script.steps[index]) {
            let mut candidate = script.clone();
            candidate.steps[index] = simpler;
            if candidate != *script && fails(&candidate) {
                *script = candidate;
                break;
            }
        }
    }
}

/// Steps that are simpler than this one, the simplest first. Following them always ends.
fn simpler(step: &Step) -> Vec<Step> {
    let mut actions = Vec::new();
    if let Some(spot) = spot(&step.action) {
        for object in [0, 1, spot.object / 2, spot.object.saturating_sub(1)] {
            for place in [0, spot.place / 2, spot.place.saturating_sub(1), spot.place] {
                if (object, place) < (spot.object, spot.place) && object <= spot.object && place <= spot.place
                {
                    actions.push(moved(&step.action, Position { object, place }));
                }
            }
        }
    }
    match &step.action {
        Action::SpliceText(spot, delete, text) => {
            actions.extend(shorter(text).into_iter().map(|text| Action::SpliceText(*spot, *delete, text)));
            actions.extend((*delete != 0).then(|| Action::SpliceText(*spot, delete / 2, text.clone())));
        }
        Action::UpdateText(spot, text) => {
            actions.extend(shorter(text).into_iter().map(|text| Action::UpdateText(*spot, text)));
        }
        Action::Splice(spot, delete, values) => {
            actions
                .extend((0..values.len()).map(|gone| Action::Splice(*spot, *delete, without(values, gone))));
            actions.extend((*delete != 0).then(|| Action::Splice(*spot, delete / 2, values.clone())));
        }
        Action::Create(spot, tree, insert) => {
            actions.extend(pruned(tree).into_iter().map(|tree| Action::Create(*spot, tree, *insert)));
        }
        Action::UpdateObject(spot, tree) => {
            actions.extend(pruned(tree).into_iter().map(|tree| Action::UpdateObject(*spot, tree)));
        }
        Action::Commit(Some(_), time) => actions.push(Action::Commit(None, *time)),
        Action::Commit(None, time) if *time != 0 => actions.push(Action::Commit(None, time / 2)),
        _ => {}
    }
    actions.into_iter().map(|action| Step { who: step.who, action }).collect()
}

fn spot(action: &Action) -> Option<Position> {
    let mut action = action.clone();
    spot_mut(&mut action).map(|spot| *spot)
}

fn moved(action: &Action, to: Position) -> Action {
    let mut action = action.clone();
    spot_mut(&mut action).into_iter().for_each(|spot| *spot = to);
    action
}

fn spot_mut(action: &mut Action) -> Option<&mut Position> {
    match action {
        Action::Put(spot, _)
        | Action::PutObject(spot, _)
        | Action::Insert(spot, _)
        | Action::InsertObject(spot, _)
        | Action::Delete(spot)
        | Action::Point(spot)
        | Action::Increment(spot, _)
        | Action::Splice(spot, ..)
        | Action::SpliceText(spot, ..)
        | Action::UpdateText(spot, _)
        | Action::UpdateObject(spot, _)
        | Action::Mark(spot, ..)
        | Action::SplitBlock(spot)
        | Action::JoinBlock(spot)
        | Action::ReplaceBlock(spot)
        | Action::Create(spot, ..) => Some(spot),
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

    fn splices(script: &Script) -> Vec<&str> {
        let texts = script.steps.iter().filter_map(|step| match &step.action {
            Action::SpliceText(_, _, text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn only_what_is_needed_is_left() {
        // Wrong is a script that has two flags in two different splices.
        let fails = |script: &Script| splices(script).iter().filter(|text| text.contains('🇬')).count() >= 2;
        let script =
            (0..).map(|seed| Script::invent(seed, 200)).find(|script| fails(script)).expect("some script");
        let short = shrink(script, fails);
        assert_eq!(short.people, 1);
        assert_eq!(splices(&short), ["🇬", "🇬"]);
        assert_eq!(short.steps.len(), 2);
        assert!(short.steps.iter().all(|step| spot(&step.action) == Some(Position { object: 0, place: 0 })));
    }

    #[test]
    fn following_simpler_scenes_always_ends() {
        for step in Script::invent(3, 300).steps {
            let mut step = step;
            let mut actions = 0;
            while let Some(next) = simpler(&step).pop() {
                step = next;
                actions += 1;
                assert!(actions < 10_000, "{step:?}");
            }
        }
    }
}
