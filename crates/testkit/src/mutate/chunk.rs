//! Parsing and writing of chunks, with correct checksums.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

pub use crate::format::chunk::{Hash, hash, seal};
use crate::format::chunk::{MAGIC, read_frame};
use crate::format::numbers::{Input, put_prefixed, put_signed, put_unsigned};

/// The bit of a specification that says that the column is deflated.
const DEFLATED: u64 = 8;

/// Maximum inflated size of a chunk or column.
const MOST: u64 = 1 << 16;

/// Minimum bytes of a deflated column.
const FEW: u16 = 256;

/// A column: its specification and its bytes, inflated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Number, whether it is deflated where it is written, and type.
    pub spec: u64,
    /// The bytes.
    pub data: Vec<u8>,
}

/// One chunk of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// A document, type 0.
    Document(Document),
    /// A change, type 1, or 2 where it is to be deflated.
    Change(Change),
    /// A bundle, type 3.
    Bundle(Bundle),
    /// Any other chunk, or one with a broken body.
    Other {
        /// The type.
        kind: u8,
        /// Its contents.
        body: Vec<u8>,
    },
}

/// The parts of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Actors.
    pub actors: Vec<Vec<u8>>,
    /// The changes that no other was made after.
    pub heads: Vec<Hash>,
    /// The columns of its changes.
    pub changes: Vec<Column>,
    /// The columns of its operations.
    pub ops: Vec<Column>,
    /// Bytes after the columns: the rows of the heads.
    pub rest: Vec<u8>,
}

/// The parts of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Dependencies.
    pub deps: Vec<Hash>,
    /// Author.
    pub actor: Vec<u8>,
    /// Its number among theirs.
    pub seq: u64,
    /// The counter of its first operation.
    pub start: u64,
    /// Time.
    pub time: i64,
    /// Message.
    pub message: Vec<u8>,
    /// Other actors.
    pub others: Vec<Vec<u8>>,
    /// Its operations.
    pub ops: Vec<Column>,
    /// Bytes after them.
    pub extra: Vec<u8>,
    /// Whether the chunk is written deflated.
    pub deflated: bool,
}

/// The parts of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// Dependencies of its changes that it does not contain.
    pub deps: Vec<Hash>,
    /// Actors.
    pub actors: Vec<Vec<u8>>,
    /// The columns of its changes.
    pub changes: Vec<Column>,
    /// The columns of its operations.
    pub ops: Vec<Column>,
}

/// The chunks of a file, up to where it is broken.
pub fn split(file: &[u8]) -> Vec<Chunk> {
    let mut input = Input(file);
    let mut chunks = vec![];
    while let Some(chunk) = next(&mut input) {
        chunks.push(chunk);
    }
    chunks
}

/// The bytes of each chunk of a file, up to where it is broken.
pub fn pieces(file: &[u8]) -> Vec<&[u8]> {
    let mut input = Input(file);
    let mut pieces = vec![];
    loop {
        let start = input.0;
        if read_frame(&mut input).is_none() {
            return pieces;
        }
        pieces.push(&start[..start.len() - input.0.len()]);
    }
}

/// The file of some chunks.
pub fn join(chunks: &[Chunk]) -> Vec<u8> {
    let mut out = vec![];
    chunks.iter().for_each(|chunk| chunk.write(&mut out));
    out
}

fn next(input: &mut Input<'_>) -> Option<Chunk> {
    let (kind, body) = read_frame(input)?;
    Some(Chunk::from_body(kind, body))
}

impl Chunk {
    /// A chunk of a type and a body.
    pub fn from_body(kind: u8, body: &[u8]) -> Self {
        let known = match kind {
            0 => Document::read(body).map(Chunk::Document),
            1 => Change::read(body).map(Chunk::Change),
            2 => inflate(body)
                .and_then(|body| Change::read(&body))
                .map(|change| Chunk::Change(Change { deflated: true, ..change })),
            3 => Bundle::read(body).map(Chunk::Bundle),
            _ => None,
        };
        known.unwrap_or_else(|| Chunk::Other { kind, body: body.to_vec() })
    }

