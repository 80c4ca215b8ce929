//! Orders the functions of a module by their code: similar ones become neighbours, and the module compresses better.

use anyhow::{Result, anyhow};
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{CodeSectionReader, FunctionBody, FunctionSectionReader, Parser, Payload, TypeRef};

/// Returns the module with its functions in the order of their types, and then of their code.
pub fn order_functions(module: &[u8]) -> Result<Vec<u8>> {
    let mut order = Order::of(module)?;
    let mut ordered = Module::new();
    order.parse_core_module(&mut ordered, Parser::new(0), module).map_err(|it| anyhow!("cannot order the functions: {it}"))?;
    Ok(ordered.finish())
}

struct Order {
    /// The types of the module's own functions, in their new order.
    types: Vec<u32>,
    /// The new places of the module's own functions.
    places: Vec<usize>,
    /// How many functions are imported. They come first, and keep their numbers.
    imported: usize,
}

impl Order {
    fn of(module: &[u8]) -> Result<Order> {
        let (mut imported, mut types, mut bodies) = (0, Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        imported += usize::from(matches!(import?.ty, TypeRef::Func(_)));
                    }
                }
                Payload::FunctionSection(section) => types = section.into_iter().collect::<Result<_, _>>()?,
                Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
                _ => {}
            }
        }
        let mut functions: Vec<(u32, &[u8], usize)> = types.into_iter().zip(bodies).enumerate().map(|(at, it)| (it.0, it.1, at)).collect();
        functions.sort();
        let mut places = vec![0; functions.len()];
        functions.iter().enumerate().for_each(|(place, it)| places[it.2] = place);
        Ok(Order { types: functions.iter().map(|it| it.0).collect(), places, imported })
    }
}

impl Reencode for Order {
    type Error = anyhow::Error;

    fn function_index(&mut self, function: u32) -> Result<u32, Error<Self::Error>> {
        let own = usize::try_from(function).ok().and_then(|it| it.checked_sub(self.imported));
        let Some(own) = own else { return Ok(function) };
        let place = self.places.get(own).ok_or_else(|| Error::UserError(anyhow!("there is no function {function}")))?;
        u32::try_from(self.imported + place).map_err(|it| Error::UserError(it.into()))
    }

    fn parse_function_section(&mut self, functions: &mut FunctionSection, _: FunctionSectionReader<'_>) -> Result<(), Error<Self::Error>> {
        for of_function in &self.types {
            functions.function(*of_function);
        }
        Ok(())
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, section: CodeSectionReader<'_>) -> Result<(), Error<Self::Error>> {
        let bodies: Vec<FunctionBody<'_>> = section.into_iter().collect::<Result<_, _>>()?;
        let mut bodies: Vec<(usize, FunctionBody<'_>)> = self.places.iter().copied().zip(bodies).collect();
        bodies.sort_by_key(|it| it.0);
        bodies.into_iter().try_for_each(|it| utils::parse_function_body(self, code, it.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_move_and_calls_follow_them() {
        let module = |functions: &str| wat::parse_str(format!("(module (import \"a\" \"b\" (func (param i32))) {functions})")).unwrap();
        // Function 0 is imported; its type is the first.
        let given = r#"(func (call 0 (i32.const 2))) (func (call 0 (i32.const 1)) (call 1)) (func (param i32) (call 2))
            (export "one" (func 1)) (export "two" (func 2)) (export "three" (func 3)) (start 2)"#;
        let expected = r#"(func (param i32) (call 2)) (func (call 0 (i32.const 1)) (call 3)) (func (call 0 (i32.const 2)))
            (export "one" (func 3)) (export "two" (func 2)) (export "three" (func 1)) (start 2)"#;
        assert_eq!(order_functions(&module(given)).unwrap(), module(expected));
    }
}
