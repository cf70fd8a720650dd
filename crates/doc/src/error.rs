//! What can go wrong, one enum per operation, sorted by who is at fault.

use std::fmt;

use crate::types::{ActorId, ChangeHash, Cursor, ObjId, ObjType, Prop, ScalarValue, Value};

/// A rule of the file format, as broken by an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// The input ends inside a value.
    #[error("truncated: the input ends too early")]
    Truncated,
    /// A chunk starts with something else than `85 6f 4a 83`.
    #[error("not an Automerge document: no chunk begins here, which takes the bytes 85 6f 4a 83")]
    Magic,
    /// The stored checksum is not that of the contents.
    #[error("the checksum does not match the contents")]
    Checksum,
    /// A chunk type this format does not have.
    #[error("chunk type {0} is unknown")]
    ChunkType(u8),
    /// A LEB128 number written with more bytes than it needs.
    #[error("a LEB128 number is longer than it needs to be")]
    LebOverlong,
    /// A LEB128 number over 64 bits.
    #[error("a LEB128 number does not fit 64 bits")]
    LebRange,
    /// A zero where the format has none.
    #[error("a number is zero that must not be")]
    Zero,
    /// Text that is not UTF-8.
    #[error("text is not UTF-8")]
    Utf8,
    /// Bytes after the last field.
    #[error("{0} bytes are left over after the last field")]
    Leftover(usize),
    /// Hashes, actors or successors out of their order.
    #[error("{0} are not in ascending order")]
    NotAscending(&'static str),
    /// Columns not sorted by specification.
    #[error("columns are not in normal order")]
    ColumnOrder,
    /// The same column twice.
    #[error("a column is there twice")]
    ColumnTwice,
    /// Raw values without their metadata column, or the reverse.
    #[error("a value column lacks its other half")]
    LoneValue,
    /// Compression where the format forbids it.
    #[error("a column of a change is compressed")]
    CompressedInChange,
    /// A column this kind of chunk does not have, where unknown ones are not allowed.
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
    #[error("neighbouring runs should be one")]
    UnmergedRuns,
    /// A literal run with equal neighbours.
    #[error("a literal run repeats a value")]
    LiteralRepeat,
    /// A run of nothing.
    #[error("a run is empty")]
    EmptyRun,
    /// A column that is shorter or longer than its neighbours.
    #[error("the column has not as many rows as its neighbours")]
    Uneven,
    /// A missing value in a column that has none.
    #[error("a value is missing")]
    Missing,
    /// Counters and sequence numbers beyond 32 bits.
    #[error("a counter does not fit 32 bits")]
    CounterRange,
    /// An index into a list of actors that is shorter.
    #[error("actor index {0} is out of range")]
    ActorIndex(u64),
    /// An index of a change that does not exist or comes later.
    #[error("change index {0} is out of range")]
    ChangeIndex(u64),
    /// A Bloom filter whose numbers are none that can be, or whose bytes are not as many as they say.
    #[error("a Bloom filter contradicts itself")]
    BloomFilter,
    /// An action this format does not have.
    #[error("action {0} is unknown")]
    Action(u64),
    /// A value whose bytes do not fit its type.
    #[error("a value's bytes do not fit its type")]
    Value,
    /// An operation that breaks a rule.
    #[error("an operation is malformed: {0}")]
    Operation(OpFault),
    /// A row of a document that is a deletion: those follow from what names them.
    #[error("a document has no rows for deletions")]
    Deletion,
    /// Operations not in document order.
    #[error("operations are out of order")]
    OperationOrder,
    /// A change's bytes are not the canonical encoding of what they say.
    #[error("the change is not canonically encoded")]
    NotCanonical,
    /// Sequence numbers of an actor with a hole or a duplicate.
    #[error("changes are out of order")]
    ChangeOrder,
    /// A change whose first operation does not come after those it depends on.
    #[error("a change does not come after those it depends on")]
    StartOp,
    /// A counter inside a change to which no operation belongs, or two do.
    #[error("operations do not fill the changes they belong to")]
    OperationCount,
}

/// Where in an input a rule was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Number of the chunk, from 0.
    pub chunk: usize,
    /// Byte offset: in the input, or in the inflated column when a column is named.
    pub offset: usize,
    /// Specification of the column, when the fault lies in one.
    pub column: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {}", self.chunk)?;
        if let Some(column) = self.column {
            write!(f, ", column {column:#04x}")?;
        }
        write!(f, ", byte {}", self.offset)
    }
}

/// A broken rule and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {rule}")]
pub struct FormatError {
    /// Where.
    pub place: Place,
    /// What.
    pub rule: Rule,
}

/// A stated limit that an input would exceed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the input exceeds the limit of {limit} {what}")]
pub struct LimitError {
    /// What is limited.
    pub what: &'static str,
    /// The limit.
    pub limit: u64,
}

