//! Errors of documents, one enum per kind of operation.

use std::fmt;

use crate::types::{ActorId, ChangeHash, Cursor, ObjId, ObjType, Prop, ScalarValue, Value};

/// A rule of the file format that an input breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// The input ends inside a value.
    #[error("truncated: the input ends too early")]
    Truncated,
    /// A chunk that does not start with `85 6f 4a 83`.
    #[error("not an Automerge document: no chunk starts here, its first bytes must be 85 6f 4a 83")]
    Magic,
    /// The stored checksum differs from that of the contents.
    #[error("the checksum does not match the contents")]
    Checksum,
    /// An unknown chunk type.
    #[error("chunk type {0} is unknown")]
    ChunkType(u8),
    /// A LEB128 number with redundant bytes.
    #[error("a LEB128 number is longer than it needs to be")]
    LebOverlong,
    /// A LEB128 number beyond 64 bits.
    #[error("a LEB128 number does not fit 64 bits")]
    LebRange,
    /// A zero in a field that must not be zero.
    #[error("a number must not be zero")]
    Zero,
    /// Text that is not UTF-8.
    #[error("text is not UTF-8")]
    Utf8,
    /// Bytes after the last field.
    #[error("{0} bytes are left over after the last field")]
    Leftover(usize),
    /// Hashes, actors or successors that do not ascend.
    #[error("{0} are not in ascending order")]
    NotAscending(&'static str),
    /// Columns not sorted by specification.
    #[error("columns are not in normal order")]
    ColumnOrder,
    /// A column that occurs more than once.
    #[error("a column occurs twice")]
    ColumnTwice,
    /// Raw values without their metadata column, or the reverse.
    #[error("a value column or its metadata column is missing")]
    LoneValue,
    /// Compression where the format forbids it.
    #[error("a column of a change is compressed")]
    CompressedInChange,
    /// A column unknown to this version, in a chunk that may not have unknown columns.
    #[error("the column is unknown: it was written by a later version of the format")]
    UnknownColumn,
    /// Column data that reaches beyond the chunk.
    #[error("column data reaches beyond the chunk")]
    ColumnRange,
    /// Deflated bytes that do not inflate.
    #[error("the DEFLATE stream is corrupt")]
    Deflate,
    /// A repeated run of fewer than two values.
    #[error("a repeat run has fewer than two values")]
    ShortRepeat,
    /// Neighbouring runs that the canonical form would have merged.
    #[error("neighbouring runs are not merged")]
    UnmergedRuns,
    /// A literal run with equal neighbours.
    #[error("a literal run repeats a value")]
    LiteralRepeat,
    /// A run of length zero.
    #[error("a run is empty")]
    EmptyRun,
    /// A column that is shorter or longer than its neighbours.
    #[error("the column and its neighbours have different numbers of rows")]
    Uneven,
    /// A missing value in a column without nulls.
    #[error("a value is missing")]
    Missing,
    /// Counters and sequence numbers beyond 32 bits.
    #[error("a counter does not fit 32 bits")]
    CounterRange,
    /// An index beyond the list of actors.
    #[error("actor index {0} is out of range")]
    ActorIndex(u64),
    /// An index of a change that does not exist or comes later.
    #[error("change index {0} is out of range")]
    ChangeIndex(u64),
    /// A Bloom filter with invalid numbers, or with a length that contradicts them.
    #[error("a Bloom filter is inconsistent")]
    BloomFilter,
    /// An unknown action.
    #[error("action {0} is unknown")]
    Action(u64),
    /// A value whose bytes do not fit its type.
    #[error("a value's bytes do not fit its type")]
    Value,
    /// An operation that breaks a rule.
    #[error("an operation is malformed: {0}")]
    Operation(OpFault),
    /// A deletion as a row of a document: deletions follow from the successors of other rows.
    #[error("a document has no rows for deletions")]
    Deletion,
    /// Operations not in document order.
    #[error("operations are out of order")]
    OperationOrder,
    /// A change that is not in canonical encoding.
    #[error("the change is not canonically encoded")]
    NotCanonical,
    /// Sequence numbers of an actor with a gap or a duplicate.
    #[error("changes are out of order")]
    ChangeOrder,
    /// A change whose first counter is not greater than those of its dependencies.
    #[error("a change does not start after its dependencies")]
    StartOp,
    /// A counter of a change with no operation, or with two.
    #[error("the operations do not match the counters of their changes")]
    OperationCount,
}

