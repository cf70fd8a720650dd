//! Parsers for text files of Linux. Pure, so that they are tested on every system.

/// The value of a `name<separator>value` line, trimmed.
pub(crate) fn field<'a>(text: &'a str, name: &str, separator: char) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The number at the start of a field such as `MemTotal:  24684092 kB`.
pub(crate) fn number(text: &str, name: &str) -> Option<u64> {
    field(text, name, ':')?.split_whitespace().next()?.parse().ok()
}

/// The chosen word of a list such as `always [madvise] never`.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0)
}

/// Bytes in reserved huge pages by the list of a process's mappings, and how many of these in pages of 1 GiB and more.
pub(crate) fn reserved(smaps: &str) -> (u64, u64) {
    let (mut all, mut gigantic, mut page_kib) = (0, 0, 0);
    for line in smaps.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        match (name, value) {
            // This line precedes the others of its mapping.
            ("KernelPageSize", Some(kib)) => page_kib = kib,
            ("Private_Hugetlb" | "Shared_Hugetlb", Some(kib)) => {
                all += kib << 10;
                gigantic += if page_kib >= 1 << 20 { kib << 10 } else { 0 };
            }
            _ => {}
        }
    }
    (all, gigantic)
}

/// Microseconds of the `some` line of a pressure file.
pub(crate) fn pressure_us(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_once("total=")?.1.trim().parse().ok()
}

/// Stolen ticks of the first line of `/proc/stat`: the eighth number.
pub(crate) fn stolen_ticks(text: &str) -> Option<u64> {
    text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

/// Minor and major faults of `/proc/self/stat`. The name in parentheses may hold anything, so count after it.
pub(crate) fn faults(text: &str) -> Option<(u64, u64)> {
    let (_, after_name) = text.rsplit_once(") ")?;
    let mut fields = after_name.split_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some((minor, major))
}

/// Number of distinct (package, core) pairs in `/proc/cpuinfo`.
pub(crate) fn physical_cores(cpuinfo: &str) -> Option<u32> {
    let mut cores: Vec<(&str, &str)> = Vec::new();
    for processor in cpuinfo.split("\n\n") {
        let package_and_core = (field(processor, "physical id", ':'), field(processor, "core id", ':'));
        if let (Some(package), Some(core)) = package_and_core
            && !cores.contains(&(package, core))
        {
            cores.push((package, core));
        }
    }
    // No pairs: the processors have no such fields, as on Arm.
    u32::try_from(cores.len()).ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_real_files() {
        let meminfo = "MemTotal:       24684092 kB\nMemFree:        21430968 kB\n";
        assert_eq!(number(meminfo, "MemTotal"), Some(24_684_092));
        assert_eq!(number(meminfo, "MemTot"), None);
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        let pressure = "some avg10=7.71 avg60=29.20 avg300=12.05 total=59939824\nfull avg10=0.00 total=7\n";
        assert_eq!(pressure_us(pressure), Some(59_939_824));
        assert_eq!(stolen_ticks("cpu  36028 0 8174 400090 1351 0 122 41 0 0\ncpu0 1\n"), Some(41));
        let stat = "22161 (a) b (c)) R 22159 22159 3611 0 -1 4194304 101 5 3 9 0 0 0 0 20 0 1 0 223446\n";
        assert_eq!(faults(stat), Some((101, 3)));
    }

    #[test]
    fn reserved_pages_are_distinguished_by_their_size() {
        let mapping = |page: u64, private: u64, shared: u64| {
            format!(
                "7f0000000000-7f0040000000 rw-p 00000000 00:0f 7      /anon_hugepage (deleted)\n\
                 Size:            1048576 kB\nKernelPageSize: {page:>8} kB\nMMUPageSize:    {page:>8} kB\n\
                 Rss:                   0 kB\nAnonHugePages:    4096 kB\nShared_Hugetlb: {shared:>8} kB\n\
                 Private_Hugetlb: {private:>7} kB\nVmFlags: rd wr mr mw me de ht\n"
            )
        };
        let smaps = [mapping(4, 0, 0), mapping(2048, 6144, 2048), mapping(1 << 20, 2 << 20, 0)].concat();
        assert_eq!(reserved(&smaps), ((8 << 20) + (2 << 30), 2 << 30));
        assert_eq!(reserved(&mapping(4, 0, 0)), (0, 0));
        assert_eq!(reserved(""), (0, 0));
    }

    #[test]
    fn threads_of_one_core_count_once() {
        let processor =
            |package: u32, core: u32| format!("processor : 0\nphysical id : {package}\ncore id : {core}\n\n");
        let text = [processor(0, 0), processor(0, 1), processor(0, 0), processor(1, 0)].concat();
        assert_eq!(physical_cores(&text), Some(3));
        assert_eq!(physical_cores("processor: 0\n"), None);
    }

    #[test]
    fn foreign_text_gives_nothing() {
        for text in ["", "nonsense", "some total=x", "1 (a", "cpu 1 2"] {
            assert_eq!(chosen(text), None);
            assert_eq!(pressure_us(text), None);
            assert_eq!(stolen_ticks(text), None);
            assert_eq!(faults(text), None);
        }
    }
}
