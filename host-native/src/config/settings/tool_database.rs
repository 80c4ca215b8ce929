//! The database that tools query: `convengine.tool-database.url`.

use serde_json::Value;

/// Reads the URL from a normalized tree; absent for the engine's own database.
pub(super) fn read(tree: &Value, problems: &mut Vec<String>) -> Option<String> {
    let url = tree.pointer("/tool-database/url")?.as_str().unwrap_or_default().trim();
    let has_rest = |scheme: &str| url.strip_prefix(scheme).is_some_and(|it| !it.is_empty());
    if !["sqlite:", "postgres://", "postgresql://"].into_iter().any(has_rest) {
        // The URL may contain a password, so only its scheme is shown.
        let scheme = url.split_once(':').map_or("none", |it| it.0);
        problems.push(format!("convengine.tool-database.url: unsupported scheme '{scheme}'; use sqlite:PATH or postgres://…"));
    }
    Some(url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_supported_databases_are_accepted() {
        let read = |tree: Value| {
            let mut problems = Vec::new();
            (read(&tree, &mut problems), problems)
        };
        assert_eq!(read(json!({})), (None, Vec::new()));
        assert_eq!(read(json!({"tool-database": {"url": " sqlite:shop.db "}})), (Some("sqlite:shop.db".to_owned()), Vec::new()));
        let server = "postgres://me:hunter2@host/shop";
        assert_eq!(read(json!({"tool-database": {"url": server}})), (Some(server.to_owned()), Vec::new()));
        let (_, problems) = read(json!({"tool-database": {"url": "oracle://me:hunter2@host/shop"}}));
        assert_eq!(problems, ["convengine.tool-database.url: unsupported scheme 'oracle'; use sqlite:PATH or postgres://…"]);
        assert_eq!(read(json!({"tool-database": {"url": 5}})).1.len(), 1);
        assert_eq!(read(json!({"tool-database": {"url": "sqlite:"}})).1.len(), 1);
        assert_eq!(read(json!({"tool-database": {"url": "postgres://"}})).1.len(), 1);
    }
}
