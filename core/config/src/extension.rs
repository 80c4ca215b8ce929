//! `cv_extension`: extensions, their permissions and their limits. (docs/spec/architecture.md#12)

use std::collections::BTreeMap;

use super::column::{DESCRIPTION, ENABLED, TableShape, integer, json, text};
use super::flow::shape::Meaning;
use super::issue::Issue;
use super::row::TableRow;
use super::tables::Tables;

pub(crate) static EXTENSION: TableShape = TableShape {
    name: "cv_extension",
    help: "WebAssembly extensions and their permissions.",
    columns: &[
        text("name", "name by which tasks bind it"),
        text("module", "SHA-256 of a module in `cv_module`, 64 hexadecimal digits"),
        json("requests", "JSON list of effect kinds that the extension may request").with_example(r#"["http"]"#),
        json("hosts", "JSON list of `host` or `host:port` that it may call"),
        json("secrets", "JSON list of secrets that it may send").with_meaning(Meaning::Secret),
        integer("memory_mib", "memory limit, 1 to 256").with_default("16"),
        integer("timeout_ms", "time limit of a call, without its effects, 1 to 30,000").with_default("1000"),
        ENABLED,
        DESCRIPTION,
    ],
};

/// The maximum duration of an extension call, in milliseconds.
const MAX_TIMEOUT_MS: i64 = 30_000;

/// The maximum memory of an extension, in mebibytes.
const MAX_MEMORY_MIB: i64 = 256;

/// An extension with its permissions and limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// SHA-256 of its module, in hexadecimal.
    pub module: String,
    /// Kinds of requests that it may make, such as `http`.
    pub requests: Vec<String>,
    /// `host` or `host:port` that it may call.
    pub hosts: Vec<String>,
    /// Names of secrets that it may send.
    pub secrets: Vec<String>,
    /// Bytes of memory.
    pub memory_bytes: u32,
    /// Milliseconds of its own work in one call.
    pub timeout_ms: u32,
}

impl Extension {
    /// Whether it may call a host, written as `host` or `host:port`.
    pub fn can_call(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').map_or(host, |it| it.0);
        self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host) || allowed.eq_ignore_ascii_case(name))
    }
}

/// Extensions by name.
#[derive(Debug, Clone, Default)]
pub struct Extensions(BTreeMap<String, Extension>);

impl Extensions {
    pub(super) fn compile(tables: &Tables, issues: &mut Vec<Issue>) -> Extensions {
        let mut found = Extensions::default();
        for row in tables.enabled_rows_of(&EXTENSION) {
            match compile(&row) {
                Ok(extension) => drop(found.0.insert(extension.name.clone(), extension)),
                Err(issue) => issues.push(issue),
            }
        }
        found
    }

    /// The names of the extensions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns an extension by name.
    pub fn find(&self, name: &str) -> Option<&Extension> {
        self.0.get(name)
    }
}

fn compile(row: &TableRow<'_>) -> Result<Extension, Issue> {
    let name = row.required("name", "it names the extension")?;
    let module = row.code("module").unwrap_or_default().to_ascii_lowercase();
    if module.len() != 64 || !module.bytes().all(|it| it.is_ascii_hexdigit()) {
        return Err(row.error("module", "is not a hexadecimal SHA-256", "it names the stored module"));
    }
    let list = |column: &'static str| match row.code(column).map(|text| serde_json::from_str::<Vec<String>>(&text)) {
        None => Ok(Vec::new()),
        Some(Ok(texts)) => Ok(texts),
        Some(Err(_)) => Err(row.error(column, "is not a JSON array of strings", "it is one, such as [\"http\"]")),
    };
    // The address of a fake service includes its scheme.
    let host = |address: String| address.trim_start_matches("https://").trim_start_matches("http://").to_owned();
    let within = |column: &'static str, default: i64, most: i64| {
        let value = row.integer(column).unwrap_or(default);
        let hint = format!("it is an integer from 1 to {most}");
        u32::try_from(value)
            .ok()
            .filter(|number| *number > 0 && value <= most)
            .ok_or_else(|| row.error(column, format!("is {value}"), &hint))
    };
    Ok(Extension {
        name,
        module,
        requests: list("requests")?,
        hosts: list("hosts")?.into_iter().map(host).collect(),
        secrets: list("secrets")?,
        memory_bytes: within("memory_mib", 16, MAX_MEMORY_MIB)?.saturating_mul(1 << 20),
        timeout_ms: within("timeout_ms", 1000, MAX_TIMEOUT_MS)?,
    })
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use serde_json::json;

    #[test]
    fn an_extension_has_its_permissions_and_limits() {
        let module = "A".repeat(64);
        let tables = json!({"cv_extension": [
            {"name": "fee", "module": module, "requests": "[\"http\"]", "hosts": ["https://rates.example:443", "other.example"], "timeout_ms": 50},
            {"name": "short", "module": "abc"}, {"name": "list", "module": module, "hosts": "rates"},
            {"name": "slow", "module": module, "timeout_ms": 60000}, {"name": "off", "module": module, "enabled": false},
        ]});
        let (config, issues) = Config::compile(&serde_json::from_value(tables).unwrap(), &json!({}));
        let fee = config.extensions.find("fee").unwrap();
        assert_eq!((fee.module.as_str(), fee.memory_bytes, fee.timeout_ms), ("a".repeat(64).as_str(), 16 << 20, 50));
        let hosts = ["rates.example:443", "RATES.example", "rates.example:80", "other.example:8080", "example"];
        assert_eq!(hosts.map(|it| fee.can_call(it)), [true, false, false, true, false]);
        let paths: Vec<&str> = issues.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["cv_extension[list].hosts", "cv_extension[short].module", "cv_extension[slow].timeout_ms"]);
        assert!(config.extensions.find("off").is_none());
    }
}
