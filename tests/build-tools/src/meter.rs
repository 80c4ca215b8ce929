//! Adds a meter to a WebAssembly module, so that every engine stops a script at the same instruction.
//!
//! Each call and each iteration of a loop uses one unit of fuel, and so do 32 instructions without a branch, and 64 bytes that are copied or
//! filled. At the limit the module traps, and the limit is lifted, so that the host can ask it why. The imports from `meter` become functions
//! that access the meter; any other import becomes a function that traps.

use anyhow::{Context, Result, anyhow, ensure};
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportSection, Function, FunctionSection, GlobalSection, GlobalType, ImportSection, Instruction,
    MemorySection, Module, ValType,
};
use wasmparser::{FuncType, Operator, Parser, Payload, TypeRef};

/// Instructions without a branch that use one unit of fuel.
const INSTRUCTIONS_PER_UNIT: i64 = 32;

/// Bytes that one unit of fuel copies or fills, as a power of two.
const BYTES_PER_UNIT: i64 = 6;

/// The exports that hosts use; all others are removed.
const EXPORTS: [&str; 5] = ["memory", "allocate", "run", "check", "explain_trap"];

/// Returns the module with a meter, without imports, and with a limit of its memory.
pub fn add(module: &[u8], max_pages: u64) -> Result<Vec<u8>> {
    let mut meter = Meter::read(module, max_pages)?;
    let mut metered = Module::new();
    meter.parse_core_module(&mut metered, Parser::new(0), module).map_err(|it| anyhow!("cannot add the meter: {it}"))?;
    Ok(metered.finish())
}

/// The globals of the meter, and what must be known of the module before its first section is written.
struct Meter {
    types: Vec<FuncType>,
    /// The types of all functions, imported ones first.
    functions: Vec<u32>,
    imports: Vec<Import>,
    /// The function whose body is read next.
    next_function: usize,
    /// The global that holds the used fuel.
    used: u32,
    /// The global that holds the limit.
    limit: u32,
    /// The global that tells whether the limit was reached.
    exhausted: u32,
    max_pages: u64,
}

/// What an imported function does in the metered module.
enum Import {
    FuelUsed,
    LimitFuel,
    IsExhausted,
    Trap,
}

impl Meter {
    fn read(module: &[u8], max_pages: u64) -> Result<Meter> {
        let (mut types, mut functions, mut imports) = (Vec::new(), Vec::new(), Vec::new());
        let mut globals = 0;
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => {
                    for function in section.into_iter_err_on_gc_types() {
                        types.push(function?);
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        let TypeRef::Func(function) = import.ty else {
                            return Err(anyhow!("the module imports '{}.{}', which is not a function", import.module, import.name));
                        };
                        functions.push(function);
                        imports.push(Import::find(import.module, import.name));
                    }
                }
                Payload::FunctionSection(section) => {
                    for function in section {
                        functions.push(function?);
                    }
                }
                Payload::GlobalSection(section) => globals = section.count(),
                _ => {}
            }
        }
        ensure!(globals > 0, "the module has no global section, so it is not one of the compiler");
        let next_function = imports.len();
        Ok(Meter { types, functions, imports, next_function, used: globals, limit: globals + 1, exhausted: globals + 2, max_pages })
    }

    /// Writes instructions that use units of fuel.
    fn charge(&self, function: &mut Function, units: i64) {
        if units > 0 {
            function.instruction(&Instruction::GlobalGet(self.used)).instruction(&Instruction::I64Const(units));
            self.add(function);
        }
    }

    /// Writes instructions that use the fuel on top of the used one, which are both on the stack, and trap beyond the limit.
    fn add(&self, function: &mut Function) {
        function
            .instruction(&Instruction::I64Add)
            .instruction(&Instruction::GlobalSet(self.used))
            .instruction(&Instruction::GlobalGet(self.used))
            .instruction(&Instruction::GlobalGet(self.limit))
            .instruction(&Instruction::I64GtU)
            .instruction(&Instruction::If(BlockType::Empty))
            .instruction(&Instruction::I32Const(1))
            .instruction(&Instruction::GlobalSet(self.exhausted))
            .instruction(&Instruction::I64Const(-1))
            .instruction(&Instruction::GlobalSet(self.limit))
            .instruction(&Instruction::Unreachable)
            .instruction(&Instruction::End);
    }

    /// Writes instructions that use fuel for the bytes on top of the stack, and leave them there.
    fn charge_bytes(&self, function: &mut Function, bytes: u32) {
        function
            .instruction(&Instruction::LocalTee(bytes))
            .instruction(&Instruction::GlobalGet(self.used))
            .instruction(&Instruction::LocalGet(bytes))
            .instruction(&Instruction::I64ExtendI32U)
            .instruction(&Instruction::I64Const(BYTES_PER_UNIT))
            .instruction(&Instruction::I64ShrU);
        self.add(function);
    }

    /// Returns the body of what was an import.
    fn import_body(&self, import: &Import) -> Function {
        let mut function = Function::new([]);
        match import {
            Import::FuelUsed => function.instruction(&Instruction::GlobalGet(self.used)),
            Import::LimitFuel => function.instruction(&Instruction::LocalGet(0)).instruction(&Instruction::GlobalSet(self.limit)),
            Import::IsExhausted => function.instruction(&Instruction::GlobalGet(self.exhausted)),
            Import::Trap => function.instruction(&Instruction::Unreachable),
        };
        function.instruction(&Instruction::End);
        function
    }

    fn meter_body(&mut self, code: &mut CodeSection, body: &wasmparser::FunctionBody<'_>) -> Result<()> {
        let ty = self.functions.get(self.next_function).and_then(|index| self.types.get(usize::try_from(*index).ok()?));
        let mut locals = u32::try_from(ty.context("a function has no type")?.params().len())?;
        self.next_function += 1;
        let mut declared = Vec::new();
        for pair in body.get_locals_reader()? {
            let (count, ty) = pair?;
            locals += count;
            declared.push((count, utils::val_type(self, ty).map_err(|it| anyhow!("{it}"))?));
        }
        declared.push((1, ValType::I32));
        let mut function = Function::new(declared);
        self.charge(&mut function, 1);
        let mut straight = 0;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            let begins_loop = matches!(operator, Operator::Loop { .. });
            straight += 1;
            if is_boundary(&operator) {
                self.charge(&mut function, straight / INSTRUCTIONS_PER_UNIT);
                straight = 0;
            }
            if matches!(operator, Operator::MemoryCopy { .. } | Operator::MemoryFill { .. }) {
                self.charge_bytes(&mut function, locals);
            }
            function.instruction(&self.instruction(operator).map_err(|it| anyhow!("{it}"))?);
            if begins_loop {
                self.charge(&mut function, 1);
            }
        }
        code.function(&function);
        Ok(())
    }
}

