// Words of 64 bits, for devices that have them.

alias Word = u64;

fn low_half(x: Word) -> Word {
    return u64(u32(x));
}

fn joined(halves: vec2<u32>) -> Word {
    return u64(halves.x) | (u64(halves.y) << 32u);
}

fn halves(x: Word) -> vec2<u32> {
    return vec2<u32>(u32(x), u32(x >> 32u));
}

fn turned_by_32(x: Word) -> Word {
    return (x >> 32u) | (x << 32u);
}

fn turned_by_24(x: Word) -> Word {
    return (x >> 24u) | (x << 40u);
}

fn turned_by_16(x: Word) -> Word {
    return (x >> 16u) | (x << 48u);
}

fn turned_by_63(x: Word) -> Word {
    return (x >> 63u) | (x << 1u);
}

// The addition of Argon2: the sum plus twice the product of the low halves.
fn added(x: Word, y: Word) -> Word {
    return x + y + ((low_half(x) * low_half(y)) << 1u);
}

fn high_of_product(x: u32, y: u32) -> u32 {
    return u32((u64(x) * u64(y)) >> 32u);
}
