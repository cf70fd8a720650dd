//! The order of instructions for a core with several vector ports.
//!
//! Rotates, shuffles and the rest go to different sets of ports. A core binds each instruction to a port when it
//! enters, long before it knows when the operands come, so the order itself should be one in which all ports are busy.
//! This is a list scheduler over that model: each cycle it issues, among the instructions whose operands are ready,
//! those with the longest chain behind them.

use std::collections::HashMap;

/// The ports, as the set that each kind of instruction may use.
pub(super) struct Ports {
    pub(super) count: usize,
    pub(super) rotate: &'static [usize],
    pub(super) shuffle: &'static [usize],
    pub(super) other: &'static [usize],
}

/// Intel since Ice Lake, 256 bits: ports 0, 1 and 5.
pub(super) const THREE: Ports = Ports { count: 3, rotate: &[0, 1], shuffle: &[1, 2], other: &[0, 1, 2] };

/// The same, 512 bits: port 1 lends its upper half to port 0.
pub(super) const TWO: Ports = Ports { count: 2, rotate: &[0], shuffle: &[1], other: &[0, 1] };

struct Instruction {
    text: String,
    /// Empty for loads, stores and address arithmetic, which have ports of their own.
    ports: &'static [usize],
    /// What must come before, and how many cycles before.
    after: Vec<(usize, usize)>,
    /// The cycle at which it should go at the latest.
    due: usize,
    /// The longest chain that waits for it.
    chain: usize,
}

/// `main` in an order that keeps the ports busy, with `side` spread evenly through it. Of memory, only `spill` is both
/// written and read.
pub(super) fn schedule(ports: &Ports, spill: &str, main: Vec<String>, side: Vec<String>) -> Vec<String> {
    let cycles = (main.len() + side.len()).div_ceil(ports.count);
    let (main_len, side_len) = (main.len(), side.len());
    let mut code: Vec<Instruction> = Vec::with_capacity(main_len + side_len);
    let mut writer: HashMap<String, usize> = HashMap::new();
    let mut readers: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, text) in main.into_iter().chain(side).enumerate() {
        let (writes, reads) = operands(&text, spill);
        let mut after = Vec::new();
        for register in &reads {
            if let Some(&from) = writer.get(register) {
                after.push((from, latency(&code[from].text)));
            }
        }
        for register in &writes {
            after.extend(readers.remove(register).unwrap_or_default().into_iter().map(|reader| (reader, 0)));
            if let Some(from) = writer.insert(register.clone(), index) {
                after.push((from, 0));
            }
        }
        for register in reads {
            readers.entry(register).or_default().push(index);
        }
        after.retain(|&(from, _)| from != index);
        let due = index.checked_sub(main_len).map_or(usize::MAX, |place| place * cycles / side_len);
        let ports = kind(&text, ports);
        code.push(Instruction { text, ports, after, due, chain: 0 });
    }
    for index in (0..code.len()).rev() {
        for (from, delay) in code[index].after.clone() {
            code[from].chain = code[from].chain.max(code[index].chain + delay);
        }
    }
    issue(&code, ports.count)
}

fn issue(code: &[Instruction], count: usize) -> Vec<String> {
    let mut issued: Vec<Option<usize>> = vec![None; code.len()];
    let mut order = Vec::with_capacity(code.len());
    let mut cycle = 0;
    while order.len() < code.len() {
        let mut busy = vec![false; count];
        let mut others = 3;
        loop {
            let ready = |&i: &usize| {
                let before =
                    |&(from, delay): &(usize, usize)| issued[from].is_some_and(|at| at + delay <= cycle);
                issued[i].is_none() && code[i].after.iter().all(before)
            };
            let free = |ports: &[usize]| ports.iter().copied().find(|&port| !busy[port]);
            let fits = |&i: &usize| {
                if code[i].ports.is_empty() { others > 0 } else { free(code[i].ports).is_some() }
            };
            // What is late goes first, then the longest chain, then what has the least choice.
            let rank = |&i: &usize| {
                (code[i].due <= cycle, code[i].chain, usize::MAX - code[i].ports.len(), usize::MAX - i)
            };
            let Some(next) = (0..code.len()).filter(ready).filter(fits).max_by_key(rank) else { break };
            match free(code[next].ports) {
                Some(port) => busy[port] = true,
                None => others -= 1,
            }
            issued[next] = Some(cycle);
            order.push(code[next].text.clone());
        }
        cycle += 1;
    }
    order
}

fn kind(text: &str, ports: &Ports) -> &'static [usize] {
    match text.split(' ').next().unwrap_or_default() {
        "vprord" | "vpslld" | "vpsrld" | "pslld" | "psrld" => ports.rotate,
        op if ["vpunpck", "vshuf", "vpshuf", "punpck", "pshuf"]
            .iter()
            .any(|shuffle| op.starts_with(shuffle)) =>
        {
            ports.shuffle
        }
        op if op.starts_with("vp") || op.starts_with('p') || op.starts_with("vinsert") => ports.other,
        _ => &[],
    }
}

fn latency(text: &str) -> usize {
    match text.split(' ').next().unwrap_or_default() {
        "movdqa" if !text.contains('[') => 0,
        op if op.starts_with("vmov") || op.starts_with("mov") => 5,
        "vinserti32x4" => 3,
        _ => 1,
    }
}

/// Registers written and read, by number whatever their width.
fn operands(text: &str, spill: &str) -> (Vec<String>, Vec<String>) {
    let (op, rest) = text.split_once(' ').unwrap_or((text, ""));
    let names = |part: &str| -> Vec<String> {
        part.split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| {
                word.contains("mm") || matches!(*word, "rax" | "rcx" | "rdi" | "r8" | "r9" | "r10")
            })
            .map(|word| word.trim_start_matches(['x', 'y', 'z']).to_string())
            .collect()
    };
    let (first, others) = rest.split_once(',').unwrap_or((rest, ""));
    // The one word of memory that is both written and read.
    if rest.contains(spill) {
        let register = names(rest);
        let is_store = first.contains(spill);
        return if is_store { (vec![spill.into()], register) } else { (register, vec![spill.into()]) };
    }
    if op.starts_with("prefetch") || first.trim_start().starts_with('[') {
        return (Vec::new(), names(rest));
    }
    let mut reads = names(others);
    // Two operands: the first is read too.
    if matches!(op, "add") || op.starts_with('p') && op != "pshufd" {
        reads.extend(names(first));
    }
    (names(first), reads)
}
