//! Sixteen vector registers for programs that hold more values than that.
//!
//! A program says what follows from what, in the order in which it shall run; which register a value is in is decided here.
//! Where none is free, the value that is used last of all waits in memory, written there once at most.

use std::collections::{BTreeMap, VecDeque};

/// What one instruction computes. Every value is computed once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Value(usize);

/// One instruction, of which registers are left open.
#[derive(Clone)]
pub(super) struct Line {
    name: &'static str,
    to: Option<Value>,
    from: Vec<Value>,
    memory: Option<String>,
    number: Option<u8>,
}

/// Makes values.
#[derive(Default)]
pub(super) struct Program {
    values: usize,
}

impl Program {
    /// A value from others, from a place in memory, if there is one, and a number.
    pub(super) fn compute(
        &mut self,
        lines: &mut Vec<Line>,
        name: &'static str,
        from: &[Value],
        memory: Option<String>,
        number: Option<u8>,
    ) -> Value {
        let to = Value(self.values);
        self.values += 1;
        lines.push(Line { name, to: Some(to), from: from.to_vec(), memory, number });
        to
    }
}

/// Writes a value to a place in memory.
pub(super) fn store(lines: &mut Vec<Line>, name: &'static str, value: Value, place: String) {
    lines.push(Line { name, to: None, from: vec![value], memory: Some(place), number: None });
}

/// Hands the first word of a value on in a general register.
pub(super) fn hand_on(lines: &mut Vec<Line>, value: Value, register: &'static str) {
    lines.push(Line {
        name: "vmovq",
        to: None,
        from: vec![value],
        memory: Some(register.into()),
        number: None,
    });
}

/// In which order the two operands are does not matter.
const SYMMETRIC: [&str; 4] = ["vpaddq", "vpmuludq", "vpor", "vpxor"];

/// A waiting value that is needed again within so many instructions is loaded; others are operands from memory.
const SOON: usize = 6;

/// The program with registers, its waiting values from vector `first` of the memory that `base` points to, `most` at most.
pub(super) fn allocate(program: &[Line], base: &str, first: usize, most: usize) -> Vec<String> {
    let mut uses = BTreeMap::<Value, VecDeque<usize>>::new();
    for (at, line) in program.iter().enumerate() {
        for &value in &line.from {
            uses.entry(value).or_default().push_back(at);
        }
    }
    let mut allocation = Allocation {
        uses,
        registers: BTreeMap::new(),
        free: (0..16).collect(),
        waiting: BTreeMap::new(),
        places: (first..first + most).collect(),
        base: base.to_owned(),
        lines: Vec::new(),
    };
    for (at, line) in program.iter().enumerate() {
        allocation.line(at, line);
    }
    allocation.lines
}

struct Allocation {
    /// Which lines still use a value.
    uses: BTreeMap<Value, VecDeque<usize>>,
    registers: BTreeMap<Value, usize>,
    free: VecDeque<usize>,
    /// Values in memory, and their places there. They may be in a register as well.
    waiting: BTreeMap<Value, usize>,
    places: VecDeque<usize>,
    base: String,
    lines: Vec<String>,
}

impl Allocation {
    fn line(&mut self, at: usize, line: &Line) {
        let operand = self.operand(at, line);
        for &value in &line.from {
            if Some(value) != operand && !self.registers.contains_key(&value) {
                let register = self.register(at, &line.from);
                self.registers.insert(value, register);
                self.lines.push(format!("vmovdqa ymm{register}, {}", self.place(value)));
            }
        }
        let mut from = line.from.clone();
        if operand.is_some() && operand == from.first().copied() {
            from.reverse();
        }
        let mut texts: Vec<String> = from
            .iter()
            .map(|value| if Some(*value) == operand { self.place(*value) } else { self.ymm(*value) })
            .collect();
        let place =
            operand.filter(|&value| self.next(value, at).is_none()).and_then(|it| self.waiting.remove(&it));
        for value in &line.from {
            self.used(*value, at);
        }
        let Some(to) = line.to else {
            let memory = line.memory.as_deref().expect("what writes nothing else writes memory");
            let value = if line.name == "vmovq" { texts[0].replace('y', "x") } else { texts.remove(0) };
            return self.lines.push(format!("{} {memory}, {value}", line.name));
        };
        let register = self.register(at, &[]);
        self.registers.insert(to, register);
        // Only now, since what has just been written to memory must not be where this line still reads.
        self.places.extend(place);
        texts.extend(line.memory.clone());
        texts.extend(line.number.map(|number| number.to_string()));
        self.lines.push(format!("{} ymm{register}, {}", line.name, texts.join(", ")));
    }

    /// The value that this line takes from memory.
    fn operand(&self, at: usize, line: &Line) -> Option<Value> {
        let [first, second] = match line.from[..] {
            [first, second] if line.memory.is_none() && first != second => [first, second],
            _ => return None,
        };
        let waits = |value: &Value| {
            !self.registers.contains_key(value) && self.next(*value, at).is_none_or(|next| next - at > SOON)
        };
        let symmetric = SYMMETRIC.contains(&line.name);
        [second, first].into_iter().take(if symmetric { 2 } else { 1 }).find(waits)
    }

    /// The next line after this one that uses a value.
    fn next(&self, value: Value, at: usize) -> Option<usize> {
        self.uses.get(&value)?.iter().copied().find(|&line| line > at)
    }

    /// Forgets a value that no later line uses.
    fn used(&mut self, value: Value, at: usize) {
        if self.next(value, at).is_none() {
            self.free.extend(self.registers.remove(&value));
            self.places.extend(self.waiting.remove(&value));
        }
    }

    /// A register, if need be that of the value which is needed last, but none of `kept`.
    fn register(&mut self, at: usize, kept: &[Value]) -> usize {
        if let Some(register) = self.free.pop_front() {
            return register;
        }
        let movable = self.registers.keys().copied().filter(|value| !kept.contains(value));
        let value =
            movable.max_by_key(|&value| self.next(value, at)).expect("a line has two operands at most");
        let register = self.registers.remove(&value).expect("it is in one");
        if !self.waiting.contains_key(&value) {
            self.waiting.insert(value, self.places.pop_front().expect("room for all that wait"));
            self.lines.push(format!("vmovdqa {}, ymm{register}", self.place(value)));
        }
        register
    }

    fn ymm(&self, value: Value) -> String {
        format!("ymm{}", self.registers[&value])
    }

    fn place(&self, value: Value) -> String {
        format!("ymmword ptr [{} + {}]", self.base, 32 * self.waiting[&value])
    }
}
