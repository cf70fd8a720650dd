//! Whether another processor's kernel answers this program's system calls: an emulator of programs passes them on, and
//! not all of them.

use std::env::consts::ARCH;
use std::fs;

/// Whether the kernel below is one of another processor than the program is for, so that an emulator such as `qemu-user`
/// stands between them. Where nothing is known (Linux names its processor since 6.1), none is assumed.
pub fn emulated() -> bool {
    let native: &[&str] = match ARCH {
        "x86" => &["x86_64", "i386", "i486", "i586", "i686"],
        "x86_64" | "aarch64" | "s390x" => &[ARCH],
        _ => return false,
    };
    fs::read_to_string("/proc/sys/kernel/arch").is_ok_and(|kernel| !native.contains(&kernel.trim()))
}
