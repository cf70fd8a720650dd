//! Functions of the module for changes: decoding and encoding.

use hashmill_doc::{Bundle, Change, ExpandedChange};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::values::arguments::{Js, bytes, thrown};
use crate::values::exports;
use crate::values::limits::limits_apart;

/// A decoded change.
pub(crate) fn decoded(change: &Change) -> Js {
    let (count, most) = (change.len() as u64, limits_apart().operations);
    if count > most {
        return Err(thrown(format_args!(
            "the change has {count} operations, and {most} can be taken apart at once"
        )));
    }
    exports::parsed(&change.decode())
}

/// A change from its parts.
#[wasm_bindgen(js_name = encodeChange)]
pub fn encode_change(change: &JsValue) -> Js {
    let json: String = js_sys::JSON::stringify(change)?.into();
    let change: ExpandedChange = serde_json::from_str(&json)
        .map_err(|error| thrown(format_args!("Unable to read JS change: {error}")))?;
    Ok(exports::bytes(&Change::try_from(&change).map_err(thrown)?.raw_bytes()))
}

/// A decoded change.
#[wasm_bindgen(js_name = decodeChange)]
pub fn decode_change(change: &JsValue) -> Js {
    decoded(&Change::from_bytes_with(&bytes(change, "the change")?, &limits_apart()).map_err(thrown)?)
}

/// The decoded changes of a bundle, and their dependencies.
#[wasm_bindgen(js_name = readBundle)]
pub fn read_bundle(bundle: &JsValue) -> Js {
    let bundle = Bundle::read(&bytes(bundle, "the bundle")?, &limits_apart()).map_err(thrown)?;
    let changes = bundle.changes().iter().map(decoded).collect::<Js<Array>>()?;
    Ok(exports::object([("changes", changes.into()), ("deps", exports::hashes(bundle.deps()))])?.into())
}

/// Version information of this module.
#[wasm_bindgen(js_name = wasmReleaseInfo)]
pub fn release_info() -> Js {
    Ok(exports::object([
        ("gitHead", option_env!("GIT_HEAD").unwrap_or("unknown").into()),
        ("cargoPackageName", env!("CARGO_PKG_NAME").into()),
        ("cargoPackageVersion", env!("CARGO_PKG_VERSION").into()),
        ("rustcVersion", env!("CARGO_PKG_RUST_VERSION").into()),
    ])?
    .into())
}