/// Returns whether control may leave or enter the code at an instruction.
fn is_boundary(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Else
            | Operator::End
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::Unreachable
    )
}

impl Import {
    fn find(module: &str, name: &str) -> Import {
        match (module, name) {
            ("meter", "fuel_used") => Import::FuelUsed,
            ("meter", "limit_fuel") => Import::LimitFuel,
            ("meter", "is_exhausted") => Import::IsExhausted,
            _ => Import::Trap,
        }
    }
}

impl Reencode for Meter {
    type Error = anyhow::Error;

    fn parse_import_section(&mut self, _: &mut ImportSection, _: wasmparser::ImportSectionReader<'_>) -> Result<(), Error<Self::Error>> {
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> Result<(), Error<Self::Error>> {
        // The former imports come first, so that no function gets another number.
        for function in self.functions.iter().take(self.imports.len()) {
            functions.function(*function);
        }
        utils::parse_function_section(self, functions, section)
    }

    fn parse_memory_section(
        &mut self,
        memories: &mut MemorySection,
        section: wasmparser::MemorySectionReader<'_>,
    ) -> Result<(), Error<Self::Error>> {
        for memory in section {
            memories.memory(wasm_encoder::MemoryType { maximum: Some(self.max_pages), ..self.memory_type(memory?)? });
        }
        Ok(())
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Result<(), Error<Self::Error>> {
        utils::parse_global_section(self, globals, section)?;
        let variable = |val_type| GlobalType { val_type, mutable: true, shared: false };
        globals.global(variable(ValType::I64), &ConstExpr::i64_const(0));
        globals.global(variable(ValType::I64), &ConstExpr::i64_const(-1));
        globals.global(variable(ValType::I32), &ConstExpr::i32_const(0));
        Ok(())
    }

    fn parse_export(&mut self, exports: &mut ExportSection, export: wasmparser::Export<'_>) -> Result<(), Error<Self::Error>> {
        if EXPORTS.contains(&export.name) { utils::parse_export(self, exports, export) } else { Ok(()) }
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, section: wasmparser::CodeSectionReader<'_>) -> Result<(), Error<Self::Error>> {
        for import in &self.imports {
            code.function(&self.import_body(import));
        }
        utils::parse_code_section(self, code, section)
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: wasmparser::FunctionBody<'_>) -> Result<(), Error<Self::Error>> {
        self.meter_body(code, &body).map_err(Error::UserError)
    }

    fn parse_custom_section(&mut self, _: &mut Module, _: wasmparser::CustomSectionReader<'_>) -> Result<(), Error<Self::Error>> {
        Ok(())
    }
}
