//! One operation as a row of columns: its action, key and value.

use crate::codec::raw_value::RawValue;
use crate::types::error::Rule;
use crate::types::{ObjType, OpId};

/// Action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    MakeMap = 0,
    Set = 1,
    MakeList = 2,
    Delete = 3,
    MakeText = 4,
    Increment = 5,
    MakeTable = 6,
    Mark = 7,
}

impl Action {
    pub(crate) fn from_code(code: u64) -> Result<Self, Rule> {
        Ok(match code {
            0 => Action::MakeMap,
            1 => Action::Set,
            2 => Action::MakeList,
            3 => Action::Delete,
            4 => Action::MakeText,
            5 => Action::Increment,
            6 => Action::MakeTable,
            7 => Action::Mark,
            _ => return Err(Rule::Action(code)),
        })
    }

    /// Kind of the object that this creates.
    pub(crate) fn makes(self) -> Option<ObjType> {
        match self {
            Action::MakeMap => Some(ObjType::Map),
            Action::MakeTable => Some(ObjType::Table),
            Action::MakeList => Some(ObjType::List),
            Action::MakeText => Some(ObjType::Text),
            _ => None,
        }
    }

    pub(crate) fn make(kind: ObjType) -> Self {
        match kind {
            ObjType::Map => Action::MakeMap,
            ObjType::Table => Action::MakeTable,
            ObjType::List => Action::MakeList,
            ObjType::Text => Action::MakeText,
        }
    }
}

/// Key or element in an object that an operation refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RawKey<'a> {
    Map(&'a str),
    /// An element; [`OpId::NONE`] is the head of the sequence.
    Elem(OpId),
}

/// One operation as a row of columns. Its predecessors or successors are in [`crate::codec::ops::op_reader::OpReader::refs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row<'a> {
    pub(crate) id: OpId,
    pub(crate) obj: OpId,
    pub(crate) key: RawKey<'a>,
    pub(crate) insert: bool,
    pub(crate) action: Action,
    pub(crate) value: RawValue<'a>,
    pub(crate) expand: bool,
    pub(crate) mark: Option<&'a str>,
}
