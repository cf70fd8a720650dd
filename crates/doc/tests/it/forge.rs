//! Changes and chunks as nobody writes them, with checksums that are right all the same.

use sha2::{Digest, Sha256};

/// An unsigned LEB128 number.
pub(crate) fn number(mut value: u64) -> Vec<u8> {
    let mut out = vec![];
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// A chunk around a body.
pub(crate) fn chunk(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut framed = vec![kind];
    framed.extend(number(body.len() as u64));
    framed.extend(body);
    let checksum = Sha256::digest(&framed);
    [&[0x85, 0x6f, 0x4a, 0x83], &checksum[..4], &framed].concat()
}

/// Bytes of hexadecimal digits, with spaces wherever they help.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// The digits of bytes.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A column that says the same for so many rows.
pub(crate) fn run(count: u64, value: &str) -> String {
    // As a signed number: the bit before the highest of the last byte is the sign.
    let mut bytes = number(count);
    if bytes.last().is_some_and(|last| last & 0x40 != 0) {
        *bytes.last_mut().unwrap() |= 0x80;
        bytes.push(0);
    }
    digits(&bytes) + value
}

/// A table of columns: specifications and digits.
pub(crate) type Table<'a> = &'a [(u64, String)];

/// A document of some actors, or a bundle, with columns for its changes and for its operations. Its heads are those of
/// nobody.
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

/// An id in a change: the actor's place in it, 0 for its author, and the counter.
pub(crate) type Id = (u8, u32);

/// The key of an operation.
#[derive(Clone)]
pub(crate) enum At {
    Key(&'static str),
    Head,
    After(Id),
}

/// The parts of a change with one operation, or with whatever columns.
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

/// What an operation does, as the columns say it.
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

/// A put of 1 at `k`, which other operations differ from in a part or two.
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

    /// As it stands before the columns.
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

    /// The chunk.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut body = self.fields();
        body.extend(number(self.columns.len() as u64));
        for (spec, data) in &self.columns {
            body.extend([number(*spec), number(data.len() as u64)].concat());
        }
        self.columns.iter().for_each(|(_, data)| body.extend(data));
        chunk(1, &body)
    }

    /// With other bytes in a column.
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