/// Position of a broken rule in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InputPosition {
    /// Index of the chunk, from 0.
    pub chunk: usize,
    /// Byte offset in the input, or in the inflated column if `column` is set.
    pub offset: usize,
    /// Specification of the column, if the fault is in one.
    pub column: Option<u32>,
}

impl fmt::Display for InputPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {}", self.chunk)?;
        if let Some(column) = self.column {
            write!(f, ", column {column:#04x}")?;
        }
        write!(f, ", byte {}", self.offset)
    }
}

/// A broken rule and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {rule}")]
pub struct FormatError {
    /// The position.
    pub position: InputPosition,
    /// The rule.
    pub rule: Rule,
}

/// A limit that an input exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input exceeds the limit of {limit} {what}")]
pub struct LimitError {
    /// What the limit counts.
    pub what: &'static str,
    /// The limit.
    pub limit: u64,
}

/// Bytes that could not be decoded as a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes break the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The bytes exceed a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// A change that could not be applied. The document is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Another change with this actor and sequence number is present: two writers share an actor id.
    #[error("change {hash} repeats sequence number {seq} of actor {actor}")]
    DuplicateSeq {
        /// The actor.
        actor: ActorId,
        /// The sequence number.
        seq: u64,
        /// The new change.
        hash: ChangeHash,
    },
    /// The change contradicts its history.
    #[error("change {hash} cannot be applied: {fault}")]
    Fault {
        /// The change.
        hash: ChangeHash,
        /// The contradiction.
        fault: Fault,
    },
    /// The change depends on one that was refused.
    #[error("change {hash} depends on change {on}, which was refused")]
    Dependency {
        /// The change.
        hash: ChangeHash,
        /// The refused dependency.
        on: ChangeHash,
    },
    /// The bytes of the change break the format.
    #[error("change {hash} cannot be read: {error}")]
    Unreadable {
        /// The change.
        hash: ChangeHash,
        /// The error of its bytes.
        error: Box<LoadError>,
    },
    /// The change exceeds a limit of memory or work.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

impl ApplyError {
    /// The error for a change whose bytes could not be decoded.
    pub(crate) fn unreadable(hash: ChangeHash, error: LoadError) -> Self {
        match error {
            // The same error as for a change that was decoded separately.
            LoadError::Limit(limit) => Self::Limit(limit),
            LoadError::Apply(error) => error,
            error => Self::Unreadable { hash, error: Box::new(error) },
        }
    }
}

/// Contradiction between a change and its history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A gap in the actor's sequence numbers.
    #[error("its sequence number is {found}, after {last}")]
    Seq {
        /// The last known number.
        last: u64,
        /// The number of the change.
        found: u64,
    },
    /// The first operation is not later than those of the dependencies.
    #[error("its first operation {start} is not later than operation {known} of its dependencies")]
    StartOp {
        /// First counter of the change.
        start: u64,
        /// The greatest counter among its dependencies.
        known: u64,
    },
    /// An operation breaks a rule.
    #[error("operation {counter}: {rule}")]
    Operation {
        /// Counter of the operation.
        counter: u64,
        /// The rule.
        rule: OpFault,
    },
    /// Bytes that were decoded on arrival and cannot be decoded again.
    #[error("its bytes cannot be read again: {0}")]
    Unreadable(Rule),
    /// An author in a later change than the actor's first.
    #[error("it records an author, which only its actor's first change may")]
    Author,
}

