//! Forged changes and chunks: unusual contents with valid checksums.

pub(crate) use hashmill_testkit::format::chunk::chunk;
use hashmill_testkit::format::numbers::put_unsigned;
pub(crate) use hashmill_testkit::hex::{decode as hex, encode as digits};

/// An unsigned LEB128 number.
pub(crate) fn number(value: u64) -> Vec<u8> {
    let mut out = vec![];
    put_unsigned(&mut out, value);
    out
}

/// A column that repeats a value `count` times.
pub(crate) fn run(count: u64, value: &str) -> String {
    // As a signed number: the second highest bit of the last byte is the sign.
    let mut bytes = number(count);
    if bytes.last().is_some_and(|last| last & 0x40 != 0) {
        *bytes.last_mut().unwrap() |= 0x80;
        bytes.push(0);
    }
    digits(&bytes) + value
}

/// A table of columns: specifications and digits.
pub(crate) type Table<'a> = &'a [(u64, String)];

/// A document of some actors, or a bundle, with columns for its changes and its operations. Its heads are hashes of no
/// changes.
pub(crate) fn tables(kind: u8, actors: &[Vec<u8>], changes: Table<'_>, ops: Table<'_>) -> Vec<u8> {
    let mut body = if kind == 3 { vec![0] } else { vec![] };
    body.extend(number(actors.len() as u64));
    actors.iter().for_each(|actor| body.extend([number(actor.len() as u64), actor.clone()].concat()));
    if kind == 0 {
        body.push(0);
    }
    let layout = |table: Table<'_>| {
        let entry = |(spec, data): &(u64, String)| [number(*spec), number(hex(data).len() as u64)].concat();
        [number(table.len() as u64), table.iter().flat_map(entry).collect()].concat()
    };
    let data = |table: Table<'_>| -> Vec<u8> { table.iter().flat_map(|(_, data)| hex(data)).collect() };
    let parts = if kind == 3 {
        [layout(changes), data(changes), layout(ops), data(ops)]
    } else {
        [layout(changes), layout(ops), data(changes), data(ops)]
    };
    body.extend(parts.concat());
    chunk(kind, &body)
}

/// An id in a change: the actor's index, 0 for the author, and the counter.
pub(crate) type Id = (u8, u32);

/// The key of an operation.
#[derive(Clone)]
pub(crate) enum At {
    Key(&'static str),
    Head,
    After(Id),
}

/// The parts of a change with one operation, or with arbitrary columns.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) deps: Vec<[u8; 32]>,
    pub(crate) actor: Vec<u8>,
    pub(crate) seq: Vec<u8>,
    pub(crate) start: Vec<u8>,
    pub(crate) message: Vec<u8>,
    pub(crate) others: Vec<Vec<u8>>,
    /// Specification, and the bytes without their length.
    pub(crate) columns: Vec<(u64, Vec<u8>)>,
}

/// An operation as stored in columns.
#[derive(Clone)]
pub(crate) struct Op {
    pub(crate) obj: Option<Id>,
    pub(crate) at: At,
    pub(crate) insert: bool,
    pub(crate) action: u8,
    /// Metadata and bytes.
    pub(crate) value: (u8, Vec<u8>),
    pub(crate) preds: Vec<Id>,
}

/// A put of 1 at `k`, from which other operations are derived.
pub(crate) fn put() -> Op {
    Op { obj: None, at: At::Key("k"), insert: false, action: 1, value: (0x14, vec![1]), preds: vec![] }
}

fn one(value: u8) -> Vec<u8> {
    vec![0x7f, value]
}

fn literals(values: impl ExactSizeIterator<Item = Vec<u8>>) -> Vec<u8> {
    let header = 0x80 - values.len() as u8;
    [vec![header], values.flatten().collect()].concat()
}

impl Draft {
    /// The first change of an actor.
    pub(crate) fn new(actor: u8, op: &Op) -> Self {
        let mut columns = vec![];
        if let Some((actor, ctr)) = op.obj {
            columns.extend([(0x01, one(actor)), (0x02, literals([number(ctr.into())].into_iter()))]);
        }
        // Counters are signed differences from 0.
        let signed =
            |ctr: u32| if ctr < 64 { vec![ctr as u8] } else { vec![ctr as u8 | 0x80, (ctr >> 7) as u8] };
        match &op.at {
            At::Key(key) => columns.push((0x15, [&[0x7f, key.len() as u8], key.as_bytes()].concat())),
            At::Head => columns.push((0x13, one(0))),
            At::After((actor, ctr)) => {
                columns.extend([(0x11, one(*actor)), (0x13, literals([signed(*ctr)].into_iter()))]);
            }
        }
        columns.push((0x34, if op.insert { vec![0, 1] } else { vec![1] }));
        columns.extend([(0x42, one(op.action)), (0x56, one(op.value.0))]);
        if !op.value.1.is_empty() {
            columns.push((0x57, op.value.1.clone()));
        }
        columns.push((0x70, one(op.preds.len() as u8)));
        if !op.preds.is_empty() {
            let same = op.preds.windows(2).all(|pair| pair[0].0 == pair[1].0) && op.preds.len() > 1;
            let actors = op.preds.iter().map(|(actor, _)| vec![*actor]);
            let actors = if same { vec![op.preds.len() as u8, op.preds[0].0] } else { literals(actors) };
            let mut last = 0;
            let steps = op.preds.iter().map(|(_, ctr)| {
                let step = *ctr as i32 - last;
                last = *ctr as i32;
                vec![step as u8 & 0x7f]
            });
            columns.extend([(0x71, actors), (0x73, literals(steps))]);
        }
        Self {
            deps: vec![],
            actor: vec![actor],
            seq: vec![1],
            start: vec![1],
            message: vec![],
            others: vec![],
            columns,
        }
    }

    /// The fields before the columns.
    fn fields(&self) -> Vec<u8> {
        let mut body = number(self.deps.len() as u64);
        self.deps.iter().for_each(|dep| body.extend(dep));
        let sized = |bytes: &[u8]| [number(bytes.len() as u64), bytes.to_vec()].concat();
        body.extend(sized(&self.actor));
        // The time is 0.
        body.extend([&self.seq[..], &self.start, &[0]].concat());
        body.extend(sized(&self.message));
        body.push(self.others.len() as u8);
        self.others.iter().for_each(|other| body.extend(sized(other)));
        body
    }

    /// The encoded chunk.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut body = self.fields();
        body.extend(number(self.columns.len() as u64));
        for (spec, data) in &self.columns {
            body.extend([number(*spec), number(data.len() as u64)].concat());
        }
        self.columns.iter().for_each(|(_, data)| body.extend(data));
        chunk(1, &body)
    }

    /// The draft with other bytes in a column.
    pub(crate) fn with(mut self, spec: u64, data: &str) -> Self {
        let at = self.columns.iter().position(|(found, _)| *found == spec);
        match at {
            Some(at) => self.columns[at].1 = hex(data),
            None => {
                let at = self.columns.partition_point(|(found, _)| *found < spec);
                self.columns.insert(at, (spec, hex(data)));
            }
        }
        self
    }
}
