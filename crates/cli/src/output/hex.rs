//! Hexadecimal digits for output streams.

use std::io::{self, Write};

use hashmill_hash::hex::digits;
pub(crate) use hashmill_hash::hex::encode as hex;

/// Writes lowercase hexadecimal digits.
pub(crate) fn write_hex(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    // Digits go through a buffer on the stack: most digests have 32 bytes.
    for chunk in bytes.chunks(32) {
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(chunk) {
            *pair = digits(*byte);
        }
        out.write_all(&text[..2 * chunk.len()])?;
    }
    Ok(())
}
