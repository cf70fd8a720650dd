//! `bindgen MODULE.wasm FOLDER nodejs|web`: writes the JavaScript bindings of a module beside a module that they can load.

use std::env;

use wasm_bindgen_cli_support::Bindgen;

fn main() {
    let args: Vec<String> = env::args().collect();
    let [_, module, folder, kind] = &args[..] else { panic!("three arguments") };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name("engine").typescript(false);
    match kind.as_str() {
        "nodejs" => bindgen.nodejs(true).expect("one kind"),
        // The script fetches the module from its own folder unless it gets another address.
        "web" => bindgen.web(true).expect("one kind").omit_default_module_path(false),
        unknown => panic!("{unknown} is no kind"),
    };
    bindgen.generate(folder).expect("a module");
}
