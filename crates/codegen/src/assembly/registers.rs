//! Register allocation for programs with more values than the sixteen vector registers.
//!
//! A program lists its instructions in order; the allocator assigns registers. If none is free, the value with the latest next use
//! is spilled to memory, at most once.

use std::collections::{BTreeMap, VecDeque};

/// Result of one instruction. Every value is computed once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Value(usize);

/// One instruction without registers.
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
    /// Adds an instruction that computes a value from others, an optional memory operand and an optional immediate.
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

/// Adds an instruction that stores a value in memory.
pub(super) fn store(lines: &mut Vec<Line>, name: &'static str, value: Value, address: String) {
    lines.push(Line { name, to: None, from: vec![value], memory: Some(address), number: None });
}

/// Adds an instruction that copies the first word of a value to a general register.
pub(super) fn hand_on(lines: &mut Vec<Line>, value: Value, register: &'static str) {
    lines.push(Line {
        name: "vmovq",
        to: None,
        from: vec![value],
        memory: Some(register.into()),
        number: None,
    });
}

/// Instructions whose two operands may be exchanged.
const SYMMETRIC: [&str; 4] = ["vpaddq", "vpmuludq", "vpor", "vpxor"];

/// A spilled value that is used again within this number of instructions is loaded; other ones are memory operands.
const SOON: usize = 6;

/// The program with registers. Spilled values are in at most `most` vectors, from vector `first` behind `base` on.
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
        spilled: BTreeMap::new(),
        slots: (first..first + most).collect(),
        base: base.to_owned(),
        lines: Vec::new(),
    };
    for (at, line) in program.iter().enumerate() {
        allocation.line(at, line);
    }
    allocation.lines
}

struct Allocation {
    /// The later lines that use a value.
    uses: BTreeMap<Value, VecDeque<usize>>,
    registers: BTreeMap<Value, usize>,
    free: VecDeque<usize>,
    /// Spilled values and their slots. A value may be in a register as well.
    spilled: BTreeMap<Value, usize>,
    slots: VecDeque<usize>,
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
                self.lines.push(format!("vmovdqa ymm{register}, {}", self.slot(value)));
            }
        }
        let mut from = line.from.clone();
        if operand.is_some() && operand == from.first().copied() {
            from.reverse();
        }
        let mut texts: Vec<String> = from
            .iter()
            .map(|value| if Some(*value) == operand { self.slot(*value) } else { self.ymm(*value) })
            .collect();
        let slot =
            operand.filter(|&value| self.next(value, at).is_none()).and_then(|it| self.spilled.remove(&it));
        for value in &line.from {
            self.release_unused(*value, at);
        }
        let Some(to) = line.to else {
            let memory = line.memory.as_deref().expect("a line without a result writes memory");
            let value = if line.name == "vmovq" { texts[0].replace('y', "x") } else { texts.remove(0) };
            return self.lines.push(format!("{} {memory}, {value}", line.name));
        };
        let register = self.register(at, &[]);
        self.registers.insert(to, register);
        // Only now: a value spilled for this line must not get a slot that the line still reads.
        self.slots.extend(slot);
        texts.extend(line.memory.clone());
        texts.extend(line.number.map(|number| number.to_string()));
        self.lines.push(format!("{} ymm{register}, {}", line.name, texts.join(", ")));
    }

    /// The spilled value that this line takes as its memory operand.
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

    /// Frees the register and the slot of a value that no later line uses.
    fn release_unused(&mut self, value: Value, at: usize) {
        if self.next(value, at).is_none() {
            self.free.extend(self.registers.remove(&value));
            self.slots.extend(self.spilled.remove(&value));
        }
    }

    /// A free register. If there is none, spills the value with the latest next use that is not in `needed`.
    fn register(&mut self, at: usize, needed: &[Value]) -> usize {
        if let Some(register) = self.free.pop_front() {
            return register;
        }
        let movable = self.registers.keys().copied().filter(|value| !needed.contains(value));
        let value =
            movable.max_by_key(|&value| self.next(value, at)).expect("a line has two operands at most");
        let register = self.registers.remove(&value).expect("the value is in a register");
        if !self.spilled.contains_key(&value) {
            self.spilled.insert(value, self.slots.pop_front().expect("a slot for each spilled value"));
            self.lines.push(format!("vmovdqa {}, ymm{register}", self.slot(value)));
        }
        register
    }

    fn ymm(&self, value: Value) -> String {
        format!("ymm{}", self.registers[&value])
    }

    fn slot(&self, value: Value) -> String {
        format!("ymmword ptr [{} + {}]", self.base, 32 * self.spilled[&value])
    }
}