    /// Appends the chunk with its checksum.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Chunk::Document(document) => seal(out, 0, &document.body()),
            Chunk::Change(change) => change.write(out),
            Chunk::Bundle(bundle) => seal(out, 3, &bundle.body()),
            Chunk::Other { kind, body } => seal(out, *kind, body),
        }
    }
}

fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![];
    DeflateDecoder::new(bytes).take(MOST).read_to_end(&mut out).ok()?;
    Some(out)
}

/// Deflates bytes; a few of them as they are, in a block that says so: the library clears its tables for every stream.
fn deflate(bytes: &[u8]) -> Vec<u8> {
    match u16::try_from(bytes.len()) {
        Ok(len @ ..FEW) => {
            let [low, high] = len.to_le_bytes();
            [&[1, low, high, !low, !high], bytes].concat()
        }
        _ => {
            let mut encoder = DeflateEncoder::new(vec![], Compression::fast());
            let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
            written.expect("memory takes everything")
        }
    }
}

fn read_hashes(input: &mut Input<'_>) -> Option<Vec<Hash>> {
    let count = input.unsigned()?;
    (0..count).map(|_| input.take(32).and_then(|hash| hash.try_into().ok())).collect()
}

fn read_names(input: &mut Input<'_>) -> Option<Vec<Vec<u8>>> {
    let count = input.unsigned()?;
    (0..count).map(|_| input.prefixed().map(<[u8]>::to_vec)).collect()
}

fn put_hashes(out: &mut Vec<u8>, hashes: &[Hash]) {
    put_unsigned(out, hashes.len() as u64);
    hashes.iter().for_each(|hash| out.extend_from_slice(hash));
}

fn put_names(out: &mut Vec<u8>, names: &[Vec<u8>]) {
    put_unsigned(out, names.len() as u64);
    names.iter().for_each(|name| put_prefixed(out, name));
}

/// Specifications and lengths of columns.
type Layout = Vec<(u64, usize)>;

fn read_layout(input: &mut Input<'_>) -> Option<Layout> {
    let count = input.unsigned()?;
    (0..count).map(|_| Some((input.unsigned()?, usize::try_from(input.unsigned()?).ok()?))).collect()
}

fn read_columns(input: &mut Input<'_>, layout: &Layout) -> Option<Vec<Column>> {
    let column = |(spec, len): &(u64, usize)| {
        let data = input.take(*len)?;
        let data = if spec & DEFLATED != 0 { inflate(data)? } else { data.to_vec() };
        Some(Column { spec: *spec, data })
    };
    layout.iter().map(column).collect()
}

/// Columns as they are written.
fn written(columns: &[Column]) -> Vec<(u64, std::borrow::Cow<'_, [u8]>)> {
    let write = |column: &Column| column.spec & DEFLATED != 0;
    let data =
        |column| if write(column) { deflate(&column.data).into() } else { column.data.as_slice().into() };
    columns.iter().map(|column| (column.spec, data(column))).collect()
}

