//! Data of `python` nodes. (docs/spec/flows.md#4.7)

use convengine_text::variable_path::VariablePath;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fields::Fields;

/// Data of `python`.
#[derive(Debug, Clone)]
pub struct PythonData {
    /// The script.
    pub code: String,
    /// Its SHA-256, in hexadecimal.
    pub code_hash: String,
    /// The variables that it reads; all when absent.
    pub inputs: Option<Vec<VariablePath>>,
    /// The variables that it may write; all when absent.
    pub outputs: Option<Vec<VariablePath>>,
    /// Time limit in milliseconds; that of the host when absent.
    pub timeout_ms: Option<u32>,
    /// The ids of its branches.
    pub branches: Option<Vec<String>>,
}

impl PythonData {
    pub(super) fn read(fields: Fields<'_>) -> PythonData {
        let paths = |name: &str| {
            let items = fields.value(name)?.as_array()?;
            Some(items.iter().filter_map(|it| VariablePath::parse(it.as_str()?).ok()).collect())
        };
        let code = fields.string("code");
        PythonData {
            code_hash: Sha256::digest(&code).iter().map(|it| format!("{it:02x}")).collect(),
            code,
            inputs: paths("inputs"),
            outputs: paths("outputs"),
            timeout_ms: fields.count_u32("timeout_ms"),
            branches: fields.value("branches").is_some_and(Value::is_array).then(|| fields.strings("branches")),
        }
    }
}
