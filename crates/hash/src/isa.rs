//! CPU detection: the only file that queries the processor's features.
//!
//! On x86-64 detection reads CPUID and XCR0 directly, so the result is the same with and without `std`. On
//! aarch64 only the operating system knows, so without `std` only compile-time features are known. All other
//! code in the workspace receives a [`Cpu`] or something made from it.
#![allow(unsafe_code, reason = "asks the processor which registers the system saves")]

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

/// Instruction sets that some kernel of this crate needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Feature {
    /// SSSE3: byte shuffles.
    Ssse3,
    /// SSE4.1: blends and inserts.
    Sse41,
    /// AVX2: 256-bit integers.
    Avx2,
    /// BMI1 and BMI2: flagless shifts and bit extraction.
    Bmi2,
    /// AVX-512 F, VL, BW and DQ, with the 512-bit state enabled by the operating system.
    Avx512,
    /// AVX-512 VBMI2.
    Vbmi2,
    /// SHA-1 and SHA-256 instructions.
    ShaNi,
    /// 128-bit vectors of aarch64.
    Neon,
    /// SHA-3 instructions of aarch64 (`xar`, `eor3`).
    Sha3,
    /// 128-bit vectors of WebAssembly.
    Simd128,
}

impl Feature {
    /// Every feature, in display order.
    pub const ALL: [Feature; 10] = [
        Feature::Ssse3,
        Feature::Sse41,
        Feature::Avx2,
        Feature::Bmi2,
        Feature::Avx512,
        Feature::Vbmi2,
        Feature::ShaNi,
        Feature::Neon,
        Feature::Sha3,
        Feature::Simd128,
    ];

    /// The common name.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::Ssse3 => "SSSE3",
            Feature::Sse41 => "SSE4.1",
            Feature::Avx2 => "AVX2",
            Feature::Bmi2 => "BMI2",
            Feature::Avx512 => "AVX-512 (F, VL, BW, DQ)",
            Feature::Vbmi2 => "AVX-512 VBMI2",
            Feature::ShaNi => "SHA-NI",
            Feature::Neon => "NEON",
            Feature::Sha3 => "SHA3",
            Feature::Simd128 => "SIMD128",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A set of [`Feature`]s.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u32);

impl Features {
    /// The set of the listed features.
    pub const fn from_list(list: &[Feature]) -> Features {
        let mut bits = 0;
        let mut i = 0;
        while i < list.len() {
            bits |= list[i].bit();
            i += 1;
        }
        Features(bits)
    }

    /// There are fewer than 32 features, so this is never `u32::MAX`.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Features {
        Features(bits)
    }

    /// Is `feature` in the set?
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// Is every feature of `needed` in the set?
    pub const fn covers(self, needed: Features) -> bool {
        self.0 & needed.0 == needed.0
    }

    /// The features of either set.
    pub const fn union(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    /// The features of `needed` that are not in the set.
    pub fn missing(self, needed: Features) -> impl Iterator<Item = Feature> {
        needed.iter().filter(move |f| !self.has(*f))
    }

    /// The features in the set.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |f| self.has(*f))
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Vendor of a processor, as far as tuning tables distinguish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Vendor {
    /// AMD.
    Amd,
    /// Intel.
    Intel,
    /// Arm: Cortex and Neoverse of all vendors.
    Arm,
    /// Apple.
    Apple,
    /// Another vendor, or unknown.
    Other,
}

impl Vendor {
    const ALL: [Vendor; 5] = [Vendor::Amd, Vendor::Intel, Vendor::Arm, Vendor::Apple, Vendor::Other];
}

/// Properties of the processor.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Cpu {
    /// The vendor.
    pub vendor: Vendor,
    /// Family number with the extended part added (x86), otherwise 0.
    pub family: u32,
    /// Model number with the extended part added (x86), part number of the current processor where the system
    /// reports it (aarch64 Linux), otherwise 0.
    pub model: u32,
    /// The revision of a model (x86), otherwise 0.
    pub stepping: u32,
    /// Features that it can run, including support by the operating system.
    pub features: Features,
    brand: [u8; 48],
}

impl Cpu {
    /// Queries the processor. Costs some hundred nanoseconds (under a hypervisor, where CPUID traps,
    /// microseconds); callers keep the result.
    pub fn detect() -> Cpu {
        Cpu { brand: imp::brand(), ..imp::detect() }
    }

    /// As [`detect`](Cpu::detect), once per process and without the marketing name, which takes more traps
    /// than all else.
    pub(crate) fn detect_once() -> Cpu {
        static IDENTITY: AtomicU32 = AtomicU32::new(0);
        static FEATURES: AtomicU32 = AtomicU32::new(u32::MAX);
        match FEATURES.load(Ordering::Acquire) {
            u32::MAX => {
                // Racing threads find the same.
                let cpu = imp::detect();
                IDENTITY.store(cpu.pack_identity(), Ordering::Relaxed);
                FEATURES.store(cpu.features.bits(), Ordering::Release);
                cpu
            }
            bits => Cpu::from_packed(IDENTITY.load(Ordering::Relaxed), Features::from_bits(bits)),
        }
    }

