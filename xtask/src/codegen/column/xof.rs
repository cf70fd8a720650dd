//! Output of any length: the same block in every lane, with a counter of its own.

use super::{
    Ahead, IV, Isa, Messages, SAVED_CV, at, file, pair_masks, pairs, rounds, transpose_quads, weave,
};

// `XofJob`, see kernel.rs; the block comes first.
const XOF_CV: usize = 64;
const XOF_LEN: usize = 96;
const XOF_FLAGS: usize = 100;

// `Constants`, see x86_64/mod.rs.
const LANE_NUMBERS: usize = 512;

// Scratch.
const XOF_D: usize = 2688;
const OUTPUT: usize = 1024;

/// `xof(job, counter, groups, out)`: whole groups of output blocks, one per lane.
///
/// The message is the same in every lane, so it is broadcast once and for all. Registers: `rdi` job (block, cv, len,
/// flags), `rsi` counter, `rdx` groups left, `rcx` output, `r10` scratch, `r11` constants, `rax` temporary.
pub(in crate::codegen) fn xof(isa: &Isa) -> String {
    let mut code = Vec::new();
    if !isa.masks() {
        code.extend(xof_broadcast(isa));
    }
    if isa.ahead == Ahead::Nothing {
        code.push("2:".into());
        code.extend(xof_group(isa, Vec::new()));
        code.extend(xof_emit(isa));
        code.push("dec rdx".into());
        code.push("jnz 2b".into());
    } else {
        // While the rounds of one group go on, the output of the group before is put in order.
        let (beside, alone) = match isa.ahead {
            Ahead::Paired => (xof_copy_pairs(isa), xof_copy_pairs(isa)),
            Ahead::Copied => (xof_copy(isa), xof_emit(isa)),
            _ => (xof_emit(isa), xof_emit(isa)),
        };
        if isa.ahead == Ahead::Paired {
            code.extend(pair_masks(["k2", "k3"]));
        }
        code.extend(xof_group(isa, Vec::new()));
        code.push("dec rdx".into());
        code.push("jz 3f".into());
        code.push("2:".into());
        code.extend(xof_group(isa, beside));
        code.push("dec rdx".into());
        code.push("jnz 2b".into());
        code.push("3:".into());
        code.extend(alone);
    }
    if isa.lanes > 4 {
        code.push("vzeroupper".into());
    }
    let head = format!(
        "BLAKE3 output, {} blocks at once, {}: rdx groups from counter rsi to rcx.",
        isa.all_lanes(),
        isa.name
    );
    file(&head, &code)
}

/// One group of output blocks into scratch, still transposed, beside the work `side`.
fn xof_group(isa: &Isa, side: Vec<String>) -> Vec<String> {
    let mut code = xof_state(isa);
    let messages = if isa.masks() { Messages::Broadcast("rdi") } else { Messages::Transposed("r10") };
    code.push(format!("add rsi, {}", isa.all_lanes()));
    code.extend(weave(rounds(isa, messages), side));
    // The first eight words are a chaining value; the others are what a chaining value throws away.
    for word in 0..8 {
        let cv = match isa.masks() {
            true => isa.broadcast_operand(&at("rdi", XOF_CV + 4 * word)),
            false => at("r10", SAVED_CV + 64 * word),
        };
        for v in isa.state {
            code.extend(isa.op("pxor", v[word], v[word + 8]));
            code.extend(isa.op_mem("pxor", v[word + 8], &cv));
        }
    }
    if isa.ahead == Ahead::Paired {
        code.extend(xof_exchange(isa));
        return code;
    }
    for (stream, v) in isa.state.iter().enumerate() {
        for (word, &register) in v.iter().enumerate() {
            let place = OUTPUT + isa.stride() * word + stream * isa.width();
            code.push(isa.store(&at("r10", place), register));
        }
    }
    code
}

/// The output of a group into scratch in pairs of words, as `copy_pairs` has them: what `exchange` does, backwards.
fn xof_exchange(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for (stream, v) in isa.state.iter().enumerate() {
        let even = |pair: usize| at("r10", OUTPUT + pairs(isa, stream, pair, 0));
        let odd = |pair: usize| at("r10", OUTPUT + pairs(isa, stream, pair, 1));
        let words = |pair: usize| (v[2 * pair], v[2 * pair + 1]);
        // No register is left: the first words wait where the odd lanes will be.
        code.extend((0..8).map(|pair| isa.store(&odd(pair), words(pair).0)));
        for pair in 0..8 {
            let (first, second) = words(pair);
            code.push(format!("vmovsldup {}{{k2}}, {}", isa.r(first), isa.r(second)));
            code.push(isa.store(&even(pair), first));
        }
        for pair in 0..8 {
            let second = words(pair).1;
            code.push(format!("vmovshdup {}{{k3}}, {}", isa.r(second), odd(pair)));
            code.push(isa.store(&odd(pair), second));
        }
    }
    code
}

