//! Migration of scalar strings, from programs before collaborative text, to texts.

use crate::document::Document;
use crate::edit::transaction::Transactable as _;
use crate::read::read_doc::ReadDoc as _;
use crate::types::error::EditError;
use crate::types::{ObjId, ObjType, Prop, Value};

/// Treatment of scalar strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StringMigration {
    /// Keeps them.
    #[default]
    NoMigration,
    /// Replaces each by a text with the same characters, in one change by the loading actor.
    ConvertToText,
}

impl Document {
    /// Replaces every string that is the winning value of a key or list element by a text.
    pub(crate) fn convert_strings_to_text(&mut self) -> Result<(), EditError> {
        let mut todo: Vec<(ObjId, Prop<'static>, String)> = Vec::new();
        let string = |value: Value<'_>| match value {
            Value::Scalar(value) => value.as_str().map(str::to_owned),
            Value::Object(_) => None,
        };
        for obj in self.state.object_ids() {
            match self.object_type(&obj)? {
                ObjType::Map => {
                    for item in self.map_range(&obj, ..) {
                        let prop = Prop::from(item.key.to_owned());
                        todo.extend(string(item.value).map(|string| (obj.clone(), prop, string)));
                    }
                }
                ObjType::List => {
                    for item in self.list_range(&obj, ..) {
                        let prop = Prop::Seq(item.index);
                        todo.extend(string(item.value).map(|string| (obj.clone(), prop, string)));
                    }
                }
                ObjType::Table | ObjType::Text => {}
            }
        }
        self.transact(|tx| {
            todo.into_iter().try_for_each(|(obj, prop, string)| {
                let text = tx.put_object(&obj, prop, ObjType::Text)?;
                tx.splice_text(&text, 0, 0, &string)
            })
        })
    }
}
