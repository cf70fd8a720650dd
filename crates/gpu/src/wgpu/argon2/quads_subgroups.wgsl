// Exchange of words within a quad of threads without memory, for devices whose subgroups have at least four
// threads: a quad is never split between two.

struct Who {
    @builtin(subgroup_invocation_id) thread: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
}

// Subgroups are full. Their builtin size is not used: some drivers give the largest possible size.
fn number(who: Who) -> u32 {
    return who.subgroup * (THREADS / who.subgroups) + who.thread;
}

fn from_quad(x: Word, who: Who, distance: u32) -> Word {
    return joined(subgroupShuffle(halves(x), (who.thread & ~3u) | ((who.thread + distance) & 3u)));
}

fn diagonals(q: Quad, seat: Seat, who: Who) -> Quad {
    return Quad(q.a, from_quad(q.b, who, 1u), from_quad(q.c, who, 2u), from_quad(q.d, who, 3u));
}
