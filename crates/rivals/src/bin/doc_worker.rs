//! A worker of `cargo rivals doc`; see `hashmill_rivals::doc::worker`.
#![forbid(unsafe_code)]

fn main() -> anyhow::Result<()> {
    hashmill_rivals::doc::worker::main()
}