    /// Vendor, family, model and stepping. The family has at most 9 bits, the model 12, the stepping 4.
    fn pack_identity(&self) -> u32 {
        let vendor = Vendor::ALL.iter().position(|vendor| *vendor == self.vendor).expect("all vendors");
        (vendor as u32) << 25 | self.family << 16 | self.model << 4 | self.stepping
    }

    fn from_packed(identity: u32, features: Features) -> Cpu {
        Cpu {
            vendor: Vendor::ALL[(identity >> 25) as usize],
            family: identity >> 16 & 0x1ff,
            model: identity >> 4 & 0xfff,
            stepping: identity & 0xf,
            features,
            brand: [0; 48],
        }
    }

    /// The marketing name, or an empty string.
    pub fn brand(&self) -> &str {
        let end = self.brand.iter().position(|&b| b == 0).unwrap_or(self.brand.len());
        core::str::from_utf8(&self.brand[..end]).unwrap_or("").trim()
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::{Cpu, Feature, Features, Vendor};
    use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};

    pub(super) fn detect() -> Cpu {
        let leaf0 = __cpuid(0);
        let leaf1 = __cpuid(1);
        let (leaf7_ebx, leaf7_ecx) = if leaf0.eax >= 7 {
            let leaf7 = __cpuid_count(7, 0);
            (leaf7.ebx, leaf7.ecx)
        } else {
            (0, 0)
        };

        let osxsave = bit(leaf1.ecx, 27);
        let xcr0 = if osxsave {
            // SAFETY: OSXSAVE says that the operating system enabled XGETBV.
            unsafe { xcr0() }
        } else {
            0
        };
        let ymm_state = xcr0 & 0b110 == 0b110;
        let zmm_state = xcr0 & 0b1110_0110 == 0b1110_0110;

        let mut features = Features::default();
        let mut set = |feature: Feature, present: bool| {
            if present {
                features.0 |= feature.bit();
            }
        };
        set(Feature::Ssse3, bit(leaf1.ecx, 9));
        set(Feature::Sse41, bit(leaf1.ecx, 19));
        set(Feature::Avx2, ymm_state && bit(leaf1.ecx, 28) && bit(leaf7_ebx, 5));
        set(Feature::Bmi2, bit(leaf7_ebx, 3) && bit(leaf7_ebx, 8));
        let avx512 = [16, 17, 30, 31].into_iter().all(|b| bit(leaf7_ebx, b)); // F, DQ, BW, VL
        set(Feature::Avx512, zmm_state && avx512);
        set(Feature::Vbmi2, zmm_state && avx512 && bit(leaf7_ecx, 6));
        set(Feature::ShaNi, bit(leaf7_ebx, 29));

        let vendor = match (leaf0.ebx, leaf0.edx, leaf0.ecx) {
            (0x6874_7541, 0x6974_6e65, 0x444d_4163) => Vendor::Amd, // "Auth" "enti" "cAMD"
            (0x756e_6547, 0x4965_6e69, 0x6c65_746e) => Vendor::Intel, // "Genu" "ineI" "ntel"
            _ => Vendor::Other,
        };
        let base_family = leaf1.eax >> 8 & 0xf;
        let family = if base_family == 0xf { base_family + (leaf1.eax >> 20 & 0xff) } else { base_family };
        let model = leaf1.eax >> 4 & 0xf | leaf1.eax >> 12 & 0xf0;
        Cpu { vendor, family, model, stepping: leaf1.eax & 0xf, features, brand: [0; 48] }
    }

    pub(super) fn brand() -> [u8; 48] {
        let mut brand = [0; 48];
        if __cpuid(0x8000_0000).eax >= 0x8000_0004 {
            for (leaf, out) in (0x8000_0002..).zip(brand.chunks_exact_mut(16)) {
                let r = __cpuid(leaf);
                for (word, out) in [r.eax, r.ebx, r.ecx, r.edx].into_iter().zip(out.chunks_exact_mut(4)) {
                    out.copy_from_slice(&word.to_le_bytes());
                }
            }
        }
        brand
    }

    fn bit(word: u32, n: u32) -> bool {
        word >> n & 1 != 0
    }

    #[target_feature(enable = "xsave")]
    fn xcr0() -> u64 {
        // SAFETY: register 0 always exists where XGETBV does.
        unsafe { _xgetbv(0) }
    }
}

#[cfg(kernels = "aarch64")]
mod imp {
    use super::{Cpu, Feature, Features, Vendor};

