//! Rows that say how tools and tasks are carried out: without their tool, with a credential in them, or for an extension that is not there.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ground::Ground;
use crate::config::{Issue, Row};

/// Headers whose values let somebody in.
const SIGNING: [&str; 5] = ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"];

pub(super) fn check(ground: &Ground<'_>, found: &mut Vec<Issue>) {
    let tools: BTreeSet<i64> = ground.rows("ce_mcp_tool").iter().map(Row::id).collect();
    for table in ["ce_http_tool", "ce_mcp_db_tool", "cv_tool_spec"] {
        let stray = ground.rows(table).iter().filter(|it| !tools.contains(&it.id()));
        found.extend(stray.map(|it| {
            let reason = format!("sets up the tool {}, which is no enabled tool", it.id());
            Issue::warning(it.path("tool_id"), reason, "add or enable its row in ce_mcp_tool, or remove this one").of("setup-without-tool")
        }));
    }
    for row in ground.rows("ce_http_tool") {
        found.extend(credential(row, "headers", &row.text("headers").unwrap_or_default()));
    }
    let extensions: BTreeSet<String> = ground.rows("cv_extension").iter().filter_map(|it| it.code("name")).collect();
    for row in ground.rows("ce_task") {
        found.extend(bound(row, &extensions));
    }
}

fn bound(row: &Row<'_>, extensions: &BTreeSet<String>) -> Option<Issue> {
    let binding: Value = serde_json::from_str(&row.text("binding")?).ok()?;
    if let Some(headers) = binding.pointer("/http/headers") {
        return credential(row, "binding", &headers.to_string());
    }
    let name = binding.get("extension")?.as_str()?.trim();
    (!extensions.contains(name)).then(|| {
        let reason = format!("names the extension '{name}', which is not there");
        Issue::warning(row.path("binding"), reason, "add it to the pack's extensions, or correct the name").of("unknown-extension")
    })
}

/// A value of a signing header that is written out, where the name of a secret belongs.
fn credential(row: &Row<'_>, column: &str, headers: &str) -> Option<Issue> {
    let headers: Value = serde_json::from_str(headers).ok()?;
    let signs = |name: &str| SIGNING.contains(&name.to_ascii_lowercase().as_str());
    let (name, _) = headers.as_object()?.iter().find(|(name, value)| signs(name) && value.as_str().is_some_and(|it| !it.contains("{{")))?;
    let hint = "name a secret in auth_ref, and give the server its value with convengine.secrets.NAME";
    Some(Issue::warning(row.path(column), format!("has the value of '{name}' in the row"), hint).of("credential-in-row"))
}