/// Bytes that could not be read as a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes break the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The bytes ask for more memory than they may.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// A change that could not become part of a document. The document is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Another change with this actor and sequence number is already here: two writers share an actor id.
    #[error("change {hash} repeats sequence number {seq} of actor {actor}")]
    DuplicateSeq {
        /// The actor.
        actor: ActorId,
        /// The sequence number.
        seq: u64,
        /// The newcomer.
        hash: ChangeHash,
    },
    /// The change contradicts the history it builds on.
    #[error("change {hash} cannot be applied: {fault}")]
    Fault {
        /// The change.
        hash: ChangeHash,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The change depends on one that was refused.
    #[error("change {hash} depends on change {on}, which was refused")]
    Dependency {
        /// The change.
        hash: ChangeHash,
        /// What it depends on.
        on: ChangeHash,
    },
    /// The bytes of the change break the format.
    #[error("change {hash} cannot be read: {error}")]
    Unreadable {
        /// The change.
        hash: ChangeHash,
        /// What is wrong with its bytes.
        error: Box<LoadError>,
    },
    /// The change asks for more memory or work than it may.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

impl ApplyError {
    /// Why the change `hash` is refused of which the bytes could not be read.
    pub(crate) fn unreadable(hash: ChangeHash, error: LoadError) -> Self {
        match error {
            // The same answer as where the change was read elsewhere.
            LoadError::Limit(limit) => Self::Limit(limit),
            LoadError::Apply(error) => error,
            error => Self::Unreadable { hash, error: Box::new(error) },
        }
    }
}

/// How a change contradicts the history it builds on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A hole in the actor's sequence numbers.
    #[error("its sequence number is {found}, after {last}")]
    Seq {
        /// The last one known.
        last: u64,
        /// The change's.
        found: u64,
    },
    /// Its first operation does not come after those it depends on.
    #[error("its first operation {start} does not come after operation {known} which it depends on")]
    StartOp {
        /// The change's first counter.
        start: u64,
        /// The greatest counter among its dependencies.
        known: u64,
    },
    /// An operation of the change breaks a rule.
    #[error("operation {counter}: {rule}")]
    Operation {
        /// Its counter.
        counter: u64,
        /// What is wrong with it.
        rule: OpFault,
    },
    /// Its bytes, which could be read when it came, cannot be read again.
    #[error("its bytes cannot be read again: {0}")]
    Unreadable(Rule),
    /// An author recorded later than in the actor's first change.
    #[error("it records an author, which only its actor's first change may")]
    Author,
}

/// The rule that an operation breaks, by itself or against the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpFault {
    /// Its object does not exist.
    #[error("its object does not exist")]
    Object,
    /// A key in a sequence or an element in a map.
    #[error("its key is of the wrong kind for its object")]
    KeyKind,
    /// A key and an element.
    #[error("it has a key and an element at once")]
    TwoKeys,
    /// The element does not exist in its object.
    #[error("its element does not exist")]
    Element,
    /// A change of the head of a sequence, which is no element.
    #[error("it updates the head of a sequence")]
    Head,
    /// A predecessor that does not exist at its place.
    #[error("a predecessor does not exist at its place")]
    Pred,
    /// Predecessors out of order, or one of them twice.
    #[error("its predecessors are not in ascending order")]
    PredOrder,
    /// A delete or an increment of nothing.
    #[error("it has no predecessor")]
    NoPred,
    /// An insertion that names predecessors.
    #[error("an insertion has predecessors")]
    InsertPred,
    /// An insertion into a map.
    #[error("an insertion needs a list or text")]
    InsertMap,
    /// An insertion at a key.
    #[error("it inserts at a key")]
    InsertKey,
    /// A deletion or an increment that is an insertion.
    #[error("what it does inserts nothing, and it is an insertion")]
    Inserts,
    /// An increment that is not by a number.
    #[error("an increment is not by a number")]
    Increment,
    /// A character that is none.
    #[error("its character is not UTF-8")]
    Text,
    /// A value on a deletion, on what makes an object, or on the end of a mark.
    #[error("it has a value that it cannot have")]
    Value,
    /// A mark outside text, or a mark that is no insertion.
    #[error("a mark is not an insertion into text")]
    Mark,
    /// The name of a mark on something else.
    #[error("it has the name of a mark and is none")]
    MarkName,
    /// The wish to expand on something else than a mark.
    #[error("it expands and is no mark")]
    Expand,
    /// The end of a mark before its begin.
    #[error("the end of a mark comes before its begin")]
    MarkOrder,
    /// Its object, element or a predecessor has a counter that is not below its own.
    #[error("it refers to an operation that is not earlier")]
    Later,
    /// Its object, element or a predecessor is not in the past of its change.
    #[error("it refers to an operation that is not in the past of its change")]
    Past,
    /// An element that does not stand where its insertion puts it.
    #[error("an element does not stand where it was inserted")]
    ElementOrder,
}

