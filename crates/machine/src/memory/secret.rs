//! Memory for secrets: locked, excluded from core dumps and from children, and wiped when it is freed.
//!
//! Each value has pages of its own, because the system protects whole pages. Every protection is best effort:
//! the system may limit locked memory, and only Linux can exclude memory from dumps and children.

use crate::os;
use memmap2::MmapMut;
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use zeroize::Zeroize;

/// Bytes that are hidden from other processes.
pub struct SecretBytes {
    map: MmapMut,
    /// The number of bytes of the mapping in use.
    len: usize,
}

impl SecretBytes {
    /// `len` zero bytes. Fails only if the system refuses memory.
    pub fn zeroed(len: usize) -> io::Result<Self> {
        // A mapping has at least one byte.
        let map = MmapMut::map_anon(len.max(1))?;
        os::protect(&map);
        Ok(SecretBytes { map, len })
    }

    /// A copy of `bytes`.
    pub fn copied(bytes: &[u8]) -> io::Result<Self> {
        let mut secret = SecretBytes::zeroed(bytes.len())?;
        secret.copy_from_slice(bytes);
        Ok(secret)
    }

    /// Keeps the first `len` bytes and wipes the others; does nothing if there are no others.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.map[len..self.len].zeroize();
            self.len = len;
        }
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        self.map.zeroize();
    }
}

impl Deref for SecretBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map[..self.len]
    }
}

impl DerefMut for SecretBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map[..self.len]
    }
}

/// The length alone.
impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretBytes").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_cut_and_not_shown() {
        for text in [&b""[..], b"sesame", &[b'x'; 10_000]] {
            let mut secret = SecretBytes::copied(text).expect("memory");
            assert_eq!(&*secret, text);
            assert_eq!(format!("{secret:?}"), format!("SecretBytes {{ len: {}, .. }}", text.len()));
            secret.truncate(text.len() + 1);
            assert_eq!(&*secret, text);
            secret.truncate(3);
            assert_eq!(&*secret, &text[..text.len().min(3)]);
            assert!(secret.map[secret.len..].iter().all(|byte| *byte == 0), "what was cut off is wiped");
        }
    }

    /// The flags that the kernel shows for the mapping: locked, not dumped, wiped in children.
    #[cfg(target_os = "linux")]
    #[test]
    fn pages_are_locked_and_left_out_of_dumps_and_children() {
        if hashmill_testkit::emulated() {
            return hashmill_testkit::skip(
                "flags of secrets",
                "an emulator passes on no advice about memory",
            );
        }
        let secret = SecretBytes::copied(b"sesame").expect("memory");
        let address = secret.map.as_ptr().addr();
        let Ok(maps) = std::fs::read_to_string("/proc/self/smaps") else {
            return hashmill_testkit::skip("flags of secrets", "no /proc/self/smaps");
        };
        let mut inside = false;
        let flags = maps.lines().find_map(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |hex: &str| usize::from_str_radix(hex, 16).ok();
            if let Some((first, end)) = range.and_then(|(first, end)| Some((number(first)?, number(end)?))) {
                inside = (first..end).contains(&address);
            }
            line.strip_prefix("VmFlags:").filter(|_| inside)
        });
        let Some(flags) = flags else {
            return hashmill_testkit::skip("flags of secrets", "/proc/self/smaps does not show them");
        };
        let has = |flag| flags.split_whitespace().any(|it| it == flag);
        assert!(has("dd") && has("wf"), "{flags}");
        // The limit of locked memory may be zero.
        if secret.map.lock().is_ok() {
            assert!(has("lo"), "{flags}");
        } else {
            hashmill_testkit::skip("locked pages", "this process may lock no memory");
        }
    }
}
