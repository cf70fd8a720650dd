//! Functions of the module about changes: bytes to what they say, and back.

use hashmill_doc::{Bundle, Change, ExpandedChange};
use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::arguments::{Js, bytes, thrown};
use crate::exports;
use crate::limits::limits_apart;

/// A change taken apart.
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

/// A change taken apart.
#[wasm_bindgen(js_name = decodeChange)]
pub fn decode_change(change: &JsValue) -> Js {
    decoded(&Change::from_bytes_with(&bytes(change, "the change")?, &limits_apart()).map_err(thrown)?)
}

/// The changes of a bundle, taken apart, and what they depend on.
#[wasm_bindgen(js_name = readBundle)]
pub fn read_bundle(bundle: &JsValue) -> Js {
    let bundle = Bundle::read(&bytes(bundle, "the bundle")?, &limits_apart()).map_err(thrown)?;
    let changes = bundle.changes().iter().map(decoded).collect::<Js<Array>>()?;
    Ok(exports::object([("changes", changes.into()), ("deps", exports::hashes(bundle.deps()))])?.into())
}

/// What this module is.
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
