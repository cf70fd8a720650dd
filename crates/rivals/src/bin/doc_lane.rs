//! A lane of `cargo rivals doc`; see `hashmill_rivals::doc::lane`.
#![forbid(unsafe_code)]

fn main() -> anyhow::Result<()> {
    hashmill_rivals::doc::lane::main()
}