/// What [`xof_exchange`] left, to the output.
fn xof_copy_pairs(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for lane in 0..isa.all_lanes() {
        let (stream, place) = (lane / isa.lanes, lane % isa.lanes);
        for pair in 0..8 {
            let from = OUTPUT + pairs(isa, stream, pair, place % 2) + place / 2 * 8;
            code.push(format!("mov rax, qword ptr {}", at("r10", from)));
            code.push(format!("mov qword ptr {}, rax", at("rcx", 64 * lane + 8 * pair)));
        }
    }
    code.push(format!("add rcx, {}", 64 * isa.all_lanes()));
    code
}

/// [`xof_emit`] by general registers.
fn xof_copy(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for lane in 0..isa.all_lanes() {
        for word in 0..16 {
            code.push(format!("mov eax, dword ptr {}", at("r10", OUTPUT + isa.stride() * word + 4 * lane)));
            code.push(format!("mov dword ptr {}, eax", at("rcx", 64 * lane + 4 * word)));
        }
    }
    code.push(format!("add rcx, {}", 64 * isa.all_lanes()));
    code
}

/// Without broadcasting operands: the words of the message and the chaining value, repeated once and for all.
fn xof_broadcast(isa: &Isa) -> Vec<String> {
    let v = isa.state[0][0];
    let message = (0..16).map(|word| (4 * word, isa.stride() * word));
    let cv = (0..8).map(|word| (XOF_CV + 4 * word, SAVED_CV + 64 * word));
    let d = [(XOF_LEN, XOF_D + 128), (XOF_FLAGS, XOF_D + 192)];
    let mut code = Vec::new();
    for (from, to) in message.chain(cv).chain(d) {
        code.extend(isa.broadcast(v, &at("rdi", from)));
        code.push(isa.store(&at("r10", to), v));
    }
    code
}

/// The state before the rounds of a group.
fn xof_state(isa: &Isa) -> Vec<String> {
    let mut code = if isa.masks() { xof_counters(isa) } else { Vec::new() };
    for (stream, v) in isa.state.iter().enumerate() {
        if isa.masks() {
            for word in 0..8 {
                code.extend(isa.broadcast(v[word], &at("rdi", XOF_CV + 4 * word)));
            }
            code.extend(isa.broadcast(v[14], &at("rdi", XOF_LEN)));
            code.extend(isa.broadcast(v[15], &at("rdi", XOF_FLAGS)));
        } else {
            // By scalar steps: two dozen of them are nothing beside a group.
            for lane in 0..isa.lanes {
                code.push(format!("lea rax, [rsi + {}]", stream * isa.lanes + lane));
                code.push(format!("mov dword ptr {}, eax", at("r10", XOF_D + 4 * lane)));
                code.push("shr rax, 32".into());
                code.push(format!("mov dword ptr {}, eax", at("r10", XOF_D + 64 + 4 * lane)));
            }
            for word in 0..8 {
                code.push(isa.load(v[word], &at("r10", SAVED_CV + 64 * word)));
            }
            for word in 0..4 {
                code.push(isa.load(v[12 + word], &at("r10", XOF_D + 64 * word)));
            }
        }
        for word in 0..4 {
            code.push(isa.load(v[8 + word], &at("r11", IV + 64 * word)));
        }
    }
    code
}

/// The counters of a group, by vector steps.
fn xof_counters(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for (stream, v) in isa.state.iter().enumerate() {
        let [low, high] = [12, 13].map(|word| isa.r(v[word]));
        let lane_numbers = at("r11", LANE_NUMBERS + 4 * stream * isa.lanes);
        code.push(format!("vpbroadcastd {low}, esi"));
        code.push("mov rax, rsi".into());
        code.push("shr rax, 32".into());
        code.push(format!("vpbroadcastd {high}, eax"));
        code.push(format!("vpaddd {low}, {low}, {lane_numbers}"));
        // Lanes whose sum came out smaller than what was added have a carry.
        code.push(format!("vpcmpltud k1, {low}, {lane_numbers}"));
        code.push(format!(
            "vpaddd {high}{{k1}}, {high}, {}",
            isa.broadcast_operand(&at("r11", LANE_NUMBERS + 4))
        ));
    }
    code
}

/// A group from scratch to the output, lane after lane.
fn xof_emit(isa: &Isa) -> Vec<String> {
    let t = isa.spare;
    let mut code = Vec::new();
    for (stream, quarter) in (0..isa.streams).flat_map(|stream| (0..4).map(move |quarter| (stream, quarter)))
    {
        let t = if quarter % 2 == 1 && t.len() >= 16 { &t[8..] } else { t };
        for (word, &register) in t[..4].iter().enumerate() {
            let place = OUTPUT + isa.stride() * (4 * quarter + word) + stream * isa.width();
            code.push(isa.load(register, &at("r10", place)));
        }
        code.extend(transpose_quads(isa, &t[..4], [t[4], t[5], t[6], t[7]]));
        for (row, &register) in t[..4].iter().enumerate() {
            for quad in 0..isa.lanes / 4 {
                let lane = stream * isa.lanes + row + 4 * quad;
                code.push(isa.store_quad(&at("rcx", 64 * lane + 16 * quarter), register, quad));
            }
        }
    }
    code.push(format!("add rcx, {}", 64 * isa.all_lanes()));
    code
}
