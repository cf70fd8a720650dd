// Exchange of words within a quad of threads without memory, for devices whose subgroups have at least four
// threads: a quad is never split between two.

struct Invocation {
    @builtin(subgroup_invocation_id) thread: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
}

// Subgroups are full. Their builtin size is not used: some drivers give the largest possible size.
fn thread_number(invocation: Invocation) -> u32 {
    return invocation.subgroup * (THREADS / invocation.subgroups) + invocation.thread;
}

fn from_quad(x: Word, invocation: Invocation, distance: u32) -> Word {
    return joined(subgroupShuffle(halves(x), (invocation.thread & ~3u) | ((invocation.thread + distance) & 3u)));
}

fn diagonals(q: Quad, positions: WordPositions, invocation: Invocation) -> Quad {
    return Quad(q.a, from_quad(q.b, invocation, 1u), from_quad(q.c, invocation, 2u), from_quad(q.d, invocation, 3u));
}
