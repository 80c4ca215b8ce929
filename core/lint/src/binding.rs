//! Bindings of tools and tasks: rows without their tool, with inline credentials, or with an unknown extension.

use std::collections::BTreeSet;

use convengine_config::{Issue, TableRow};
use serde_json::Value;

use super::context::LintContext;

/// Headers that carry credentials.
const CREDENTIAL_HEADERS: [&str; 5] = ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"];

pub(super) fn check(context: &LintContext<'_>, findings: &mut Vec<Issue>) {
    let tools: BTreeSet<i64> = context.rows("ce_mcp_tool").iter().map(TableRow::id).collect();
    for table in ["ce_http_tool", "ce_mcp_db_tool", "cv_tool_spec"] {
        let orphans = context.rows(table).iter().filter(|row| !tools.contains(&row.id()));
        findings.extend(orphans.map(|row| {
            let reason = format!("tool {} is missing or disabled", row.id());
            Issue::warning(row.path("tool_id"), reason, "add or enable its row in ce_mcp_tool, or remove this row")
                .with_rule("setup-without-tool")
        }));
    }
    for row in context.rows("ce_http_tool") {
        findings.extend(check_credential(row, "headers", &row.text("headers").unwrap_or_default()));
    }
    let extensions: BTreeSet<String> = context.rows("cv_extension").iter().filter_map(|it| it.code("name")).collect();
    for row in context.rows("ce_task") {
        findings.extend(check_task_binding(row, &extensions));
    }
}

fn check_task_binding(row: &TableRow<'_>, extensions: &BTreeSet<String>) -> Option<Issue> {
    let binding: Value = serde_json::from_str(&row.text("binding")?).ok()?;
    if let Some(headers) = binding.pointer("/http/headers") {
        return check_credential(row, "binding", &headers.to_string());
    }
    let name = binding.get("extension")?.as_str()?.trim();
    (!extensions.contains(name)).then(|| {
        let reason = format!("unknown extension '{name}'");
        Issue::warning(row.path("binding"), reason, "add it to the extensions of the pack, or correct the name")
            .with_rule("unknown-extension")
    })
}

/// Reports a literal value of a credential header, which should reference a secret.
fn check_credential(row: &TableRow<'_>, column: &str, headers: &str) -> Option<Issue> {
    let headers: Value = serde_json::from_str(headers).ok()?;
    let is_credential = |name: &str| CREDENTIAL_HEADERS.contains(&name.to_ascii_lowercase().as_str());
    let (name, _) =
        headers.as_object()?.iter().find(|(name, value)| is_credential(name) && value.as_str().is_some_and(|text| !text.contains("{{")))?;
    let hint = "reference a secret in auth_ref and set its value with convengine.secrets.NAME";
    Some(
        Issue::warning(row.path(column), format!("the row contains the value of the header '{name}'"), hint).with_rule("credential-in-row"),
    )
}
