//! WebAssembly extensions embedded in a pack: each has a manifest with the module. (docs/spec/architecture.md#12)

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use convengine_turn::Map;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Pack, PackError};

/// The table of the manifests.
const TABLE: &str = "cv_extension";

/// Members that rows store as JSON text.
const LIST_MEMBERS: [&str; 3] = ["requests", "hosts", "secrets"];

/// Members that rows store as they are.
const SCALAR_MEMBERS: [&str; 4] = ["memory_mib", "timeout_ms", "enabled", "description"];

/// Adds the row of each extension to the tables and returns the modules by their SHA-256.
///
/// # Errors
/// [`PackError`] for an extension without a valid manifest or module.
pub(super) fn extract_modules(pack: &mut Pack) -> Result<BTreeMap<String, Vec<u8>>, PackError> {
    let mut modules = BTreeMap::new();
    let mut manifests = Vec::new();
    for (name, extension) in &pack.extensions {
        let (row, bytes) =
            parse_extension(name, extension).map_err(|reason| PackError::invalid_pack(format!("extensions.{name}: {reason}")))?;
        modules.extend(row.get("module").and_then(Value::as_str).map(|it| (it.to_owned(), bytes)));
        manifests.push(row);
    }
    if !manifests.is_empty() {
        let rows = pack.tables.0.entry(TABLE.to_owned()).or_default();
        // A pack that was parsed and serialized has both the row and the extension.
        rows.retain(|row| manifests.iter().all(|manifest| manifest.get("name") != row.get("name")));
        rows.append(&mut manifests);
    }
    Ok(modules)
}

/// Converts the row and the module of a database to an extension of a pack, the other way round of [`Pack::parse`]: for an export.
///
/// ```
/// use convengine_pack::{Pack, extension_from_row};
///
/// let pack = Pack::parse(r#"{"name": "p", "extensions": {"fee": {"wasm": "AGFzbQ==", "requests": ["http"]}}}"#)?;
/// let row = &pack.tables.0["cv_extension"][0];
/// let (hash, module) = pack.modules.first_key_value().ok_or("no module")?;
/// assert_eq!((row["module"].as_str(), module.as_slice()), (Some(hash.as_str()), &b"\0asm"[..]));
/// assert_eq!(extension_from_row(row, module)["wasm"], "AGFzbQ==");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn extension_from_row(row: &Map, module: &[u8]) -> Value {
    let mut extension = Map::from_iter([("wasm".to_owned(), Value::from(STANDARD.encode(module)))]);
    for name in LIST_MEMBERS {
        let list = row.get(name).and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
        extension.insert(name.to_owned(), list.unwrap_or_else(|| json!([])));
    }
    extension.extend(SCALAR_MEMBERS.iter().filter_map(|name| Some(((*name).to_owned(), row.get(*name)?.clone()))));
    Value::Object(extension)
}

fn parse_extension(name: &str, extension: &Value) -> Result<(Map, Vec<u8>), String> {
    let members = extension.as_object().ok_or("must be an object with the module as 'wasm', in Base64")?;
    let known = |member: &str| ["wasm", "file"].contains(&member) || LIST_MEMBERS.contains(&member) || SCALAR_MEMBERS.contains(&member);
    if let Some(other) = members.keys().find(|it| !known(it)) {
        let names = [&LIST_MEMBERS[..], &SCALAR_MEMBERS[..]].concat().join(", ");
        return Err(format!("unknown member '{other}'; use wasm, file, {names}"));
    }
    let bytes = decode_module(members)?;
    let mut row: Map =
        [("name", json!(name)), ("module", json!(sha256_hex(&bytes)))].map(|it| (it.0.to_owned(), it.1)).into_iter().collect();
    for name in LIST_MEMBERS {
        let list = members.get(name).filter(|it| !it.is_null()).map_or_else(|| "[]".to_owned(), Value::to_string);
        row.insert(name.to_owned(), Value::from(list));
    }
    // The defaults of the table.
    let defaults = [json!(16), json!(1000), json!(true), Value::Null];
    for (name, default) in SCALAR_MEMBERS.into_iter().zip(defaults) {
        let value = members.get(name).cloned().unwrap_or(default);
        row.extend((!value.is_null()).then(|| (name.to_owned(), value)));
    }
    Ok((row, bytes))
}

fn decode_module(members: &Map) -> Result<Vec<u8>, String> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    match (text("wasm"), text("file")) {
        (Some(wasm), _) => STANDARD.decode(wasm).map_err(|_| "the module is not valid Base64; encode the bytes of the file".to_owned()),
        (None, Some(file)) => Err(format!("the module file '{file}' is missing; drop it onto the page")),
        (None, None) => Err("missing module; add its 'file', or its Base64 as 'wasm'".to_owned()),
    }
}

fn sha256_hex(bytes: &[u8]) -> String {
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
        assert_eq!((&again.tables, &again.modules), (&pack.tables, &pack.modules));
        let stored = extension_from_row(&pack.tables.0.get("cv_extension").unwrap()[0], pack.modules.get(hash).unwrap());
        let again = parse(json!({"fee": stored})).unwrap();
        assert_eq!((again.tables, again.modules), (pack.tables, pack.modules));
    }

    #[test]
    fn invalid_modules_are_rejected_with_a_reason() {
        for (extension, words) in [
            (json!({}), "extensions.fee: missing module"),
            (json!({"file": "fee.wasm"}), "extensions.fee: the module file 'fee.wasm' is missing"),
            (json!({"wasm": "?"}), "extensions.fee: the module is not valid Base64"),
            (json!({"wasm": "", "host": []}), "extensions.fee: unknown member 'host'; use wasm, file, requests"),
            (json!([]), "extensions.fee: must be an object"),
        ] {
            let error = parse(json!({"fee": extension})).unwrap_err();
            assert!(error.contains(words), "{words} in {error}");
        }
    }
}
