//! `python`: runs a script. (docs/spec/flows.md#4.7)

use convengine_derive::Described;
use convengine_text::variable_path::VariablePath;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::super::shape::{Absent, Described, Meaning, Shape, ShapeWithMeaning};
use super::super::Document;
use super::traits::{Branching, NodeData, NodeTraits, VariableWrite};

/// Data of `python`.
#[derive(Debug, Clone, Described)]
pub struct PythonData {
    /// The script. It reads `session` (a dictionary), `event`, `params`, `now` and `seed`; it may set `branch`, `message` and `result`, and
    /// print.
    #[member(name = "code", required)]
    pub script: Script,
    /// Its ports `branch:ID`; it chooses one by setting `branch` to the id.
    #[member(each = ID)]
    pub branches: Option<Vec<String>>,
    /// Variables that it sees; all of them when absent.
    #[member(meaning = Reads)]
    pub inputs: Option<Vec<VariablePath>>,
    /// Variables that it may change; all of them when absent, other changes are dropped.
    #[member(meaning = Writes)]
    pub outputs: Option<Vec<VariablePath>>,
    /// Time limit; that of the server when absent.
    #[member(shape = Integer(10, 30_000), title = "Time limit in ms")]
    pub timeout_ms: Option<u32>,
}

/// A script.
#[derive(Debug, Clone)]
pub struct Script {
    /// As written.
    pub source: String,
    /// Its SHA-256, in hexadecimal.
    pub hash: String,
}

impl Described for Script {
    const SHAPE: Shape = Shape::WithMeaning(&ShapeWithMeaning { shape: Shape::Text(0, 32768), meaning: Meaning::Script });

    fn read(value: &Value) -> Option<Script> {
        value.as_str().map(Script::from)
    }
}

impl From<&str> for Script {
    fn from(source: &str) -> Script {
        Script { source: source.to_owned(), hash: Sha256::digest(source).iter().map(|it| format!("{it:02x}")).collect() }
    }
}

impl Absent for Script {
    fn absent() -> Script {
        Script::from("")
    }
}

impl NodeData for PythonData {
    fn traits(&self) -> NodeTraits<'_> {
        let branching = if self.branches.is_some() { Branching::AllButError } else { Branching::None };
        NodeTraits { own_ports: &["branch:ID"], branching, ..NodeTraits::CALLING }
    }

    fn data_ports(&self) -> Vec<String> {
        self.branches.iter().flatten().map(|it| format!("branch:{it}")).collect()
    }

    fn writes(&self, _: &Document) -> Option<Vec<VariableWrite>> {
        self.outputs.as_ref().map(VariableWrite::of_any)
    }
}