/// Changes that could not be put into a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A hash that names no change of this document.
    #[error("change {0} is not in this document")]
    UnknownHash(ChangeHash),
    /// What was written cannot be read within the limits of the document.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Fragments that could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The bytes of one cannot be read.
    #[error("the bytes of fragment {head} cannot be read: {error}")]
    Bytes {
        /// Which one it is said to be.
        head: ChangeHash,
        /// What is wrong with them.
        #[source]
        error: LoadError,
    },
    /// The bytes of one are something else than changes up to its head.
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
    /// The file asks for more memory than it may.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The changes do not add up to the heads the file names: it was damaged or badly written.
    #[error("the changes in the file lead to other heads than it names")]
    Heads {
        /// As named by the file.
        named: Vec<ChangeHash>,
        /// As computed from its changes.
        computed: Vec<ChangeHash>,
    },
    /// The file holds changes whose dependencies it lacks.
    #[error("{} changes are missing", missing.len())]
    MissingDeps {
        /// The absent changes.
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

/// An edit or a read that could not be done. The document is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No such object in this document (or not at the heads the transaction works at).
    #[error("object {0} is not in this document")]
    UnknownObject(ObjId),
    /// The operation does not exist for this kind of object.
    #[error(transparent)]
    WrongType(Box<Mismatch>),
    /// An index past the end.
    #[error("index {index} is past the end, {len}")]
    Index {
        /// The index asked for.
        index: usize,
        /// The length of the sequence.
        len: usize,
    },
    /// A range that ends before it starts.
    #[error("the range ends at {end}, before it starts at {start}")]
    Backwards {
        /// Its first unit.
        start: usize,
        /// Behind its last.
        end: usize,
    },
    /// A deletion of more than lies before the index.
    #[error("cannot delete {count} before index {index}")]
    Underflow {
        /// The index.
        index: usize,
        /// How many units were to be deleted before it.
        count: usize,
    },
    /// An increment of something that is not a counter.
    #[error(transparent)]
    NotCounter(Box<Mismatch>),
    /// A place for a cursor in an object without places.
    #[error("object {obj} is a {found}: cursors are for lists and texts")]
    NotSequence {
        /// The object.
        obj: Box<ObjId>,
        /// What it is.
        found: ObjType,
    },
    /// A cursor from elsewhere.
    #[error(transparent)]
    ForeignCursor(Box<ForeignCursor>),
    /// A hash that names no change of this document.
    #[error("change {0} is not in this document")]
    UnknownHash(ChangeHash),
    /// A value of a kind that the place cannot take, or that the caller did not ask for.
    #[error(transparent)]
    WrongValue(Box<Mismatch>),
    /// The document has used all 2^32 operation counters, or as many bytes.
    #[error("the document has no operation counters left")]
    Full,
    /// The document would become more than its limits allow, and could not be loaded again within them.
    #[error("{}", within(.0))]
    Limit(#[from] LimitError),
}

/// What a call needs at a place of a document, and what is there or was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("object {obj}{}: expected {expected}, found {found}", in_object(.prop.as_ref()))]
pub struct Mismatch {
    /// The object.
    pub obj: ObjId,
    /// The key or index in it, if the call named one.
    pub prop: Option<Prop<'static>>,
    /// What the call needs.
    pub expected: &'static str,
    /// What is there, or what was given.
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

    /// An object of another kind than keys or indexes need.
    #[cold]
    pub(crate) fn of_object(obj: &ObjId, prop: &Prop<'_>, found: ObjType) -> EditError {
        let expected = match prop {
            Prop::Map(_) => "a map",
            Prop::Seq(_) => "a list or a text",
        };
        EditError::WrongType(Self::new(obj, Some(prop), expected, article(found)))
    }

    /// An object of another kind than a call needs.
    #[cold]
    pub(crate) fn of_kind(obj: &ObjId, expected: &'static str, found: ObjType) -> EditError {
        EditError::WrongType(Self::new(obj, None, expected, article(found)))
    }
}

/// The name of a kind of object in a sentence.
pub(crate) fn article(kind: ObjType) -> String {
    format!("a {kind}")
}

/// What a value is: its kind where it may be long, else the value.
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

/// A cursor that names nothing in an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cursor {cursor} is not in object {obj}: {why}")]
pub struct ForeignCursor {
    /// The cursor.
    pub cursor: Cursor,
    /// The object in which it was looked for.
    pub obj: ObjId,
    /// What is missing.
    pub why: Foreign,
}

/// Why a cursor names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Foreign {
    /// Nobody here knows who wrote what it names: perhaps the changes have not come yet.
    #[error("its actor wrote nothing that this document has")]
    UnknownActor,
    /// The operation is not known here, belongs to another object, or put no value into a list or text.
    #[error("no value or boundary there is by its operation")]
    NotInObject,
    /// The operation came after the heads at which the document is read.
    #[error("its operation came after the heads")]
    NotAtHeads,
}
