//! Tenants: `convengine.tenants.NAME`, each with its own database and settings that override those of the server.

use std::collections::BTreeMap;

use convengine_core::config::settings::normalize;
use convengine_host_base::exit::Failure;
use serde_json::Value;

use super::{BaseSettings, Settings, merge, names};

/// The members of `convengine.security` that a tenant may override; the others apply before the tenant is known.
const TENANT_SECURITY_KEYS: [&str; 1] = ["rate"];

/// Groups that belong to the process.
const PROCESS_GROUPS: [&str; 4] = ["http", "listen", "logging", "telemetry"];

/// Reads the settings of each tenant.
pub(super) fn read_tenants(tenants: &Value, tree: &Value, base: &BaseSettings, problems: &mut Vec<String>) -> BTreeMap<String, Settings> {
    let mut found: BTreeMap<String, Settings> = BTreeMap::new();
    let Some(tenants) = tenants.as_object().filter(|it| !it.is_empty()) else {
        if !tenants.is_null() {
            problems.push("convengine.tenants: missing tenant name; set convengine.tenants.NAME.database=URL".to_owned());
        }
        return found;
    };
    for (name, overrides) in tenants {
        let path = format!("convengine.tenants.{name}");
        if !is_name(name) {
            problems.push(format!("{path}: invalid tenant name; use up to 40 lower-case letters, digits and hyphens"));
            continue;
        }
        let mut overrides = normalize(overrides);
        let database = overrides.as_object_mut().and_then(|it| it.shift_remove("database"));
        let Some(database) = database.as_ref().and_then(Value::as_str).map(str::trim).filter(|it| !it.is_empty()) else {
            problems.push(format!("{path}.database: missing; set the URL of the tenant's database"));
            continue;
        };
        if let Some(other) = found.iter().find(|it| it.1.database.url == database) {
            problems.push(format!("{path}.database: already used by tenant '{}'; give each tenant its own database", other.0));
            continue;
        }
        if overrides.as_object_mut().is_some_and(|members| members.shift_remove("admin-token").is_some()) {
            problems.push(format!("{path}.admin-token: cannot be set per tenant; set convengine.admin-token"));
        }
        let security = overrides.get("security").and_then(Value::as_object);
        for key in security.into_iter().flat_map(|it| it.keys()).filter(|key| !TENANT_SECURITY_KEYS.contains(&key.as_str())) {
            // Reported with the others that are unknown.
            if !names::is_known(&format!("security.{key}")) {
                continue;
            }
            problems.push(format!("{path}.security.{key}: cannot be set per tenant; set convengine.security.{key}"));
        }
        for group in PROCESS_GROUPS.iter().filter(|group| overrides.get(**group).is_some()) {
            problems.push(format!("{path}.{group}: cannot be set per tenant; set convengine.{group}"));
        }
        let mut tenant_tree = tree.clone();
        merge(&mut tenant_tree, overrides);
        let mut lines = Vec::new();
        let base = BaseSettings { database: database.to_owned(), sources: base.sources.of_tenant(name), ..base.clone() };
        let settings = Settings::from_tree(tenant_tree, &base, &mut lines);
        // Problems that a tenant inherits are in the list already.
        lines.retain(|it| !problems.contains(it));
        problems.extend(lines.into_iter().map(|it| format!("tenant {name}: {it}")));
        let share = settings.share.of_tenant(settings.http.max_connections);
        found.insert(name.clone(), Settings { tenant: Some(name.clone()), share, ..settings });
    }
    found
}

fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    (1..=40).contains(&name.len()) && name.chars().all(fits)
}

impl Settings {
    /// The settings of each tenant; without tenants, these settings.
    pub fn each_tenant(&self) -> impl Iterator<Item = &Settings> {
        self.tenants.is_empty().then_some(self).into_iter().chain(self.tenants.values())
    }

    /// Selects the settings of one tenant; without tenants, returns these settings.
    ///
    /// # Errors
    /// A usage failure if the name is missing or unknown.
    pub fn for_tenant(mut self, name: Option<&str>) -> Result<Settings, Failure> {
        let names: Vec<String> = self.tenants.keys().cloned().collect();
        match name {
            None if names.is_empty() => Ok(self),
            None => Err(Failure::invalid_usage(format!("missing tenant; use --tenant with one of {}", names.join(", ")))),
            Some(name) if names.is_empty() => Err(Failure::invalid_usage(format!(
                "--tenant {name}: no tenants are configured; set convengine.tenants.{name}.database or omit the option"
            ))),
            Some(name) => self
                .tenants
                .remove(name)
                .ok_or_else(|| Failure::invalid_usage(format!("--tenant {name}: unknown tenant; use one of {}", names.join(", ")))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sources::SettingSources;
    use super::*;
    use serde_json::json;

    fn read_test_tenants(tenants: Value) -> (BTreeMap<String, Settings>, Vec<String>) {
        let mut problems = Vec::new();
        let base = BaseSettings { database: String::new(), listen: String::new(), llm: Vec::new(), sources: SettingSources::none() };
        let tree = json!({"input": {"max-chars": 7}, "database": {"synchronous": "full"}, "llm": {"max-attempts": 2}});
        (read_tenants(&tenants, &tree, &base, &mut problems), problems)
    }

    #[test]
    fn tenants_inherit_server_settings() {
        let (found, problems) = read_test_tenants(json!({
            "acme": {"database": "sqlite:a.db", "llm": {"maxAttempts": 5}, "security": {"rate": {"per-key": "1/s"}}},
            "b-2": {"database": "sqlite:b.db"},
        }));
        assert_eq!((found.len(), problems), (2, Vec::new()));
        let acme = &found["acme"];
        assert_eq!((acme.database.url.as_str(), acme.database.full_sync, acme.llm.max_attempts), ("sqlite:a.db", true, 5));
        assert!(acme.security.rates.per_key.is_some() && found["b-2"].security.rates.per_key.is_none());
        assert_eq!((found["b-2"].llm.max_attempts, found["b-2"].tree.pointer("/input/max-chars")), (2, Some(&json!(7))));
    }

    #[test]
    fn tenant_problems_name_the_tenant() {
        for (tenants, words) in [
            (json!({"A": {"database": "sqlite:a.db"}}), "convengine.tenants.A: invalid tenant name"),
            (json!({"a_b": {"database": "sqlite:a.db"}}), "convengine.tenants.a_b: invalid tenant name"),
            (json!({"a": {}}), "convengine.tenants.a.database: missing"),
            (json!({"a": 5}), "convengine.tenants.a.database: missing"),
            (json!({"a": {"database": "sqlite:x"}, "b": {"database": "sqlite:x"}}), "already used by tenant 'a'"),
            (json!({"a": {"database": "sqlite:x", "security": {"mode": "none"}}}), "set convengine.security.mode"),
            (json!({"a": {"database": "sqlite:x", "admin-token": "t"}}), "set convengine.admin-token"),
            (json!({"a": {"database": "sqlite:x", "http": {"max-connections": 5}}}), "tenants.a.http: cannot be set per tenant"),
            (json!({"a": {"database": "sqlite:x", "turn": {"lease": 0}}}), "tenant a: convengine.turn.lease"),
            (json!(5), "convengine.tenants: missing tenant name"),
        ] {
            let (_, problems) = read_test_tenants(tenants.clone());
            assert!(problems.len() == 1 && problems[0].contains(words), "{tenants}: {problems:?}");
        }
    }
}