    pub(super) fn detect() -> Cpu {
        // The kernels are compiled only where the compiler itself may use NEON.
        let mut features = Features::from_list(&[Feature::Neon]);
        #[cfg(feature = "std")]
        if std::arch::is_aarch64_feature_detected!("sha3") {
            features.0 |= Feature::Sha3.bit();
        }
        let (vendor, model) = vendor_and_part();
        Cpu { vendor, family: 0, model, stepping: 0, features, brand: [0; 48] }
    }

    pub(super) fn brand() -> [u8; 48] {
        [0; 48]
    }

    #[cfg(target_vendor = "apple")]
    fn vendor_and_part() -> (Vendor, u32) {
        (Vendor::Apple, 0)
    }

    #[cfg(all(feature = "std", any(target_os = "linux", target_os = "android")))]
    fn vendor_and_part() -> (Vendor, u32) {
        use core::arch::asm;
        use core::ffi::c_ulong;

        // SAFETY: a function of the C library that `std` is linked with here; it takes any number and reads
        // no pointer.
        unsafe extern "C" {
            safe fn getauxval(kind: c_ulong) -> c_ulong;
        }
        const HWCAP: c_ulong = 16;
        const CPUID: c_ulong = 1 << 11;

        if getauxval(HWCAP) & CPUID == 0 {
            return (Vendor::Other, 0);
        }
        let midr: u64;
        // SAFETY: the flag tells that the kernel emulates reads of this register.
        unsafe { asm!("mrs {}, MIDR_EL1", out(reg) midr, options(pure, nomem, nostack, preserves_flags)) };
        let vendor = match midr >> 24 & 0xff {
            0x41 => Vendor::Arm,
            0x61 => Vendor::Apple,
            _ => Vendor::Other,
        };
        (vendor, (midr >> 4 & 0xfff) as u32)
    }

    #[cfg(not(any(
        target_vendor = "apple",
        all(feature = "std", any(target_os = "linux", target_os = "android"))
    )))]
    fn vendor_and_part() -> (Vendor, u32) {
        (Vendor::Other, 0)
    }
}

#[cfg(not(any(target_arch = "x86_64", kernels = "aarch64")))]
mod imp {
    #[cfg(kernels = "wasm32")]
    use super::Feature;
    use super::{Cpu, Features, Vendor};

    pub(super) fn detect() -> Cpu {
        #[cfg(not(kernels = "wasm32"))]
        let features = Features::default();
        // The kernels are compiled only where the compiler itself may use vectors.
        #[cfg(kernels = "wasm32")]
        let features = Features::from_list(&[Feature::Simd128]);
        Cpu { vendor: Vendor::Other, family: 0, model: 0, stepping: 0, features, brand: [0; 48] }
    }

    pub(super) fn brand() -> [u8; 48] {
        [0; 48]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_sets_cover_and_list_missing() {
        let have = Features::from_list(&[Feature::Sse41, Feature::Avx2]);
        let need = Features::from_list(&[Feature::Avx2, Feature::Avx512]);
        assert!(have.covers(Features::from_list(&[Feature::Avx2])));
        assert!(!have.covers(need));
        assert!(have.missing(need).eq([Feature::Avx512]));
    }

    #[test]
    fn a_remembered_processor_is_the_detected_one() {
        let detected = Cpu::detect();
        for _ in 0..2 {
            let remembered = Cpu::detect_once();
            assert_eq!((remembered.vendor, remembered.features), (detected.vendor, detected.features));
            assert_eq!(remembered.family, detected.family);
            assert_eq!((remembered.model, remembered.stepping), (detected.model, detected.stepping));
        }
    }

    #[test]
    fn identities_are_packed_without_loss() {
        for vendor in Vendor::ALL {
            let (family, model, stepping) = (0x10e, 0xd4c, 0xf);
            let cpu = Cpu { vendor, family, model, stepping, ..Cpu::detect() };
            let same = Cpu::from_packed(cpu.pack_identity(), cpu.features);
            assert_eq!(
                (same.vendor, same.family, same.model, same.stepping),
                (vendor, family, model, stepping)
            );
            assert_eq!(same.features, cpu.features);
        }
    }

    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    #[test]
    fn agrees_with_the_standard_library() {
        let features = Cpu::detect().features;
        assert_eq!(features.has(Feature::Ssse3), is_x86_feature_detected!("ssse3"));
        assert_eq!(features.has(Feature::Sse41), is_x86_feature_detected!("sse4.1"));
        assert_eq!(features.has(Feature::Avx2), is_x86_feature_detected!("avx2"));
        assert_eq!(
            features.has(Feature::Avx512),
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
        );
        assert_eq!(features.has(Feature::Vbmi2), is_x86_feature_detected!("avx512vbmi2"));
        assert_eq!(features.has(Feature::ShaNi), is_x86_feature_detected!("sha"));
    }
}
