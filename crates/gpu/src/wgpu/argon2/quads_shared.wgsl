// Exchange of words within a quad of threads through workgroup memory. For every device.

struct Invocation {
    @builtin(local_invocation_index) thread: u32,
}

fn thread_number(invocation: Invocation) -> u32 {
    return invocation.thread;
}

fn diagonals(q: Quad, positions: WordPositions, invocation: Invocation) -> Quad {
    words[positions.own.y] = q.b;
    words[positions.own.z] = q.c;
    words[positions.own.w] = q.d;
    workgroupBarrier();
    return Quad(q.a, words[positions.turned.y], words[positions.turned.z], words[positions.turned.w]);
}
