//! The database that tools query: `convengine.tool-database.url`.

/// Checks the URL, if one is set.
pub(super) fn check(url: Option<&str>, problems: &mut Vec<String>) {
    let Some(url) = url else { return };
    let has_rest = |scheme: &str| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty());
    if !["sqlite:", "postgres://", "postgresql://"].into_iter().any(has_rest) {
        // The URL may contain a password, so only its scheme is shown.
        let scheme = url.split_once(':').map_or("none", |it| it.0);
        problems.push(format!("convengine.tool-database.url: unsupported scheme '{scheme}'; use sqlite:PATH or postgres://…"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    #[test]
    fn only_supported_databases_are_accepted() {
        let read = |tree: Value| {
            let (tree, mut problems) = read_test_tree(&tree);
            check(tree.tool_database.url.as_deref(), &mut problems);
            (tree.tool_database.url, problems)
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
