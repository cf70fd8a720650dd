// Words of 64 bits as pairs of 32: the low half, the high half. For every device.

alias Word = vec2<u32>;

fn joined(halves: vec2<u32>) -> Word {
    return halves;
}

fn halves(x: Word) -> vec2<u32> {
    return x;
}

fn turned_by_32(x: Word) -> Word {
    return x.yx;
}

fn turned_by_24(x: Word) -> Word {
    return (x >> vec2<u32>(24u)) | (x.yx << vec2<u32>(8u));
}

fn turned_by_16(x: Word) -> Word {
    return (x >> vec2<u32>(16u)) | (x.yx << vec2<u32>(16u));
}

fn turned_by_63(x: Word) -> Word {
    return (x << vec2<u32>(1u)) | (x.yx >> vec2<u32>(31u));
}

// The product of two 32-bit numbers, from the products of their halves. No sum here overflows: a product of
// halves leaves room for two of them.
fn product(x: u32, y: u32) -> Word {
    let x_low = x & 0xffffu;
    let y_low = y & 0xffffu;
    let x_high = x >> 16u;
    let y_high = y >> 16u;
    let low = x_low * y_low;
    let left = x_high * y_low + (low >> 16u);
    let right = x_low * y_high + (left & 0xffffu);
    return vec2<u32>((right << 16u) | (low & 0xffffu), x_high * y_high + (left >> 16u) + (right >> 16u));
}

fn plus(x: Word, y: Word) -> Word {
    let low = x.x + y.x;
    return vec2<u32>(low, x.y + y.y + u32(low < x.x));
}

// The addition of Argon2: the sum plus twice the product of the low halves.
fn added(x: Word, y: Word) -> Word {
    let p = product(x.x, y.x);
    return plus(plus(x, y), vec2<u32>(p.x << 1u, (p.y << 1u) | (p.x >> 31u)));
}

fn high_of_product(x: u32, y: u32) -> u32 {
    return product(x, y).y;
}
