//! Detection of user-mode emulators, which pass on only some system calls.

use std::env::consts::ARCH;
use std::fs;

/// Whether the kernel is for another processor than the program, so that an emulator such as `qemu-user` runs it. If the kernel
/// does not name its processor (Linux does since 6.1), no emulator is assumed.
pub fn emulated() -> bool {
    let native: &[&str] = match ARCH {
        "x86" => &["x86_64", "i386", "i486", "i586", "i686"],
        "x86_64" | "aarch64" | "s390x" => &[ARCH],
        _ => return false,
    };
    fs::read_to_string("/proc/sys/kernel/arch").is_ok_and(|kernel| !native.contains(&kernel.trim()))
}
