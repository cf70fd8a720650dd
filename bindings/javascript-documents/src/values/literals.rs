//! Conversion of nested values from JavaScript.

use hashmill_doc::Literal;
use wasm_bindgen::JsValue;

use crate::values::arguments::{Js, MemoryBudget, string, thrown};
use crate::values::scalars;
use crate::values::scalars::Types;

/// Maximum depth of nested values: deeper ones could overflow the stack of the module.
const DEEPEST: usize = 1000;

/// The kinds of strings and numbers in a value.
#[derive(Clone, Copy)]
enum Form<'t> {
    /// Strings become texts, unless a type of the caller converts them.
    Typed(&'t Types),
    /// Strings are scalars.
    Scalars,
    /// Strings are scalars, and numbers are floats: a large one stays a number.
    Floats,
}

impl MemoryBudget {
    /// A value with its contents. Strings become texts, unless a type of the caller converts them.
    pub(crate) fn literal(&self, value: &JsValue, types: &Types) -> Js<Literal> {
        self.literal_in(value, Form::Typed(types), DEEPEST)
    }

    fn literal_in(&self, value: &JsValue, form: Form<'_>, levels: usize) -> Js<Literal> {
        if let Form::Typed(_) = form
            && let Some(text) = self.string(value)?
        {
            return Ok(Literal::Text(text));
        }
        if let (Form::Floats, Some(number)) = (form, value.as_f64()) {
            return Ok(Literal::Scalar(number.into()));
        }
        if !value.is_object() {
            return scalars::untyped(value, self).map(Literal::Scalar);
        }
        if let Form::Typed(types) = form
            && let Some((datatype, inner)) = types.deconstruct(value)?
        {
            return scalars::typed(&inner, &datatype, self).map(Literal::Scalar);
        }
        if scalars::is_scalar_object(value) {
            return scalars::untyped(value, self).map(Literal::Scalar);
        }
        let levels = levels.checked_sub(1).ok_or_else(|| {
            thrown(format_args!("the value is nested more than {DEEPEST} levels deep, or contains itself"))
        })?;
        if let Some(array) = self.elements(value)? {
            let elements = array.iter().map(|element| self.literal_in(&element, form, levels));
            return elements.collect::<Js<_>>().map(Literal::List);
        }
        let entries = self.entries(value)?.into_iter();
        let entries = entries.map(|(key, value)| Ok((key, self.literal_in(&value, form, levels)?)));
        entries.collect::<Js<_>>().map(Literal::Map)
    }
}

/// As [`MemoryBudget::literal`], for a call with one value.
pub(crate) fn literal(value: &JsValue, types: &Types) -> Js<Literal> {
    MemoryBudget::default().literal(value, types)
}

/// A value of presence. The caller's types are not used.
pub(crate) fn presence(value: &JsValue) -> Js<Literal> {
    MemoryBudget::default().literal_in(value, Form::Floats, DEEPEST)
}

/// An object with its contents, or a text. Strings in it are scalars, and the caller's types are not used.
pub(crate) fn object(value: &JsValue) -> Js<Literal> {
    if let Some(text) = string(value)? {
        return Ok(Literal::Text(text));
    }
    match MemoryBudget::default().literal_in(value, Form::Scalars, DEEPEST)? {
        Literal::Scalar(_) => Err(thrown("the value to insert must be an object")),
        object => Ok(object),
    }
}
