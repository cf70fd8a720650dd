//! Extended output: the same block in every lane, with its own counter.

use crate::assembly::column::{Ahead, IV, Isa, Messages, SAVED_CV, at, file, rounds, transpose_quads, weave};

// `XofJob`, see kernel/table.rs in crates/hash/src/blake3; the block comes first.
const XOF_CV: usize = 64;
const XOF_LEN: usize = 96;
const XOF_FLAGS: usize = 100;

// `Constants`, see x86_64/mod.rs.
const LANE_NUMBERS: usize = 512;

// Scratch.
const XOF_D: usize = 2688;
const OUTPUT: usize = 1024;
/// Messages of [`super::advance`]: free where words of the message are broadcast.
const UNUSED: usize = 0;

/// `xof(job, counter, groups, out)`: whole groups of output blocks, one per lane.
///
/// The message is the same in every lane, so it is broadcast once and for all. Registers: `rdi` job (block, cv, len,
/// flags), `rsi` counter, `rdx` groups left, `rcx` output, `r10` scratch, `r11` constants, `rax` temporary.
pub(in crate::assembly) fn xof(isa: &Isa) -> String {
    let mut code = Vec::new();
    if !isa.masks() {
        code.extend(xof_broadcast(isa));
    }
    match isa.ahead {
        Ahead::Nothing => {
            code.push("2:".into());
            code.extend(xof_group(isa, Vec::new()));
            code.extend(xof_emit(isa));
            code.push(format!("add rcx, {}", 64 * isa.all_lanes()));
            code.push("dec rdx".into());
            code.push("jnz 2b".into());
        }
        Ahead::Copied => code.extend(xof_copied(isa)),
        Ahead::Shuffled | Ahead::Paired => {
            // While the rounds of one group go on, the output of the group before is put in order.
            let advance = format!("add rcx, {}", 64 * isa.all_lanes());
            let beside = [xof_emit(isa), vec![advance.clone()]].concat();
            code.extend(xof_group(isa, Vec::new()));
            code.push("dec rdx".into());
            code.push("jz 3f".into());
            code.push("2:".into());
            code.extend(xof_group(isa, beside));
            code.push("dec rdx".into());
            code.push("jnz 2b".into());
            code.push("3:".into());
            code.extend(xof_emit(isa));
            code.push(advance);
        }
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
    let mut code = xof_words(isa, side);
    for (stream, v) in isa.state.iter().enumerate() {
        for (word, &register) in v.iter().enumerate() {
            let offset = OUTPUT + isa.stride() * word + stream * isa.width();
            code.push(isa.store(&at("r10", offset), register));
        }
    }
    code
}

/// The words of one group of output blocks in the registers of the state, beside the work `side`.
fn xof_words(isa: &Isa, side: Vec<String>) -> Vec<String> {
    let mut code = xof_state(isa);
    let messages = if isa.masks() { Messages::Broadcast("rdi") } else { Messages::Transposed("r10") };
    code.push(format!("add rsi, {}", isa.all_lanes()));
    code.extend(weave(rounds(isa, messages), side));
    // The first eight words are a chaining value; a chaining value drops the others.
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
    code
}

/// `xof(job, counter, blocks, out)`: one or more output blocks.
///
/// No other work runs beside the rounds: putting a group in order takes a quarter of the time of its rounds, and code that
/// does so beside the next group is too long for the first level of the instruction cache. Registers as those of [`xof`],
/// except `rdx`, the blocks left, and `r10`, where one register is saved.
pub(in crate::assembly) fn xof_direct(isa: &Isa) -> String {
    let mut code = vec!["2:".into()];
    code.extend(xof_words(isa, Vec::new()));
    let saved = |v: &[u8; 16]| v[15];
    let mut free = isa.spare[0];
    if let [_, second] = isa.state {
        free = saved(second);
        code.push(isa.store("[r10]", free));
    }
    for (stream, v) in isa.state.iter().enumerate() {
        let mut words = *v;
        if stream > 0 {
            // The rows of the stream before have left their registers.
            words[15] = isa.state[0][15];
            free = isa.state[0][14];
            code.push(isa.load(words[15], "[r10]"));
        }
        transpose_in_place(isa, &mut words, free, &mut code);
        for lane in 0..isa.lanes {
            if stream + lane > 0 {
                code.push(format!("cmp rdx, {}", stream * isa.lanes + lane));
                code.push("jz 3f".into());
            }
            code.extend(store_block(isa, &words, lane, 64 * (stream * isa.lanes + lane)));
        }
    }
    code.push(format!("add rcx, {}", 64 * isa.all_lanes()));
    code.push(format!("sub rdx, {}", isa.all_lanes()));
    code.push("jnz 2b".into());
    code.push("3:".into());
    code.push("vzeroupper".into());
    let head = format!(
        "BLAKE3 output, {} blocks at once, {}: rdx blocks from counter rsi to rcx.",
        isa.all_lanes(),
        isa.name
    );
    file(&head, &code)
}

/// Stores the block of a lane from what [`transpose_in_place`] left.
fn store_block(isa: &Isa, words: &[u8; 16], lane: usize, offset: usize) -> Vec<String> {
    if isa.lanes == 16 {
        return vec![format!("vmovdqu32 {}, {}", at("rcx", offset), isa.r(words[lane]))];
    }
    let quarters = (0..4).map(|quarter| {
        isa.store_quad(&at("rcx", offset + 16 * quarter), words[4 * quarter + lane % 4], lane / 4)
    });
    quarters.collect()
}

/// Sixteen words of all lanes: `registers[i]`, word i of every lane, becomes the register with all words of lane i. With
/// fewer than sixteen lanes, register 4g + r gets words 4g to 4g + 3 of lanes 4q + r in quarter q. One register is free,
/// another one afterwards.
fn transpose_in_place(isa: &Isa, registers: &mut [u8; 16], mut free: u8, code: &mut Vec<String>) {
    let mut exchange = |[a, b]: [usize; 2], [low, high]: [(&str, &str); 2]| {
        let (x, y) = (registers[a], registers[b]);
        for ((op, order), to) in [(low, free), (high, x)] {
            code.push(format!("{op} {}, {}, {}{order}", isa.r(to), isa.r(x), isa.r(y)));
        }
        (registers[a], registers[b], free) = (free, x, y);
    };
    let unpack = |low, high| [(low, ""), (high, "")];
    let quads = [("vshufi32x4", ", 0x88"), ("vshufi32x4", ", 0xdd")];
    // Words 4g to 4g + 3 of lanes 4q + r into quarter q of register 4g + r.
    for g in (0..16).step_by(4) {
        exchange([g, g + 1], unpack("vpunpckldq", "vpunpckhdq"));
        exchange([g + 2, g + 3], unpack("vpunpckldq", "vpunpckhdq"));
        exchange([g, g + 2], unpack("vpunpcklqdq", "vpunpckhqdq"));
        exchange([g + 1, g + 3], unpack("vpunpcklqdq", "vpunpckhqdq"));
    }
    // So far rows 1 and 2 have each other's places.
    if isa.lanes == 16 {
        // Quarter q of these to register 4q + r.
        for r in [0, 2, 1, 3] {
            exchange([r, r + 4], quads);
            exchange([r + 8, r + 12], quads);
            exchange([r, r + 8], quads);
            exchange([r + 4, r + 12], quads);
        }
    }
    for q in (0..16).step_by(4) {
        registers.swap(q + 1, q + 2);
    }
}

/// The loop of [`xof`] in which general registers copy the output of the group before.
///
/// A body of its own for the first group would not fit into the first level of the instruction cache beside the loop. So
/// the first group copies what is in scratch to scratch. `r8` is where the group before goes.
fn xof_copied(isa: &Isa) -> Vec<String> {
    let mut code = vec![format!("lea r8, {}", at("r10", UNUSED)), "2:".into()];
    code.extend(xof_group(isa, xof_copy(isa)));
    code.push("mov r8, rcx".into());
    code.push(format!("add rcx, {}", 64 * isa.all_lanes()));
    code.push("dec rdx".into());
    code.push("jnz 2b".into());
    code.push("mov rcx, r8".into());
    code.extend(xof_emit(isa));
    code
}

/// [`xof_emit`] by general registers, to `r8`.
fn xof_copy(isa: &Isa) -> Vec<String> {
    let mut code = Vec::new();
    for lane in 0..isa.all_lanes() {
        for word in 0..16 {
            code.push(format!("mov eax, dword ptr {}", at("r10", OUTPUT + isa.stride() * word + 4 * lane)));
            code.push(format!("mov dword ptr {}, eax", at("r8", 64 * lane + 4 * word)));
        }
    }
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
            // By scalar steps: two dozen of them are negligible beside a group.
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
    let mut carries = Vec::new();
    for (stream, v) in isa.state.iter().enumerate() {
        let [low, high] = [12, 13].map(|word| isa.r(v[word]));
        let lane_numbers = at("r11", LANE_NUMBERS + 4 * stream * isa.lanes);
        code.push(format!("vpbroadcastd {low}, esi"));
        code.push("mov rax, rsi".into());
        code.push("shr rax, 32".into());
        code.push(format!("vpbroadcastd {high}, eax"));
        code.push(format!("vpaddd {low}, {low}, {lane_numbers}"));
        // Lanes whose sum came out smaller than what was added have a carry.
        let carry = [
            format!("vpcmpltud k1, {low}, {lane_numbers}"),
            format!("vpaddd {high}{{k1}}, {high}, {}", isa.broadcast_operand(&at("r11", LANE_NUMBERS + 4))),
        ];
        if isa.lanes == 16 { code.extend(carry) } else { carries.extend(carry) }
    }
    if !carries.is_empty() {
        // The rounds wait for the counters, so rare carries are left out by a jump.
        code.push(format!("lea eax, [rsi + {}]", isa.all_lanes() - 1));
        code.push("cmp eax, esi".into());
        code.push("jae 6f".into());
        code.extend(carries);
        code.push("6:".into());
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
            let offset = OUTPUT + isa.stride() * (4 * quarter + word) + stream * isa.width();
            code.push(isa.load(register, &at("r10", offset)));
        }
        code.extend(transpose_quads(isa, &t[..4], [t[4], t[5], t[6], t[7]]));
        for (row, &register) in t[..4].iter().enumerate() {
            for quad in 0..isa.lanes / 4 {
                let lane = stream * isa.lanes + row + 4 * quad;
                code.push(isa.store_quad(&at("rcx", 64 * lane + 16 * quarter), register, quad));
            }
        }
    }
    code
}
