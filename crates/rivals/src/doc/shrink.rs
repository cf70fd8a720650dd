//! Minimisation of failing scripts.

use super::script::{Action, Position, Script, Step, Tree};

/// A minimal script that still `fails`: no part of it can be removed, no value simplified.
pub fn shrink(script: Script, mut fails: impl FnMut(&Script) -> bool) -> Script {
    let mut script = script;
    loop {
        let before = script.clone();
        remove_steps(&mut script, &mut fails);
        simplify(&mut script, &mut fails);
        if script == before {
            return script;
        }
    }
}

/// Removes steps, large parts first.
fn remove_steps(script: &mut Script, fails: &mut impl FnMut(&Script) -> bool) {
    let mut part = script.steps.len().div_ceil(2);
    while part > 0 {
        // From the end, so that the remaining steps keep their indexes.
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
    while script.replicas > 1 {
        let fewer = Script { replicas: script.replicas - 1, ..script.clone() };
        if !fails(&fewer) {
            break;
        }
        *script = fewer;
    }
    for index in 0..script.steps.len() {
        for simpler in simpler_steps(&script.steps[index]) {
            let mut candidate = script.clone();
            candidate.steps[index] = simpler;
            if candidate != *script && fails(&candidate) {
                *script = candidate;
                break;
            }
        }
    }
}

/// Steps that are simpler than this one, the simplest first. Repeated simplification ends.
fn simpler_steps(step: &Step) -> Vec<Step> {
    let mut actions = Vec::new();
    if let Some(position) = position(&step.action) {
        for object in [0, 1, position.object / 2, position.object.saturating_sub(1)] {
            for prop in [0, position.prop / 2, position.prop.saturating_sub(1), position.prop] {
                if (object, prop) < (position.object, position.prop)
                    && object <= position.object
                    && prop <= position.prop
                {
                    actions.push(with_position(&step.action, Position { object, prop }));
                }
            }
        }
    }
    match &step.action {
        Action::SpliceText(position, delete, text) => {
            actions.extend(
                shorter_texts(text).into_iter().map(|text| Action::SpliceText(*position, *delete, text)),
            );
            actions.extend((*delete != 0).then(|| Action::SpliceText(*position, delete / 2, text.clone())));
        }
        Action::UpdateText(position, text) => {
            actions.extend(shorter_texts(text).into_iter().map(|text| Action::UpdateText(*position, text)));
        }
        Action::Splice(position, delete, values) => {
            actions.extend(
                (0..values.len()).map(|removed| Action::Splice(*position, *delete, without(values, removed))),
            );
            actions.extend((*delete != 0).then(|| Action::Splice(*position, delete / 2, values.clone())));
        }
        Action::Create(position, tree, insert) => {
            actions
                .extend(smaller_trees(tree).into_iter().map(|tree| Action::Create(*position, tree, *insert)));
        }
        Action::UpdateObject(position, tree) => {
            actions.extend(smaller_trees(tree).into_iter().map(|tree| Action::UpdateObject(*position, tree)));
        }
        Action::Commit(Some(_), time) => actions.push(Action::Commit(None, *time)),
        Action::Commit(None, time) if *time != 0 => actions.push(Action::Commit(None, time / 2)),
        _ => {}
    }
    actions.into_iter().map(|action| Step { replica: step.replica, action }).collect()
}

fn position(action: &Action) -> Option<Position> {
    let mut action = action.clone();
    position_mut(&mut action).map(|position| *position)
}

fn with_position(action: &Action, to: Position) -> Action {
    let mut action = action.clone();
    position_mut(&mut action).into_iter().for_each(|position| *position = to);
    action
}

fn position_mut(action: &mut Action) -> Option<&mut Position> {
    match action {
        Action::Put(position, _)
        | Action::PutObject(position, _)
        | Action::Insert(position, _)
        | Action::InsertObject(position, _)
        | Action::Delete(position)
        | Action::CreateCursors(position)
        | Action::Increment(position, _)
        | Action::Splice(position, ..)
        | Action::SpliceText(position, ..)
        | Action::UpdateText(position, _)
        | Action::UpdateObject(position, _)
        | Action::Mark(position, ..)
        | Action::SplitBlock(position)
        | Action::JoinBlock(position)
        | Action::ReplaceBlock(position)
        | Action::Create(position, ..) => Some(position),
        _ => None,
    }
}

fn without<T: Clone>(values: &[T], removed: usize) -> Vec<T> {
    let mut values = values.to_vec();
    values.remove(removed);
    values
}

fn shorter_texts(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    (0..chars.len()).map(|removed| without(&chars, removed).into_iter().collect()).collect()
}

fn smaller_trees(tree: &Tree) -> Vec<Tree> {
    match tree {
        Tree::Leaf(_) => Vec::new(),
        Tree::Text(text) => shorter_texts(text).into_iter().map(Tree::Text).collect(),
        Tree::List(values) => {
            let mut trees: Vec<Tree> =
                (0..values.len()).map(|removed| Tree::List(without(values, removed))).collect();
            for (index, value) in values.iter().enumerate() {
                for simpler in smaller_trees(value) {
                    let mut values = values.clone();
                    values[index] = simpler;
                    trees.push(Tree::List(values));
                }
            }
            trees
        }
        Tree::Map(pairs) => {
            let mut trees: Vec<Tree> =
                (0..pairs.len()).map(|removed| Tree::Map(without(pairs, removed))).collect();
            for (index, (_, value)) in pairs.iter().enumerate() {
                for simpler in smaller_trees(value) {
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
    fn shrinking_keeps_only_the_necessary_steps() {
        // A script fails if two of its splices contain a flag.
        let fails = |script: &Script| splices(script).iter().filter(|text| text.contains('🇬')).count() >= 2;
        let script =
            (0..).map(|seed| Script::random(seed, 200)).find(|script| fails(script)).expect("some script");
        let short = shrink(script, fails);
        assert_eq!(short.replicas, 1);
        assert_eq!(splices(&short), ["🇬", "🇬"]);
        assert_eq!(short.steps.len(), 2);
        assert!(
            short.steps.iter().all(|step| position(&step.action) == Some(Position { object: 0, prop: 0 }))
        );
    }

    #[test]
    fn repeated_simplification_ends() {
        for step in Script::random(3, 300).steps {
            let mut step = step;
            let mut actions = 0;
            while let Some(next) = simpler_steps(&step).pop() {
                step = next;
                actions += 1;
                assert!(actions < 10_000, "{step:?}");
            }
        }
    }
}
