//! `convengine.restate`: the cluster that turns run on (docs/guide/restate.md).

use super::groups::groups;
use super::value::{optional_list, parse_server_url, problem, scalar};

/// The address of a worker unless it is set.
const DEFAULT_LISTEN: &str = "127.0.0.1:9080";

/// Where turns run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Runtime {
    /// In this process, on the database.
    #[default]
    Database,
    /// On the workers of a Restate cluster.
    Restate,
}

/// The cluster, and what a worker needs to serve it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestateSettings {
    /// The addresses of the ingress, one a node.
    pub ingress: Vec<String>,
    /// The addresses of the administration interface, one a node.
    pub admin: Vec<String>,
    /// Where a worker listens.
    pub listen: String,
    /// Where a worker answers questions about its health and metrics; absent if nowhere.
    pub health_listen: Option<String>,
    /// Whether turns of conversations leave rows in the database.
    pub conversation_rows: bool,
    /// The public key of the only cluster that may call the worker.
    pub identity_key: Option<String>,
}

groups! {
    /// `restate.*`
    pub(super) struct RestateTree {
        ingress: Option<Vec<String>> as "optional_list",
        admin: Option<Vec<String>> as "optional_list",
        listen: Option<String> as "scalar",
        health_listen: Option<String> as "scalar",
        conversation_rows: Option<bool> as "scalar",
        identity_key: Option<String> as "scalar",
    }
}

impl RestateSettings {
    pub(super) fn new(tree: RestateTree, problems: &mut Vec<String>) -> RestateSettings {
        let mut read = |name: &str, addresses: Option<Vec<String>>| {
            let read = addresses.unwrap_or_default().iter().map(|address| parse_server_url(address)).collect::<Result<Vec<_>, _>>();
            read.unwrap_or_else(|reason| {
                problems.push(problem(name, reason));
                Vec::new()
            })
        };
        let (ingress, admin) = (read("restate.ingress", tree.ingress), read("restate.admin", tree.admin));
        let listen = tree.listen.unwrap_or_else(|| DEFAULT_LISTEN.to_owned());
        let conversation_rows = tree.conversation_rows.unwrap_or(true);
        RestateSettings { ingress, admin, listen, health_listen: tree.health_listen, conversation_rows, identity_key: tree.identity_key }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tree::read_test_tree;
    use super::*;

    fn read(tree: &Value) -> (RestateSettings, Vec<String>) {
        let (tree, mut problems) = read_test_tree(tree);
        (RestateSettings::new(tree.restate, &mut problems), problems)
    }

    #[test]
    fn a_cluster_has_several_addresses() {
        let (found, problems) = read(&json!({"restate": {"ingress": "http://a:8080/, http://b:8080", "identity-key": "publickeyv1_x"}}));
        assert_eq!((found.ingress, problems), (vec!["http://a:8080".to_owned(), "http://b:8080".to_owned()], Vec::new()));
        assert_eq!((found.listen.as_str(), found.identity_key.as_deref()), (DEFAULT_LISTEN, Some("publickeyv1_x")));
        assert!(found.conversation_rows && !read(&json!({"restate": {"conversation-rows": "false"}})).0.conversation_rows);
        assert_eq!(read(&json!({"restate": {"admin": ["http://a:9070/"]}})).0.admin, ["http://a:9070"]);
        assert_eq!(read(&json!({"restate": {"ingress": "a:8080", "admin": "b"}})).1.len(), 2);
        assert_eq!(read(&json!({"restate": {"ingres": "http://a"}})).1.len(), 1);
    }
}