fn put_layout(out: &mut Vec<u8>, columns: &[(u64, std::borrow::Cow<'_, [u8]>)]) {
    put_unsigned(out, columns.len() as u64);
    for (spec, data) in columns {
        put_unsigned(out, *spec);
        put_unsigned(out, data.len() as u64);
    }
}

fn put_columns(out: &mut Vec<u8>, columns: &[(u64, std::borrow::Cow<'_, [u8]>)]) {
    columns.iter().for_each(|(_, data)| out.extend_from_slice(data));
}

impl Document {
    fn read(body: &[u8]) -> Option<Self> {
        let mut input = Input(body);
        let (actors, heads) = (read_names(&mut input)?, read_hashes(&mut input)?);
        let (changes, ops) = (read_layout(&mut input)?, read_layout(&mut input)?);
        let (changes, ops) = (read_columns(&mut input, &changes)?, read_columns(&mut input, &ops)?);
        Some(Self { actors, heads, changes, ops, rest: input.0.to_vec() })
    }

    fn body(&self) -> Vec<u8> {
        let mut out = vec![];
        put_names(&mut out, &self.actors);
        put_hashes(&mut out, &self.heads);
        let (changes, ops) = (written(&self.changes), written(&self.ops));
        put_layout(&mut out, &changes);
        put_layout(&mut out, &ops);
        put_columns(&mut out, &changes);
        put_columns(&mut out, &ops);
        out.extend_from_slice(&self.rest);
        out
    }

    /// Lets the document name these heads, and no rows of them, which old files do not have either.
    pub fn lead_to(&mut self, heads: Vec<Hash>) {
        if self.heads.len() != heads.len() {
            self.rest.clear();
        }
        self.heads = heads;
    }
}

impl Change {
    /// Reads the body of a chunk.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut input = Input(body);
        let deps = read_hashes(&mut input)?;
        let actor = input.prefixed()?.to_vec();
        let (seq, start, time) = (input.unsigned()?, input.unsigned()?, input.signed()?);
        let message = input.prefixed()?.to_vec();
        let others = read_names(&mut input)?;
        let layout = read_layout(&mut input)?;
        let ops = read_columns(&mut input, &layout)?;
        let extra = input.0.to_vec();
        Some(Self { deps, actor, seq, start, time, message, others, ops, extra, deflated: false })
    }

    /// The body of the chunk.
    pub fn body(&self) -> Vec<u8> {
        let mut out = vec![];
        put_hashes(&mut out, &self.deps);
        put_prefixed(&mut out, &self.actor);
        put_unsigned(&mut out, self.seq);
        put_unsigned(&mut out, self.start);
        put_signed(&mut out, self.time);
        put_prefixed(&mut out, &self.message);
        put_names(&mut out, &self.others);
        let ops = written(&self.ops);
        put_layout(&mut out, &ops);
        put_columns(&mut out, &ops);
        out.extend_from_slice(&self.extra);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        seal(out, 1, &self.body());
        if self.deflated {
            // The checksum is that of the chunk as it is when inflated.
            let checksum = out[start + 4..start + 8].to_vec();
            out.truncate(start);
            out.extend_from_slice(&MAGIC);
            out.extend_from_slice(&checksum);
            out.push(2);
            put_prefixed(out, &deflate(&self.body()));
        }
    }

    /// The sealed chunk.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![];
        self.write(&mut out);
        out
    }
}

impl Bundle {
    fn read(body: &[u8]) -> Option<Self> {
        let mut input = Input(body);
        let (deps, actors) = (read_hashes(&mut input)?, read_names(&mut input)?);
        let layout = read_layout(&mut input)?;
        let changes = read_columns(&mut input, &layout)?;
        let layout = read_layout(&mut input)?;
        let ops = read_columns(&mut input, &layout)?;
        input.0.is_empty().then_some(Self { deps, actors, changes, ops })
    }

    fn body(&self) -> Vec<u8> {
        let mut out = vec![];
        put_hashes(&mut out, &self.deps);
        put_names(&mut out, &self.actors);
        for columns in [&self.changes, &self.ops] {
            let columns = written(columns);
            put_layout(&mut out, &columns);
            put_columns(&mut out, &columns);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deflated_comes_back() {
        for len in [0, 1, 255, 256, 5000] {
            let bytes: Vec<u8> = (0..len).map(|at| (at / 3) as u8).collect();
            assert_eq!(inflate(&deflate(&bytes)), Some(bytes), "{len}");
        }
    }

    #[test]
    fn chunks_come_back() {
        let mut file = vec![];
        let change = Change { actor: vec![1], seq: 1, start: 1, deflated: true, ..Change::default() };
        let document = Document { actors: vec![vec![2]], rest: vec![3], ..Document::default() };
        let chunks = [
            Chunk::Change(change),
            Chunk::Document(document),
            Chunk::Bundle(Bundle::default()),
            Chunk::Other { kind: 9, body: vec![1, 2] },
        ];
        chunks.iter().for_each(|chunk| chunk.write(&mut file));
        assert_eq!(split(&file), chunks);
        assert_eq!(pieces(&file).concat(), file);
        assert_eq!(pieces(&file).len(), 4);
    }
}