/// A rule that an operation breaks, by itself or in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpFault {
    /// Its object does not exist.
    #[error("its object does not exist")]
    Object,
    /// A key in a sequence or an element in a map.
    #[error("its key is of the wrong kind for its object")]
    KeyKind,
    /// Both a key and an element.
    #[error("it has both a key and an element")]
    TwoKeys,
    /// The element does not exist in its object.
    #[error("its element does not exist")]
    Element,
    /// An update of the head of a sequence, which is not an element.
    #[error("it updates the head of a sequence")]
    Head,
    /// A predecessor that does not exist at the key or element.
    #[error("a predecessor does not exist at its key or element")]
    Pred,
    /// Predecessors out of order or duplicate.
    #[error("its predecessors are not in ascending order")]
    PredOrder,
    /// A deletion or an increment without a predecessor.
    #[error("it has no predecessor")]
    NoPred,
    /// An insertion with predecessors.
    #[error("an insertion has predecessors")]
    InsertPred,
    /// An insertion into a map.
    #[error("an insertion needs a list or text")]
    InsertMap,
    /// An insertion at a key.
    #[error("it inserts at a key")]
    InsertKey,
    /// A deletion or an increment that is an insertion.
    #[error("a deletion or increment is marked as an insertion")]
    Inserts,
    /// An increment that is not by a number.
    #[error("an increment is not by a number")]
    Increment,
    /// A character that is not UTF-8.
    #[error("its character is not UTF-8")]
    Text,
    /// A value on a deletion, on the creation of an object, or on the end of a mark.
    #[error("it must not have a value")]
    Value,
    /// A mark outside text, or a mark that is not an insertion.
    #[error("a mark is not an insertion into text")]
    Mark,
    /// A mark name on another operation.
    #[error("it has a mark name but is not a mark")]
    MarkName,
    /// The expand flag on another operation.
    #[error("it has the expand flag but is not a mark")]
    Expand,
    /// The end of a mark before its begin.
    #[error("the end of a mark comes before its begin")]
    MarkOrder,
    /// A reference to a counter that is not below its own.
    #[error("it refers to an operation that is not earlier")]
    Later,
    /// A reference to an operation that is not an ancestor.
    #[error("it refers to an operation that is not in an ancestor of its change")]
    NotAncestor,
    /// An element that is not where its insertion places it.
    #[error("an element is not where its insertion places it")]
    ElementOrder,
}

/// Changes that could not be encoded as a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A hash of no change in this document.
    #[error("change {0} is not in this document")]
    UnknownHash(ChangeHash),
    /// The bundle cannot be decoded within the limits of the document.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Fragments that could not be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The bytes of a fragment cannot be decoded.
    #[error("the bytes of fragment {head} cannot be read: {error}")]
    Bytes {
        /// Stated head of the fragment.
        head: ChangeHash,
        /// The error of its bytes.
        #[source]
        error: LoadError,
    },
    /// The bytes are not changes that end with the head of the fragment.
    #[error("the bytes of fragment {0} are not changes that end with it")]
    Head(ChangeHash),
    /// A change could not be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// A file that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The bytes break the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The file exceeds a limit.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The changes do not lead to the heads named in the file: it was damaged or written incorrectly.
    #[error("the changes in the file do not lead to the heads that it names")]
    Heads {
        /// As named by the file.
        named: Vec<ChangeHash>,
        /// As computed from its changes.
        computed: Vec<ChangeHash>,
    },
    /// The file lacks dependencies of its changes.
    #[error("{} changes are missing", missing.len())]
    MissingDeps {
        /// The missing changes.
        missing: Vec<ChangeHash>,
    },
    /// A change in the file could not be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

impl From<DecodeError> for LoadError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Format(error) => LoadError::Format(error),
            DecodeError::Limit(error) => LoadError::Limit(error),
        }
    }
}

