//! Known answers on every kernel this machine runs.

use super::*;

fn hash(kernel: Kernel, params: Params, input: &Input<'_>, tag_len: usize) -> Vec<u8> {
    let mut memory = vec![Block::ZERO; params.blocks() as usize];
    let mut tag = vec![0; tag_len];
    hash_into_with_memory(kernel, params, input, &mut memory, &mut tag).unwrap();
    assert!(memory.iter().all(|block| block.0 == [0; 128]), "wiped");
    tag
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 9106, sections 5.1 to 5.3.
#[test]
fn vectors_of_the_rfc() {
    let input = Input { password: &[1; 32], salt: &[2; 16], secret: &[3; 8], associated_data: &[4; 12] };
    let tags = [
        (Variant::D, "512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb"),
        (Variant::I, "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8"),
        (Variant::Id, "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"),
    ];
    for kernel in Kernel::all() {
        for (variant, tag) in tags {
            let params = Params::new(32, 3, 4).unwrap().with_variant(variant);
            assert_eq!(hex(&hash(kernel, params, &input, 32)), tag, "{kernel:?} {variant}");
        }
    }
}
