//! Developer commands.

mod codegen;

fn main() {
    for (path, text) in codegen::files() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
