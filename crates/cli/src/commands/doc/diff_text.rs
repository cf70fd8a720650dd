//! Differences between two versions of a document as text: a line for each value added, removed or changed.

use anyhow::Result;
use console::{Style, StyledObject};
use hashmill_doc::json::{Layout, ScalarEncoding, escape_token, write};
use hashmill_doc::{Mark, ObjId, ObjType, Patch, PatchAction, Prop, ROOT, ScalarValue, Value, View};
use std::collections::HashMap;

/// Maximum characters shown of a value.
const MAX_CHARS: usize = 60;

/// The lines that describe `patches` to the version `before`.
pub(super) fn lines(before: &View<'_>, patches: &[Patch]) -> Result<Vec<StyledObject<String>>> {
    let mut printer = DiffPrinter { before, texts: HashMap::new(), lines: Vec::new() };
    for patch in patches {
        printer.add_patch(patch)?;
    }
    Ok(printer.lines)
}

/// Prints patches, with the old values from the version before.
struct DiffPrinter<'a, 'd> {
    before: &'a View<'d>,
    /// Texts after the patches so far.
    texts: HashMap<ObjId, Vec<char>>,
    lines: Vec<StyledObject<String>>,
}

impl DiffPrinter<'_, '_> {
    fn add_patch(&mut self, patch: &Patch) -> Result<()> {
        let obj = &patch.obj;
        let pointer = |prop: &str| {
            let props = patch.path.iter().map(|(_, prop)| escape_token(&prop.to_string()));
            let mut pointer: String = props.map(|prop| format!("/{prop}")).collect();
            pointer.push_str(prop);
            pointer
        };
        let at = |prop: &Prop<'_>| pointer(&format!("/{}", escape_token(&prop.to_string())));
        match &patch.action {
            PatchAction::PutMap { key, value, conflict } => {
                let new = format!("{}{}", display_path(&value.0), others(*conflict));
                let at = at(&Prop::from(key.as_str()));
                match self.old(obj, key)? {
                    Some(old) => self.changed(&format!("{at}: {old} → {new}")),
                    None => self.added(&format!("{at}: {new}")),
                }
            }
            PatchAction::PutSeq { index, value, conflict } => {
                let at = at(&Prop::from(*index));
                self.changed(&format!("{at}: now {}{}", display_path(&value.0), others(*conflict)));
            }
            PatchAction::Insert { index, values } => {
                self.splice(obj, *index, &"\u{fffc}".repeat(values.len()))?;
                for (index, (value, _, conflict)) in (*index..).zip(values) {
                    let at = at(&Prop::from(index));
                    self.added(&format!("{at}: {}{}", display_path(value), others(*conflict)));
                }
            }
            PatchAction::SpliceText { index, value, marks } => {
                self.splice(obj, *index, value)?;
                let marks: Vec<String> = marks.iter().map(|(name, value)| marked(name, value)).collect();
                let marks = if marks.is_empty() { String::new() } else { format!("  {}", marks.join(", ")) };
                self.added(&format!("{} at {index}: {}{marks}", pointer(""), quoted(value)));
            }
            PatchAction::Increment { prop, value } => self.changed(&format!("{}: {value:+}", at(prop))),
            PatchAction::Conflict { prop } => {
                self.changed(&format!("{}: other values were put there concurrently", at(prop)));
            }
            PatchAction::DeleteMap { key } => {
                let old = self.old(obj, key)?.unwrap_or_default();
                self.removed(&format!("{}: {old}", at(&Prop::from(key.as_str()))));
            }
            PatchAction::DeleteSeq { index, length } => match self.text(obj)? {
                Some(text) => {
                    let end = text.len().min(index + length);
                    let gone: String = text.drain((*index).min(end)..end).collect();
                    self.removed(&format!("{} at {index}: {}", pointer(""), quoted(&gone)));
                }
                None if *length == 1 => self.removed(&at(&Prop::from(*index))),
                None => {
                    let last = Prop::from(index + length - 1);
                    self.removed(&format!("{} to {last}", at(&Prop::from(*index))));
                }
            },
            PatchAction::Mark { marks } => {
                for Mark { start, end, name, value } in marks {
                    self.changed(&format!("{} from {start} to {end}: {}", pointer(""), marked(name, value)));
                }
            }
        }
        Ok(())
    }

    fn added(&mut self, line: &str) {
        self.lines.push(Style::new().green().apply_to(format!("+ {line}")));
    }

    fn removed(&mut self, line: &str) {
        self.lines.push(Style::new().red().apply_to(format!("- {line}")));
    }

    fn changed(&mut self, line: &str) {
        self.lines.push(Style::new().yellow().apply_to(format!("~ {line}")));
    }

    /// The old value of a key.
    fn old(&self, obj: &ObjId, key: &str) -> Result<Option<String>> {
        let map =
            self.before.object_type(obj).is_ok_and(|kind| matches!(kind, ObjType::Map | ObjType::Table));
        let old = if map { self.before.get(obj, key)? } else { None };
        Ok(match old {
            Some((value @ Value::Scalar(_), _)) => Some(display_path(&value)),
            Some(object) => {
                let mut json = Vec::new();
                write(self.before, object, ScalarEncoding::Plain, Layout::Compact, &mut json)?;
                Some(shortened(&String::from_utf8_lossy(&json)))
            }
            None => None,
        })
    }

    /// The characters of a text after the patches so far; `None` if the object is not a text.
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

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// In quotation marks, with terminal control characters escaped.
fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

fn display_path(value: &Value<'_>) -> String {
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
    if conflict { "  (and other values)" } else { "" }
}

fn marked(name: &str, value: &ScalarValue<'_>) -> String {
    match value {
        ScalarValue::Null => format!("no {name}"),
        ScalarValue::Boolean(true) => name.to_owned(),
        value => format!("{name} {}", scalar(value)),
    }
}
