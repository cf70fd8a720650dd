//! Iterative drop, clone, comparison and formatting of nested values, where derived implementations would recurse.

use std::fmt;

use crate::types::ScalarValue;
use crate::types::literal::{Elements, Entries, Literal};

impl Drop for Entries {
    fn drop(&mut self) {
        if self.0.values().any(Literal::is_nested) {
            dismantle(std::mem::take(&mut self.0).into_values().collect());
        }
    }
}

impl Drop for Elements {
    fn drop(&mut self) {
        if self.0.iter().any(Literal::is_nested) {
            dismantle(std::mem::take(&mut self.0));
        }
    }
}

/// Separates nested values so that none contains another when it is dropped.
fn dismantle(mut todo: Vec<Literal>) {
    while let Some(value) = todo.pop() {
        match value {
            Literal::Map(entries) => todo.extend(entries.into_iter().map(|(_, value)| value)),
            Literal::List(elements) => todo.extend(elements),
            Literal::Scalar(_) | Literal::Text(_) => {}
        }
    }
}

/// Contents of a target, as reported to [`build`].
pub(crate) enum Found<I> {
    /// A value without contents.
    Leaf(Literal),
    /// A map: its keys and the places of their values, in the same order.
    Map(Vec<String>, Vec<I>),
    /// A list: the places of its elements.
    List(Vec<I>),
}

/// A partially built map or list.
struct Half<I> {
    keys: Option<Vec<String>>,
    todo: std::vec::IntoIter<I>,
    done: Vec<Literal>,
}

impl<I> Half<I> {
    fn new(keys: Option<Vec<String>>, todo: Vec<I>) -> Self {
        Self { keys, done: Vec::with_capacity(todo.len()), todo: todo.into_iter() }
    }

    fn finish(self) -> Literal {
        match self.keys {
            Some(keys) => Literal::Map(keys.into_iter().zip(self.done).collect()),
            None => Literal::List(self.done.into()),
        }
    }
}

/// Builds a value from the results of `look`, first for `target`, then for the targets in its results.
pub(crate) fn build<I, E>(target: I, mut look: impl FnMut(I) -> Result<Found<I>, E>) -> Result<Literal, E> {
    let mut halves: Vec<Half<I>> = Vec::new();
    let mut next = target;
    loop {
        let mut built = match look(next)? {
            Found::Leaf(value) => Some(value),
            Found::Map(keys, todo) => {
                halves.push(Half::new(Some(keys), todo));
                None
            }
            Found::List(todo) => {
                halves.push(Half::new(None, todo));
                None
            }
        };
        next = loop {
            let Some(mut half) = halves.pop() else {
                return Ok(built.expect("all but leaves are pushed"));
            };
            half.done.extend(built.take());
            match half.todo.next() {
                Some(target) => {
                    halves.push(half);
                    break target;
                }
                None => built = Some(half.finish()),
            }
        };
    }
}

fn look_again(value: &Literal) -> Result<Found<&Literal>, std::convert::Infallible> {
    Ok(match value {
        Literal::Scalar(scalar) => Found::Leaf(Literal::Scalar(scalar.clone())),
        Literal::Text(text) => Found::Leaf(Literal::Text(text.clone())),
        Literal::Map(entries) => Found::Map(entries.keys().cloned().collect(), entries.values().collect()),
        Literal::List(elements) => Found::List(elements.iter().collect()),
    })
}

impl Clone for Literal {
    fn clone(&self) -> Self {
        let Ok(copy) = build(self, look_again);
        copy
    }
}

impl Clone for Entries {
    fn clone(&self) -> Self {
        self.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

impl Clone for Elements {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

/// Are the values of all pairs equal?
fn all_equal(mut pairs: Vec<(&Literal, &Literal)>) -> bool {
    while let Some((a, b)) = pairs.pop() {
        let same = match (a, b) {
            (Literal::Scalar(a), Literal::Scalar(b)) => a == b,
            (Literal::Text(a), Literal::Text(b)) => a == b,
            (Literal::Map(a), Literal::Map(b)) => {
                pairs.extend(a.values().zip(b.values()));
                a.keys().eq(b.keys())
            }
            (Literal::List(a), Literal::List(b)) => {
                pairs.extend(a.iter().zip(b.iter()));
                a.len() == b.len()
            }
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        all_equal(vec![(self, other)])
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.keys().eq(other.keys()) && all_equal(self.values().zip(other.values()).collect())
    }
}

impl PartialEq for Elements {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && all_equal(self.iter().zip(other.iter()).collect())
    }
}

/// Remaining output of `Debug`.
enum Shown<'l> {
    Value(&'l Literal),
    Key(&'l str),
    Word(&'static str),
    Scalar(&'l ScalarValue<'static>),
}

impl<'l> Shown<'l> {
    /// The entries of a map and its end, last first.
    fn entries(entries: &'l Entries, todo: &mut Vec<Self>) {
        todo.push(Shown::Word("}"));
        for (n, (key, value)) in entries.iter().enumerate().rev() {
            todo.extend([Shown::Value(value), Shown::Word(": "), Shown::Key(key)]);
            todo.extend((n > 0).then_some(Shown::Word(", ")));
        }
        todo.push(Shown::Word("{"));
    }

    /// The elements of a list and its end, last first.
    fn elements(elements: &'l Elements, todo: &mut Vec<Self>) {
        todo.push(Shown::Word("]"));
        for (n, value) in elements.iter().enumerate().rev() {
            todo.push(Shown::Value(value));
            todo.extend((n > 0).then_some(Shown::Word(", ")));
        }
        todo.push(Shown::Word("["));
    }

    /// Writes all items, the last of `todo` first. Always on one line: with indentation, the output would grow with the
    /// square of the depth.
    fn all(mut todo: Vec<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        while let Some(next) = todo.pop() {
            match next {
                Shown::Word(word) => f.write_str(word)?,
                Shown::Key(key) => write!(f, "{key:?}")?,
                Shown::Scalar(scalar) => write!(f, "{scalar:?}")?,
                Shown::Value(value) => {
                    todo.push(Shown::Word(")"));
                    match value {
                        Literal::Scalar(scalar) => {
                            todo.extend([Shown::Scalar(scalar), Shown::Word("Scalar(")]);
                        }
                        Literal::Text(text) => todo.extend([Shown::Key(text), Shown::Word("Text(")]),
                        Literal::Map(entries) => {
                            Self::entries(entries, &mut todo);
                            todo.push(Shown::Word("Map("));
                        }
                        Literal::List(elements) => {
                            Self::elements(elements, &mut todo);
                            todo.push(Shown::Word("List("));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown::all(vec![Shown::Value(self)], f)
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut todo = vec![];
        Shown::entries(self, &mut todo);
        Shown::all(todo, f)
    }
}

impl fmt::Debug for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut todo = vec![];
        Shown::elements(self, &mut todo);
        Shown::all(todo, f)
    }
}
