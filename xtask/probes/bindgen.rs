//! `bindgen MODULE.wasm FOLDER nodejs|web`: what JavaScript calls a module by, written beside a module that it can load.

use std::env;

use wasm_bindgen_cli_support::Bindgen;

fn main() {
    let args: Vec<String> = env::args().collect();
    let [_, module, folder, kind] = &args[..] else { panic!("three arguments") };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("engine").typescript(false);
    match kind.as_str() {
        "nodejs" => bindgen.nodejs(true).expect("one kind"),
        // A module that is fetched from beside its script unless it is told from where.
        "web" => bindgen.web(true).expect("one kind").omit_default_module_path(false),
        other => panic!("{other} is no kind"),
    };
    bindgen.generate(folder).expect("a module");
}
