//! One build of both libraries that measures what it is asked to; `cargo rivals blake3` starts it.

fn main() -> anyhow::Result<()> {
    hashmill_rivals::blake3::lane::main()
}
