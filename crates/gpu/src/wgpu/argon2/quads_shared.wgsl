// Exchange of words within a quad of threads through workgroup memory. For every device.

struct Who {
    @builtin(local_invocation_index) thread: u32,
}

fn number(who: Who) -> u32 {
    return who.thread;
}

fn diagonals(q: Quad, seat: Seat, who: Who) -> Quad {
    words[seat.own.y] = q.b;
    words[seat.own.z] = q.c;
    words[seat.own.w] = q.d;
    workgroupBarrier();
    return Quad(q.a, words[seat.turned.y], words[seat.turned.z], words[seat.turned.w]);
}