/// An edit or a read that failed. The document is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No such object in this document, or at the heads of the transaction.
    #[error("object {0} is not in this document")]
    UnknownObject(ObjId),
    /// The operation does not exist for this kind of object.
    #[error(transparent)]
    WrongType(Box<Mismatch>),
    /// An index past the end.
    #[error("index {index} is past the end, {len}")]
    Index {
        /// The given index.
        index: usize,
        /// The length of the sequence.
        len: usize,
    },
    /// A range that ends before it starts.
    #[error("the range ends at {end}, before it starts at {start}")]
    Backwards {
        /// First unit.
        start: usize,
        /// Unit after the last one.
        end: usize,
    },
    /// A deletion of more units than precede the index.
    #[error("cannot delete {count} before index {index}")]
    Underflow {
        /// The index.
        index: usize,
        /// Number of units to delete before it.
        count: usize,
    },
    /// An increment of a value that is not a counter.
    #[error(transparent)]
    NotCounter(Box<Mismatch>),
    /// A cursor for an object that is not a list or text.
    #[error("object {obj} is a {found}: cursors are for lists and texts")]
    NotSequence {
        /// The object.
        obj: Box<ObjId>,
        /// Its kind.
        found: ObjType,
    },
    /// A cursor that does not belong to the object.
    #[error(transparent)]
    ForeignCursor(Box<ForeignCursor>),
    /// A hash of no change in this document.
    #[error("change {0} is not in this document")]
    UnknownHash(ChangeHash),
    /// A value of the wrong type for its place or for the caller.
    #[error(transparent)]
    WrongValue(Box<Mismatch>),
    /// All 2^32 operation counters or bytes of the document are in use.
    #[error("the document has no operation counters left")]
    Full,
    /// The document would exceed its limits, and could not be loaded again within them.
    #[error("{}", within(.0))]
    Limit(#[from] LimitError),
}

/// A value or object of an unexpected type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("object {obj}{}: expected {expected}, found {found}", in_object(.prop.as_ref()))]
pub struct Mismatch {
    /// The object.
    pub obj: ObjId,
    /// The key or index in it, if the call has one.
    pub prop: Option<Prop<'static>>,
    /// What the call expects.
    pub expected: &'static str,
    /// What was found or given.
    pub found: String,
}

impl Mismatch {
    #[cold]
    pub(crate) fn new(
        obj: &ObjId,
        prop: Option<&Prop<'_>>,
        expected: &'static str,
        found: String,
    ) -> Box<Self> {
        Box::new(Self { obj: obj.clone(), prop: prop.cloned().map(Prop::into_owned), expected, found })
    }

    /// Error for an object whose kind does not fit a key or index.
    #[cold]
    pub(crate) fn of_object(obj: &ObjId, prop: &Prop<'_>, found: ObjType) -> EditError {
        let expected = match prop {
            Prop::Map(_) => "a map",
            Prop::Seq(_) => "a list or a text",
        };
        EditError::WrongType(Self::new(obj, Some(prop), expected, article(found)))
    }

    /// Error for an object whose kind does not fit a call.
    #[cold]
    pub(crate) fn of_kind(obj: &ObjId, expected: &'static str, found: ObjType) -> EditError {
        EditError::WrongType(Self::new(obj, None, expected, article(found)))
    }
}

/// The name of a kind of object with its article.
pub(crate) fn article(kind: ObjType) -> String {
    format!("a {kind}")
}

/// Description of a value: its type if it may be long, otherwise the value.
pub(crate) fn described(value: &Value<'_>) -> String {
    match value {
        Value::Object(kind) => article(*kind),
        Value::Scalar(ScalarValue::Str(_)) => "a string".to_owned(),
        Value::Scalar(ScalarValue::Bytes(_)) => "bytes".to_owned(),
        Value::Scalar(ScalarValue::Unknown { type_code, .. }) => format!("a value of type {type_code}"),
        Value::Scalar(scalar) => scalar.to_string(),
    }
}

fn in_object(prop: Option<&Prop<'_>>) -> String {
    match prop {
        None => String::new(),
        Some(Prop::Map(key)) => format!(", key {key:?}"),
        Some(Prop::Seq(index)) => format!(", index {index}"),
    }
}

fn within(error: &LimitError) -> String {
    format!("the document would exceed the limit of {} {}", error.limit, error.what)
}

/// A cursor that cannot be resolved in an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cursor {cursor} is not in object {obj}: {reason}")]
pub struct ForeignCursor {
    /// The cursor.
    pub cursor: Cursor,
    /// The object in which it was resolved.
    pub obj: ObjId,
    /// The reason.
    pub reason: CursorMismatch,
}

/// Reason why a cursor cannot be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CursorMismatch {
    /// Its actor is unknown here; perhaps the changes have not arrived yet.
    #[error("this document has no changes by its actor")]
    UnknownActor,
    /// The operation is unknown here, belongs to another object, or wrote no value of a list or text.
    #[error("its operation wrote no value or mark boundary there")]
    NotInObject,
    /// The operation is later than the heads at which the document is read.
    #[error("its operation is later than the heads")]
    NotAtHeads,
}
