//! What became of a document, for people: a line for each thing that came, went or changed.

use anyhow::Result;
use console::{Style, StyledObject};
use hashmill_doc::json::{Form, Layout, write};
use hashmill_doc::{Mark, ObjId, ObjType, Patch, PatchAction, Prop, ROOT, ScalarValue, Value, View};
use std::collections::HashMap;

/// So many characters of a value are shown.
const SHOWN: usize = 60;

/// The lines that say what `patches` do to a document as it was `before`.
pub(super) fn lines(before: &View<'_>, patches: &[Patch]) -> Result<Vec<StyledObject<String>>> {
    let mut teller = Teller { before, texts: HashMap::new(), lines: Vec::new() };
    for patch in patches {
        teller.tell(patch)?;
    }
    Ok(teller.lines)
}

struct Teller<'a, 'd> {
    before: &'a View<'d>,
    /// Texts as they are while the steps are taken.
    texts: HashMap<ObjId, Vec<char>>,
    lines: Vec<StyledObject<String>>,
}

impl Teller<'_, '_> {
    fn tell(&mut self, patch: &Patch) -> Result<()> {
        let obj = &patch.obj;
        let place = |prop: &str| {
            let way = patch.path.iter().map(|(_, prop)| escaped(&prop.to_string()));
            let mut place: String = way.map(|prop| format!("/{prop}")).collect();
            place.push_str(prop);
            place
        };
        let at = |prop: &Prop<'_>| place(&format!("/{}", escaped(&prop.to_string())));
        match &patch.action {
            PatchAction::PutMap { key, value, conflict } => {
                let new = format!("{}{}", shown(&value.0), others(*conflict));
                let at = at(&Prop::from(key.as_str()));
                match self.old(obj, key)? {
                    Some(old) => self.changed(&format!("{at}: {old} → {new}")),
                    None => self.came(&format!("{at}: {new}")),
                }
            }
            PatchAction::PutSeq { index, value, conflict } => {
                let at = at(&Prop::from(*index));
                self.changed(&format!("{at}: now {}{}", shown(&value.0), others(*conflict)));
            }
            PatchAction::Insert { index, values } => {
                self.splice(obj, *index, &"\u{fffc}".repeat(values.len()))?;
                for (index, (value, _, conflict)) in (*index..).zip(values) {
                    let at = at(&Prop::from(index));
                    self.came(&format!("{at}: {}{}", shown(value), others(*conflict)));
                }
            }
            PatchAction::SpliceText { index, value, marks } => {
                self.splice(obj, *index, value)?;
                let marks: Vec<String> = marks.iter().map(|(name, value)| marked(name, value)).collect();
                let marks = if marks.is_empty() { String::new() } else { format!("  {}", marks.join(", ")) };
                self.came(&format!("{} at {index}: {}{marks}", place(""), quoted(value)));
            }
            PatchAction::Increment { prop, value } => self.changed(&format!("{}: {value:+}", at(prop))),
            PatchAction::Conflict { prop } => {
                self.changed(&format!("{}: others were put there at the same time", at(prop)));
            }
            PatchAction::DeleteMap { key } => {
                let old = self.old(obj, key)?.unwrap_or_default();
                self.went(&format!("{}: {old}", at(&Prop::from(key.as_str()))));
            }
            PatchAction::DeleteSeq { index, length } => match self.text(obj)? {
                Some(text) => {
                    let end = text.len().min(index + length);
                    let gone: String = text.drain((*index).min(end)..end).collect();
                    self.went(&format!("{} at {index}: {}", place(""), quoted(&gone)));
                }
                None if *length == 1 => self.went(&at(&Prop::from(*index))),
                None => {
                    let last = Prop::from(index + length - 1);
                    self.went(&format!("{} to {last}", at(&Prop::from(*index))));
                }
            },
            PatchAction::Mark { marks } => {
                for Mark { start, end, name, value } in marks {
                    self.changed(&format!("{} from {start} to {end}: {}", place(""), marked(name, value)));
                }
            }
        }
        Ok(())
    }

    fn came(&mut self, line: &str) {
        self.lines.push(Style::new().green().apply_to(format!("+ {line}")));
    }

    fn went(&mut self, line: &str) {
        self.lines.push(Style::new().red().apply_to(format!("- {line}")));
    }

    fn changed(&mut self, line: &str) {
        self.lines.push(Style::new().yellow().apply_to(format!("~ {line}")));
    }

    /// What a key had before.
    fn old(&self, obj: &ObjId, key: &str) -> Result<Option<String>> {
        let map =
            self.before.object_type(obj).is_ok_and(|kind| matches!(kind, ObjType::Map | ObjType::Table));
        let old = if map { self.before.get(obj, key)? } else { None };
        Ok(match old {
            Some((value @ Value::Scalar(_), _)) => Some(shown(&value)),
            Some(object) => {
                let mut json = Vec::new();
                write(self.before, object, Form::Plain, Layout::Compact, &mut json)?;
                Some(cut(&String::from_utf8_lossy(&json)))
            }
            None => None,
        })
    }

    /// A text, if it is one, as far as the steps have come.
    fn text(&mut self, obj: &ObjId) -> Result<Option<&mut Vec<char>>> {
        if *obj == ROOT || !self.before.object_type(obj).is_ok_and(|kind| kind == ObjType::Text) {
            return Ok(None);
        }
        if !self.texts.contains_key(obj) {
            self.texts.insert(obj.clone(), self.before.text(obj)?.chars().collect());
        }
        Ok(self.texts.get_mut(obj))
    }

    fn splice(&mut self, obj: &ObjId, index: usize, with: &str) -> Result<()> {
        if let Some(text) = self.text(obj)? {
            let index = index.min(text.len());
            text.splice(index..index, with.chars());
        }
        Ok(())
    }
}

/// A key as it stands in a JSON Pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn cut(words: &str) -> String {
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// In quotation marks, with what a terminal would obey escaped.
fn quoted(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Object(ObjType::Map | ObjType::Table) => "{}".to_owned(),
        Value::Object(ObjType::List) => "[]".to_owned(),
        Value::Object(ObjType::Text) => "a text".to_owned(),
        Value::Scalar(value) => scalar(value),
    }
}

fn scalar(value: &ScalarValue<'_>) -> String {
    match value {
        ScalarValue::Null => "null".to_owned(),
        ScalarValue::Boolean(value) => value.to_string(),
        ScalarValue::Int(value) | ScalarValue::Counter(value) | ScalarValue::Timestamp(value) => {
            value.to_string()
        }
        ScalarValue::Uint(value) => value.to_string(),
        ScalarValue::F64(value) => value.to_string(),
        ScalarValue::Str(value) => quoted(value),
        ScalarValue::Bytes(bytes) => format!("{} bytes", bytes.len()),
        ScalarValue::Unknown { type_code, bytes } => format!("{} bytes of type {type_code}", bytes.len()),
    }
}

fn others(conflict: bool) -> &'static str {
    if conflict { "  (and others)" } else { "" }
}

fn marked(name: &str, value: &ScalarValue<'_>) -> String {
    match value {
        ScalarValue::Null => format!("no {name}"),
        ScalarValue::Boolean(true) => name.to_owned(),
        value => format!("{name} {}", scalar(value)),
    }
}
