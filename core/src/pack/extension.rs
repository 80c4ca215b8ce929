//! Extensions that a pack brings along: a manifest each, with the module in it. (`architecture.md` 12)

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Pack, PackError};
use crate::turn::Map;

/// The table of the manifests.
const TABLE: &str = "cv_extension";

/// An extension as a pack has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackExtension {
    /// The module in Base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wasm: Option<String>,
    /// The module as a file beside the pack; whoever reads the pack puts `wasm` in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Kinds of requests that it may make.
    #[serde(default)]
    pub requests: Vec<String>,
    /// Hosts that it may reach, each as `host:port`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Names of the secrets that it may use.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// How much memory it may have.
    #[serde(default = "memory_mib")]
    pub memory_mib: u32,
    /// How long a call may take.
    #[serde(default = "timeout_ms")]
    pub timeout_ms: u32,
    /// Whether it may be called.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

fn memory_mib() -> u32 {
    16
}

fn timeout_ms() -> u32 {
    1000
}

fn enabled() -> bool {
    true
}

/// Makes of each extension its row, as a database holds it, and lays its module aside; returns the modules by their SHA-256.
pub(super) fn take_up(pack: &mut Pack) -> Result<BTreeMap<String, Vec<u8>>, PackError> {
    let mut modules = BTreeMap::new();
    let mut manifests = Vec::new();
    for (name, extension) in &pack.extensions {
        let bytes = extension.bytes().map_err(|reason| PackError::pack(format!("extensions.{name}: {reason}")))?;
        let module = sha256(&bytes);
        manifests.push(extension.row(name, &module));
        modules.insert(module, bytes);
    }
    if !manifests.is_empty() {
        let rows = pack.tables.0.entry(TABLE.to_owned()).or_default();
        // A pack that was read and written has both, the row and the extension.
        rows.retain(|row| manifests.iter().all(|it| it.get("name") != row.get("name")));
        rows.append(&mut manifests);
    }
    Ok(modules)
}

impl PackExtension {
    fn bytes(&self) -> Result<Vec<u8>, String> {
        match (&self.wasm, &self.file) {
            (Some(wasm), _) => STANDARD.decode(wasm).map_err(|it| format!("the module is not Base64: {it}")),
            (None, Some(file)) => Err(format!("its module is the file '{file}', which is not here: drop it onto the page")),
            (None, None) => Err("it has no module: name its 'file', or write it in Base64 as 'wasm'".to_owned()),
        }
    }

    /// An extension as a database holds it: its row and the bytes of its module.
    pub fn stored(row: &Map, module: &[u8]) -> PackExtension {
        let text = |column: &str| row.get(column).and_then(Value::as_str);
        let number = |column: &str| row.get(column).and_then(Value::as_u64).and_then(|it| it.try_into().ok());
        let list = |column: &str| text(column).and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
        PackExtension {
            wasm: Some(STANDARD.encode(module)),
            file: None,
            requests: list("requests"),
            hosts: list("hosts"),
            secrets: list("secrets"),
            memory_mib: number("memory_mib").unwrap_or_else(memory_mib),
            timeout_ms: number("timeout_ms").unwrap_or_else(timeout_ms),
            enabled: row.get("enabled").and_then(Value::as_bool).unwrap_or(true),
            description: text("description").map(str::to_owned),
        }
    }

    fn row(&self, name: &str, module: &str) -> Map {
        let list = |it: &[String]| json!(it).to_string();
        let mut row: Map = [
            ("name", json!(name)),
            ("module", json!(module)),
            ("requests", Value::from(list(&self.requests))),
            ("hosts", Value::from(list(&self.hosts))),
            ("secrets", Value::from(list(&self.secrets))),
            ("memory_mib", json!(self.memory_mib)),
            ("timeout_ms", json!(self.timeout_ms)),
            ("enabled", json!(self.enabled)),
        ]
        .map(|(column, value)| (column.to_owned(), value))
        .into_iter()
        .collect();
        if let Some(description) = &self.description {
            row.insert("description".to_owned(), json!(description));
        }
        row
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(extensions: Value) -> Result<Pack, String> {
        Pack::parse(&json!({"name": "n", "extensions": extensions}).to_string()).map_err(|it| it.to_string())
    }

    #[test]
    fn an_extension_is_a_row_and_a_module() {
        let pack = parse(json!({"fee": {"wasm": "AGFzbQ==", "requests": ["http"], "hosts": ["rates.example:443"]}})).unwrap();
        let hash = "cd5d4935a48c0672cb06407bb443bc0087aff947c6b864bac886982c73b3027f";
        let row = json!({"name": "fee", "module": hash, "requests": "[\"http\"]", "hosts": "[\"rates.example:443\"]", "secrets": "[]",
            "memory_mib": 16, "timeout_ms": 1000, "enabled": true});
        assert_eq!(json!(pack.tables), json!({"cv_extension": [row]}));
        assert_eq!(pack.modules, BTreeMap::from([(hash.to_owned(), b"\0asm".to_vec())]));
        let again = Pack::parse(&serde_json::to_string(&pack).unwrap()).unwrap();
        assert_eq!((again.tables, again.modules), (pack.tables, pack.modules));
    }

    #[test]
    fn what_is_no_module_has_its_reason() {
        for (extension, words) in [
            (json!({}), "extensions.fee: it has no module"),
            (json!({"file": "fee.wasm"}), "extensions.fee: its module is the file 'fee.wasm'"),
            (json!({"wasm": "?"}), "extensions.fee: the module is not Base64"),
            (json!({"wasm": "", "host": []}), "unknown field `host`"),
        ] {
            let error = parse(json!({"fee": extension})).unwrap_err();
            assert!(error.contains(words), "{words} in {error}");
        }
    }
}
